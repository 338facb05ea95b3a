//! The machine as the kernel's own tracepoints: `sched_switch` and `sched_waking`, from which Perfetto makes the slices of the CPUs and the
//! states of all threads, with the arrows from waker to woken thread.
//!
//! Input: the machines of all outliers, each a window. Windows that overlap are one: a run that two of them hold stands once. Between
//! windows nothing is known, and each CPU has the thread [`NOWHERE`], which is none of the machine's.

use std::collections::BTreeMap;

use super::writer::{Writer, field};
use crate::escape::for_terminal;
use crate::export::protobuf::Message;
use crate::machine::LeftCpu;
use crate::report::Report;

/// The name of what is on a CPU where nothing is known.
const NOWHERE: &str = "[outside of the windows]";
/// Its tid on CPU 0; higher than any thread's (`PID_MAX_LIMIT` is 2^22).
const NOWHERE_TID: u32 = 0x7000_0000;

/// Of `FtraceEventBundle`, `FtraceEvent`, `SchedSwitchFtraceEvent`, `SchedWakingFtraceEvent`, `SystemInfo`, `Utsname`.
mod ftrace {
    pub(super) const CPU: u32 = 1;
    pub(super) const EVENT: u32 = 2;
    pub(super) const TIMESTAMP: u32 = 1;
    pub(super) const PID: u32 = 2;
    pub(super) const SWITCH: u32 = 4;
    pub(super) const WAKING: u32 = 20;
    pub(super) const PREV_COMM: u32 = 1;
    pub(super) const PREV_PID: u32 = 2;
    pub(super) const PREV_PRIO: u32 = 3;
    pub(super) const PREV_STATE: u32 = 4;
    pub(super) const NEXT_COMM: u32 = 5;
    pub(super) const NEXT_PID: u32 = 6;
    pub(super) const NEXT_PRIO: u32 = 7;
    pub(super) const WAKING_COMM: u32 = 1;
    pub(super) const WAKING_PID: u32 = 2;
    pub(super) const WAKING_SUCCESS: u32 = 4;
    pub(super) const WAKING_CPU: u32 = 5;
    pub(super) const UTSNAME: u32 = 1;
    pub(super) const SYSNAME: u32 = 1;
    pub(super) const RELEASE: u32 = 3;
}

/// A run in perf time.
#[derive(Clone)]
struct Run {
    start: u64,
    stop: u64,
    tid: i32,
    comm: String,
    priority: Option<i32>,
    left: Option<LeftCpu>,
}

/// Adds the switches and wake-ups of all windows, CPU by CPU.
pub(super) fn add(writer: &mut Writer, report: &Report) {
    let mut cpus: BTreeMap<u32, Vec<(u64, Message)>> = BTreeMap::new();
    for (cpu, runs) in runs(report) {
        cpus.entry(cpu).or_default().extend(switches(cpu, &runs));
    }
    for (cpu, at, wakeup) in wakeups(report) {
        cpus.entry(cpu).or_default().push((at, wakeup));
    }
    if cpus.is_empty() {
        return;
    }
    system(writer, report);
    for (cpu, mut events) in cpus {
        events.sort_by_key(|&(at, _)| at);
        let bundle = Message::default().uint(ftrace::CPU, u64::from(cpu));
        let bundle = events.iter().fold(bundle, |bundle, (_, event)| bundle.message(ftrace::EVENT, event));
        writer.packet(Message::default().message(field::PACKET_FTRACE, &bundle));
    }
}

/// The kernel's release: the numbers of thread states depend on it.
fn system(writer: &mut Writer, report: &Report) {
    let Some(release) = &report.capture.os_release else { return };
    let names =
        Message::default().text(ftrace::SYSNAME, "Linux").text(ftrace::RELEASE, &for_terminal(release));
    let system = Message::default().message(ftrace::UTSNAME, &names);
    writer.packet(Message::default().message(field::PACKET_SYSTEM, &system));
}

/// The runs of each CPU, in order of time and each once.
fn runs(report: &Report) -> BTreeMap<u32, Vec<Run>> {
    let mut cpus: BTreeMap<u32, Vec<Run>> = BTreeMap::new();
    for outlier in &report.outliers {
        let begin = outlier.start_ns.unwrap_or(0);
        for cpu in &outlier.machine.cpus {
            cpus.entry(cpu.cpu).or_default().extend(cpu.runs.iter().map(|run| {
                let start = begin.saturating_add(run.offset_ns);
                Run {
                    start,
                    stop: start.saturating_add(run.duration_ns),
                    tid: run.tid,
                    comm: run.comm.clone(),
                    priority: run.priority,
                    left: run.left,
                }
            }));
        }
    }
    for runs in cpus.values_mut() {
        runs.sort_by_key(|run| (run.start, run.stop));
        let all = std::mem::take(runs);
        for run in all {
            join(runs, run);
        }
    }
    cpus
}

