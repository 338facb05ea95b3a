//! Which records a slice keeps.
//!
//! Besides the plan's times: what holds for all of a recording, and the switches from which [`Schedule`](crate::Schedule)
//! concludes who was where. A run that reaches into a time began with a switch before it, and a thread that is off its
//! CPU then left it before: both ends of those runs are kept, with the records beside them, for one switch leaves up to
//! three. The record of the frequency in force at a time lies before it as well.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use model::{Cpu, FileOffset, PerfTime, Tid};

use super::plan::{CpuTimes, SlicePlan};
use crate::perf_data::PerfData;
use crate::policy::schedule::Run;
use crate::reads::joined;
use crate::record::{Record, TimedRecord, kinds};

/// Switch records of a CPU that are kept before a time and after it: two switches of three records each.
const AROUND: usize = 6;
/// Switch records that are kept on each side of the end of a run: those of the same switch.
const BESIDE: usize = 3;

/// The records to keep, in the order of the pieces and of the file.
pub(super) fn records(perf: &PerfData, plan: &SlicePlan) -> Vec<FileOffset> {
    let mut choice = Choice::new(perf, plan);
    for timed in perf.records() {
        choice.look_at(&timed);
    }
    choice.finish()
}

struct Choice<'a> {
    perf: &'a PerfData,
    plan: &'a SlicePlan,
    /// The times of the plan for all CPUs, and for one CPU each.
    times: Times,
    kept: BTreeSet<FileOffset>,
    /// Switch records by CPU, in the order of time.
    switches: BTreeMap<Cpu, Vec<(PerfTime, FileOffset)>>,
    /// Threads whose process a kept record gives.
    known: HashSet<Tid>,
    /// CPUs of which a record was met.
    seen: HashSet<Cpu>,
    last: Option<(PerfTime, FileOffset)>,
    /// Whether the recording was written to a pipe.
    of_stream: bool,
}

#[derive(Default)]
struct Times {
    all: Vec<Range<PerfTime>>,
    of_cpu: BTreeMap<Cpu, Vec<Range<PerfTime>>>,
}

impl Times {
    fn new(times: &[CpuTimes]) -> Times {
        let of = |cpu: Option<Cpu>| {
            let own = times.iter().filter(|times| times.cpu == cpu);
            joined(own.map(|times| times.range.clone()).collect())
        };
        let cpus: BTreeSet<Cpu> = times.iter().filter_map(|times| times.cpu).collect();
        Times { all: of(None), of_cpu: cpus.into_iter().map(|cpu| (cpu, of(Some(cpu)))).collect() }
    }

    fn contain(&self, cpu: Option<Cpu>, time: PerfTime) -> bool {
        let own = cpu.and_then(|cpu| self.of_cpu.get(&cpu));
        holds(&self.all, time) || own.is_some_and(|own| holds(own, time))
    }
}

fn holds(ranges: &[Range<PerfTime>], time: PerfTime) -> bool {
    let behind = ranges.partition_point(|range| range.start <= time);
    behind.checked_sub(1).is_some_and(|index| ranges[index].contains(&time))
}

