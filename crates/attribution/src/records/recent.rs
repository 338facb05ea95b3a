//! Explaining records that were read lately: ranges that overlap are read once.
//!
//! Input: ranges of time. Output: what [`read`](super::read) finds in them, the same. What was found is kept in parts of as many records each,
//! the ones used last; the waits of an interval, what other threads did during them, and the next intervals lie in the same ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{PerfTime, TimeConversion, TscRange};
use perfdata::PerfData;

use crate::records::event::SidebandEvent;
use crate::records::read::{event, perf_times};

/// Records in a part: what a part has outside of a range is read in vain.
const IN_PART: usize = 256;
/// Parts that are kept: some 15 MB.
const MOST_PARTS: usize = 512;

/// What was read lately from one capture.
#[derive(Debug, Default)]
pub struct RecentRecords {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By number, with when it was used last.
    parts: HashMap<usize, (u64, Part)>,
    used: u64,
}

/// The explaining records of a part, with their own time, in its order.
type Part = Arc<[(PerfTime, SidebandEvent)]>;

impl RecentRecords {
    /// The explaining records of `perf`, always the same, within `range`, in time order.
    pub(crate) fn within(
        &self,
        perf: &PerfData,
        range: TscRange,
        conversion: TimeConversion,
    ) -> Vec<SidebandEvent> {
        let times = perf_times(range, conversion);
        let places = perf.places_in(times.clone());
        let mut events = Vec::new();
        for number in places.start / IN_PART..places.end.div_ceil(IN_PART) {
            let part = self.part(number, perf, conversion);
            let from = part.partition_point(|(time, _)| *time < times.start);
            let until = part.partition_point(|(time, _)| *time < times.end);
            events.extend(part[from..until].iter().map(|(_, event)| event.clone()));
        }
        events
    }

    fn part(&self, number: usize, perf: &PerfData, conversion: TimeConversion) -> Part {
        if let Some(part) = self.lock().find(number) {
            return part;
        }
        let records = perf.records_at(number * IN_PART..(number + 1) * IN_PART);
        let explaining = records.filter_map(|timed| Some((timed.time?, event(perf, &timed, conversion)?)));
        let part: Part = explaining.collect();
        self.lock().keep(number, part.clone());
        part
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn find(&mut self, number: usize) -> Option<Part> {
        self.used += 1;
        let (used, part) = self.parts.get_mut(&number)?;
        *used = self.used;
        Some(part.clone())
    }

    fn keep(&mut self, number: usize, part: Part) {
        if self.parts.len() >= MOST_PARTS {
            // The older half at once, so that it is seldom searched for.
            let mut uses: Vec<u64> = self.parts.values().map(|(used, _)| *used).collect();
            let (_, middle, _) = uses.select_nth_unstable(MOST_PARTS / 2);
            let middle = *middle;
            self.parts.retain(|_, (used, _)| *used > middle);
        }
        self.parts.insert(number, (self.used, part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_were_not_used_lately_go() {
        let mut kept = Kept::default();
        let none: Part = Arc::new([]);
        for number in 0..MOST_PARTS {
            assert!(kept.find(number).is_none());
            kept.keep(number, none.clone());
        }
        assert!((0..MOST_PARTS).all(|number| kept.parts.contains_key(&number)));
        assert!(kept.find(1).is_some() && kept.find(MOST_PARTS).is_none());
        kept.keep(MOST_PARTS, none);
        let left = [0, 1, 2, MOST_PARTS - 1, MOST_PARTS].map(|number| kept.parts.contains_key(&number));
        assert_eq!(left, [false, true, false, true, true]);
        assert!(kept.parts.len() <= MOST_PARTS / 2 + 1);
    }
}
