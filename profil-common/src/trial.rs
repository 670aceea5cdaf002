//! One question to the kernel half's test program, and its answer.

use crate::{Classic, Dialect, cell};

/// What is given to the test program as the data of a packet, and what it leaves there.
///
/// Every bit pattern is valid and there is no padding.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Trial {
    /// A region as `profil` is called with.
    pub region: Classic,
    /// Where the tick is.
    pub pc: u64,
    /// The answer: the counter, if there is one.
    pub bin: u64,
    /// A [`Dialect`], as its number.
    pub dialect: u32,
    /// The answer: 1 if the tick is counted, else 0.
    pub counted: u32,
}

const _: () = assert!(size_of::<Trial>() == 24 + 2 * 8 + 2 * 4, "no padding");

impl Trial {
    /// The name of the test program in its object.
    pub const PROGRAM: &str = "profil_trial";

    /// Answers the question; a number that no dialect has is one that counts nothing.
    #[inline(always)]
    pub fn answer(&mut self) {
        let bin = match Dialect::from_number(self.dialect) {
            Some(dialect) => cell(dialect, &self.region, self.pc),
            None => None,
        };
        self.counted = bin.is_some() as u32;
        self.bin = bin.unwrap_or(0);
    }
}

#[cfg(feature = "user")]
// SAFETY: `Trial` is `repr(C)`, `Copy`, without padding, and every bit pattern is valid.
unsafe impl aya::Pod for Trial {}
