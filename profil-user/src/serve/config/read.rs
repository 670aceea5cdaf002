//! The file and the flags, read and looked at together.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    net::SocketAddr,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use toml::de::{DeTable, DeValue};

use super::{
    Config, ConfigError, Problem,
    keys::{is_table, key, nearest},
    problem::Place,
    value::Raw,
};

/// Largest file that is read, in bytes.
const LARGEST: u64 = 256 << 10;

/// Most lines about what is wrong.
const MOST_PROBLEMS: usize = 20;

/// A value from the command line: it wins over the file's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Setting {
    /// The flag, as it is called in what is said of it: `--stathz`.
    pub flag: String,
    /// The key that it stands for: `stathz`, `limits.connections`.
    pub key: String,
    /// The value: bare, lists with commas, labels as `name=value`.
    pub value: String,
}

impl Config {
    /// Reads a file, if there is one, and puts flags on top of it; then looks whether all of it makes
    /// sense together.
    ///
    /// # Errors
    ///
    /// All that is wrong, a line each, with the file and the line or with the flag.
    pub fn read(file: Option<&Path>, flags: &[Setting]) -> Result<Self, ConfigError> {
        let Some(file) = file else {
            return Self::parse("", Path::new(""), flags);
        };
        let text = text_of(file).map_err(|error| Problem {
            place: Place::File(file.to_owned()),
            what: format!("cannot read the configuration: {error}"),
        })?;
        Self::parse(&text, file, flags)
    }

    /// The same, of a text that was read already.
    pub(crate) fn parse(text: &str, file: &Path, flags: &[Setting]) -> Result<Self, ConfigError> {
        let mut reader = Reader {
            text,
            file,
            config: Self::default(),
            places: BTreeMap::new(),
            problems: Vec::new(),
        };
        match DeTable::parse(text) {
            Ok(table) => reader.table("", table.get_ref()),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                let place = reader.line(start);
                let message = error.message().replace('\n', ", ");
                reader.wrong(place, format!("this is not TOML: {message}"));
            }
        }
        for setting in flags {
            reader.flag(setting);
        }
        if reader.problems.is_empty() {
            reader.look_at_it_together();
        }
        if reader.problems.is_empty() {
            return Ok(reader.config);
        }
        reader
            .problems
            .sort_by(|one, other| one.place.cmp(&other.place));
        reader.problems.truncate(MOST_PROBLEMS);
        Err(ConfigError {
            problems: reader.problems,
        })
    }
}

/// The number of /dev/null (the kernel's `Documentation/admin-guide/devices.txt`): it says nothing, which
/// is what it is for.
const NULL: u64 = libc::makedev(1, 3);

/// The text of a regular file that is not too large.
fn text_of(file: &Path) -> io::Result<String> {
    // Nobody is waited for who would write into a pipe.
    let open = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(file)?;
    let metadata = open.metadata()?;
    if !metadata.is_file() && metadata.rdev() != NULL {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    open.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than 256 KiB"));
    }
    Ok(text)
}

struct Reader<'a> {
    text: &'a str,
    file: &'a Path,
    config: Config,
    /// Where the values are from that were set.
    places: BTreeMap<&'static str, Place>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, place: Place, what: String) {
        self.problems.push(Problem { place, what });
    }

    /// The line of a byte of the text.
    fn line(&self, byte: usize) -> Place {
        let before = self.text.as_bytes().iter().take(byte);
        let line = 1 + before.filter(|&&letter| letter == b'\n').count();
        Place::Line(self.file.to_owned(), line)
    }

    fn table(&mut self, within: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let place = self.line(name.span().start);
            let name = match within {
                "" => name.get_ref().to_string(),
                table => format!("{table}.{}", name.get_ref()),
            };
            match value.get_ref() {
                DeValue::Table(inner) if is_table(&name) => self.table(&name, inner),
                _ if is_table(&name) => self.wrong(place, format!("[{name}] must be a table")),
                value => self.value(&name, place, &Raw::Toml(value)),
            }
        }
    }

    fn flag(&mut self, setting: &Setting) {
        let place = Place::Flag(setting.flag.clone());
        self.value(&setting.key, place, &Raw::Flag(&setting.value));
    }

    fn value(&mut self, name: &str, place: Place, raw: &Raw<'_>) {
        let Some(key) = key(name) else {
            let short: String = name.chars().take(80).collect();
            let instead = match nearest(name) {
                Some(near) => format!("did you mean {near}?"),
                None => "`profil-bpf serve --check` shows all that there are".to_owned(),
            };
            let what = match raw {
                Raw::Toml(DeValue::Table(_)) if !name.contains('.') => {
                    format!("there is no table [{short}]: {instead}")
                }
                _ => format!("there is no key {short}: {instead}"),
            };
            return self.wrong(place, what);
        };
        match (key.set)(&mut self.config, raw) {
            Ok(()) => {
                self.places.insert(key.name, place);
            }
            Err(allowed) => {
                let what = format!("{name} is {}: it must be {allowed}", raw.shown());
                self.wrong(place, what);
            }
        }
    }

    /// Where the first of some keys was set that was set at all.
    fn place_of(&self, keys: &[&str]) -> Place {
        let mut places = keys.iter().filter_map(|key| self.places.get(key));
        places.next().cloned().unwrap_or(Place::Default)
    }

    fn look_at_it_together(&mut self) {
        let Config { stathz, profhz, .. } = self.config;
        if profhz < stathz || !profhz.is_multiple_of(stathz) {
            let next = profhz
                .next_multiple_of(stathz)
                .min(10_000 / stathz * stathz);
            let place = self.place_of(&["profhz", "stathz"]);
            let what = format!(
                "profhz is {profhz}: it must be a multiple of stathz, {stathz}, such as {next}"
            );
            self.wrong(place, what);
        }
        let access = self.config.access.clone();
        if access.tls_cert.is_some() != access.tls_key.is_some() {
            let keys = ["access.tls_cert", "access.tls_key"];
            let place = self.place_of(&keys);
            let what = "access.tls_cert and access.tls_key must both be set, or neither";
            self.wrong(place, what.to_owned());
        }
        if access.client_ca.is_some() && access.tls_cert.is_none() {
            let place = self.place_of(&["access.client_ca"]);
            let what = "access.client_ca is of use only with access.tls_cert and access.tls_key";
            self.wrong(place, what.to_owned());
        }
        if !self.problems.is_empty() {
            return;
        }
        let listen = self.config.listen.clone();
        let exposed = |address: SocketAddr| access.allows(address).err();
        if let Some(exposed) = listen.into_iter().find_map(exposed) {
            let place = self.place_of(&["listen", "access.token_file"]);
            self.wrong(place, format!("listen: {exposed}"));
        }
    }
}
