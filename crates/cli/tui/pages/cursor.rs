//! A place in a list.

/// The line one stands on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    at: usize,
}

impl Cursor {
    /// At the first line.
    pub(crate) const FIRST: Cursor = Cursor { at: 0 };

    /// At line `at`.
    pub(crate) fn new(at: usize) -> Cursor {
        Cursor { at }
    }

    /// The line, within a list of `count`.
    pub(crate) fn at(self, count: usize) -> usize {
        self.at.min(count.saturating_sub(1))
    }

    /// `lines` further (backwards where negative), within a list of `count`.
    pub(crate) fn step(&mut self, lines: isize, count: usize) {
        self.at = self.at(count).saturating_add_signed(lines).min(count.saturating_sub(1));
    }

    /// The first line shown where `height` of `count` fit: the cursor stays in the middle while there is more on both
    /// sides, so one sees what comes before and after.
    pub(crate) fn top(self, count: usize, height: usize) -> usize {
        self.at(count).saturating_sub(height / 2).min(count.saturating_sub(height))
    }
}

#[cfg(test)]
mod tests;