impl<'a> Choice<'a> {
    fn new(perf: &'a PerfData, plan: &'a SlicePlan) -> Choice<'a> {
        Choice {
            perf,
            plan,
            times: Times::new(plan.times.as_deref().unwrap_or(&[])),
            kept: BTreeSet::new(),
            switches: BTreeMap::new(),
            known: HashSet::new(),
            seen: HashSet::new(),
            last: None,
            of_stream: perf.header().is_stream,
        }
    }

    /// Keeps a record where it alone gives the reason; notes what the later steps need.
    fn look_at(&mut self, timed: &TimedRecord<'_>) {
        let is_switch = is_switch(&timed.record);
        if let (true, Some(cpu), Some(time)) = (is_switch, timed.cpu, timed.time) {
            self.switches.entry(cpu).or_default().push((time, timed.offset));
        }
        if let Some(time) = timed.time {
            self.last = Some((time, timed.offset));
        }
        let is_wanted = match scope(&timed.record) {
            Scope::Never => return,
            // It may hold the host's name or the command line, and says nothing that the sections do not say.
            Scope::Always if self.plan.renames.is_some() && is_feature(&timed.record) => return,
            // The slice is a file: its sections say it.
            Scope::Always if self.of_stream && is_of_streams(&timed.record) => return,
            Scope::Always => true,
            Scope::Aux { offset, size } => self.plan.times.is_none() || self.has_aux(timed, offset, size),
            Scope::Time => {
                let in_time = timed.time.is_none_or(|time| self.times.contain(timed.cpu, time));
                // The first record of a CPU begins its first run.
                self.plan.times.is_none() || in_time || timed.cpu.is_some_and(|cpu| !self.seen.contains(&cpu))
            }
        };
        self.seen.extend(timed.cpu.filter(|_| timed.time.is_some()));
        let tells_process = self.learn_process(timed);
        if is_wanted || tells_process || self.plan.records.contains(&timed.offset) {
            self.kept.insert(timed.offset);
        }
    }

    /// `sched_switch` names threads without their processes: the first record that knows one is kept.
    fn learn_process(&mut self, timed: &TimedRecord<'_>) -> bool {
        if let Record::Comm { thread, .. } | Record::Fork { thread, .. } = timed.record {
            self.known.insert(thread.tid);
        }
        timed
            .thread
            .is_some_and(|thread| thread.tid.0 > 0 && thread.pid.0 > 0 && self.known.insert(thread.tid))
    }

    /// Whether an AUX record announces bytes that are kept.
    fn has_aux(&self, timed: &TimedRecord<'_>, offset: u64, size: u64) -> bool {
        self.plan.aux.iter().any(|part| {
            let Some(buffer) = self.perf.aux_buffers().get(part.buffer) else { return false };
            let same = match (buffer.cpu, buffer.tid) {
                (Some(cpu), _) => timed.cpu == Some(cpu),
                (None, Some(tid)) => timed.thread.is_some_and(|thread| thread.tid == tid),
                (None, None) => true,
            };
            let end = buffer.aux_offset.saturating_add(part.range.end);
            let start = buffer.aux_offset.saturating_add(part.range.start);
            same && offset < end && start < offset.saturating_add(size)
        })
    }

    /// Adds the switches around the times, the frequencies and pauses in force, and the last record: runs without an end last until
    /// then.
    fn finish(mut self) -> Vec<FileOffset> {
        self.kept.extend(self.last.map(|(_, offset)| offset));
        if self.plan.times.is_some() {
            // What was looked at is of all CPUs; a single one's times are its trace's, and may begin long before that.
            for range in &self.times.all {
                self.kept.extend(self.perf.asked_frequencies().records_before(range.start));
                self.kept.extend(self.perf.pauses().records_before(range.start));
            }
            for range in self.all_times() {
                self.keep_switches_around(&range);
            }
        }
        self.kept.into_iter().collect()
    }

    /// The times of all CPUs, those for a single one included.
    fn all_times(&self) -> Vec<Range<PerfTime>> {
        let single = self.times.of_cpu.values().flatten();
        joined(self.times.all.iter().chain(single).cloned().collect())
    }

    fn keep_switches_around(&mut self, range: &Range<PerfTime>) {
        for switches in self.switches.values() {
            let from = switches.partition_point(|&(time, _)| time < range.start);
            let to = switches.partition_point(|&(time, _)| time < range.end);
            let before = &switches[from.saturating_sub(AROUND)..from];
            let behind = &switches[to..switches.len().min(to + AROUND)];
            self.kept.extend(before.iter().chain(behind).map(|&(_, offset)| offset));
        }
        for tid in self.threads_of(range) {
            self.keep_switches_of(tid, range);
        }
    }

    /// The plan's threads, and those that ran within `range`.
    fn threads_of(&self, range: &Range<PerfTime>) -> BTreeSet<Tid> {
        let schedule = self.perf.schedule();
        let mut threads = self.plan.threads.clone();
        for cpu in schedule.cpus() {
            let runs = schedule.on_cpu(cpu);
            let first = first_of(runs.len(), |index| {
                runs.clone().nth(index).is_some_and(|run| run.stop > range.start)
            });
            let within = runs.skip(first).take_while(|run| run.start < range.end);
            threads.extend(within.map(|run| run.thread.tid).filter(|tid| tid.0 > 0));
        }
        threads
    }

    /// Keeps both ends of the thread's last run before `range`, and of its first one after it.
    fn keep_switches_of(&mut self, tid: Tid, range: &Range<PerfTime>) {
        let perf = self.perf;
        let runs = || perf.schedule().of_thread(tid);
        let later = |time: PerfTime| {
            first_of(runs().len(), |index| runs().nth(index).is_some_and(|run| run.start > time))
        };
        let before = later(range.start).checked_sub(1).and_then(|index| runs().nth(index));
        let behind = runs().nth(later(range.end));
        for run in before.into_iter().chain(behind) {
            self.keep_ends_of(run);
        }
    }

    fn keep_ends_of(&mut self, run: &Run) {
        let Some(switches) = self.switches.get(&run.cpu) else { return };
        for at in [run.start, run.stop] {
            let here = switches.partition_point(|&(time, _)| time < at);
            let beside = here.saturating_sub(BESIDE)..switches.len().min(here + 1 + BESIDE);
            self.kept.extend(switches[beside].iter().map(|&(_, offset)| offset));
        }
    }
}

