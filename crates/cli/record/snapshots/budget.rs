//! How many snapshots may be taken: each stops the recording for as long as perf writes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// So many a minute, in any minute.
pub(super) struct Budget {
    a_minute: usize,
    /// When the last ones were taken, within a minute.
    taken: VecDeque<Instant>,
}

impl Budget {
    pub(super) fn of(a_minute: u32) -> Budget {
        Budget { a_minute: usize::try_from(a_minute).unwrap_or(usize::MAX), taken: VecDeque::new() }
    }

    /// Whether one may be taken now; then it counts as taken.
    pub(super) fn takes(&mut self, now: Instant) -> bool {
        while self.taken.front().is_some_and(|&taken| now.duration_since(taken) >= MINUTE) {
            self.taken.pop_front();
        }
        let may = self.taken.len() < self.a_minute;
        if may {
            self.taken.push_back(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_minute_has_more_than_its_number() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut budget = Budget::of(2);
        assert_eq!([0, 10, 20, 59].map(|second| budget.takes(at(second))), [true, true, false, false]);
        // The first one is a minute ago, the second is not.
        assert_eq!([60, 61, 70].map(|second| budget.takes(at(second))), [true, false, true]);
        assert!(!Budget::of(0).takes(begin));
    }
}
