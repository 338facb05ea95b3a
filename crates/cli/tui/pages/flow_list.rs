//! The flow part of an outlier's page: runs one can unfold to their blocks.

use std::collections::BTreeSet;

use super::cursor::Cursor;
use super::flow::{BlockUse, Flow, FlowRow, Mark, Run};

/// The part.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowPart {
    pub(crate) cursor: Cursor,
    pub(crate) flow: Option<Flow>,
    /// Rows that are unfolded.
    unfolded: BTreeSet<usize>,
}

/// A line of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlowLine<'f> {
    /// A run; whether it is unfolded.
    Run(&'f Run, bool),
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
        *self = FlowPart { cursor, flow: Some(flow), ..FlowPart::default() };
    }

    /// How many lines there are.
    pub(crate) fn count(&self) -> usize {
        let rows = self.flow.as_ref().map_or(0, |flow| flow.rows.len());
        rows + self.unfolded.iter().map(|&row| self.blocks(row).len()).sum::<usize>()
    }

    /// The lines from `top` on, `height` at most.
    pub(crate) fn lines(&self, top: usize, height: usize) -> Vec<FlowLine<'_>> {
        self.all().skip(top).take(height).collect()
    }

    /// All lines.
    pub(crate) fn all(&self) -> impl Iterator<Item = FlowLine<'_>> {
        let rows = self.flow.iter().flat_map(|flow| flow.rows.iter().enumerate());
        rows.flat_map(|(index, row)| {
            let is_unfolded = self.unfolded.contains(&index);
            let (first, blocks) = match row {
                FlowRow::Run(run) => {
                    let blocks: &[BlockUse] = if is_unfolded { &run.blocks } else { &[] };
                    (
                        FlowLine::Run(run, is_unfolded),
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
        let rows = self.flow.as_ref()?.rows.len();
        let mut left = self.cursor.at(self.count());
        let mut row = 0;
        for &unfolded in &self.unfolded {
            if left <= unfolded - row {
                break;
            }
            left -= unfolded - row + 1;
            let blocks = self.blocks(unfolded).len();
            if left < blocks {
                return Some((unfolded, left + 1));
            }
            left -= blocks;
            row = unfolded + 1;
        }
        let row = row + left;
        (row < rows).then_some((row, 0))
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

    /// Unfolds the run under the cursor, or folds it; the cursor goes to it.
    pub(crate) fn set_unfolded(&mut self, is_unfolded: bool) {
        if let Some((row, _)) = self.place() {
            self.set(row, is_unfolded);
        }
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
