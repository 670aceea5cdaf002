//! Where ticks go: counters in the memory of the program, or counters that we keep.

use std::ffi::c_void;

use profil_common::{Classic, Dialect, Limit};

/// The counters of one region.
#[derive(Debug)]
pub(crate) struct Sink {
    region: Classic,
    buffer: Option<Buffer>,
    /// Ticks that have been carried there so far, by counter.
    carried: Vec<u64>,
}

/// A buffer of the program's. It stays valid for as long as the program says that it profiles.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    base: *mut u8,
    width: Width,
    counters: usize,
    saturates: bool,
}

#[derive(Clone, Copy, Debug)]
enum Width {
    Two,
    Four,
}

// SAFETY: the memory is the program's, and is written by whoever holds the sink.
unsafe impl Send for Sink {}

impl Sink {
    /// Adds to the counters at `base`, by the rules of `dialect`.
    ///
    /// # Safety
    ///
    /// `base` points to as many bytes as the region says, which stay valid, and to which nobody minds
    /// that we write, until the sink is dropped.
    pub(crate) unsafe fn into_buffer(region: Classic, dialect: Dialect, base: *mut c_void) -> Self {
        let rules = dialect.rules();
        let width = if rules.counter_bits == 32 {
            Width::Four
        } else {
            Width::Two
        };
        let bytes = match width {
            Width::Two => 2,
            Width::Four => 4,
        };
        Self {
            buffer: Some(Buffer {
                base: base.cast(),
                width,
                // Where the kernels of old wrote a byte past a buffer of odd size, we do not.
                counters: usize::try_from(region.bytes).unwrap_or(usize::MAX) / bytes,
                // The counter of `sprofil` for the rest is the one that wraps.
                saturates: rules.limit == Limit::Saturates && !region.is_overflow(),
            }),
            ..Self::kept(region, dialect)
        }
    }

    /// Keeps the counters, wide.
    pub(crate) fn kept(region: Classic, dialect: Dialect) -> Self {
        let bins = usize::try_from(region.bins(dialect)).unwrap_or(usize::MAX);
        Self {
            region,
            buffer: None,
            carried: vec![0; bins],
        }
    }

    pub(crate) const fn region(&self) -> &Classic {
        &self.region
    }

    /// Carries what is new: the counter numbered `number` has had `ticks` in all.
    pub(crate) fn carry(&mut self, number: u32, ticks: u64) {
        let number = number as usize;
        let Some(carried) = self.carried.get_mut(number) else {
            return;
        };
        let new = ticks.saturating_sub(*carried);
        if new == 0 {
            return;
        }
        *carried = ticks;
        if let Some(buffer) = self.buffer {
            buffer.add(number, new);
        }
    }

    /// All that was carried.
    pub(crate) fn into_kept(self) -> Vec<u64> {
        self.carried
    }
}

impl Buffer {
    fn add(self, number: usize, new: u64) {
        if number >= self.counters {
            return;
        }
        match self.width {
            Width::Two => {
                // SAFETY: inside the buffer, by the promise of who made the sink. The program may
                // read it meanwhile, and a counter is stored by one instruction.
                unsafe {
                    let counter = self.base.cast::<u16>().add(number);
                    let sum = u64::from(counter.read_unaligned()).wrapping_add(new);
                    counter.write_unaligned(self.limited(sum, u16::MAX.into()) as u16);
                }
            }
            Width::Four => {
                // SAFETY: as above.
                unsafe {
                    let counter = self.base.cast::<u32>().add(number);
                    let sum = u64::from(counter.read_unaligned()).wrapping_add(new);
                    counter.write_unaligned(self.limited(sum, u32::MAX.into()) as u32);
                }
            }
        }
    }

    /// What a counter shows instead of `sum`; what does not fit is cut.
    fn limited(self, sum: u64, highest: u64) -> u64 {
        if self.saturates {
            sum.min(highest)
        } else {
            sum
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGION: Classic = Classic {
        offset: 0x1000,
        bytes: 9,
        scale: 0x1_0000,
        added: 0,
    };

    fn sink<T>(region: Classic, dialect: Dialect, buffer: &mut [T]) -> Sink {
        // SAFETY: the tests' buffers are larger, and outlive their sinks.
        unsafe { Sink::into_buffer(region, dialect, buffer.as_mut_ptr().cast()) }
    }

    #[test]
    fn ticks_are_added_to_what_is_there_and_wrap() {
        let mut buffer = [10_u16, 65_530, 0, 0, 77, 77];
        let mut sink = sink(REGION, Dialect::Glibc, &mut buffer);
        for (number, ticks) in [
            (0, 3),
            (1, 10),
            (0, 5),
            (1, 10),
            (3, 65_536 + 7),
            (4, 1),
            (9, 1),
        ] {
            sink.carry(number, ticks);
        }
        assert_eq!(sink.into_kept(), [5, 10, 0, 65_543]);
        assert_eq!(buffer, [15, 4, 0, 7, 77, 77]);
    }

    #[test]
    fn nothing_is_written_past_an_odd_size() {
        let mut buffer = [0_u16; 6];
        let mut sink = sink(REGION, Dialect::Bsd44, &mut buffer);
        sink.carry(3, 1);
        // There the kernel of old wrote a byte too many.
        sink.carry(4, 1);
        assert_eq!(buffer, [0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn counters_of_sprofil_saturate_but_for_the_rest() {
        let mut buffer = [u16::MAX - 1; 4];
        let mut sink_of = sink(REGION, Dialect::Sprofil, &mut buffer);
        sink_of.carry(2, 5);
        assert_eq!(buffer[2], u16::MAX);
        let rest = Classic {
            offset: 0,
            scale: 2,
            ..REGION
        };
        let mut sink_of = sink(rest, Dialect::Sprofil, &mut buffer);
        sink_of.carry(0, 5);
        assert_eq!(buffer[0], 3);
        let mut wide = [u32::MAX - 1, 7];
        let mut sink_of = sink(REGION, Dialect::SprofilUint, &mut wide);
        sink_of.carry(0, 5);
        sink_of.carry(1, 5);
        assert_eq!(wide, [u32::MAX, 12]);
    }
}
