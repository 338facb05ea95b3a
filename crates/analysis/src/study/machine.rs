//! What the machine did while an interval lasted: runs of all CPUs by the schedule, wake-ups by their tracepoints.
//!
//! Input: the capture and a range. Output: a [`Machine`], in perf time from the range's start. Without a TSC conversion no record has
//! a place in the range, and the machine is empty. Bounded: a second of a busy machine holds a million switches, which no page can
//! show; what is left out is counted.

use model::{PerfTime, TscRange};
use perfdata::{LeaveReason, Record, Run, Sample, Schedule, TimedRecord};
use report::{CpuReport, LeftCpu, Machine, RunReport, WakeupReport};

use crate::capture::Capture;

/// Runs of one interval on one CPU, and likewise its wake-ups.
const MOST: usize = 5000;
/// CPUs that are shown.
const MOST_CPUS: usize = 64;

/// The tracepoint of a wake-up in the context of the thread that did it.
const BY_WAKER: &str = "sched:sched_waking";

/// The machine within `range`.
pub(super) fn within(capture: &Capture<'_>, range: TscRange) -> Machine {
    let Some(conversion) = capture.conversion() else { return Machine::default() };
    let window = Window {
        capture,
        from: conversion.to_perf_time(range.start),
        to: conversion.to_perf_time(range.stop),
    };
    let mut machine = Machine::default();
    window.add_runs(capture.perf().schedule(), &mut machine);
    window.add_wakeups(&mut machine);
    machine
}

/// A range of perf times.
struct Window<'a> {
    capture: &'a Capture<'a>,
    from: PerfTime,
    to: PerfTime,
}

impl Window<'_> {
    fn add_runs(&self, schedule: &Schedule, machine: &mut Machine) {
        if !schedule.tells_switches() {
            return;
        }
        for (place, cpu) in schedule.cpus().enumerate() {
            let runs = schedule.on_cpu(cpu);
            let first = runs.partition_point(|run| run.stop <= self.from);
            let mut within = runs.skip(first).take_while(|run| run.start < self.to);
            let most = if place < MOST_CPUS { MOST } else { 0 };
            let shown: Vec<RunReport> = within.by_ref().take(most).map(|run| self.run(run)).collect();
            machine.left_out += within.count() as u64;
            if !shown.is_empty() {
                machine.cpus.push(CpuReport { cpu: cpu.0, runs: shown });
            }
        }
    }

    fn run(&self, run: &Run) -> RunReport {
        let (start, stop) = (run.start.max(self.from), run.stop.min(self.to));
        let left = match run.leave {
            _ if run.stop > self.to => None,
            LeaveReason::Preempted => Some(LeftCpu::Preempted),
            LeaveReason::Slept(state) => Some(LeftCpu::Slept(state)),
            LeaveReason::Exited => Some(LeftCpu::Exited),
            LeaveReason::Unknown => None,
        };
        RunReport {
            offset_ns: start.0 - self.from.0,
            duration_ns: stop.0.saturating_sub(start.0),
            pid: run.thread.pid.0,
            tid: run.thread.tid.0,
            comm: self.comm(run.thread.tid, start),
            priority: run.priority.map(|priority| priority.0),
            left,
        }
    }

    fn comm(&self, tid: model::Tid, at: PerfTime) -> String {
        self.capture.perf().comm_at(tid, at).unwrap_or_default().to_owned()
    }

    /// Where both `sched_waking` and `sched_wakeup` were recorded, they show the same wake-ups: the first in the waker's context. That
    /// holds of the recording, not of the window: the first of the two may lie before it.
    fn add_wakeups(&self, machine: &mut Machine) {
        let records = self.capture.perf().records_in(self.from..self.to);
        let mut found: Vec<WakeupReport> = records.filter_map(|record| self.wakeup(&record)).collect();
        let perf = self.capture.perf();
        let mut recorded = perf.attrs().iter().filter_map(|attr| perf.tracepoint_format(attr));
        if recorded.any(|format| format.name() == BY_WAKER) {
            found.retain(|one| one.is_by_waker);
        }
        machine.left_out += found.len().saturating_sub(MOST) as u64;
        found.truncate(MOST);
        machine.wakeups = found;
    }

    fn wakeup(&self, record: &TimedRecord<'_>) -> Option<WakeupReport> {
        let Record::Sample(sample) = &record.record else { return None };
        let is_by_waker = match sample.event_name()? {
            BY_WAKER => true,
            "sched:sched_wakeup" | "sched:sched_wakeup_new" => false,
            _ => return None,
        };
        let (time, target) = (record.time?, model::Tid(i32::try_from(number(sample, "pid")?).ok()?));
        Some(WakeupReport {
            offset_ns: time.0.checked_sub(self.from.0)?,
            cpu: record.cpu.map(|cpu| cpu.0),
            waker: record.thread?.tid.0,
            target: target.0,
            target_comm: self.comm(target, time),
            target_cpu: number(sample, "target_cpu").and_then(|cpu| u32::try_from(cpu).ok()),
            is_by_waker,
        })
    }
}

fn number(sample: &Sample<'_>, field: &str) -> Option<u64> {
    sample.field(field)?.as_u64()
}
