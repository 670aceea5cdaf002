//! The histograms in a `gmon.out` (`include/sys/gmon_out.h` of the GNU C library), read without
//! help from the profiler's own code.

/// One histogram record: counters for the text from `low` to `high`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Histogram {
    /// Link-time address of the first bin.
    pub low: u64,
    /// Link-time address after the last bin.
    pub high: u64,
    /// Ticks a second.
    pub rate: u32,
    /// One counter a bin.
    pub counts: Vec<u16>,
}

impl Histogram {
    /// The bins that are not zero: their first address and their count.
    pub fn hits(&self) -> impl Iterator<Item = (u64, u16)> {
        let bytes = (self.high - self.low) / self.counts.len().max(1) as u64;
        (0..)
            .zip(&self.counts)
            .filter(|&(_, &count)| count > 0)
            .map(move |(bin, &count)| (self.low + bin * bytes, count))
    }
}

/// Reads a file for a 64-bit little-endian machine: its histograms, and arcs that were never taken.
///
/// # Errors
///
/// With the offset of what is not understood.
pub fn histograms(file: &[u8]) -> Result<Vec<Histogram>, usize> {
    let mut at = 0;
    let mut take = |length: usize| {
        let offset = at;
        let taken = file.get(at..at + length).ok_or(at)?;
        at += length;
        Ok::<_, usize>((offset, taken))
    };
    let (_, header) = take(20)?;
    if header[..8] != *b"gmon\x01\0\0\0" {
        return Err(0);
    }
    const HISTOGRAM: &[u8] = &[0];
    const ARC: &[u8] = &[1];
    let mut records = Vec::new();
    loop {
        let (offset, tag) = match take(1) {
            Ok(tag) => tag,
            Err(_) => return Ok(records),
        };
        if tag == ARC {
            // Two addresses and a count.
            let (offset, arc) = take(8 + 8 + 4)?;
            if arc[16..] != [0; 4] {
                return Err(offset);
            }
            continue;
        }
        if tag != HISTOGRAM {
            return Err(offset);
        }
        let mut take = |length| take(length).map(|(_, taken)| taken);
        let low = u64::from_le_bytes(take(8)?.try_into().expect("eight bytes"));
        let high = u64::from_le_bytes(take(8)?.try_into().expect("eight bytes"));
        let bins = u32::from_le_bytes(take(4)?.try_into().expect("four bytes"));
        let rate = u32::from_le_bytes(take(4)?.try_into().expect("four bytes"));
        let _dimension = take(16)?;
        let counts = take(2 * bins as usize)?
            .chunks_exact(2)
            .map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
            .collect();
        records.push(Histogram {
            low,
            high,
            rate,
            counts,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut file = b"gmon\x01\0\0\0".to_vec();
        file.resize(20, 0);
        file.push(0);
        file.extend(0x1000_u64.to_le_bytes());
        file.extend(0x1008_u64.to_le_bytes());
        file.extend(4_u32.to_le_bytes());
        file.extend(997_u32.to_le_bytes());
        file.extend(b"seconds\0\0\0\0\0\0\0\0s");
        for count in [0_u16, 3, 0, 9] {
            file.extend(count.to_le_bytes());
        }
        file
    }

    #[test]
    fn a_histogram_is_read() {
        let records = histograms(&file()).expect("one record");
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].rate, 997);
        assert_eq!(
            records[0].hits().collect::<Vec<_>>(),
            [(0x1002, 3), (0x1006, 9)]
        );
    }

    #[test]
    fn an_arc_that_was_never_taken_is_nothing() {
        let mut arc = file();
        arc.push(1);
        arc.extend([0; 20]);
        assert_eq!(histograms(&arc), histograms(&file()));
        let last = arc.len() - 1;
        arc[last] = 1;
        assert_eq!(histograms(&arc), Err(file().len() + 1));
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(histograms(b"gmon"), Err(0));
        assert_eq!(histograms(&[0; 20]), Err(0));
        let mut basic_blocks = file();
        basic_blocks.push(2);
        assert_eq!(histograms(&basic_blocks), Err(file().len()));
        let mut cut = file();
        cut.pop();
        assert!(histograms(&cut).is_err());
    }
}
