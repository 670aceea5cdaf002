//! Ticks of bins → instructions, where that is certain.

use std::ops::Range;

use super::{Bin, Instruction, Span};

/// Gives the ticks of each bin to the one instruction that begins in it, and returns the bins of which
/// that cannot be said. `bounds` are those of the function.
pub(super) fn place(
    instructions: &mut [Instruction],
    bounds: Range<u64>,
    bins: &[Bin],
) -> Vec<Span> {
    let mut spans = Vec::new();
    for bin in bins {
        let first = instructions.partition_point(|one| one.address < bin.start);
        let next = instructions.partition_point(|one| one.address < bin.end);
        // What is past the end of the function in a bin of two bytes is the byte of an instruction that
        // began before it, or padding: the bin of a function's first byte is that function's.
        let is_narrow = bin.end - bin.start <= 2;
        let is_partly_outside = bin.start < bounds.start || (bin.end > bounds.end && !is_narrow);
        match &mut instructions[first..next] {
            [one] if !is_partly_outside => one.sum.add(bin.sum),
            _ => spans.push(Span {
                start: bin.start,
                end: bin.end,
                instructions: first..next,
                is_partly_outside,
                sum: bin.sum,
            }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::{Bin, Instruction, Range, place};
    use crate::annotate::Sum;

    fn instructions(addresses: &[u64]) -> Vec<Instruction> {
        let one = |&address| Instruction {
            address,
            bytes: Vec::new(),
            text: String::new(),
            target: None,
            target_name: None,
            line: None,
            sum: Sum::default(),
        };
        addresses.iter().map(one).collect()
    }

    /// Where a bin goes: to an instruction, or into a span of some.
    fn placed(
        addresses: &[u64],
        bounds: Range<u64>,
        (start, end): (u64, u64),
    ) -> Result<u64, Range<usize>> {
        let mut all = instructions(addresses);
        let sum = Sum { user: 5, system: 2 };
        let spans = place(&mut all, bounds, &[Bin { start, end, sum }]);
        match &spans[..] {
            [] => {
                let mut with = all.iter().filter(|one| one.sum == sum);
                let address = with.next().expect("one has the ticks").address;
                assert_eq!(all.iter().map(|one| one.sum.ticks()).sum::<u64>(), 7);
                Ok(address)
            }
            [span] => {
                assert_eq!((span.start, span.end, span.sum), (start, end, sum));
                assert!(all.iter().all(|one| one.sum.ticks() == 0));
                Err(span.instructions.clone())
            }
            _ => panic!("one bin is two spans"),
        }
    }

    #[test]
    fn a_bin_is_the_one_instruction_that_begins_in_it() {
        let all = [0x10, 0x13, 0x14, 0x15, 0x16, 0x1d];
        let at = |start, end| placed(&all, 0x10..0x1f, (start, end));
        assert_eq!(at(0x10, 0x12), Ok(0x10));
        assert_eq!(at(0x12, 0x14), Ok(0x13), "the second byte");
        assert_eq!(at(0x14, 0x16), Err(2..4), "two begin in it");
        assert_eq!(at(0x14, 0x15), Ok(0x14), "a stray is exact");
        assert_eq!(at(0x18, 0x1a), Err(5..5), "none begins in it");
        assert_eq!(at(0x1c, 0x1e), Ok(0x1d));
        assert_eq!(at(0x1e, 0x20), Err(6..6), "nor behind the last");
    }

    #[test]
    fn a_bin_that_is_not_all_of_the_function_is_nobodys() {
        let at = |start, end| placed(&[0x11, 0x13], 0x11..0x15, (start, end));
        assert_eq!(at(0x10, 0x12), Err(0..1), "it begins in another function");
        assert_eq!(at(0x12, 0x16), Err(1..2), "it ends in another one");
        // The next function would have this bin, if one began there.
        assert_eq!(placed(&[0x10, 0x12], 0x10..0x13, (0x12, 0x14)), Ok(0x12));
    }
}
