//! Map keys: they hold what we group by, and nothing else.

/// Whose code ran when the clock ticked.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u32)]
pub enum Mode {
    /// The process ran its own code.
    User = 0,
    /// The kernel ran on behalf of the process.
    System = 1,
}

impl Mode {
    /// The mode that is stored as `number`, or `None` for a number that no mode has.
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::User),
            1 => Some(Self::System),
            _ => None,
        }
    }
}

/// Ticks that fell in no region, kept so that they can still be named later.
///
/// Every bit pattern is valid and there is no padding, so the kernel can compare keys as bytes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(C)]
pub struct StrayKey {
    /// The program counter: a user address, or the kernel's own where that is what is charged.
    pub pc: u64,
    /// The process, by the kernel's name for it, the thread group; where threads are told apart,
    /// the thread.
    pub task: u32,
    /// A [`Mode`], as its number.
    pub mode: u16,
    /// Which of the table's two halves it is in: one is written while the other is emptied.
    pub half: u16,
}

const _: () = assert!(size_of::<StrayKey>() == 8 + 4 + 2 + 2, "no padding");

/// How many such ticks, and when: what lies at an address can change, and time tells what did
/// when it ticked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct StrayTicks {
    /// How many.
    pub ticks: u64,
    /// When the first of them was counted, in nanoseconds of `CLOCK_MONOTONIC`.
    pub first_ns: u64,
    /// When the last of them was counted. Of several CPUs, about: nobody waits for the other.
    pub last_ns: u64,
}

#[cfg(feature = "user")]
// SAFETY: `StrayKey` is `repr(C)`, `Copy`, without padding, and every bit pattern is valid.
unsafe impl aya::Pod for StrayKey {}

#[cfg(feature = "user")]
// SAFETY: as above.
unsafe impl aya::Pod for StrayTicks {}
