//! Who was on each CPU from when on, and whose a thread's own trace is: what a decoder needs to find the code.

use std::collections::BTreeMap;

use model::{Cpu, Pid, ThreadId, Tid, Tsc};
use perfdata::{PerfData, Record};
use pt::Occupant;

/// The threads that have a trace of their own, each the only occupant of it.
pub(super) fn of_threads(
    perf: &PerfData,
    threads: impl Iterator<Item = Tid>,
) -> BTreeMap<Tid, Vec<Occupant>> {
    let mut pids: BTreeMap<Tid, Option<Pid>> = threads.map(|tid| (tid, None)).collect();
    find_processes(perf, &mut pids);
    let alone = |(tid, pid): (Tid, Option<Pid>)| {
        let thread = ThreadId { pid: pid.unwrap_or(Pid(tid.0)), tid };
        (tid, vec![Occupant { since: Tsc(0), thread }])
    };
    pids.into_iter().map(alone).collect()
}

/// Finds the processes of threads from the first record of each.
fn find_processes(perf: &PerfData, pids: &mut BTreeMap<Tid, Option<Pid>>) {
    let mut missing = pids.len();
    for timed in perf.records() {
        if missing == 0 {
            break;
        }
        let named = match timed.record {
            Record::Comm { thread, .. } | Record::ItraceStart { thread } | Record::Fork { thread, .. } => {
                Some(thread)
            }
            _ => timed.thread,
        };
        if let Some(thread) = named.filter(|thread| thread.pid.0 > 0)
            && let Some(pid @ None) = pids.get_mut(&thread.tid)
        {
            *pid = Some(thread.pid);
            missing -= 1;
        }
    }
}

/// Who was on each CPU from when on; between two runs whose records are missing the first is assumed to go on.
pub(super) fn of_cpus(perf: &PerfData) -> BTreeMap<Cpu, Vec<Occupant>> {
    let schedule = perf.schedule();
    let Some(conversion) = perf.time_conversion() else {
        return schedule
            .cpus()
            .map(|cpu| {
                (
                    cpu,
                    schedule
                        .on_cpu(cpu)
                        .map(|run| Occupant { since: Tsc(0), thread: run.thread })
                        .take(1)
                        .collect(),
                )
            })
            .collect();
    };
    let of_cpu = |cpu| {
        schedule
            .on_cpu(cpu)
            .map(|run| Occupant { since: conversion.to_tsc(run.start), thread: run.thread })
            .collect()
    };
    schedule.cpus().map(|cpu| (cpu, of_cpu(cpu))).collect()
}
