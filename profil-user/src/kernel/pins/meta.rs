//! What is written down about counters that outlive us, so that nobody takes them for something else.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    os::fd::AsFd as _,
    path::Path,
};

use aya::maps::{Array, Map, MapData};
use aya_obj::generated::bpf_map_type;

use super::{PinError, pin};
use crate::kernel::{ClockError, beat::Beat, bpf};

/// In whatever else may be pinned under the same name, these eight bytes are others.
const MAGIC: u64 = u64::from_be_bytes(*b"profil-b");

/// The number of the layout of the maps, of this record, and of what their numbers mean. It is another
/// one whenever any of that changes: the test below knows what belongs to it.
const LAYOUT: u64 = 1;

/// Words of the record.
const WORDS: usize = 8;

/// The only value of the map in which it is kept.
type Words = [u64; WORDS];

/// About a clock and its counters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Meta {
    /// A number that no other counters have.
    pub(crate) instance: u64,
    /// Periods of the clocks on each CPU, in nanoseconds.
    pub(crate) periods_ns: [u64; 2],
    /// Which ticks are counted, as a number of who asks.
    pub(crate) mode: u64,
    /// Kernel memory of the maps.
    pub(crate) kernel_bytes: u64,
}

impl Meta {
    pub(super) fn new(periods_ns: [u64; 2], mode: u64, kernel_bytes: u64) -> Self {
        Self {
            // The standard library's maps are seeded by the system's random numbers.
            instance: RandomState::new().build_hasher().finish(),
            periods_ns,
            mode,
            kernel_bytes,
        }
    }

    /// What a tick is worth, in nanoseconds.
    pub(crate) fn period_ns(&self) -> f64 {
        Beat::mean_period_ns(&self.periods_ns)
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), PinError> {
        const KEY_BYTES: u32 = size_of::<u32>() as u32;
        const NO_FLAGS: u32 = 0;
        let words = self.to_words();
        let failed = |source| PinError::Pin {
            path: path.to_owned(),
            source,
        };
        let map = bpf::create_array(
            bpf_map_type::BPF_MAP_TYPE_ARRAY,
            (KEY_BYTES, size_of::<Words>() as u32),
            1,
            NO_FLAGS,
        );
        let map = map.map_err(failed)?;
        bpf::write_only_value(map.as_fd(), bpf::bytes_of(&words)).map_err(failed)?;
        pin(map.as_fd(), path)
    }

    pub(super) fn read(path: &Path) -> Result<Self, PinError> {
        let map = MapData::from_pin(path).map_err(|error| PinError::Map {
            path: path.to_owned(),
            source: Box::new(error),
        })?;
        // The kind is checked by the next step.
        let words: Array<_, Words> = Map::Array(map)
            .try_into()
            .map_err(|_| PinError::Foreign(path.to_owned()))?;
        let words = words.get(&0, 0);
        Self::from_words(
            &words.map_err(|_| PinError::Foreign(path.to_owned()))?,
            path,
        )
    }

    const fn to_words(self) -> Words {
        let [first, second] = self.periods_ns;
        let (mode, bytes) = (self.mode, self.kernel_bytes);
        [MAGIC, LAYOUT, self.instance, first, second, mode, bytes, 0]
    }

    fn from_words(words: &Words, path: &Path) -> Result<Self, PinError> {
        let &[
            magic,
            layout,
            instance,
            first,
            second,
            mode,
            kernel_bytes,
            _,
        ] = words;
        if magic != MAGIC {
            return Err(PinError::Foreign(path.to_owned()));
        }
        if layout != LAYOUT {
            return Err(PinError::OtherLayout {
                path: path.to_owned(),
                found: layout,
                known: LAYOUT,
            });
        }
        // Whoever wrote zeros would have us divide by them.
        if first == 0 || second == 0 {
            return Err(PinError::Clock(ClockError::Read(
                std::io::ErrorKind::InvalidData.into(),
            )));
        }
        Ok(Self {
            instance,
            periods_ns: [first, second],
            mode,
            kernel_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use profil_common::{Outcome, StrayKey, StrayTicks, Tally};

    use super::{LAYOUT, Meta, PinError};

    /// Whoever changes one of these gives the layout another number.
    #[test]
    fn a_layout_has_a_number() {
        let sizes = [
            size_of::<StrayKey>(),
            size_of::<StrayTicks>(),
            size_of::<Tally>(),
        ];
        let outcomes: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
        assert_eq!((LAYOUT, sizes), (1, [16, 24, 104]));
        let expected = "binned, strays, lost: strays table full, lost: strays table busy, \
                        no user address, lost: no such bin, not for the buffer, stopped at the limit, \
                        other mode, other PID namespace, other processes, idle";
        assert_eq!(outcomes.join(", "), expected);
    }

    #[test]
    fn what_was_written_is_read() {
        let meta = Meta::new([16, 26], 5, 4096);
        let path = Path::new("/sys/fs/bpf/x/META");
        assert_eq!(Meta::from_words(&meta.to_words(), path).unwrap(), meta);
    }

    #[test]
    fn another_layout_and_what_is_no_record_are_refused() {
        let path = Path::new("/sys/fs/bpf/x/META");
        let mut words = Meta::new([16, 26], 5, 4096).to_words();
        words[1] = LAYOUT + 1;
        let error = Meta::from_words(&words, path).unwrap_err();
        assert!(matches!(error, PinError::OtherLayout { found: 2, .. }));
        assert!(error.to_string().contains("--unpin"), "{error}");
        words[0] = 0;
        let error = Meta::from_words(&words, path).unwrap_err();
        assert!(matches!(error, PinError::Foreign(_)));
        let none = Meta::new([0, 26], 5, 4096).to_words();
        Meta::from_words(&none, path).unwrap_err();
    }
}