/// Whether the schedule concludes from it who comes or goes; a LOST record may stand for one that does.
fn is_switch(record: &Record<'_>) -> bool {
    match record {
        Record::Switch { .. } | Record::SwitchCpuWide { .. } | Record::Lost { .. } => true,
        Record::Sample(sample) => sample.event_name() == Some("sched:sched_switch"),
        _ => false,
    }
}

fn is_feature(record: &Record<'_>) -> bool {
    matches!(record, Record::HeaderFeature { .. })
}

/// Whether it stands for a part of a file's header.
fn is_of_streams(record: &Record<'_>) -> bool {
    let is_header = matches!(record, Record::HeaderAttr | Record::EventUpdate | Record::HeaderBuildId(_));
    is_header || is_feature(record)
}

/// The first of `count` ascending things that `is_there`; `count` where none is.
fn first_of(count: usize, is_there: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (0, count);
    while from < to {
        let middle = from + (to - from) / 2;
        if is_there(middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}

/// When a record is kept.
enum Scope {
    /// It holds for all of the recording.
    Always,
    /// It stands for bytes: with them.
    Aux { offset: u64, size: u64 },
    /// It happened at a time.
    Time,
    /// It is written anew, or means nothing in a slice.
    Never,
}

fn scope(record: &Record<'_>) -> Scope {
    match record {
        // The payload of tracing data follows its record, and a file has the section of that name instead.
        Record::Auxtrace { .. }
        | Record::FinishedRound
        | Record::Compressed { .. }
        | Record::HeaderTracingData { .. } => Scope::Never,
        Record::Damaged { kind } | Record::Unknown { kind } if *kind >= kinds::FIRST_USER_KIND => {
            Scope::Never
        }
        &Record::Aux { offset, size, .. } => Scope::Aux { offset, size },
        Record::Sample(_)
        | Record::Lost { .. }
        | Record::LostSamples { .. }
        | Record::Read { .. }
        | Record::Throttle { .. }
        | Record::Unthrottle { .. }
        | Record::Switch { .. }
        | Record::SwitchCpuWide { .. }
        | Record::AuxtraceError(_)
        | Record::Stat
        | Record::StatRound
        | Record::Damaged { .. }
        | Record::Unknown { .. } => Scope::Time,
        _ => Scope::Always,
    }
}
