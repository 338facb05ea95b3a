//! The flow part of an outlier's page: runs one can unfold to their blocks.

use std::collections::BTreeSet;

use super::cursor::Cursor;
use super::flow::{BlockUse, Flow, FlowRow, Mark, Run};

/// The part.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowPart {
    pub(crate) cursor: Cursor,
    pub(crate) flow: Option<Flow>,
    /// Rows whose blocks are shown.
    unfolded: BTreeSet<usize>,
    /// Rows whose calls are not shown.
    folded: BTreeSet<usize>,
    /// The rows that are, in order.
    shown: Vec<usize>,
}

/// A line of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlowLine<'f> {
    /// A run; whether its blocks are shown, and how many rows of its calls are not.
    Run(&'f Run, bool, usize),
    /// One of its blocks.
    Block(&'f Run, &'f BlockUse),
    /// Anything else.
    Mark(&'f Mark),
}

impl FlowPart {
    /// Shows `flow`; the run that took longest is under the cursor.
    pub(crate) fn show(&mut self, flow: Flow) {
        let time = |row: &FlowRow| match row {
            FlowRow::Run(run) => Some(run.duration),
            FlowRow::Mark(_) => None,
        };
        let longest = flow.rows.iter().enumerate().rev().max_by_key(|(_, row)| time(row));
        let cursor = Cursor::new(longest.map_or(0, |(index, _)| index));
        let shown = (0..flow.rows.len()).collect();
        *self = FlowPart { cursor, flow: Some(flow), shown, ..FlowPart::default() };
    }

    fn rows(&self) -> &[FlowRow] {
        self.flow.as_ref().map_or(&[], |flow| &flow.rows)
    }

    /// Finds anew which rows are shown.
    fn fold(&mut self) {
        let mut within = None;
        let mut shown = Vec::new();
        for (index, row) in self.rows().iter().enumerate() {
            let depth = row.depth();
            if within.is_some_and(|caller| depth > caller) {
                continue;
            }
            within = self.folded.contains(&index).then_some(depth);
            shown.push(index);
        }
        self.shown = shown;
    }

    /// Whether something stands below the row at `row`.
    fn has_calls(&self, row: usize) -> bool {
        let rows = self.rows();
        rows.get(row + 1).is_some_and(|next| next.depth() > rows[row].depth())
    }

    /// How many lines there are.
    pub(crate) fn count(&self) -> usize {
        let unfolded = self.unfolded.iter().filter(|row| self.shown.binary_search(row).is_ok());
        self.shown.len() + unfolded.map(|&row| self.blocks(row).len()).sum::<usize>()
    }

    /// The lines from `top` on, `height` at most.
    pub(crate) fn lines(&self, top: usize, height: usize) -> Vec<FlowLine<'_>> {
        self.all().skip(top).take(height).collect()
    }

    /// All lines.
    pub(crate) fn all(&self) -> impl Iterator<Item = FlowLine<'_>> {
        let rows = self.rows();
        let next = self.shown.iter().skip(1).copied().chain([rows.len()]);
        self.shown.iter().zip(next).flat_map(move |(&index, next)| {
            let row = &rows[index];
            let is_unfolded = self.unfolded.contains(&index);
            let (first, blocks) = match row {
                FlowRow::Run(run) => {
                    let blocks: &[BlockUse] = if is_unfolded { &run.blocks } else { &[] };
                    (
                        FlowLine::Run(run, is_unfolded, next - index - 1),
                        blocks.iter().map(|used| FlowLine::Block(run, used)).collect(),
                    )
                }
                FlowRow::Mark(mark) => (FlowLine::Mark(mark), Vec::new()),
            };
            [first].into_iter().chain(blocks)
        })
    }

    /// The row under the cursor, and which of its lines.
    fn place(&self) -> Option<(usize, usize)> {
        let mut left = self.cursor.at(self.count());
        let mut at = 0;
        for &unfolded in &self.unfolded {
            let Ok(place) = self.shown.binary_search(&unfolded) else { continue };
            if left <= place - at {
                break;
            }
            left -= place - at + 1;
            let blocks = self.blocks(unfolded).len();
            if left < blocks {
                return Some((unfolded, left + 1));
            }
            left -= blocks;
            at = place + 1;
        }
        self.shown.get(at + left).map(|&row| (row, 0))
    }

    fn blocks(&self, row: usize) -> &[BlockUse] {
        match self.flow.as_ref().and_then(|flow| flow.rows.get(row)) {
            Some(FlowRow::Run(run)) => &run.blocks,
            _ => &[],
        }
    }

    /// Unfolds or folds the run under the cursor.
    pub(crate) fn toggle(&mut self) {
        if let Some((row, _)) = self.place() {
            self.set(row, !self.unfolded.contains(&row));
        }
    }

    /// Shows the calls of the run under the cursor, and then its blocks; or hides its blocks, and then its calls. The cursor goes to it,
    /// or to the caller where nothing is left to hide.
    pub(crate) fn set_unfolded(&mut self, is_unfolded: bool) {
        let Some((row, _)) = self.place() else { return };
        if is_unfolded && self.folded.remove(&row) {
            self.fold();
        } else if !is_unfolded && !self.unfolded.contains(&row) && self.has_calls(row) {
            self.folded.insert(row);
            self.fold();
        } else if !is_unfolded && !self.unfolded.contains(&row) {
            self.go_to_caller(row);
        } else {
            self.set(row, is_unfolded);
        }
    }

    /// The cursor goes to the nearest row above that is less deep.
    fn go_to_caller(&mut self, row: usize) {
        let (rows, depth) = (self.rows(), self.rows()[row].depth());
        let above = self.shown.partition_point(|&shown| shown < row);
        let Some(caller) = self.shown[..above].iter().rposition(|&shown| rows[shown].depth() < depth) else {
            return;
        };
        let blocks =
            self.unfolded.iter().filter(|unfolded| self.shown[..caller].binary_search(unfolded).is_ok());
        let lines = blocks.map(|&unfolded| self.blocks(unfolded).len()).sum::<usize>();
        self.cursor = Cursor::new(caller + lines);
    }

    fn set(&mut self, row: usize, is_unfolded: bool) {
        if let Some((at, line)) = self.place().filter(|&(at, _)| at == row && !is_unfolded)
            && line > 0
        {
            let count = self.count();
            self.cursor.step(-isize::try_from(line).unwrap_or(isize::MAX), count);
            debug_assert_eq!(self.place().map(|(row, _)| row), Some(at));
        }
        if is_unfolded && !self.blocks(row).is_empty() {
            self.unfolded.insert(row);
        } else {
            self.unfolded.remove(&row);
        }
    }

    /// The block to open: the one under the cursor, or the longest of the run under it.
    pub(crate) fn block(&self) -> Option<BlockUse> {
        let (row, line) = self.place()?;
        let blocks = self.blocks(row);
        match line.checked_sub(1) {
            Some(block) => blocks.get(block).copied(),
            None => blocks.iter().rev().max_by_key(|used| used.duration).copied(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
