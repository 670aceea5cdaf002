//! Explicit regions, as a person types them: where they start, how large the buffer is, how much
//! text a counter covers.

use std::{fmt, str::FromStr};

use profil_common::SCALE_ONE;

/// A region as it was asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RegionAsked {
    /// Where it starts: `pr_off` of `sprofil`, `offset` of `profil`.
    pub start: Start,
    /// Size of the buffer in bytes: `bufsiz`. `None` is as much as the mapping at the start needs.
    pub bytes: Option<u64>,
    /// How many bytes of buffer a byte of text has.
    pub scale: Scale,
}

/// Where a region starts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Start {
    /// At an address of the process.
    Address(u64),
    /// At a link-time address of an object, or some bytes past a symbol.
    Named {
        /// The file name of the object in which to look; everywhere without one.
        object: Option<String>,
        /// The name of a symbol, or, where no object is given, of an object. `None` is the object
        /// itself.
        name: Option<String>,
        /// Bytes to add; the link-time address if there is no symbol.
        plus: u64,
    },
}

/// A scale: buffer bytes for a byte of text in 16.16 fixed point. Which values mean something is
/// the dialect's matter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Scale(pub u32);

/// Why a text is no region.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RegionError {
    /// Not three or four parts.
    #[error("a region is OFFSET:BYTES:SCALE or OFFSET:BYTES:SCALE:OBJECT, not {0:?}")]
    Parts(String),
    /// Not a number.
    #[error("{0:?} is no number; decimal, 0x hexadecimal and 0 octal are understood")]
    Number(String),
    /// Not a scale.
    #[error(
        "{0:?} is no scale; numbers like 65536, 0x8000 or 0177777 and fractions like 1/4 or 0.25 are"
    )]
    Scale(String),
    /// Nothing.
    #[error("a region starts at an address, OBJECT+ADDRESS or a symbol")]
    NoStart,
}

impl FromStr for RegionAsked {
    type Err = RegionError;

    /// Parses `OFFSET:BYTES:SCALE[:OBJECT]`. A symbol may have colons of its own.
    fn from_str(text: &str) -> Result<Self, RegionError> {
        let parts: Vec<&str> = text.split(':').collect();
        let without_object = |parts: &[&str]| {
            let [offset @ .., bytes, scale] = parts else {
                return None;
            };
            let scale = scale.parse().ok()?;
            let bytes = number(bytes).ok()?;
            (!offset.is_empty()).then(|| (offset.join(":"), bytes, scale))
        };
        let parsed = match (without_object(&parts), parts.split_last()) {
            (Some(parsed), _) => Some((parsed, None)),
            (None, Some((object, rest))) if !object.is_empty() => {
                without_object(rest).map(|parsed| (parsed, Some((*object).to_owned())))
            }
            (None, _) => None,
        };
        let ((offset, bytes, scale), object) =
            parsed.ok_or_else(|| RegionError::Parts(text.to_owned()))?;
        Ok(Self {
            start: Start::parse(&offset, object)?,
            bytes: Some(bytes),
            scale,
        })
    }
}

