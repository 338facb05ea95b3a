//! Explaining records that were read lately: ranges that overlap are read and indexed once.
//!
//! Input: ranges of time. Output: what [`read`](super::read) finds in them, the same. The waits of an interval, what other threads did during
//! them, and the next intervals lie in the same records: these are read in stretches and indexed by subject once, and each range is a part of
//! a stretch. The stretches used last are kept. What no stretch can serve is put together out of parts of as many records each.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use model::{PerfTime, TimeConversion, TscRange};
use perfdata::{Found, PerfData};

use crate::records::event::SidebandEvent;
use crate::records::read::{event, may_explain, perf_times};
use crate::records::readers::Readers;
use crate::records::sideband::{Indexed, Sideband};

/// Records in a part: what a part has outside of a range is read in vain.
const IN_PART: usize = 256;
/// Parts that are kept: some 15 MB.
const MOST_PARTS: usize = 512;

/// The stretches of ranges near which others lie.
const DENSE: [Reach; 2] = [Reach { most: 4096, apart: 16_384 }, Reach { most: 16_384, apart: 32_768 }];
/// The most records of a range near which others are not known to lie: the next power of two, not less or more than these.
const SHORTEST: usize = 512;
const LONGEST: usize = 32_768;
/// Records in the stretches that are kept: some 40 MB.
const MOST_IN_STRETCHES: usize = 1 << 18;

/// Which stretches hold ranges of up to so many records: how far apart they begin. Each reaches as far into the next one as such a range may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Reach {
    most: usize,
    apart: usize,
}

/// The parts.
const PARTS: Reach = Reach { most: 0, apart: IN_PART };

/// Of which kind one is, and its number.
type Key = (Reach, usize);

/// What was read lately from one capture.
#[derive(Debug, Default)]
pub struct RecentRecords {
    parts: Mutex<Kept<Part>>,
    stretches: Mutex<Kept<Arc<Stretch>>>,
    readers: OnceLock<Readers>,
    are_dense: AtomicBool,
}

/// What was used last, by number.
#[derive(Debug)]
struct Kept<T> {
    all: HashMap<Key, Used<T>>,
    uses: u64,
    /// The sizes of all.
    size: usize,
}

/// One of them, when it was used, and how large it is.
#[derive(Debug)]
struct Used<T> {
    at: u64,
    size: usize,
    what: T,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { all: HashMap::new(), uses: 0, size: 0 }
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
        let are_dense = self.are_dense.load(Ordering::Relaxed);
        self.within_one_of(perf, range, conversion, |records| {
            let size = records.max(SHORTEST).next_power_of_two();
            let alone = (size <= LONGEST).then_some(Reach { most: size, apart: size });
            if are_dense { dense(records).or(alone) } else { alone }
        })
    }

    /// From now on ranges lie close together and are looked at in the order of time, or are not known to. What is found is the same.
    pub fn set_dense(&self, are_dense: bool) {
        self.are_dense.store(are_dense, Ordering::Relaxed);
    }

    /// The same of one of many ranges that lie close together and are looked at in the order of time.
    pub(crate) fn within_dense(
        &self,
        perf: &PerfData,
        range: TscRange,
        conversion: TimeConversion,
    ) -> Sideband {
        self.within_one_of(perf, range, conversion, dense)
    }

    /// The same, of one of the stretches that `reach` names for a range of so many records.
    fn within_one_of(
        &self,
        perf: &PerfData,
        range: TscRange,
        conversion: TimeConversion,
        reach: impl Fn(usize) -> Option<Reach>,
    ) -> Sideband {
        let times = perf_times(range, conversion);
        let places = perf.places_in(times.clone());
        let stretch = reach(places.len()).map(|reach| self.stretch(&places, reach, perf, conversion));
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

    /// The stretch in which `places`, which are not more than it may hold, lie.
    fn stretch(
        &self,
        places: &Range<usize>,
        reach: Reach,
        perf: &PerfData,
        conversion: TimeConversion,
    ) -> Arc<Stretch> {
        let number = places.start / reach.apart;
        if let Some(stretch) = lock(&self.stretches).find((reach, number)) {
            return stretch;
        }
        // Read for itself: parts of it would be kept for none but the stretch after it.
        let within = number * reach.apart..(number + 1) * reach.apart + reach.most;
        let (mut times, mut events) = (Vec::new(), Vec::new());
        self.explaining(perf, within, conversion, |time, event| {
            times.push(time);
            events.push(event);
        });
        times.shrink_to_fit();
        events.shrink_to_fit();
        let stretch = Arc::new(Stretch { times, events: Arc::new(Indexed::new(events)) });
        let size = stretch.times.len().max(SHORTEST);
        lock(&self.stretches).keep((reach, number), stretch.clone(), size, MOST_IN_STRETCHES);
        stretch
    }

    fn part(&self, number: usize, perf: &PerfData, conversion: TimeConversion) -> Part {
        if let Some(part) = lock(&self.parts).find((PARTS, number)) {
            return part;
        }
        let places = number * IN_PART..(number + 1) * IN_PART;
        let mut part = Vec::new();
        self.explaining(perf, places, conversion, |time, event| part.push((time, event)));
        let part: Part = part.into();
        lock(&self.parts).keep((PARTS, number), part.clone(), 1, MOST_PARTS);
        part
    }

    /// Gives `keep` the explaining ones among the records at these places in the order of time, with their own time.
    fn explaining(
        &self,
        perf: &PerfData,
        places: Range<usize>,
        conversion: TimeConversion,
        mut keep: impl FnMut(PerfTime, SidebandEvent),
    ) {
        let readers = self.readers.get_or_init(|| Readers::of(perf));
        let records = perf.records_at(places).without_switches().of_events(may_explain);
        for found in records.with_raw(|event| readers.of_event(event).is_some()) {
            match found {
                Found::Raw(sample) => {
                    let reader = readers.of_event(sample.event);
                    if let Some(event) = reader.and_then(|reader| reader.read(&sample, conversion)) {
                        keep(sample.time, event);
                    }
                }
                Found::Whole(timed) => {
                    if let (Some(time), Some(event)) = (timed.time, event(perf, &timed, conversion)) {
                        keep(time, event);
                    }
                }
            }
        }
    }
}

