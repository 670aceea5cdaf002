//! What lines of source say.

use std::{
    fmt,
    fs::Metadata,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use super::Sum;
use crate::target::open_regular;

/// Nobody writes larger ones, and what a generator writes nobody reads.
const MOST_BYTES: u64 = 16 << 20;

/// Characters of a line that are kept.
const LONGEST_LINE: usize = 400;

/// Directories of a path that are looked for in another one: no tree is deeper.
const MOST_NAMES: usize = 64;

/// As editors have it.
const TAB: usize = 8;

/// Lines of a file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Its path, as the compiler wrote it. Untrusted: escape it before display.
    pub path: Arc<str>,
    /// The lines that have code of the function, and what is between two that are near each other; by number.
    pub lines: Vec<SourceLine>,
    /// Why lines have no text, if that was looked for in vain.
    pub unread: Option<NoSource>,
    /// Whether it was written to after the program: lines may be others than those that were compiled.
    pub is_newer: bool,
}

/// One line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceLine {
    /// Its number, from 1.
    pub number: u32,
    /// What it says, with blanks for tabs, if that is known. Untrusted: escape it before display.
    pub text: Option<String>,
    /// Whether instructions of the function are on it.
    pub has_code: bool,
    /// Its ticks.
    pub sum: Sum,
}

/// Why a source file is not shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NoSource {
    /// It cannot be read; and what was said.
    Unreadable(String),
    /// It is larger than anybody writes.
    TooLarge,
    /// Not everybody may read it, and it is not of whom the program is: a program can name any file.
    NotTheirs,
    /// It is named by a path that depends on where the compiler was.
    Relative,
}

impl fmt::Display for NoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => f.write_str(why),
            Self::TooLarge => f.write_str("it is too large"),
            Self::NotTheirs => f.write_str("it is private, and not of the program's owner"),
            Self::Relative => f.write_str("its path is not absolute"),
        }
    }
}

impl SourceLine {
    pub(super) const fn new(number: u32, has_code: bool, sum: Sum) -> Self {
        Self {
            number,
            text: None,
            has_code,
            sum,
        }
    }
}

impl SourceFile {
    pub(super) const fn new(path: Arc<str>, lines: Vec<SourceLine>) -> Self {
        Self {
            path,
            lines,
            unread: None,
            is_newer: false,
        }
    }

    /// All ticks on its lines.
    pub fn sum(&self) -> Sum {
        let mut sum = Sum::default();
        self.lines.iter().for_each(|line| sum.add(line.sum));
        sum
    }

    /// Reads what the lines say, for a program whose file is known so: from the file in the first of `dirs`
    /// that has one at an end of the path, the longest, or else at the path.
    ///
    /// Whoever wrote the program chose the path. Where we may read more than they, as root, only what
    /// they may read too is shown; but for what is in a directory that a person named.
    pub fn read(&mut self, dirs: &[PathBuf], program: Option<&Metadata>) {
        if let Err(why) = self.try_read(dirs, program) {
            self.unread = Some(why);
        }
    }

    fn try_read(&mut self, dirs: &[PathBuf], program: Option<&Metadata>) -> Result<(), NoSource> {
        let path = Path::new(&*self.path);
        let unreadable = |error: &dyn fmt::Display| NoSource::Unreadable(error.to_string());
        let named = dirs.iter().flat_map(|dir| places(dir, path));
        let named = named.filter_map(|place| open_regular(&place).ok()).next();
        let is_named = named.is_some();
        let mut file = match named {
            Some(file) => file,
            None if !path.is_absolute() => return Err(NoSource::Relative),
            None => open_regular(path).map_err(|error| unreadable(&error))?,
        };
        let metadata = file.metadata().map_err(|error| unreadable(&error))?;
        if metadata.len() > MOST_BYTES {
            return Err(NoSource::TooLarge);
        }
        let is_root = rustix::process::geteuid().is_root();
        if is_root && !is_named && !may_read(&metadata, program) {
            return Err(NoSource::NotTheirs);
        }
        let time = |metadata: &Metadata| (metadata.mtime(), metadata.mtime_nsec());
        self.is_newer = program.is_some_and(|program| time(&metadata) > time(program));
        let mut bytes = Vec::new();
        let read = (&mut file).take(MOST_BYTES).read_to_end(&mut bytes);
        read.map_err(|error: io::Error| unreadable(&error))?;
        self.fill(&bytes);
        Ok(())
    }

    /// Gives lines their texts.
    fn fill(&mut self, bytes: &[u8]) {
        let mut wanted = self.lines.iter_mut().peekable();
        for (text, number) in bytes.split(|&byte| byte == b'\n').zip(1_u32..) {
            let Some(next) = wanted.peek() else {
                break;
            };
            if next.number == number
                && let Some(line) = wanted.next()
            {
                line.text = Some(shown(text));
            }
        }
    }
}

