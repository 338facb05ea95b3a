//! The population as the screen shows it: plain rows, one per interval, in the order of the source.
//!
//! Input: an opened [`Study`]. Output: an [`Overview`] that needs no capture any more. Nothing is decoded.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use analysis::{Capture, Study};
use model::{Interval, ThreadId};
use report::{Report, TimeUnit};

/// All intervals that pass the filters, and the report on the population.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overview {
    /// The report without outliers.
    pub(crate) report: Report,
    /// One per member of the population.
    pub(crate) rows: Vec<Row>,
    /// The indices of the outliers whose reasons the first page adds up, the longest first.
    pub(crate) with_reasons: Vec<usize>,
    /// Of how many outliers they are taken.
    pub(crate) found: u64,
}

/// One interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its index in the source.
    pub(crate) index: usize,
    /// Its id within the source.
    pub(crate) id: u64,
    /// What kind it is.
    pub(crate) label: Arc<str>,
    /// What paired its marks; empty where nothing did.
    pub(crate) key: Arc<str>,
    /// From begin to end, in the report's unit.
    pub(crate) duration: u64,
    /// Perf time at its begin in nanoseconds, the TSC without a conversion.
    pub(crate) start: u64,
    /// `worker 124`: whose interval it is; empty where not known.
    pub(crate) thread: Arc<str>,
    /// Whether the rule calls it an outlier.
    pub(crate) is_outlier: bool,
    /// Whether it was chosen to be explained.
    pub(crate) is_chosen: bool,
}

impl Overview {
    /// The overview of `study`.
    pub(crate) fn of(study: &Study<'_>) -> Overview {
        let capture = study.capture();
        let population = study.population();
        let chosen: BTreeSet<usize> = study.selected().indices.iter().copied().collect();
        let mut names = Names::default();
        let members = population.members().iter().zip(population.durations()).zip(study.is_outlier());
        let row = |((&index, &duration), &is_outlier): ((&usize, &u64), &bool)| {
            let interval = &population.intervals()[index];
            Row {
                index,
                id: interval.id.0,
                label: names.of(&interval.label),
                key: names.of(interval.key.as_deref().unwrap_or("")),
                duration,
                start: start_of(interval, capture),
                thread: names.thread(interval, capture),
                is_outlier,
                is_chosen: chosen.contains(&index),
            }
        };
        let mut report = study.overview();
        // The list says which are chosen.
        report.selection.rule.clear();
        let (with_reasons, found) = study.with_reasons();
        Overview { report, rows: members.map(row).collect(), with_reasons, found: found as u64 }
    }

    /// The unit of every length.
    pub(crate) fn unit(&self) -> TimeUnit {
        self.report.capture.time_unit
    }
}

fn start_of(interval: &Interval, capture: &Capture<'_>) -> u64 {
    let at = interval.range.start;
    capture.conversion().map_or(at.0, |conversion| conversion.to_perf_time(at).0)
}

/// Each name once: a million intervals have few.
#[derive(Default)]
struct Names {
    known: HashMap<String, Arc<str>>,
    threads: HashMap<ThreadId, Arc<str>>,
}

impl Names {
    fn of(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.known.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        self.known.insert(name.to_owned(), Arc::clone(&new));
        new
    }

    /// The thread's name when it was first met; a report on the interval has the one of its time.
    fn thread(&mut self, interval: &Interval, capture: &Capture<'_>) -> Arc<str> {
        let Some(thread) = interval.stop_thread.or(interval.start_thread) else { return self.of("") };
        if let Some(known) = self.threads.get(&thread) {
            return Arc::clone(known);
        }
        let comm = capture.comm(thread, interval.range.stop).unwrap_or_default();
        let name = self.of(format!("{comm} {}", thread.tid).trim());
        self.threads.insert(thread, Arc::clone(&name));
        name
    }
}
