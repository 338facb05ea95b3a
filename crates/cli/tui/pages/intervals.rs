//! The page of intervals: which are listed, in what order, and the one the cursor is on.
//!
//! Input: the overview's rows, a filter, a column. Output: indices into the rows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use report::cells::width;
use report::for_terminal;

use super::cursor::Cursor;
use super::explained::Explained;
use super::overview::{Overview, Row};
use crate::args::text::duration_ns;

/// What the list is ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Column {
    /// The longest first.
    #[default]
    Duration,
    /// The earliest first.
    Start,
    /// The smallest first.
    Id,
    /// By name, then the longest first.
    Label,
    /// By name, then the longest first.
    Thread,
}

impl Column {
    /// The next one, around the table.
    fn next(self) -> Column {
        match self {
            Column::Duration => Column::Start,
            Column::Start => Column::Id,
            Column::Id => Column::Label,
            Column::Label => Column::Thread,
            Column::Thread => Column::Duration,
        }
    }

    /// As the header calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Column::Duration => "duration",
            Column::Start => "at",
            Column::Id => "id",
            Column::Label => "label",
            Column::Thread => "thread",
        }
    }
}

/// The page.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntervalsPage {
    /// What the user typed to narrow the list.
    pub(crate) filter: String,
    pub(crate) column: Column,
    pub(crate) is_reversed: bool,
    /// Whether all intervals are listed and not the chosen ones alone.
    pub(crate) is_everything: bool,
    pub(crate) cursor: Cursor,
    /// Indices of the listed rows, in order.
    pub(crate) listed: Vec<usize>,
    /// What the widest of them need.
    pub(crate) widest: Widest,
}

/// Columns that the listed rows need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Widest {
    pub(crate) id: usize,
    pub(crate) label: usize,
    pub(crate) thread: usize,
}

/// What is known of intervals by now.
pub(crate) type Known = BTreeMap<usize, Rc<Explained>>;

impl IntervalsPage {
    /// Lists anew, the cursor staying on its interval where that is still listed.
    pub(crate) fn list(&mut self, overview: &Overview, known: &Known) {
        let before = self.current();
        let terms: Vec<Term> = self.filter.split_whitespace().map(Term::of).collect();
        let passes = |&index: &usize| {
            let row = &overview.rows[index];
            (self.is_everything || row.is_chosen) && terms.iter().all(|term| term.holds(row, known))
        };
        self.listed = (0..overview.rows.len()).filter(passes).collect();
        self.order(&overview.rows);
        self.widest = Widest::of(self.listed.iter().map(|&row| &overview.rows[row]));
        let place = before.and_then(|row| self.listed.iter().position(|&listed| listed == row));
        self.cursor = Cursor::new(place.unwrap_or(0));
    }

    fn order(&mut self, rows: &[Row]) {
        let longest = |&index: &usize| (Reverse(rows[index].duration), rows[index].start);
        match self.column {
            Column::Duration => self.listed.sort_by_key(longest),
            Column::Start => self.listed.sort_by_key(|&index| rows[index].start),
            Column::Id => self.listed.sort_by_key(|&index| rows[index].id),
            Column::Label => self.listed.sort_by_key(|&index| (&rows[index].label, longest(&index))),
            Column::Thread => self.listed.sort_by_key(|&index| (&rows[index].thread, longest(&index))),
        }
        if self.is_reversed {
            self.listed.reverse();
        }
    }

    /// The row under the cursor.
    pub(crate) fn current(&self) -> Option<usize> {
        self.listed.get(self.cursor.at(self.listed.len())).copied()
    }

    /// Goes on to the next column.
    pub(crate) fn sort(&mut self, overview: &Overview, known: &Known) {
        self.column = self.column.next();
        self.list(overview, known);
    }
}

impl Widest {
    /// There are few different names, so each is measured once.
    fn of<'r>(rows: impl Iterator<Item = &'r Row>) -> Widest {
        let mut names = (BTreeSet::new(), BTreeSet::new());
        let mut last = 0;
        for row in rows {
            last = last.max(row.id);
            names.0.insert(&*row.label);
            names.1.insert(&*row.thread);
        }
        let widest = |names: BTreeSet<&str>| {
            names.into_iter().map(|name| width(&for_terminal(name))).max().unwrap_or(0)
        };
        Widest { id: last.to_string().len(), label: widest(names.0), thread: widest(names.1) }
    }
}

/// One word of a filter.
enum Term {
    /// `>50us`: strictly longer.
    Longer(u64),
    /// `<2ms`: strictly shorter.
    Shorter(u64),
    /// Anything else must occur in the row, whatever its case.
    Word(String),
}

impl Term {
    fn of(word: &str) -> Term {
        let length = |text: &str| duration_ns(text).ok();
        let longer = word.strip_prefix('>').and_then(length).map(Term::Longer);
        let shorter = || word.strip_prefix('<').and_then(length).map(Term::Shorter);
        longer.or_else(shorter).unwrap_or_else(|| Term::Word(word.to_lowercase()))
    }

    fn holds(&self, row: &Row, known: &Known) -> bool {
        match self {
            Term::Longer(limit) => row.duration > *limit,
            Term::Shorter(limit) => row.duration < *limit,
            Term::Word(word) => words_of(row, known).to_lowercase().contains(word),
        }
    }
}

/// All that a search may find in a row.
pub(crate) fn words_of(row: &Row, known: &Known) -> String {
    let verdict = known.get(&row.index).map(|known| report::headline(&known.outlier)).unwrap_or_default();
    format!("{} {} {} {} {verdict}", row.id, row.label, row.key, row.thread)
}

#[cfg(test)]
mod tests;
