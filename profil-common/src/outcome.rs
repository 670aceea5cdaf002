//! What becomes of a tick: one list for both sides.

/// Declares the outcomes once: their order in the kernel's tally, their names in reports, and
/// what they mean.
macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// What became of one run of the kernel program. Every run ends in exactly one.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[repr(u32)]
        pub enum Outcome {
            $($(#[$doc])* $variant,)+
        }

        impl Outcome {
            /// Every outcome, in the order of the kernel's tally.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// How many outcomes there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The name in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

outcomes! {
    /// Counted in a bin.
    Binned = "binned",
    /// In no region; counted in the table of strays.
    Stray = "strays",
    /// In no region, and the table of strays was full: the tick has no address.
    StraysFull = "lost: strays table full",
    /// In no region, and the table of strays could not be changed at that moment.
    StraysBusy = "lost: strays table busy",
    /// The kernel gave no user program counter (an I/O worker, or a task in exec or exit).
    NoUserPc = "no user address",
    /// The region pointed past the bins. Cannot happen unless the tables disagree.
    NoBin = "lost: no such bin",
    /// No counter of the dialect's is for this address, or none is any more.
    OutOfRange = "not for the buffer",
    /// A counter was at the dialect's limit, which stops everything: now or before.
    Stopped = "stopped at the limit",
    /// In the mode whose ticks are not wanted.
    OtherMode = "other mode",
    /// The process could not be identified from this PID namespace.
    NoTgid = "other PID namespace",
    /// Another process ran. Only a clock that follows a CPU sees these.
    Other = "other processes",
    /// The CPU was idle. Only a clock that follows a CPU sees these.
    Idle = "idle",
}

impl Outcome {
    /// Whether a tick of the target is missing from the profile because of this outcome.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::StraysFull | Self::StraysBusy | Self::NoBin)
    }
}

/// One CPU's account of the kernel program.
///
/// `runs` and `outcomes` are counted apart, at the entry and at the end of the program, so that
/// their agreement means something. Each CPU writes only its own copy; the sum over CPUs is the
/// account.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Tally {
    /// Times the program was entered.
    pub runs: u64,
    /// Times it ended in each [`Outcome`], by the outcome's number.
    pub outcomes: [u64; Outcome::COUNT],
}

const _: () = assert!(size_of::<Tally>() == 8 + 8 * Outcome::COUNT, "no padding");

#[cfg(feature = "user")]
// SAFETY: `Tally` is `repr(C)`, `Copy`, without padding, and every bit pattern is valid.
unsafe impl aya::Pod for Tally {}

#[cfg(test)]
mod tests {
    use super::Outcome;

    #[test]
    fn the_number_of_an_outcome_is_its_place() {
        for (place, outcome) in Outcome::ALL.iter().enumerate() {
            assert_eq!(*outcome as usize, place, "{}", outcome.name());
        }
    }
}
