//! The systems whose `profil` is done again, each exactly, and the words that name them.
//!
//! What a dialect does with a call is in [`Dialect::call`], what it does with a tick in
//! [`cell`], and everything else that tells it from the others in [`Dialect::rules`].

mod call;
mod cell;
mod inverse;
mod rules;
mod search;

pub use call::{Effect, Refusal};
pub use cell::{Classic, cell};
pub use rules::{Exec, Fork, Limit, Lists, Rules};
pub use search::{Cell, find_cell};

/// Declares the dialects once: their numbers, and their words on the command line.
macro_rules! dialects {
    ($($(#[$doc:meta])* $variant:ident = $word:literal,)+) => {
        /// One system's way to do `profil`.
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
        #[repr(u32)]
        pub enum Dialect {
            #[default]
            $($(#[$doc])* $variant,)+
        }

        impl Dialect {
            /// Every dialect, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word on the command line.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

dialects! {
    /// Ours: the manual's formula without surprises, and counters that never wrap.
    Modern = "modern",
    /// Seventh Edition on the PDP-11: 16-bit words, and byte indices that are rounded up.
    V7 = "v7",
    /// 4.2BSD and 4.3BSD on the VAX: signed distances of 32 bits.
    Bsd43 = "bsd43",
    /// 4.4BSD with 32-bit words, the first that refuses a scale.
    Bsd44 = "bsd44",
    /// The BSDs with 64-bit words, which cut the index to 32 bits.
    Bsd = "bsd",
    /// XNU with 32-bit words: addresses below the offset are not looked for.
    XnuIlp32 = "xnu32",
    /// XNU with 64-bit words.
    Xnu = "xnu",
    /// SVR4, Solaris and illumos with 64-bit words: a full counter stops everything.
    Svr4 = "svr4",
    /// The GNU C library with 64-bit words: nothing is ever refused.
    Glibc = "glibc",
    /// The GNU C library with 32-bit words.
    Glibc32 = "glibc32",
    /// The GNU C library's `sprofil` with 16-bit counters.
    Sprofil = "sprofil",
    /// The GNU C library's `sprofil` with 32-bit counters.
    SprofilUint = "sprofil32",
}

impl Dialect {
    /// The dialect that is stored as `number`, or `None` for a number that no dialect has.
    #[inline(always)]
    pub const fn from_number(number: u32) -> Option<Self> {
        // Not by `ALL`, which would be a table in the kernel half's read-only data.
        Some(match number {
            0 => Self::Modern,
            1 => Self::V7,
            2 => Self::Bsd43,
            3 => Self::Bsd44,
            4 => Self::Bsd,
            5 => Self::XnuIlp32,
            6 => Self::Xnu,
            7 => Self::Svr4,
            8 => Self::Glibc,
            9 => Self::Glibc32,
            10 => Self::Sprofil,
            11 => Self::SprofilUint,
            _ => return None,
        })
    }

    /// The dialect that `word` names, or `None` for a word that names none.
    pub fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|dialect| dialect.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect;

    #[test]
    fn numbers_and_words_lead_back() {
        for (number, &dialect) in (0..).zip(Dialect::ALL) {
            assert_eq!(dialect as u32, number, "{dialect:?}");
            assert_eq!(Dialect::from_number(number), Some(dialect));
            assert_eq!(Dialect::from_word(dialect.word()), Some(dialect));
        }
        let past = Dialect::ALL.len() as u32;
        for number in [past, u32::MAX] {
            assert_eq!(Dialect::from_number(number), None, "{number}");
        }
        for word in ["", "V7", "bsd4", "modern "] {
            assert_eq!(Dialect::from_word(word), None, "{word:?}");
        }
    }
}
