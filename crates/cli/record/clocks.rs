//! `FILE.clocks` beside a capture, or `clocks` in the folder of one that keeps only what was slow: what relates times of the program's clocks, in spans or in logs, with the records and the trace.
//!
//! Output: lines of clock pairs, as beside an interval file (`docs/interval-file.md`, "Clocks"), one of each clock every 100 ms, at
//! the start and at the end. However long the recording is, the file has at most [`MOST`] readings: then every other one is dropped.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use analysis::output::write_file;
use anyhow::Result;
use marks::clock::{Clock, Pair};

use super::perf::Running;
use crate::output;

/// The clocks, by the names of the file. The first one keeps its rate: it says what a tick is.
const CLOCKS: [(Clock, &str); 4] = [
    (Clock::MonotonicRaw, "monotonic-raw"),
    (Clock::Monotonic, "monotonic"),
    (Clock::Boottime, "boottime"),
    (Clock::Realtime, "realtime"),
];
/// The distance of two readings, at first.
const DISTANCE: Duration = Duration::from_millis(100);
/// Readings that are kept: half an hour at the first distance, and 5 MB.
const MOST: usize = 18_000;

/// All clocks at almost the same moment, in the order of [`CLOCKS`].
type Reading = [Option<Pair>; CLOCKS.len()];

/// The readings of a recording: one thread takes them, another one may write those that there are.
pub(crate) struct Readings(Mutex<Kept>);

struct Kept {
    readings: Vec<Reading>,
    distance: Duration,
}

impl Readings {
    /// The first one, before perf runs.
    pub(crate) fn begin() -> Readings {
        Readings(Mutex::new(Kept { readings: vec![reading()], distance: DISTANCE }))
    }

    /// The others, while perf runs, and the last one when it has ended.
    pub(crate) fn take_while(&self, running: &Running) {
        let mut due = Instant::now() + self.kept().distance;
        while !running.ends_within(due.saturating_duration_since(Instant::now())) {
            let mut kept = self.kept();
            kept.keep(reading());
            due = after(due, Instant::now(), kept.distance);
        }
        self.kept().keep(reading());
    }

    /// Writes the file beside the capture at `capture`, where the machine has a time-stamp counter, and says so.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn write(&self, capture: &Path) -> Result<()> {
        let path = intervals::clocks_beside(capture);
        if self.write_to(&path)? {
            let kept = self.kept();
            output::print_note(&format!(
                "{}: {} of {} clocks, {} ms apart: by them, spans and logs of this time join",
                path.display(),
                report::counted(kept.readings.len() as u64, "reading"),
                CLOCKS.len(),
                kept.distance.as_millis()
            ));
        }
        Ok(())
    }

    /// Takes one more, and writes all until then to `path`: what was recorded before lies between two of them.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn write_until_now(&self, path: &Path) -> Result<()> {
        self.kept().keep(reading());
        self.write_to(path).map(drop)
    }

    /// Nanoseconds of so many ticks, as far as the clocks have run; `None` where the machine has no time-stamp counter.
    pub(crate) fn nanoseconds(&self, ticks: u64) -> Option<u64> {
        let mut kept = self.kept();
        if kept.readings.len() < 2 {
            kept.keep(reading());
        }
        Some(kept.tick()?.ns(ticks))
    }

    /// False where the machine has no time-stamp counter.
    fn write_to(&self, path: &Path) -> Result<bool> {
        let text = self.kept().text();
        if let Some(text) = &text {
            write_file(path, text.as_bytes())?;
        }
        Ok(text.is_some())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Keeps the last one in any case, and with it the times until then.
    fn keep(&mut self, reading: Reading) {
        if self.readings.len() == MOST {
            let mut number = 0;
            self.readings.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.distance *= 2;
        }
        self.readings.push(reading);
    }

    /// `None` where the machine has no time-stamp counter.
    fn text(&self) -> Option<String> {
        if self.readings.iter().flatten().all(Option::is_none) {
            return None;
        }
        let tick = self.tick();
        let mut text =
            "# tailtrace record: the time-stamp counter beside the clocks that programs read\n".to_owned();
        for reading in &self.readings {
            for ((_, name), pair) in CLOCKS.iter().zip(reading) {
                if let Some(Pair { tsc, ns, apart }) = pair {
                    let error = tick.map_or(*apart, |tick| tick.ns(*apart) + 1);
                    // Writing to memory does not fail.
                    let _ = writeln!(text, "# clock-pair {name} tsc={tsc} ns={ns} error={error}");
                }
            }
        }
        Some(text)
    }

    /// `None` where no time has passed: a tick is shorter than a nanosecond then.
    fn tick(&self) -> Option<Tick> {
        let (first, last) = (self.readings.first()?[0]?, self.readings.last()?[0]?);
        let (ns, ticks) = (last.ns.checked_sub(first.ns)?, last.tsc.checked_sub(first.tsc)?);
        (ticks > 0).then_some(Tick { ns, ticks })
    }
}

/// So many nanoseconds are so many ticks.
#[derive(Clone, Copy)]
struct Tick {
    ns: u64,
    ticks: u64,
}

impl Tick {
    /// Nanoseconds, rounded down.
    fn ns(self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * u128::from(self.ns) / u128::from(self.ticks);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// When the next reading is due: where this process was stopped, those that were missed are not made up for.
fn after(due: Instant, now: Instant, distance: Duration) -> Instant {
    due.max(now) + distance
}

fn reading() -> Reading {
    CLOCKS.map(|(clock, _)| clock.pair())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(tsc: u64) -> Reading {
        // Two ticks a nanosecond; the readings are ten ticks apart.
        CLOCKS.map(|_| Some(Pair { tsc, ns: tsc / 2, apart: 10 }))
    }

    #[test]
    fn lines_are_those_of_an_interval_file() {
        let kept = Kept { readings: vec![made(2_000), made(4_000)], distance: DISTANCE };
        let text = kept.text().expect("pairs");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 2 * 4);
        assert_eq!(lines[1], "# clock-pair monotonic-raw tsc=2000 ns=1000 error=6");
        assert_eq!(lines[8], "# clock-pair realtime tsc=4000 ns=2000 error=6");
    }

    /// Stopped for ten seconds: the next reading is a distance later, not a hundred at once.
    #[test]
    fn readings_that_were_missed_are_not_made_up_for() {
        let due = Instant::now();
        let stopped = due + Duration::from_secs(10);
        assert_eq!(after(due, stopped, DISTANCE), stopped + DISTANCE);
        assert_eq!(after(stopped, due, DISTANCE), stopped + DISTANCE);
    }

    /// A day and more: the first and the last are there, in order, and at even distances.
    #[test]
    fn a_long_recording_has_no_larger_file() {
        let mut kept = Kept { readings: vec![made(0)], distance: DISTANCE };
        let (mut now, mut count) = (0, 0_u32);
        while now < 100_000_000 {
            now += u64::try_from(kept.distance.as_millis()).expect("small");
            kept.keep(made(now));
            count += 1;
        }
        assert!(count > 60_000 && kept.readings.len() <= MOST, "{count}, {}", kept.readings.len());
        let times: Vec<u64> = kept.readings.iter().map(|reading| reading[0].expect("made").tsc).collect();
        assert_eq!((times[0], times[times.len() - 1]), (0, now));
        let furthest = times.windows(2).map(|two| two[1] - two[0]).max();
        assert_eq!(furthest, Some(6_400), "18,000 of them are 115,200 s, half of that would be too little");
        assert_eq!(kept.distance, DISTANCE * 64);
    }
}
