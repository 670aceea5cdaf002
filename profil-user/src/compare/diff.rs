//! What changed between two profiles, and how sure that is.

use std::collections::HashMap;

use crate::{
    export::text::function_name,
    pprof::Saved,
    symbolize::{Function, Grouping, Place, Symbolizer, View},
};

/// In what two profiles are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Measure {
    /// The share of all ticks, in percent: runs of different lengths can be compared.
    Share,
    /// CPU time, in seconds.
    Seconds,
}

/// A function, a line or an object in two profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is called. Untrusted, but without what a terminal would obey.
    pub name: String,
    /// What it lies in. Untrusted: escape it before display.
    pub object: String,
    /// Ticks before and after.
    pub ticks: [u64; 2],
    /// How much that is, before and after.
    pub amounts: [f64; 2],
    /// The standard error of [`Change::change`], if nothing had changed.
    pub error: f64,
}

impl Change {
    /// How much more it is after than before.
    pub fn change(&self) -> f64 {
        self.amounts[1] - self.amounts[0]
    }

    /// Whether that is more than chance does in nineteen of twenty cases: more than two standard
    /// errors.
    pub fn is_significant(&self) -> bool {
        const STANDARD_ERRORS: f64 = 2.0;

        self.change().abs() > STANDARD_ERRORS * self.error
    }
}

/// How many of all changes are significant by chance alone: a normal variable is farther from its
/// mean than two standard deviations so often.
pub const BY_CHANCE: f64 = 0.0455;

/// All changes, the largest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// In what.
    pub measure: Measure,
    /// What has rows.
    pub grouping: Grouping,
    /// The rows.
    pub changes: Vec<Change>,
}

/// One of two profiles, by rows.
#[derive(Clone, Debug)]
struct Side {
    rows: HashMap<(String, String), (String, u64)>,
    total: f64,
    /// Seconds that a tick stands for.
    period: f64,
}

/// Compares two profiles, whose names were completed for this grouping. What is called alike in an object
/// that is called alike is the same, wherever it lies; what has no name is one row for each object.
pub fn diff(profiles: [(&Saved, &Symbolizer); 2], grouping: Grouping, measure: Measure) -> Diff {
    let [mut before, mut after] = profiles.map(|(saved, names)| side(saved, names, grouping));
    let keys: Vec<_> = before
        .rows
        .keys()
        .chain(after.rows.keys())
        .cloned()
        .collect();
    let mut changes = Vec::new();
    for key in keys {
        let found = [before.rows.remove(&key), after.rows.remove(&key)];
        let ticks = [0, 1].map(|one: usize| found[one].as_ref().map_or(0, |(_, ticks)| *ticks));
        // A key that both have comes twice.
        let Some((name, _)) = found.into_iter().flatten().next() else {
            continue;
        };
        let (amounts, error) = match measure {
            Measure::Share => shares(ticks, [before.total, after.total]),
            Measure::Seconds => seconds(ticks, [&before, &after]),
        };
        changes.push(Change {
            name,
            object: key.0,
            ticks,
            amounts,
            error,
        });
    }
    changes.sort_by(|a, b| {
        let by_change = b.change().abs().total_cmp(&a.change().abs());
        by_change.then_with(|| (&a.object, &a.name).cmp(&(&b.object, &b.name)))
    });
    Diff {
        measure,
        grouping,
        changes,
    }
}

fn side(saved: &Saved, symbolizer: &Symbolizer, grouping: Grouping) -> Side {
    let view = View {
        grouping,
        ..View::default()
    };
    let mut rows: HashMap<(String, String), (String, u64)> = HashMap::new();
    for row in view.summed(saved, symbolizer) {
        let object = saved.profile.object(row.object);
        let (key, name) = match &row.name {
            Ok(name) => {
                let shown = function_name(&row, object);
                (key_of(&row, name, &shown), shown)
            }
            // Addresses are others in another build.
            Err(_) => (String::new(), "(without a name)".to_owned()),
        };
        let entry = rows.entry((object.name(), key)).or_insert((name, 0));
        entry.1 = entry.1.saturating_add(row.ticks());
    }
    Side {
        rows,
        total: saved.profile.ticks() as f64,
        period: saved.profile.rate.period_ns() as f64 / 1e9,
    }
}

/// What a row is found by, in an object. Never empty.
fn key_of(row: &Function, name: &str, shown: &str) -> String {
    match row.place {
        Place::Whole => format!("f {}", row.mangled.as_deref().unwrap_or(name)),
        _ => format!("l {shown}"),
    }
}

/// Shares in percent, and the standard error of their difference.
///
/// If nothing changed, both are draws with one probability p, and the difference of the shares has the
/// variance `p (1 - p) (1 / n1 + 1 / n2)`, with the share of both together in place of p (the test for
/// two proportions: G. Casella and R. L. Berger, *Statistical Inference*, 2nd ed., 2002, section 10.3).
pub(crate) fn shares(ticks: [u64; 2], totals: [f64; 2]) -> ([f64; 2], f64) {
    let ticks = ticks.map(|ticks| ticks as f64);
    let totals = totals.map(|total| total.max(1.0));
    let p = ((ticks[0] + ticks[1]) / (totals[0] + totals[1])).min(1.0);
    let variance = p * (1.0 - p) * (1.0 / totals[0] + 1.0 / totals[1]);
    let amounts = [0, 1].map(|one| 100.0 * ticks[one] / totals[one]);
    (amounts, 100.0 * variance.sqrt())
}

/// Seconds, and the standard error of their difference.
///
/// How long each run was is known; what chance decides is which ticks are where. So the ticks of a row are
/// binomial, with the variance `k (1 - p)`, if k are expected; and that is, in both, the time that both
/// together are the best guess of.
fn seconds(ticks: [u64; 2], sides: [&Side; 2]) -> ([f64; 2], f64) {
    let ticks = ticks.map(|ticks| ticks as f64);
    let amount = |one: usize| ticks[one] * sides[one].period;
    let expected = (ticks[0] + ticks[1]) / (1.0 / sides[0].period + 1.0 / sides[1].period);
    let variance = |one: usize| {
        let p = (ticks[one] / sides[one].total.max(1.0)).min(1.0);
        expected * sides[one].period * (1.0 - p)
    };
    ([amount(0), amount(1)], (variance(0) + variance(1)).sqrt())
}

#[cfg(test)]
mod tests;
