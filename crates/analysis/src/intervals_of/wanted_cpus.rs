//! On which of some CPUs the threads of intervals ran.
//!
//! Input: the schedule, and the requested CPUs. Each thread's runs are read once, however many intervals share them; an
//! interval then costs a bisection.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use attribution::Stay;
use model::{Cpu, Interval, Tid, TimeConversion, TscRange};
use perfdata::Schedule;

/// See the module.
pub(super) struct WantedCpus<'a> {
    schedule: &'a Schedule,
    conversion: TimeConversion,
    /// What was recorded: nothing is known of the time around it.
    extent: Option<TscRange>,
    wanted: &'a [Cpu],
    /// By thread, its runs on wanted CPUs, in order and disjoint.
    runs: RefCell<HashMap<Tid, Vec<(TscRange, Cpu)>>>,
    /// Nothing ran: what attribution makes of it says whose an interval's time is.
    nothing: Schedule,
    steps: Cell<usize>,
}

impl<'a> WantedCpus<'a> {
    pub(super) fn new(
        schedule: &'a Schedule,
        conversion: TimeConversion,
        extent: Option<TscRange>,
        wanted: &'a [Cpu],
    ) -> WantedCpus<'a> {
        let (runs, nothing, steps) = (RefCell::default(), Schedule::default(), Cell::default());
        WantedCpus { schedule, conversion, extent, wanted, runs, nothing, steps }
    }

    /// A wanted CPU on which the interval's threads ran while it lasted.
    pub(super) fn one_of(&self, interval: &Interval) -> Option<Cpu> {
        let stays = attribution::stays(interval, &self.nothing, Some(self.conversion));
        stays.iter().find_map(|stay| self.one_of_stay(stay))
    }

    fn one_of_stay(&self, stay: &Stay) -> Option<Cpu> {
        let range = match self.extent {
            Some(extent) => stay.range.intersection(extent)?,
            None => stay.range,
        };
        let tid = stay.thread?.tid;
        let mut all = self.runs.borrow_mut();
        let runs = all.entry(tid).or_insert_with(|| self.runs_of(tid));
        let first = runs.partition_point(|(on, _)| {
            self.steps.set(self.steps.get() + 1);
            on.stop <= range.start
        });
        runs.get(first).filter(|(on, _)| on.intersection(range).is_some()).map(|&(_, cpu)| cpu)
    }

    fn runs_of(&self, tid: Tid) -> Vec<(TscRange, Cpu)> {
        let mut found: Vec<(TscRange, Cpu)> = Vec::new();
        for run in self.schedule.of_thread(tid) {
            self.steps.set(self.steps.get() + 1);
            let last = found.last().map(|(on, _)| on.stop);
            let on = TscRange::new(self.conversion.to_tsc(run.start), self.conversion.to_tsc(run.stop));
            // In a damaged recording a thread may be on two CPUs.
            let on = TscRange { start: last.map_or(on.start, |last| on.start.max(last)), ..on };
            if self.wanted.contains(&run.cpu) && !on.is_empty() {
                found.push((on, run.cpu));
            }
        }
        found
    }

    /// Runs looked at so far.
    #[cfg(test)]
    fn steps(&self) -> usize {
        self.steps.get()
    }
}

#[cfg(test)]
mod tests;