/// Adds a run to those before it; one that two windows hold parts of is one.
fn join(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut().filter(|last| run.start <= last.stop) {
        Some(last) if last.tid == run.tid && (run.start < last.stop || last.left.is_none()) => {
            if run.stop > last.stop {
                (last.stop, last.left) = (run.stop, run.left);
            }
        }
        Some(last) if run.start < last.stop => {
            // Not by the schedule's own runs, which do not overlap.
            last.stop = run.start;
            runs.push(run);
        }
        _ => runs.push(run),
    }
}

/// A switch into each run, and one out of it where no other follows at once.
fn switches(cpu: u32, runs: &[Run]) -> Vec<(u64, Message)> {
    let nowhere = Run {
        start: 0,
        stop: 0,
        tid: (NOWHERE_TID + cpu % 0x1000).cast_signed(),
        comm: NOWHERE.to_owned(),
        priority: None,
        left: None,
    };
    let mut events = Vec::new();
    let mut before = &nowhere;
    for run in runs {
        if !std::ptr::eq(before, &raw const nowhere) && before.stop < run.start {
            events.push((before.stop, switch(before.stop, before, &nowhere)));
            before = &nowhere;
        }
        events.push((run.start, switch(run.start, before, run)));
        before = run;
    }
    events.push((before.stop, switch(before.stop, before, &nowhere)));
    events
}

fn switch(at: u64, from: &Run, to: &Run) -> Message {
    let pid = |run: &Run| u64::from(run.tid.cast_unsigned());
    let mut about = Message::default()
        .text(ftrace::PREV_COMM, &comm(from))
        .uint(ftrace::PREV_PID, pid(from))
        .uint(ftrace::PREV_STATE, state(from.left))
        .text(ftrace::NEXT_COMM, &comm(to))
        .uint(ftrace::NEXT_PID, pid(to));
    for (field, run) in [(ftrace::PREV_PRIO, from), (ftrace::NEXT_PRIO, to)] {
        if let Some(priority) = run.priority {
            about = about.uint(field, i64::from(priority).cast_unsigned());
        }
    }
    let event = Message::default().uint(ftrace::TIMESTAMP, at).uint(ftrace::PID, pid(from));
    event.message(ftrace::SWITCH, &about)
}

fn comm(run: &Run) -> String {
    match (run.tid, run.comm.as_str()) {
        (0, _) => "swapper".to_owned(),
        (_, comm) => for_terminal(comm),
    }
}

/// `prev_state` as the kernel writes it (`include/linux/sched.h`, `include/trace/events/sched.h`): 0 could go on. A run that the window's
/// end cuts off could, too.
fn state(left: Option<LeftCpu>) -> u64 {
    match left {
        None | Some(LeftCpu::Preempted) => 0,
        Some(LeftCpu::Exited) => 0x10,
        Some(LeftCpu::Slept(letter)) => match letter {
            Some('D') => 0x02,
            Some('T') => 0x04,
            Some('t') => 0x08,
            Some('P') => 0x40,
            Some('I') => 0x80,
            _ => 0x01,
        },
    }
}

/// The wake-ups, each record once: its CPU and its time.
fn wakeups(report: &Report) -> impl Iterator<Item = (u32, u64, Message)> {
    let mut found = BTreeMap::new();
    for outlier in &report.outliers {
        for one in &outlier.machine.wakeups {
            let at = outlier.start_ns.unwrap_or(0).saturating_add(one.offset_ns);
            if let Some(cpu) = one.cpu {
                found.insert((cpu, at, one.target), one);
            }
        }
    }
    found.into_iter().map(|((cpu, at, target), one)| {
        let tid = |tid: i32| u64::from(tid.cast_unsigned());
        let mut about = Message::default()
            .text(ftrace::WAKING_COMM, &for_terminal(&one.target_comm))
            .uint(ftrace::WAKING_PID, tid(target))
            .uint(ftrace::WAKING_SUCCESS, 1);
        if let Some(cpu) = one.target_cpu {
            about = about.uint(ftrace::WAKING_CPU, u64::from(cpu));
        }
        let event = Message::default().uint(ftrace::TIMESTAMP, at).uint(ftrace::PID, tid(one.waker));
        (cpu, at, event.message(ftrace::WAKING, &about))
    })
}
