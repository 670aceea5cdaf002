//! Two parts of the history, compared.

use std::collections::HashMap;

use super::{
    Cost, Filter, Grouping, History, Item, Selection, Span,
    select::{RowKey, names, row_of},
};
use crate::compare::shares;

/// A row of two spans.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is.
    pub item: Item,
    /// What it cost in the first span, and in the second.
    pub costs: [Cost; 2],
    /// What share of the selection that was, of 1.
    pub shares: [f64; 2],
    /// The standard error of the difference, of 1.
    pub error: f64,
}

impl Change {
    /// How much the share grew, of 1.
    pub fn change(&self) -> f64 {
        self.shares[1] - self.shares[0]
    }

    /// Whether that is more than chance does in nineteen of twenty cases: more than two standard errors.
    pub fn is_significant(&self) -> bool {
        self.change().abs() > 2.0 * self.error
    }
}

impl History {
    /// What changed from a span to another one, the largest change first.
    pub fn compare(
        &self,
        spans: [Span; 2],
        filter: &Filter,
        grouping: Grouping,
    ) -> (Vec<Change>, [Selection; 2]) {
        let mut sides = spans.map(|span| self.select(span, filter, grouping));
        let mut rows: HashMap<RowKey, (Item, [Cost; 2])> = HashMap::new();
        for (side, selection) in sides.iter_mut().enumerate() {
            for item in std::mem::take(&mut selection.items) {
                let key = row_of(&item.owner, &item.spot, item.address, grouping);
                let cost = item.cost;
                let (_, costs) = rows.entry(key).or_insert((item, [Cost::default(); 2]));
                costs[side] = cost;
            }
        }
        let totals = [&sides[0].matched, &sides[1].matched];
        let mut changes: Vec<_> = rows
            .into_values()
            .map(|(item, costs)| {
                let ticks = costs.map(|cost| cost.ticks());
                let (_, percent) = shares(ticks, totals.map(|total| total.ticks() as f64));
                Change {
                    item,
                    costs,
                    shares: [0, 1].map(|side: usize| costs[side].share_of(totals[side])),
                    error: percent / 100.0,
                }
            })
            .collect();
        changes.sort_by(|a, b| {
            let by_change = b.change().abs().total_cmp(&a.change().abs());
            by_change.then_with(|| names(&a.item).cmp(&names(&b.item)))
        });
        (changes, sides)
    }
}
