//! A list of something: which part, how sorted, what is chosen in it.

use profil_user::symbolize::NamePattern;

use super::{
    keys::Step,
    rows::{COLUMNS, Column, Key, List, Order, Row, Scope},
};

/// A list of something.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) list: List,
    pub(crate) scope: Scope,
    pub(crate) order: Order,
    pub(crate) filter: Option<Filter>,
    /// What is chosen; nothing is the first row, whatever it is.
    chosen: Option<Key>,
    pub(crate) index: usize,
    /// The first row that is seen.
    pub(crate) offset: usize,
}

/// A pattern, and how it is written.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) text: String,
    pub(crate) pattern: NamePattern,
}

impl Place {
    pub(crate) fn of(list: List, scope: Scope) -> Self {
        let column = if list == List::Addresses {
            Column::Name
        } else {
            Column::Ten
        };
        Self {
            list,
            scope,
            order: Order {
                column,
                reversed: false,
            },
            filter: None,
            chosen: None,
            index: 0,
            offset: 0,
        }
    }

    /// The columns that rows have here.
    pub(crate) fn columns(&self) -> &'static [Column] {
        if self.list == List::Addresses {
            &[Column::All, Column::Seconds, Column::Name]
        } else {
            &COLUMNS
        }
    }

    fn choose(&mut self, index: usize, rows: &[Row]) {
        self.index = index.min(rows.len().saturating_sub(1));
        let row = rows.get(self.index).filter(|_| self.index > 0);
        self.chosen = row.map(|row| row.key.clone());
    }

    /// Finds again what was chosen, and keeps it in sight where `height` rows are seen.
    pub(crate) fn settle(&mut self, rows: &[Row], height: usize) {
        self.index = match &self.chosen {
            None => 0,
            Some(key) => {
                let found = rows.iter().position(|row| row.key == *key);
                found.unwrap_or_else(|| self.index.min(rows.len().saturating_sub(1)))
            }
        };
        let height = height.max(1);
        let lowest = (self.index + 1).saturating_sub(height);
        let most = rows.len().saturating_sub(height);
        self.offset = self.offset.clamp(lowest, self.index.max(lowest)).min(most);
    }

    /// Chooses a row further up or down, where `page` of them are seen.
    pub(crate) fn go(&mut self, step: Step, rows: &[Row], page: usize) {
        let page = page.max(1).cast_signed();
        let to = match step {
            Step::Rows(rows) => self.index.saturating_add_signed(rows),
            Step::Pages(pages) => self.index.saturating_add_signed(pages * page),
            Step::First => 0,
            Step::Last => usize::MAX,
        };
        self.choose(to, rows);
    }

    /// Sorts by a column further left or right.
    pub(crate) fn next_column(&mut self, steps: isize) {
        let columns = self.columns();
        let mut all = columns.iter();
        let here = all.position(|&column| column == self.order.column);
        let next = here.unwrap_or(0).saturating_add_signed(steps);
        self.order.column = columns[next.min(columns.len() - 1)];
    }
}
