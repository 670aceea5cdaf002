//! Where a profile goes and in which format, from the name that a person gives.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{gmon, style::Style};
use crate::pprof::Packing;

/// A file format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// gmon.out, for gprof(1).
    Gmon(gmon::Variant),
    /// A table of symbols, for `gprof -S`.
    Symbols,
    /// pprof's `profile.proto`: the file of record.
    Pprof(Packing),
    /// The flat profile as text.
    Text(Style),
    /// Folded stacks, for flame graphs.
    Folded,
    /// A flame graph as SVG, for browsers.
    FlameGraph,
    /// JSON, for programs.
    Json,
    /// Comma-separated values, for spreadsheets.
    Csv,
    /// speedscope's own format.
    Speedscope,
    /// The counters of explicit regions and nothing else, as `profil(2)` leaves them in memory:
    /// little-endian, as wide as the dialect has them, one region after the other.
    Buffer,
}

/// A format or a name that is not understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// The name of a file says nothing.
    #[error(
        "cannot tell a format from the name {0:?}; known are *.pb.gz, *.pb, gmon.out, *.gmon, *.syms, *.buf, *.txt, *.folded, *.svg, *.json, *.csv, *.speedscope.json, DIR/ and -"
    )]
    Name(PathBuf),
    /// There is no such format.
    #[error("there is no format {0:?}; known are {known}", known = known())]
    Word(String),
    /// A directory holds gmon files only.
    #[error("a directory takes one gmon or syms file an object, not {0}")]
    Directory(&'static str),
}

impl Format {
    /// What gprof and everything else reads.
    const GMON: Self = Self::Gmon(gmon::Variant::Gnu);

    /// A report in our own manner.
    const TEXT: Self = Self::Text(Style::Flat);

    /// How the names of its files end.
    pub(super) const fn extension(self) -> &'static str {
        match self {
            Self::Gmon(_) => "gmon",
            Self::Symbols => "syms",
            Self::Pprof(_) => "pb.gz",
            Self::Text(_) => "txt",
            Self::Buffer => "buf",
            Self::Folded => "folded",
            Self::FlameGraph => "svg",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Speedscope => "speedscope.json",
        }
    }

    /// Whether a file of it is of the whole profile, and not of one object.
    pub(super) const fn is_of_all(self) -> bool {
        !matches!(self, Self::Gmon(_) | Self::Symbols)
    }
}

/// What formats are called, beside the endings of their files.
const WORDS: [(&str, Format); 11] = [
    ("pprof", Format::Pprof(Packing::Gzip)),
    ("gmon", Format::GMON),
    ("gmon-bsd", Format::Gmon(gmon::Variant::Bsd)),
    ("syms", Format::Symbols),
    ("buffer", Format::Buffer),
    ("text", Format::TEXT),
    ("folded", Format::Folded),
    ("svg", Format::FlameGraph),
    ("json", Format::Json),
    ("csv", Format::Csv),
    ("speedscope", Format::Speedscope),
];

fn known() -> String {
    WORDS.map(|(word, _)| word).join(", ")
}

impl std::str::FromStr for Format {
    type Err = FormatError;

    fn from_str(word: &str) -> Result<Self, FormatError> {
        let is_it = |(known, format): &&(&str, Self)| *known == word || format.extension() == word;
        match WORDS.iter().find(is_it) {
            Some((_, format)) => Ok(*format),
            None => Err(FormatError::Word(word.to_owned())),
        }
    }
}

/// Where a profile goes, and how.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Destination {
    /// Standard output.
    Stdout(Format),
    /// A file.
    File(PathBuf, Format),
    /// A directory that gets one file an object.
    Directory(PathBuf, Format),
}

impl Destination {
    /// Understands the name of an output: `-` is standard output, a name that ends in `/` is a
    /// directory, and the format follows the name unless it is given.
    ///
    /// # Errors
    ///
    /// If no format can be told.
    pub fn parse(name: &Path, format: Option<Format>) -> Result<Self, FormatError> {
        if name.as_os_str() == "-" {
            return Ok(Self::Stdout(format.unwrap_or(Format::TEXT)));
        }
        if name.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return match format {
                Some(format) if format.is_of_all() => {
                    Err(FormatError::Directory(format.extension()))
                }
                format => Ok(Self::Directory(
                    name.to_owned(),
                    format.unwrap_or(Format::GMON),
                )),
            };
        }
        let by_name = || match (name.file_name()?.to_str()?, name.extension()?.to_str()?) {
            ("gmon.out", _) | (_, "gmon") => Some(Format::GMON),
            (name, "gz") if name.ends_with(".pb.gz") => Some(Format::Pprof(Packing::Gzip)),
            (_, "pb") => Some(Format::Pprof(Packing::Plain)),
            (_, "syms") => Some(Format::Symbols),
            (_, "txt") => Some(Format::TEXT),
            (_, "buf") => Some(Format::Buffer),
            (_, "folded") => Some(Format::Folded),
            (_, "svg") => Some(Format::FlameGraph),
            (name, "json") if name.ends_with(".speedscope.json") => Some(Format::Speedscope),
            (_, "json") => Some(Format::Json),
            (_, "csv") => Some(Format::Csv),
            _ => None,
        };
        // Devices and FIFOs have no telling name: text, unless something else is asked for.
        let special = || {
            let metadata = fs::metadata(name).ok()?;
            (!metadata.is_file() && !metadata.is_dir()).then_some(Format::TEXT)
        };
        let format = format.or_else(by_name).or_else(special);
        match format {
            Some(format) => Ok(Self::File(name.to_owned(), format)),
            None => Err(FormatError::Name(name.to_owned())),
        }
    }
}

