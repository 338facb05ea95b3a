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
    /// sides, so one sees what comes before and behind.
    pub(crate) fn top(self, count: usize, height: usize) -> usize {
        self.at(count).saturating_sub(height / 2).min(count.saturating_sub(height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_within_the_list() {
        let mut cursor = Cursor::default();
        cursor.step(-1, 10);
        assert_eq!(cursor.at(10), 0);
        cursor.step(isize::MAX, 10);
        assert_eq!(cursor.at(10), 9);
        // The list became shorter by a filter.
        assert_eq!((cursor.at(4), cursor.at(0)), (3, 0));
        cursor.step(-1, 4);
        assert_eq!(cursor.at(4), 2);
    }

    #[test]
    fn it_is_always_in_view() {
        for (at, count, height, top) in [
            (0, 100, 10, 0),
            (5, 100, 10, 0),
            (50, 100, 10, 45),
            (99, 100, 10, 90),
            (3, 5, 10, 0),
            (0, 0, 10, 0),
            (7, 9, 0, 7),
        ] {
            assert_eq!(Cursor::new(at).top(count, height), top, "{at} of {count} in {height}");
        }
    }
}
