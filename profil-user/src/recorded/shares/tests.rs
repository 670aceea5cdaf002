use proptest::prelude::*;

use super::{Shares, of};
use crate::{import::gmon::Histogram, symbolize::Extents};

fn histogram(low: u64, bytes: u64, bins: &[u64]) -> Histogram {
    let bins = bins.to_vec();
    Histogram { low, bytes, bins }
}

/// Ticks by address, of functions at (address, size).
fn ticks(histograms: &[Histogram], functions: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let extents = Extents::of(functions.to_vec(), |_| None);
    let shares = of(histograms, &extents);
    list(&shares)
}

fn list(shares: &Shares) -> Vec<(u64, u64)> {
    let counts = shares.counts.iter();
    counts.map(|count| (count.address, count.ticks())).collect()
}

#[test]
fn a_bin_in_one_function_is_that_functions() {
    let bins = histogram(0x1000, 16, &[1, 2, 3, 4]);
    let functions = [(0x1000, 8), (0x1008, 8)];
    assert_eq!(ticks(&[bins], &functions), [(0x1000, 3), (0x1008, 7)]);
}

#[test]
fn a_bin_in_several_is_shared_by_bytes() {
    let bins = histogram(0x1000, 16, &[1000]);
    let functions = [(0x1000, 6), (0x1006, 10)];
    let shares = of(
        std::slice::from_ref(&bins),
        &Extents::of(functions.to_vec(), |_| None),
    );
    assert_eq!(list(&shares), [(0x1000, 375), (0x1006, 625)]);
    assert_eq!(shares.shared, 1000);
}

#[test]
fn padding_counts_with_the_function_before_it() {
    let bins = histogram(0x1000, 16, &[100]);
    // Two bytes of text and six of padding; eight bytes of text.
    let functions = [(0x1000, 2), (0x1008, 8)];
    assert_eq!(ticks(&[bins], &functions), [(0x1000, 50), (0x1008, 50)]);
}

#[test]
fn no_bin_is_the_neighbours() {
    let bins = histogram(0x1000, 16, &[0, 5, 7, 9]);
    // The second bin is past the function before it; the third is padding and text.
    let functions = [(0x1000, 4), (0x100a, 2)];
    assert_eq!(
        ticks(&[bins], &functions),
        [(0x1004, 5), (0x100a, 7), (0x100c, 9)]
    );
}

#[test]
fn a_width_of_a_fraction_has_its_true_limits() {
    // Three bins in eight bytes: up to 2.67, 5.33 and 8.
    let bins = histogram(0x1000, 8, &[300, 300, 300]);
    let functions = [(0x1000, 4), (0x1004, 4)];
    assert_eq!(ticks(&[bins], &functions), [(0x1000, 450), (0x1004, 450)]);
}

#[test]
fn functions_are_found_from_one_histogram_to_the_next() {
    let histograms = [histogram(0x1000, 4, &[1]), histogram(0x2000, 4, &[2])];
    assert_eq!(ticks(&histograms, &[(0x0800, 0x4000)]), [(0x0800, 3)]);
}

#[test]
fn bins_of_exabytes_are_shared_too() {
    let bins = histogram(0, u64::MAX, &[u64::from(u32::MAX), 1]);
    let functions = [(0, 1 << 62), (1 << 62, 1 << 62), (u64::MAX - 9, 9)];
    let all: u64 = ticks(&[bins], &functions).iter().map(|one| one.1).sum();
    assert_eq!(all, u64::from(u32::MAX) + 1);
}

proptest! {
    /// Against a definition without shortcuts, byte by byte and in fractions; and nothing is lost.
    #[test]
    fn agrees_with_the_definition(
        low in 0x1000_u64..0x1010,
        bytes in 1_u64..64,
        bins in prop::collection::vec(prop_oneof![Just(0_u64), 1_u64..1000], 1..24),
        functions in prop::collection::vec((0x7f8_u64..0x828, 1_u64..6), 0..6),
    ) {
        let bytes = bytes.max(bins.len() as u64);
        // In whole units, and none inside another.
        let mut functions: Vec<_> =
            functions.into_iter().map(|(start, size)| (2 * start, 2 * size)).collect();
        functions.sort_unstable();
        functions.dedup_by_key(|one| one.0);
        for index in 1..functions.len() {
            let next = functions[index].0;
            let before = &mut functions[index - 1];
            before.1 = before.1.min(next - before.0);
        }
        let given = ticks(&[histogram(low, bytes, &bins)], &functions);
        prop_assert_eq!(given.iter().map(|one| one.1).sum::<u64>(), bins.iter().sum::<u64>());

        for &(start, size) in &functions {
            let mut due = 0.0;
            let width = bytes as f64 / bins.len() as f64;
            for (index, &count) in bins.iter().enumerate() {
                let (from, to) = (low as f64 + index as f64 * width, low as f64 + (index + 1) as f64 * width);
                let within = |start: f64, end: f64| (end.min(to) - start.max(from)).max(0.0);
                // What a function has, and the padding after it up to the next one.
                let share = |index: usize| {
                    let (start, size) = functions[index];
                    let end = functions.get(index + 1).map_or(f64::INFINITY, |next| next.0 as f64);
                    let text = within(start as f64, (start + size) as f64);
                    if text < 1e-9 { 0.0 } else { within(start as f64, end) }
                };
                let all: f64 = (0..functions.len()).map(share).sum();
                let this = functions.iter().position(|one| one.0 == start).unwrap();
                if all > 0.0 {
                    due += count as f64 * share(this) / all;
                }
            }
            let got = given.iter().find(|one| one.0 == start).map_or(0, |one| one.1);
            // Only the bins at the two ends are rounded, and bins narrower than a unit.
            let bound = 1.0 + bins.len() as f64 / 2.0;
            prop_assert!((got as f64 - due).abs() <= bound, "{start:#x}+{size}: {got} of {due}");
        }
    }
}
