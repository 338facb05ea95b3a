//! Explaining records that were read lately: ranges that overlap are read and indexed once.
//!
//! Input: ranges of time. Output: what [`read`](super::read) finds in them, the same. What was found is kept in parts of as many records each,
//! the ones used last; the waits of an interval, what other threads did during them, and the next intervals lie in the same ones. Parts of
//! adjacent records together are indexed by subject, and short ranges are stretches of these.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{PerfTime, TimeConversion, TscRange};
use perfdata::PerfData;

use crate::records::event::SidebandEvent;
use crate::records::read::{event, perf_times};
use crate::records::sideband::{Indexed, Sideband};

/// Records in a part: what a part has outside of a range is read in vain.
const IN_PART: usize = 256;
/// Parts that are kept: some 15 MB.
const MOST_PARTS: usize = 512;

/// Records of the longest range that is a stretch of what others share; a longer one is indexed alone.
const MOST_SHARED: usize = 8_192;
/// Records of the shortest such stretch.
const LEAST_SHARED: usize = 1024;
/// Stretches that are kept: some 30 MB at the most.
const MOST_STRETCHES: usize = 16;

/// What was read lately from one capture.
#[derive(Debug, Default)]
pub struct RecentRecords {
    parts: Mutex<Kept<Part>>,
    stretches: Mutex<Kept<Arc<Stretch>>>,
}

/// What was used last, by number, with when that was.
#[derive(Debug)]
struct Kept<T> {
    kept: HashMap<(usize, usize), (u64, T)>,
    used: u64,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { kept: HashMap::new(), used: 0 }
    }
}

/// The explaining records of a part, with their own time, in its order.
type Part = Arc<[(PerfTime, SidebandEvent)]>;

/// The explaining records of adjacent parts.
#[derive(Debug)]
struct Stretch {
    /// The own time of each event.
    times: Vec<PerfTime>,
    events: Arc<Indexed>,
}

impl RecentRecords {
    /// The explaining records of `perf`, always the same, within `range`.
    pub(crate) fn within(&self, perf: &PerfData, range: TscRange, conversion: TimeConversion) -> Sideband {
        let times = perf_times(range, conversion);
        let places = perf.places_in(times.clone());
        if places.len() <= MOST_SHARED {
            let stretch = self.stretch(&places, perf, conversion);
            // The later record with a callchain's end may lie outside of the range.
            if !stretch.events.has_later_chains() {
                let from = stretch.times.partition_point(|time| *time < times.start);
                let until = stretch.times.partition_point(|time| *time < times.end);
                return Sideband::part_of(stretch.events.clone(), from, until);
            }
        }
        let is_within = |time: PerfTime| times.contains(&time);
        Sideband::new(
            self.events(&places, perf, conversion)
                .filter(|(time, _)| is_within(*time))
                .map(|(_, event)| event)
                .collect(),
        )
    }

    /// A stretch in which `places` lie: of twice the power of two that they have room in, from a multiple of that on.
    fn stretch(&self, places: &Range<usize>, perf: &PerfData, conversion: TimeConversion) -> Arc<Stretch> {
        let size = places.len().next_power_of_two().max(LEAST_SHARED);
        let number = places.start / size;
        if let Some(stretch) = lock(&self.stretches).find((size, number)) {
            return stretch;
        }
        let (times, events) = self.events(&(number * size..(number + 2) * size), perf, conversion).unzip();
        let stretch = Arc::new(Stretch { times, events: Arc::new(Indexed::new(events)) });
        lock(&self.stretches).keep((size, number), stretch.clone(), MOST_STRETCHES);
        stretch
    }

    /// The explaining records of the parts in which `places` lie, with their own times, in the order of time.
    fn events(
        &self,
        places: &Range<usize>,
        perf: &PerfData,
        conversion: TimeConversion,
    ) -> impl Iterator<Item = (PerfTime, SidebandEvent)> {
        let parts = places.start / IN_PART..places.end.div_ceil(IN_PART);
        parts.flat_map(move |number| {
            let part = self.part(number, perf, conversion);
            (0..part.len()).map(move |index| part[index].clone())
        })
    }

    fn part(&self, number: usize, perf: &PerfData, conversion: TimeConversion) -> Part {
        if let Some(part) = lock(&self.parts).find((0, number)) {
            return part;
        }
        let records = perf.records_at(number * IN_PART..(number + 1) * IN_PART);
        let explaining = records.filter_map(|timed| Some((timed.time?, event(perf, &timed, conversion)?)));
        let part: Part = explaining.collect();
        lock(&self.parts).keep((0, number), part.clone(), MOST_PARTS);
        part
    }
}

fn lock<T>(kept: &Mutex<Kept<T>>) -> MutexGuard<'_, Kept<T>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Clone> Kept<T> {
    fn find(&mut self, number: (usize, usize)) -> Option<T> {
        self.used += 1;
        let (used, kept) = self.kept.get_mut(&number)?;
        *used = self.used;
        Some(kept.clone())
    }

    /// Keeps `one`, and no more than `most`.
    fn keep(&mut self, number: (usize, usize), one: T, most: usize) {
        if self.kept.len() >= most {
            // The older half at once, so that it is seldom searched for.
            let mut uses: Vec<u64> = self.kept.values().map(|(used, _)| *used).collect();
            let (_, middle, _) = uses.select_nth_unstable(most / 2);
            let middle = *middle;
            self.kept.retain(|_, (used, _)| *used > middle);
        }
        self.kept.insert(number, (self.used, one));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_were_not_used_lately_go() {
        let mut kept = Kept::<Part>::default();
        let none: Part = Arc::new([]);
        for number in 0..MOST_PARTS {
            assert!(kept.find((0, number)).is_none());
            kept.keep((0, number), none.clone(), MOST_PARTS);
        }
        assert!((0..MOST_PARTS).all(|number| kept.kept.contains_key(&(0, number))));
        assert!(kept.find((0, 1)).is_some() && kept.find((0, MOST_PARTS)).is_none());
        kept.keep((0, MOST_PARTS), none, MOST_PARTS);
        let left = [0, 1, 2, MOST_PARTS - 1, MOST_PARTS].map(|number| kept.kept.contains_key(&(0, number)));
        assert_eq!(left, [false, true, false, true, true]);
        assert!(kept.kept.len() <= MOST_PARTS / 2 + 1);
    }
}
