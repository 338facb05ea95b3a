//! A pair of events as doorbell: for programs that cannot be changed. Each pair that takes longer than the limit rings; where that is a
//! percentile, longer than so many of those before.
//!
//! Input: the two events, by a trace buffer of our own, which is read twice a turn. Output: the pairs that were slow, and how many there
//! were. The intervals of the slices are those of perf's records of the same events: the two clocks are read microseconds apart, so a pair
//! is recognised by its thread and time.

mod instance;
mod page;
mod pairing;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use intervals::EventPair;
use marks::RunningPercentile;
use model::{Interval, Tid};

use super::super::clocks::Readings;
use super::limits::Limits;
use crate::machine::tree::Tree;
use crate::output;
use instance::Instance;
use pairing::{Occurrence, Pairing};

pub(crate) use pairing::Paired;

/// The pair, while it is recorded.
pub(super) struct Pairs<'p> {
    pair: EventPair,
    over: Over,
    instance: Instance,
    pairing: Pairing,
    readings: &'p Readings,
    /// Read, and younger than what other CPUs may still have.
    young: Vec<Occurrence>,
    counted: Counted,
    /// Events that the buffer had lost at the last loss.
    known_lost: u64,
    has_failed: bool,
}

/// Which pairs ring.
enum Over {
    /// Longer ones than so many nanoseconds.
    Nanoseconds(u64),
    Percentile(Running),
}

/// A running percentile, by the time-stamp counter.
struct Running {
    counts: RunningPercentile,
    /// From how many ticks on a pair is one of the longest; `None` until enough are counted.
    limit: Option<u64>,
    /// When that was worked out.
    at: Instant,
}

impl Over {
    fn of(limits: &Limits) -> Result<Over> {
        let Some(percentile) = limits.percentile() else { return Ok(Over::Nanoseconds(limits.least_ns())) };
        let counts = RunningPercentile::of(percentile).context("no percentile")?;
        Ok(Over::Percentile(Running { counts, limit: None, at: Instant::now() }))
    }

    /// Whether a pair that took so long is slow; it counts from now on.
    fn takes(&mut self, ticks: u64, readings: &Readings) -> bool {
        match self {
            Over::Nanoseconds(over) => readings.nanoseconds(ticks).is_some_and(|took| took > *over),
            Over::Percentile(running) => {
                running.counts.add(ticks);
                running.limit.is_some_and(|limit| ticks >= limit)
            }
        }
    }

    /// As the program's own percentile: its limit follows what was counted, at this distance.
    fn follow(&mut self) {
        if let Over::Percentile(running) = self
            && running.at.elapsed() >= FOLLOWS
        {
            running.at = Instant::now();
            running.limit = running.counts.limit().or(running.limit);
        }
    }
}

/// What was paired.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// All pairs.
    pub(super) pairs: u64,
    /// How often events were lost before they were read.
    pub(super) losses: u64,
    /// How many they were.
    pub(super) lost: u64,
}

/// How often a running percentile is worked out.
const FOLLOWS: Duration = Duration::from_millis(100);

impl<'p> Pairs<'p> {
    /// Both events are watched from now on; of `tids` alone, where there are any.
    ///
    /// # Errors
    /// Where the machine has no such events, or this process may not watch them.
    pub(super) fn watch(
        pair: &EventPair,
        limits: &Limits,
        tree: &Tree,
        tids: &[u32],
        readings: &'p Readings,
    ) -> Result<Pairs<'p>> {
        Ok(Pairs {
            pair: pair.clone(),
            over: Over::of(limits)?,
            instance: Instance::make(tree, pair, tids)?,
            pairing: Pairing::of(pair),
            readings,
            young: Vec::new(),
            counted: Counted::default(),
            known_lost: 0,
            has_failed: false,
        })
    }

    /// The slow ones that have ended since the last time.
    pub(super) fn heard(&mut self) -> Vec<Paired> {
        if self.has_failed {
            return Vec::new();
        }
        self.read().unwrap_or_else(|error| {
            // It would be the same at each turn.
            self.has_failed = true;
            output::print_error(&error);
            Vec::new()
        })
    }

    /// What one CPU wrote before the last event of the first reading is there in the second: until then all is in order.
    fn read(&mut self) -> Result<Vec<Paired>> {
        let first = self.instance.read(&self.pair)?;
        let Some(until) = first.occurrences.iter().chain(&self.young).map(|event| event.time).max() else {
            self.lose(first.has_missed);
            return Ok(Vec::new());
        };
        let second = self.instance.read(&self.pair)?;
        self.lose(first.has_missed || second.has_missed);
        let mut all = std::mem::take(&mut self.young);
        all.extend(first.occurrences.into_iter().chain(second.occurrences));
        all.sort_by_key(|event| event.time);
        self.young = all.split_off(all.partition_point(|event| event.time <= until));
        let mut slow = Vec::new();
        for paired in all.into_iter().filter_map(|event| self.pairing.take(event)) {
            self.counted.pairs += 1;
            if self.over.takes(paired.end - paired.begin, self.readings) {
                slow.push(paired);
            }
        }
        self.over.follow();
        Ok(slow)
    }

    fn lose(&mut self, has_missed: bool) {
        if has_missed {
            self.counted.losses += 1;
            let lost = self.instance.lost();
            self.counted.lost += lost.saturating_sub(self.known_lost);
            self.known_lost = lost;
            self.young.clear();
            self.pairing.forget();
        }
    }

    /// What was paired since the last time.
    pub(super) fn counted(&mut self) -> Counted {
        std::mem::take(&mut self.counted)
    }
}