/// In which stretches a range of so many records lies where others lie near.
fn dense(records: usize) -> Option<Reach> {
    DENSE.into_iter().find(|reach| records <= reach.most)
}

/// The numbers of the parts in which `places` lie.
fn parts_of(places: &Range<usize>) -> Range<usize> {
    places.start / IN_PART..places.end.div_ceil(IN_PART)
}

fn lock<T>(kept: &Mutex<Kept<T>>) -> MutexGuard<'_, Kept<T>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Clone> Kept<T> {
    fn find(&mut self, number: Key) -> Option<T> {
        self.uses += 1;
        let known = self.all.get_mut(&number)?;
        known.at = self.uses;
        Some(known.what.clone())
    }

    /// Keeps `what`, and others of no more than `most` together with it.
    fn keep(&mut self, number: Key, what: T, size: usize, most: usize) {
        if self.size + size > most {
            // The older half at once, so that it is seldom searched for.
            let mut others: Vec<(u64, usize)> = self.all.values().map(|used| (used.at, used.size)).collect();
            others.sort_unstable_by_key(|&(at, _)| Reverse(at));
            let mut sum = 0;
            let newest = others.iter().take_while(|(_, size)| {
                sum += size;
                sum <= most / 2
            });
            let oldest = newest.last().map_or(u64::MAX, |&(at, _)| at);
            self.all.retain(|_, used| used.at >= oldest);
            self.size = self.all.values().map(|used| used.size).sum();
        }
        let before = self.all.insert(number, Used { at: self.uses, size, what });
        self.size = self.size + size - before.map_or(0, |before| before.size);
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
            assert!(kept.find((PARTS, number)).is_none());
            kept.keep((PARTS, number), none.clone(), 1, MOST_PARTS);
        }
        assert!((0..MOST_PARTS).all(|number| kept.all.contains_key(&(PARTS, number))));
        assert!(kept.find((PARTS, 1)).is_some() && kept.find((PARTS, MOST_PARTS)).is_none());
        kept.keep((PARTS, MOST_PARTS), none, 1, MOST_PARTS);
        let left =
            [0, 1, 2, MOST_PARTS - 1, MOST_PARTS].map(|number| kept.all.contains_key(&(PARTS, number)));
        assert_eq!(left, [false, true, false, true, true]);
        assert!(kept.all.len() <= MOST_PARTS / 2 + 1);
    }

    /// A stretch of the same number that reaches less far does not hold what a longer one would.
    #[test]
    fn stretches_that_begin_alike_and_end_otherwise_are_different() {
        let (near, far) = (DENSE[0], Reach { most: DENSE[0].apart, ..DENSE[0] });
        let mut kept = Kept::<u8>::default();
        kept.keep((near, 3), 1, 1, 100);
        assert_eq!((kept.find((far, 3)), kept.find((near, 3))), (None, Some(1)));
    }

    /// Of three sizes, 60, 30 and 30 of 100: the third has no room beside the first.
    #[test]
    fn large_ones_count_as_what_they_are() {
        let mut kept = Kept::<u8>::default();
        for (number, size) in [(0, 60), (1, 30), (2, 30)] {
            assert!(kept.find((PARTS, number)).is_none());
            kept.keep((PARTS, number), 7, size, 100);
        }
        let mut left: Vec<usize> = kept.all.keys().map(|&(_, number)| number).collect();
        left.sort_unstable();
        assert_eq!((left, kept.size), (vec![1, 2], 60));
    }
}
