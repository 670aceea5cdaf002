//! The four arguments of `profil(2)` as flags, and more than one of them.

use clap::Args;
use profil_user::{Dialect, RegionAsked, Scale, Start, number};

/// Which text to count, if not all of it.
#[derive(Args, Debug)]
pub(super) struct RegionFlags {
    /// Count from here only: an address, OBJECT+ADDRESS (link-time), or a symbol
    #[arg(long, value_name = "PLACE", help_heading = "Regions")]
    offset: Option<String>,

    /// Buffer bytes for a byte of text: 65536 or 1.0 is a counter for two bytes of text, 1/4 one for
    /// eight; also 0x hexadecimal and 0 octal. Takes --offset
    #[arg(
        long,
        value_name = "FRACTION",
        requires = "offset",
        help_heading = "Regions"
    )]
    scale: Option<Scale>,

    /// Size of the buffer in bytes; as much as the mapping at --offset needs by default
    #[arg(long, value_name = "BYTES", requires = "offset", help_heading = "Regions",
          value_parser = |text: &str| number(text))]
    bufsiz: Option<u64>,

    /// A region more, as in sprofil: what --offset, --bufsiz and --scale take; repeatable
    #[arg(
        long,
        value_name = "OFFSET:BYTES:SCALE[:OBJECT]",
        help_heading = "Regions"
    )]
    region: Vec<RegionAsked>,

    /// Whose formula, counters and rules: modern, v7, bsd43, bsd44, bsd, xnu, xnu32, svr4, glibc,
    /// glibc32, sprofil or sprofil32
    #[arg(long, value_name = "WORD", default_value = "modern", value_parser = parse_dialect,
          help_heading = "Regions")]
    dialect: Dialect,
}

impl RegionFlags {
    /// The regions, `--offset` first, and the dialect.
    pub(super) fn asked(self) -> Result<(Vec<RegionAsked>, Dialect), String> {
        const ONE: Scale = Scale(0x1_0000);

        let mut asked = Vec::new();
        if let Some(offset) = self.offset {
            asked.push(RegionAsked {
                start: Start::parse(&offset, None).map_err(|error| error.to_string())?,
                bytes: self.bufsiz,
                scale: self.scale.unwrap_or(ONE),
            });
        }
        asked.extend(self.region);
        if asked.is_empty() && self.dialect != Dialect::Modern {
            return Err(format!(
                "the dialect {} wants to be told what to count: --offset or --region",
                self.dialect.word()
            ));
        }
        Ok((asked, self.dialect))
    }
}

fn parse_dialect(word: &str) -> Result<Dialect, String> {
    Dialect::from_word(word).ok_or_else(|| {
        let words: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.word()).collect();
        format!("known are {}", words.join(", "))
    })
}