/// Slow pairs, by their begins.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<(Tid, u64), Paired>);

impl Known {
    /// Another one.
    pub(super) fn add(&mut self, paired: Paired) {
        self.0.insert((paired.tid, paired.begin), paired);
    }

    /// The one that an interval of perf's records is: of the same thread, with more than half of both in common.
    pub(super) fn of(&self, interval: &Interval) -> Option<Paired> {
        let tid = interval.start_thread?.tid;
        let (start, stop) = (interval.range.start.0, interval.range.stop.0);
        // The last that begins before this one ends; one around it may begin before others.
        let candidates =
            self.0.range((tid, 0)..=(tid, stop)).rev().take(CANDIDATES).map(|(_, paired)| *paired);
        let common = |paired: &Paired| paired.end.min(stop).saturating_sub(paired.begin.max(start));
        let is_it = |paired: &Paired| {
            let longest = (paired.end - paired.begin).max(stop - start);
            common(paired) > longest / 2
        };
        candidates.filter(is_it).max_by_key(common)
    }
}

/// Slow pairs of one thread that lie in one another.
const CANDIDATES: usize = 64;

#[cfg(test)]
mod tests {
    use model::{IntervalId, Pid, ThreadId, Tsc, TscRange};

    use super::*;

    /// Of 20,000 pairs of 1 to 20,000 ticks one in a thousand takes 19,980 or longer; the limit is known from the next working out on.
    #[test]
    fn a_percentile_is_that_of_the_pairs_before() {
        let over = Over::of(&Limits::read(&["p99.9".to_owned()]).expect("a limit"));
        let (mut over, readings) = (over.expect("known"), Readings::begin());
        for ticks in 1..=20_000 {
            assert!(!over.takes(ticks, &readings), "{ticks}: nothing is known yet");
        }
        over.follow();
        assert!(!over.takes(20_000, &readings), "it is worked out ten times a second");
        std::thread::sleep(FOLLOWS);
        over.follow();
        assert!(over.takes(19_990, &readings) && !over.takes(19_000, &readings));
    }

    #[test]
    fn a_pair_is_known_by_its_thread_and_time() {
        let mut known = Known::default();
        for (begin, end, tid) in
            [(1_000, 9_000, 7), (2_000, 8_500, 8), (20_000, 30_000, 7), (21_000, 24_000, 7)]
        {
            known.add(Paired { begin, end, tid: Tid(tid) });
        }
        let of = |start, stop, tid| {
            let thread = ThreadId { pid: Pid(tid), tid: Tid(tid) };
            let range = TscRange::new(Tsc(start), Tsc(stop));
            known.of(&Interval::new(IntervalId(0), "x", range, Some(thread))).map(|paired| paired.begin)
        };
        assert_eq!(of(1_003, 9_020, 7), Some(1_000));
        assert_eq!(of(1_003, 9_020, 8), Some(2_000), "another thread's");
        assert_eq!(of(1_003, 9_020, 9), None);
        assert_eq!(
            [of(20_002, 30_004, 7), of(21_002, 24_003, 7)],
            [Some(20_000), Some(21_000)],
            "one in another"
        );
        assert_eq!(of(9_500, 19_000, 7), None, "a shorter one between them");
    }
}