/// Where in a directory a file may be: at the ends of its path, the longest first. None of them leads out.
fn places(dir: &Path, path: &Path) -> impl Iterator<Item = PathBuf> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => names.clear(),
        }
    }
    let last = names.len().saturating_sub(MOST_NAMES);
    (last..names.len()).map(move |first| {
        let mut place = dir.to_owned();
        place.extend(&names[first..]);
        place
    })
}

/// Whether whoever owns a program may read a file, as far as its mode tells.
fn may_read(file: &Metadata, program: Option<&Metadata>) -> bool {
    let by_all = file.mode() & 0o004 != 0;
    by_all || program.is_some_and(|program| program.uid() == file.uid())
}

/// A line without its end, with blanks for tabs, and no longer than anybody reads.
fn shown(bytes: &[u8]) -> String {
    // Before it is decoded: a line may be all of the file.
    let bytes = &bytes[..bytes.len().min(4 * LONGEST_LINE)];
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let mut text = String::new();
    let mut column = 0;
    for character in String::from_utf8_lossy(bytes).chars() {
        if column >= LONGEST_LINE {
            text.push('…');
            break;
        }
        if character == '\t' {
            let blanks = TAB - column % TAB;
            text.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        } else {
            text.push(character);
            column += 1;
        }
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::PermissionsExt as _,
        path::{Path, PathBuf},
    };

    use super::{
        LONGEST_LINE, MOST_NAMES, NoSource, SourceFile, SourceLine, Sum, may_read, places, shown,
    };

    fn file(path: &Path, numbers: &[u32]) -> SourceFile {
        let lines = numbers.iter();
        let lines = lines.map(|&number| SourceLine::new(number, true, Sum::default()));
        SourceFile::new(path.to_str().unwrap().into(), lines.collect())
    }

    fn texts(file: &SourceFile) -> Vec<Option<&str>> {
        file.lines.iter().map(|line| line.text.as_deref()).collect()
    }

    #[test]
    fn lines_are_found_by_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.c");
        fs::write(&path, b"one\n\ttwo\r\nthr\xeee\n").unwrap();
        let program = fs::metadata(&path).unwrap();
        let mut found = file(&path, &[2, 3, 9, u32::MAX]);
        found.read(&[], Some(&program));
        assert_eq!(found.unread, None);
        assert_eq!(
            texts(&found),
            [Some("        two"), Some("thr\u{fffd}e"), None, None]
        );
        assert!(!found.is_newer);
    }

    #[test]
    fn sources_may_have_moved() {
        let place = |path: &str| -> Vec<_> { places("/s".as_ref(), path.as_ref()).collect() };
        assert_eq!(
            place("/build/x/./a/b.c"),
            ["/s/build/x/a/b.c", "/s/x/a/b.c", "/s/a/b.c", "/s/b.c"].map(PathBuf::from)
        );
        // Nobody is led out of it.
        assert_eq!(place("/a/../../etc/shadow")[0], Path::new("/s/etc/shadow"));
        assert!(place("/a/..").is_empty() && place("").is_empty());
        assert_eq!(place(&"a/".repeat(10_000)).len(), MOST_NAMES);

        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("b.c"), "wrong").unwrap();
        fs::write(dir.path().join("a/b.c"), "right").unwrap();
        let mut found = file("/nowhere/a/b.c".as_ref(), &[1]);
        found.read(&["/nowhere".into(), dir.path().to_owned()], None);
        assert_eq!(texts(&found), [Some("right")]);
    }

    #[test]
    fn what_is_no_source_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let why = |path: &Path| {
            let mut file = file(path, &[1]);
            file.read(&[], None);
            assert_eq!(texts(&file), [None]);
            file.unread
        };
        assert!(matches!(
            why(&dir.path().join("none")),
            Some(NoSource::Unreadable(_))
        ));
        assert!(matches!(why(dir.path()), Some(NoSource::Unreadable(_))));
        assert_eq!(why("a.c".as_ref()), Some(NoSource::Relative));
        let holes = dir.path().join("holes");
        fs::File::create(&holes).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(why(&holes), Some(NoSource::TooLarge));
    }

    #[test]
    fn a_program_does_not_make_us_show_what_its_owner_may_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        fs::write(&path, "secret").unwrap();
        let mode = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            fs::metadata(&path).unwrap()
        };
        let own = mode(0o600);
        assert!(!may_read(&own, None));
        assert!(may_read(&own, Some(&own)));
        let root = fs::metadata("/").unwrap();
        let is_ours = std::os::unix::fs::MetadataExt::uid(&own) == 0;
        assert_eq!(may_read(&own, Some(&root)), is_ours);
        assert!(may_read(&mode(0o604), None));
    }

    #[test]
    fn a_line_is_bounded() {
        let long = "é".repeat(10_000);
        assert_eq!(shown(long.as_bytes()).chars().count(), LONGEST_LINE + 1);
        assert_eq!(
            shown(b"\t".repeat(1000).as_slice())
                .chars()
                .filter(|c| *c != '…')
                .count(),
            400
        );
        assert_eq!(shown(b"a\tb  "), "a       b");
    }
}