impl Start {
    /// Understands an address, `OBJECT+ADDRESS`, a symbol or `SYMBOL+BYTES`; with an object
    /// given, an address is a link-time address of it.
    ///
    /// # Errors
    ///
    /// If there is no text, or no number after a `+`.
    pub fn parse(text: &str, object: Option<String>) -> Result<Self, RegionError> {
        if text.is_empty() {
            return Err(RegionError::NoStart);
        }
        if let Ok(address) = number(text) {
            return Ok(match object {
                None => Self::Address(address),
                Some(_) => Self::Named {
                    object,
                    name: None,
                    plus: address,
                },
            });
        }
        // The last one: names of C++ operators and of objects may have some.
        let (name, plus) = match text.rsplit_once('+') {
            Some((name, plus)) if !name.is_empty() && !plus.is_empty() => (name, number(plus)?),
            _ => (text, 0),
        };
        Ok(Self::Named {
            object,
            name: Some(name.to_owned()),
            plus,
        })
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address:#x}"),
            Self::Named { object, name, plus } => {
                let name = name.as_deref().or(object.as_deref()).unwrap_or_default();
                f.write_str(name)?;
                if *plus > 0 {
                    write!(f, "+{plus:#x}")?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Scale {
    type Err = RegionError;

    fn from_str(text: &str) -> Result<Self, RegionError> {
        let bad = || RegionError::Scale(text.to_owned());
        if let Ok(scale) = number(text) {
            return u32::try_from(scale).map(Self).map_err(|_| bad());
        }
        let one = f64::from(SCALE_ONE);
        let scale = if let Some((over, under)) = text.split_once('/') {
            let (over, under) = (number(over)?, number(under)?);
            over.checked_mul(SCALE_ONE.into())
                .and_then(|over| over.checked_div(under))
                .ok_or_else(bad)?
        } else {
            let fraction: f64 = text.parse().map_err(|_| bad())?;
            let scale = fraction * one;
            if !(0.0..=f64::from(u32::MAX)).contains(&scale) {
                return Err(bad());
            }
            scale as u64
        };
        u32::try_from(scale).map(Self).map_err(|_| bad())
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A number as C writes it: decimal, hexadecimal after `0x`, octal after `0`.
///
/// # Errors
///
/// If it is none, or has more than 64 bits.
pub fn number(text: &str) -> Result<u64, RegionError> {
    let digits = |digits: &str, radix| {
        let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        plain.then(|| u64::from_str_radix(digits, radix).ok())?
    };
    let parsed = if let Some(hexadecimal) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        digits(hexadecimal, 16)
    } else if let Some(octal) = text.strip_prefix('0').filter(|octal| !octal.is_empty()) {
        digits(octal, 8)
    } else {
        digits(text, 10)
    };
    parsed.ok_or_else(|| RegionError::Number(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(object: Option<&str>, name: Option<&str>, plus: u64) -> Start {
        Start::Named {
            object: object.map(str::to_owned),
            name: name.map(str::to_owned),
            plus,
        }
    }

    #[test]
    fn numbers_are_those_of_c() {
        for (text, value) in [
            ("0", 0),
            ("42", 42),
            ("0x10", 16),
            ("0177777", 65_535),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(number(text), Ok(value), "{text}");
        }
        for text in [
            "",
            "-1",
            "+1",
            "0x",
            "08",
            "1k",
            "18446744073709551616",
            "0x+1",
        ] {
            assert_eq!(number(text), Err(RegionError::Number(text.to_owned())));
        }
    }

    #[test]
    fn a_scale_is_a_number_or_a_fraction() {
        for (text, scale) in [
            ("65536", 0x1_0000),
            ("0x8000", 0x8000),
            ("0177777", 0xffff),
            ("1", 1),
            ("1.0", 0x1_0000),
            ("0.25", 0x4000),
            ("1/4", 0x4000),
            ("3/4", 0xc000),
            ("2/1", 0x2_0000),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Scale(scale)), "{text}");
        }
        for text in [
            "",
            "1/0",
            "x",
            "-1",
            "-0.5",
            "nan",
            "inf",
            "1/",
            "4294967296",
            "1e9",
        ] {
            assert!(text.parse::<Scale>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_region_has_three_parts_or_four() {
        let region = |text: &str| text.parse::<RegionAsked>();
        let asked = |start, bytes, scale| {
            Ok(RegionAsked {
                start,
                bytes: Some(bytes),
                scale: Scale(scale),
            })
        };
        assert_eq!(
            region("0x401000:4096:0x10000"),
            asked(Start::Address(0x40_1000), 4096, 0x1_0000)
        );
        assert_eq!(
            region("0x1000:010:1/2:libc.so.6"),
            asked(named(Some("libc.so.6"), None, 0x1000), 8, 0x8000)
        );
        assert_eq!(
            region("libc.so.6+0x1000:64:1.0"),
            asked(named(None, Some("libc.so.6"), 0x1000), 64, 0x1_0000)
        );
        assert_eq!(
            region("ns::f::g:64:1.0"),
            asked(named(None, Some("ns::f::g"), 0), 64, 0x1_0000)
        );
        assert_eq!(
            region("ns::f+8:64:1.0:prog"),
            asked(named(Some("prog"), Some("ns::f"), 8), 64, 0x1_0000)
        );
        for text in ["", "1", "1:2", ":1:2", "a:b:c", "1:2:3:4:5:", "x+y:1:2"] {
            assert!(region(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,40}") {
            let _ = text.parse::<RegionAsked>();
            let _ = text.parse::<Scale>();
        }

        #[test]
        fn what_was_typed_is_what_is_meant(offset: u64, bytes: u64, scale: u32) {
            let region: RegionAsked = format!("{offset:#x}:{bytes}:{scale}").parse().unwrap();
            prop_assert_eq!(region.start, Start::Address(offset));
            prop_assert_eq!((region.bytes, region.scale), (Some(bytes), Scale(scale)));
        }
    }
}
