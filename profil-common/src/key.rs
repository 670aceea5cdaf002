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

/// A tick that fell in no region, kept so that it can still be named later.
///
/// Every bit pattern is valid and there is no padding, so the kernel can compare keys as bytes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(C)]
pub struct StrayKey {
    /// The user program counter.
    pub pc: u64,
    /// The process, by the kernel's name for it: the thread group.
    pub tgid: u32,
    /// A [`Mode`], as its number.
    pub mode: u32,
}

const _: () = assert!(size_of::<StrayKey>() == 8 + 4 + 4, "no padding");

#[cfg(feature = "user")]
// SAFETY: `StrayKey` is `repr(C)`, `Copy`, without padding, and every bit pattern is valid.
unsafe impl aya::Pod for StrayKey {}
