//! Explaining records that were read lately: ranges that overlap are read and indexed once.
//!
//! Input: ranges of time. Output: what [`read`](super::read) finds in them, the same. What was found is kept in parts of as many records each,
//! the ones used last; the waits of an interval, what other threads did during them, and the next intervals lie in the same ones. Where many
//! short ranges lie close together, all records there are indexed by subject once, and each range is a part of that.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{PerfTime, TimeConversion, TscRange};
use perfdata::PerfData;

use crate::records::event::SidebandEvent;
use crate::records::read::{event, may_explain, perf_times};
use crate::records::sideband::{Indexed, Sideband};

/// Records in a part: what a part has outside of a range is read in vain.
const IN_PART: usize = 256;
/// Parts that are kept: some 15 MB.
const MOST_PARTS: usize = 512;

/// For ranges of this many records at the most: how far apart the stretches begin that hold them. A stretch reaches as far into the next one
/// as such a range may.
const STRETCHES: [(usize, usize); 2] = [(4096, 16_384), (16_384, 32_768)];
/// Stretches that are kept: some 30 MB at the most.
const MOST_STRETCHES: usize = 6;

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
        self.alone(&times, &places, perf, conversion)
    }

    /// The same of one of many ranges that lie close together and are looked at in the order of time.
    pub(crate) fn within_dense(
        &self,
        perf: &PerfData,
        range: TscRange,
        conversion: TimeConversion,
    ) -> Sideband {
        let times = perf_times(range, conversion);
        let places = perf.places_in(times.clone());
        let stretch = self.stretch(&places, perf, conversion);
        // The later record with a callchain's end may lie outside of the range.
        let Some(stretch) = stretch.filter(|stretch| !stretch.events.has_later_chains()) else {
            return self.alone(&times, &places, perf, conversion);
        };
        let from = stretch.times.partition_point(|time| *time < times.start);
        let until = stretch.times.partition_point(|time| *time < times.end);
        Sideband::part_of(stretch.events.clone(), from, until)
    }

    /// The explaining records of `times`, which lie at `places`, for nothing else.
    fn alone(
        &self,
        times: &Range<PerfTime>,
        places: &Range<usize>,
        perf: &PerfData,
        conversion: TimeConversion,
    ) -> Sideband {
        let mut events = Vec::new();
        for number in parts_of(places) {
            let part = self.part(number, perf, conversion);
            let from = part.partition_point(|(time, _)| *time < times.start);
            let until = part.partition_point(|(time, _)| *time < times.end);
            events.extend(part[from..until].iter().map(|(_, event)| event.clone()));
        }
        Sideband::new(events)
    }

    /// A stretch in which `places` lie; `None` where they are too many.
    fn stretch(
        &self,
        places: &Range<usize>,
        perf: &PerfData,
        conversion: TimeConversion,
    ) -> Option<Arc<Stretch>> {
        let &(most, apart) = STRETCHES.iter().find(|(most, _)| places.len() <= *most)?;
        let number = places.start / apart;
        if let Some(stretch) = lock(&self.stretches).find((apart, number)) {
            return Some(stretch);
        }
        // Read for itself: parts of it would be kept for none but the stretch after it.
        let within = number * apart..(number + 1) * apart + most;
        let (mut times, mut events) = (Vec::with_capacity(within.len()), Vec::with_capacity(within.len()));
        for (time, event) in explaining(perf, within, conversion) {
            times.push(time);
            events.push(event);
        }
        let stretch = Arc::new(Stretch { times, events: Arc::new(Indexed::new(events)) });
        lock(&self.stretches).keep((apart, number), stretch.clone(), MOST_STRETCHES);
        Some(stretch)
    }

    fn part(&self, number: usize, perf: &PerfData, conversion: TimeConversion) -> Part {
        if let Some(part) = lock(&self.parts).find((0, number)) {
            return part;
        }
        let part: Part = explaining(perf, number * IN_PART..(number + 1) * IN_PART, conversion).collect();
        lock(&self.parts).keep((0, number), part.clone(), MOST_PARTS);
        part
    }
}

/// The explaining ones among the records at these places in the order of time, with their own time.
fn explaining(
    perf: &PerfData,
    places: Range<usize>,
    conversion: TimeConversion,
) -> impl Iterator<Item = (PerfTime, SidebandEvent)> {
    let records = perf.records_at(places).without_switches().of_events(may_explain);
    records.filter_map(move |timed| Some((timed.time?, event(perf, &timed, conversion)?)))
}

/// The numbers of the parts in which `places` lie.
fn parts_of(places: &Range<usize>) -> Range<usize> {
    places.start / IN_PART..places.end.div_ceil(IN_PART)
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
