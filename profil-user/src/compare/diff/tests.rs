use super::{BY_CHANCE, Change, Diff, Measure, diff};
use crate::{
    options::Rate,
    pprof::{Saved, tests::small},
    profile::{Count, ObjectId},
    symbolize::{Grouping, Name, Names, Symbolizer, WhyUnnamed},
};

/// Functions of one object, `f0` and so on, with these ticks. They begin at `start`.
fn profile(ticks: &[u64], start: u64) -> Saved {
    let (mut profile, _) = small();
    let mut names = Names::default();
    let object = ObjectId::new(0);
    profile.counts.clear();
    for (index, &user) in (0_u64..).zip(ticks) {
        let address = start + 16 * index;
        let name = Name::Function {
            name: format!("f{index}").into(),
            mangled: None,
            start: address,
        };
        names.names.insert((object, address), name);
        if user > 0 {
            profile.counts.push(Count {
                object,
                address,
                user,
                system: 0,
            });
        }
    }
    let mut saved = Saved::new(profile);
    saved.record.names = names;
    saved
}

fn compare(before: &Saved, after: &Saved, measure: Measure) -> Diff {
    let named = |saved: &Saved| {
        let mut symbolizer = Symbolizer::with_debug_dirs(Vec::new());
        symbolizer.complete(saved, saved.record.names.clone());
        symbolizer
    };
    let names = [named(before), named(after)];
    let profiles = [(before, &names[0]), (after, &names[1])];
    diff(profiles, Grouping::Function, measure)
}

#[track_caller]
fn assert_near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9, "{one} is not {other}");
}

fn of<'a>(diff: &'a Diff, name: &str) -> &'a Change {
    let found = diff.changes.iter().find(|change| change.name == name);
    found.unwrap_or_else(|| panic!("no {name}: {diff:#?}"))
}

/// The same functions are elsewhere in the other build.
#[test]
fn a_known_difference_is_found_with_its_error() {
    let (before, after) = (
        profile(&[500, 400, 100], 0x1000),
        profile(&[1400, 420, 180], 0x1400),
    );
    let shares = compare(&before, &after, Measure::Share);
    let order: Vec<_> = shares.changes.iter().map(|change| &*change.name).collect();
    assert_eq!(order, ["f0", "f1", "f2"]);
    let first = of(&shares, "f0");
    assert_near(first.change(), 20.0);
    // p = 1900 / 3000.
    assert_near(
        first.error,
        100.0 * (19.0 / 30.0 * 11.0 / 30.0 * 0.0015_f64).sqrt(),
    );
    assert_near(of(&shares, "f1").change(), -19.0);
    assert_near(of(&shares, "f2").change(), -1.0);
    let significant = |diff: &Diff| ["f0", "f1", "f2"].map(|name| of(diff, name).is_significant());
    assert_eq!(significant(&shares), [true, true, false]);

    let seconds = compare(&before, &after, Measure::Seconds);
    let period = before.profile.rate.period_ns() as f64 / 1e9;
    assert_near(of(&seconds, "f0").change(), 900.0 * period);
    assert_near(of(&seconds, "f1").change(), 20.0 * period);
    assert_near(
        of(&seconds, "f2").error,
        period * (140.0 * 0.9 + 140.0 * 0.91_f64).sqrt(),
    );
    assert_eq!(significant(&seconds), [true, false, true]);
}

#[test]
fn what_only_one_has_is_a_change() {
    let diff = compare(
        &profile(&[90, 10, 0], 0),
        &profile(&[90, 0, 10], 0),
        Measure::Share,
    );
    assert_near(of(&diff, "f1").change(), -10.0);
    assert_near(of(&diff, "f2").change(), 10.0);
    assert!(of(&diff, "f1").is_significant());
    assert_near(of(&diff, "f0").change(), 0.0);
    assert!(!of(&diff, "f0").is_significant());
    // None of a hundred, five of a million: that is no change.
    let few = compare(
        &profile(&[100, 0], 0),
        &profile(&[999_995, 5], 0),
        Measure::Share,
    );
    assert!(!of(&few, "f1").is_significant(), "{few:#?}");
}

#[test]
fn ticks_of_other_lengths_are_compared_in_seconds() {
    let (before, mut after) = (profile(&[300, 100], 0), profile(&[600, 200], 0));
    let half = before.profile.rate.period_ns() / 2;
    after.profile.rate = Rate::measured(1994, half).expect("a rate");
    let diff = compare(&before, &after, Measure::Seconds);
    assert!(
        diff.changes
            .iter()
            .all(|change| change.change().abs() < 1e-6)
    );
    assert!(diff.changes.iter().all(|change| !change.is_significant()));
}

#[test]
fn addresses_without_names_are_one_row_of_their_object() {
    let (mut before, after) = (profile(&[10, 20, 30], 0), profile(&[60], 0));
    for name in before.record.names.names.values_mut() {
        *name = Name::Unnamed(WhyUnnamed::NoSymbols);
    }
    let diff = compare(&before, &after, Measure::Share);
    assert_eq!(diff.changes.len(), 2);
    assert_eq!(of(&diff, "(without a name)").ticks, [60, 0]);
    assert_eq!(of(&diff, "f0").ticks, [0, 60]);
}

/// Two hundred pairs of runs of one program, by a generator with a fixed seed (Knuth's MMIX): no more
/// changes are significant than chance makes so, and no fewer than the half of that.
#[test]
fn noise_is_not_sold_as_change() {
    const FUNCTIONS: usize = 20;
    const PAIRS: usize = 200;
    const TICKS: usize = 2000;

    let mut state = 20_261_130_u64;
    let mut run = |ticks: usize| {
        let mut counts = [0; FUNCTIONS];
        for _ in 0..ticks {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Some are ten times as hot as others.
            let draw = (state >> 33) as usize % 110;
            counts[if draw < 100 {
                draw / 10
            } else {
                10 + draw % 10
            }] += 1;
        }
        profile(&counts, 0x1000)
    };
    for measure in [Measure::Share, Measure::Seconds] {
        let (mut changes, mut significant) = (0_usize, 0_usize);
        for _ in 0..PAIRS {
            let other = if measure == Measure::Share {
                TICKS / 4
            } else {
                TICKS
            };
            let diff = compare(&run(TICKS), &run(other), measure);
            changes += diff.changes.len();
            significant += diff
                .changes
                .iter()
                .filter(|change| change.is_significant())
                .count();
        }
        let expected = BY_CHANCE * changes as f64;
        let found = significant as f64;
        // Four standard deviations of such a number.
        let limit = expected + 4.0 * expected.sqrt();
        assert!(
            found <= limit,
            "{measure:?}: {found} of {changes}, by chance {expected}"
        );
        assert!(
            found >= expected / 2.0,
            "{measure:?}: {found} of {changes}, by chance {expected}"
        );
    }
}