impl Destination {
    /// The same, with reports in this manner.
    #[must_use]
    pub fn in_style(mut self, style: Style) -> Self {
        let (Self::Stdout(format) | Self::File(_, format) | Self::Directory(_, format)) = &mut self;
        if let Format::Text(of_text) = format {
            *of_text = style;
        }
        self
    }

    /// Whether it is of one program: a file in a format that holds one.
    pub const fn is_of_one_program(&self) -> bool {
        matches!(
            self,
            Self::Stdout(Format::Gmon(_) | Format::Symbols)
                | Self::File(_, Format::Gmon(_) | Format::Symbols)
        )
    }

    /// Whether it takes the buffers of explicit regions.
    pub fn takes_buffers(&self) -> bool {
        let (Self::Stdout(format) | Self::File(_, format) | Self::Directory(_, format)) = self;
        *format == Format::Buffer
    }

    /// Whether it keeps all that is known of names: lines and inlined functions, too.
    pub fn keeps_names(&self) -> bool {
        let (Self::Stdout(format) | Self::File(_, format) | Self::Directory(_, format)) = self;
        matches!(format, Format::Pprof(_))
    }

    /// The name for messages.
    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Stdout(_) => PathBuf::from("standard output"),
            Self::File(path, _) | Self::Directory(path, _) => path.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Destination, Format, FormatError, Packing};

    fn parse(name: &str) -> Result<Destination, FormatError> {
        Destination::parse(Path::new(name), None)
    }

    #[test]
    fn the_format_follows_the_name() {
        let file = |name: &str, format| Ok(Destination::File(name.into(), format));
        assert_eq!(parse("gmon.out"), file("gmon.out", Format::GMON));
        assert_eq!(parse("/x/gmon.out"), file("/x/gmon.out", Format::GMON));
        assert_eq!(parse("a.gmon"), file("a.gmon", Format::GMON));
        assert_eq!(parse("a.syms"), file("a.syms", Format::Symbols));
        assert_eq!(parse("a.txt"), file("a.txt", Format::TEXT));
        assert_eq!(parse("a.folded"), file("a.folded", Format::Folded));
        assert_eq!(parse("a.svg"), file("a.svg", Format::FlameGraph));
        assert_eq!(parse("a.json"), file("a.json", Format::Json));
        assert_eq!(parse("a.csv"), file("a.csv", Format::Csv));
        assert_eq!(
            parse("a.speedscope.json"),
            file("a.speedscope.json", Format::Speedscope)
        );
        assert_eq!(
            parse("a.b.pb.gz"),
            file("a.b.pb.gz", Format::Pprof(Packing::Gzip))
        );
        assert_eq!(parse("a.pb"), file("a.pb", Format::Pprof(Packing::Plain)));
        assert_eq!(parse("-"), Ok(Destination::Stdout(Format::TEXT)));
        assert_eq!(
            parse("out/"),
            Ok(Destination::Directory("out/".into(), Format::GMON))
        );
        for name in ["a.xyz", "a", "a.gz", "gmon", "x.out", ".txt", ""] {
            assert_eq!(parse(name), Err(FormatError::Name(name.into())), "{name:?}");
        }
    }

    #[test]
    fn a_format_that_is_given_wins() {
        let given = |name: &str, format| Destination::parse(Path::new(name), Some(format));
        let gmon = Destination::File("a.txt".into(), Format::GMON);
        assert_eq!(given("a.txt", Format::GMON), Ok(gmon));
        assert_eq!(
            given("-", Format::GMON),
            Ok(Destination::Stdout(Format::GMON))
        );
        given("out/", Format::TEXT).unwrap_err();
        for (word, format) in super::WORDS {
            assert_eq!(word.parse(), Ok(format), "{word}");
        }
        assert_eq!("txt".parse(), Ok(Format::TEXT));
        let unknown = "xml".parse::<Format>().unwrap_err().to_string();
        assert!(unknown.contains("csv, speedscope"), "{unknown}");
        let bsd: Format = "gmon-bsd".parse().unwrap();
        assert_eq!(
            given("out/", bsd),
            Ok(Destination::Directory("out/".into(), bsd))
        );
    }
}
