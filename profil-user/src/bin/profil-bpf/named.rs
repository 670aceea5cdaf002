//! A profile with names: by function, and as a person asked for it.

use profil_user::{
    Count, Profile, Taken,
    export::Content,
    pprof::Record,
    symbolize::{Function, Grouping, Symbolizer, View, functions},
};

/// The profile by function, which some formats are made of, and by what a person asked for.
pub(crate) struct Named {
    functions: Vec<Function>,
    /// If it is something else.
    rows: Option<Vec<Function>>,
    /// What a file of record has of names.
    record: Record,
    /// Ticks of which somebody asked for more than a function, and nobody knows it.
    without_source: u64,
}

/// Ticks at addresses of which neither line nor inlined functions are known.
fn ticks_without_source(taken: &Taken, symbolizer: &Symbolizer) -> u64 {
    let counts = taken.profile.counts.iter();
    let unknown =
        counts.filter(|count| symbolizer.source_of(count.object, count.address).is_none());
    unknown.map(Count::ticks).sum()
}

impl Named {
    pub(crate) fn of(taken: &Taken, symbolizer: &Symbolizer, view: &View) -> Self {
        let is_plain = view.is_plain() && taken.profile.tasks.is_empty();
        let wants_source = matches!(view.grouping, Grouping::Inlined | Grouping::Line);
        Self {
            functions: functions(taken, symbolizer),
            without_source: if wants_source {
                ticks_without_source(taken, symbolizer)
            } else {
                0
            },
            rows: (!is_plain).then(|| view.rows(taken, symbolizer)),
            record: Record::of(taken, symbolizer),
        }
    }

    /// One line, if what was asked for is not known of much of the profile.
    pub(crate) fn shortcoming(&self, taken: &Taken) -> Option<String> {
        let ticks = taken.profile.ticks();
        let share = 100.0 * self.without_source as f64 / ticks.max(1) as f64;
        (share >= 10.0).then(|| {
            format!(
                "{share:.0} % of the ticks are in code without debug information, where neither lines \
                 nor inlined functions are known; --debug-dir names the place of debug files"
            )
        })
    }

    pub(crate) fn content<'a>(&'a self, profile: &'a Profile, errors: bool) -> Content<'a> {
        Content {
            profile,
            functions: &self.functions,
            rows: self.rows.as_ref().unwrap_or(&self.functions),
            record: &self.record,
            errors,
        }
    }
}
