//! The intervals of a scenario and the truth about them.
//!
//! Invariant: an interval's causes add up to its length, or the scenario is refused.

use super::{Executed, Runner};
use crate::scenario::program::{Machine, Scenario, Share, Truth};
use crate::scenario::wrong::Wrong;

/// One interval, with its two threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Unique in the scenario.
    pub id: u64,
    /// What the scenario calls it.
    pub label: String,
    /// TSC at its begin.
    pub start: u64,
    /// TSC at its end; `None` while the scenario runs.
    pub stop: Option<u64>,
    pub(in crate::scenario) start_thread: usize,
    pub(in crate::scenario) stop_thread: usize,
    /// The markers of its task.
    pub(in crate::scenario) phases: Vec<Phase>,
    /// Why it took that long; empty where the scenario says nothing.
    pub causes: Vec<Caused>,
}

/// A marker of an interval's task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scenario) struct Phase {
    /// As the interval file calls it.
    pub(in crate::scenario) kind: &'static str,
    pub(in crate::scenario) tsc: u64,
    pub(in crate::scenario) thread: usize,
}

/// What one cause took of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caused {
    /// Its dotted name.
    pub cause: String,
    /// How long, in TSC ticks.
    pub ticks: u64,
    /// How often, where the scenario says it.
    pub count: Option<u64>,
    /// How well it can be known, in the report's word, where the scenario says it.
    pub certainty: Option<String>,
    /// What the particulars must name, where the scenario says it.
    pub says: Option<String>,
}

impl Interval {
    /// Its length in TSC ticks.
    pub fn ticks(&self) -> u64 {
        self.stop.map_or(0, |stop| stop - self.start)
    }
}

impl Runner<'_> {
    pub(super) fn begin(&mut self, number: usize, label: &str, id: Option<u64>) -> Result<(), String> {
        let next = self.intervals.iter().map(|interval| interval.id + 1).max().unwrap_or(0);
        let id = id.unwrap_or(next);
        let thread = self.cpus[number].thread.ok_or("say first who `runs` here")?;
        if self.intervals.iter().any(|interval| interval.id == id) {
            return Err(format!("interval {id} has begun already"));
        }
        self.intervals.push(Interval {
            id,
            label: label.to_owned(),
            start: self.cpus[number].tsc,
            stop: None,
            start_thread: thread,
            stop_thread: thread,
            phases: Vec::new(),
            causes: Vec::new(),
        });
        Ok(())
    }

    pub(super) fn task(&mut self, number: usize, kind: &'static str, id: u64) -> Result<(), String> {
        let tsc = self.cpus[number].tsc;
        let thread = self.cpus[number].thread.ok_or("say first who `runs` here")?;
        let interval = self.intervals.iter_mut().find(|interval| interval.id == id);
        interval.ok_or_else(|| format!("there is no interval {id} yet"))?.phases.push(Phase {
            kind,
            tsc,
            thread,
        });
        Ok(())
    }

    pub(super) fn end(&mut self, number: usize, id: Option<u64>) -> Result<(), String> {
        let last = self.intervals.last().map(|interval| interval.id);
        let id = id.or(last).ok_or("no interval has begun")?;
        let (tsc, thread) = (self.cpus[number].tsc, self.cpus[number].thread);
        let open =
            |interval: &&mut Interval| interval.id == id && interval.stop.is_none() && interval.start <= tsc;
        let interval = self.intervals.iter_mut().find(open);
        let interval = interval.ok_or_else(|| format!("no interval {id} is open at this time"))?;
        interval.stop = Some(tsc);
        interval.stop_thread = thread.unwrap_or(interval.start_thread);
        Ok(())
    }
}

impl Executed {
    /// Gives each interval its causes; they must add up to it.
    pub(super) fn add_causes(&mut self, scenario: &Scenario) -> Result<(), Wrong> {
        for interval in &mut self.intervals {
            if interval.stop.is_none() {
                return Err(Wrong::new(0, format!("interval {} has no end", interval.id)));
            }
            let lines = scenario.truth.iter().filter(|truth| truth.intervals.contains(&interval.id));
            interval.causes = causes(interval, &lines.collect::<Vec<_>>(), &scenario.machine)?;
        }
        let known = |id| self.intervals.iter().any(|interval| interval.id == id);
        match scenario.truth.iter().find(|truth| !known(*truth.intervals.end())) {
            Some(truth) => {
                Err(Wrong::new(truth.line, format!("there is no interval {}", truth.intervals.end())))
            }
            None => Ok(()),
        }
    }
}

fn causes(interval: &Interval, lines: &[&Truth], machine: &Machine) -> Result<Vec<Caused>, Wrong> {
    let Some(last) = lines.last() else { return Ok(Vec::new()) };
    let ticks = |share| match share {
        Share::Picoseconds(picoseconds) => machine.ticks(picoseconds),
        Share::Rest => 0,
    };
    let duration = interval.ticks();
    let named: u64 = lines.iter().map(|truth| ticks(truth.share)).sum();
    let rests = lines.iter().filter(|truth| truth.share == Share::Rest).count();
    if rests > 1 || named > duration || (rests == 0 && named != duration) {
        let what = format!("the causes name {named} ticks, interval {} has {duration}", interval.id);
        return Err(Wrong::new(last.line, what));
    }
    let caused = |truth: &&Truth| Caused {
        cause: truth.cause.clone(),
        ticks: if truth.share == Share::Rest { duration - named } else { ticks(truth.share) },
        count: truth.count,
        certainty: truth.certainty.clone(),
        says: truth.says.clone(),
    };
    Ok(lines.iter().map(caused).collect())
}
