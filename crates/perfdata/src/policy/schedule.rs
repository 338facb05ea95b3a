//! Which thread ran where and when, from SWITCH, `SWITCH_CPU_WIDE`, `ITRACE_START` and `sched:sched_switch` records.
//!
//! # Where one run ends and the next begins
//!
//! A switch from A to B leaves up to three records: `sched_switch` (in A, when the scheduler has decided), SWITCH out
//! (in A, right before the registers are exchanged), SWITCH in (in B, directly after). They lie 1 to 3 us apart. The
//! one edge of both runs is, best first: the `sched_switch`, the SWITCH out, the SWITCH in: from the decision on the
//! time is no longer A's, and `perf sched` counts in the same way. The reason why A left comes from `sched_switch`,
//! too, because it knows A's state.
//!
//! Where no `sched_switch` gives it, the decision lies between the CPU's record before and that of the edge, and hardly
//! earlier than [`OUT_LATE_NS`] or [`IN_LATE_NS`] before the latter.
//!
//! # What is not known stays unknown
//!
//! Runs of a CPU never overlap, but may leave holes: after LOST records, after a SWITCH out that does not say who
//! comes next (records of single threads), and where records contradict each other.

mod by_number;
mod cpu_track;
mod switches;
mod task_state;

use std::collections::BTreeMap;
use std::fmt;

use model::{Cpu, FileOffset, PerfTime, ThreadId, Tid};

/// How long SWITCH out comes after the decision: 1 us as a rule, and below this in 99 of 100 of the switches of the
/// stored captures.
const OUT_LATE_NS: u64 = 10_000;

/// How long SWITCH in comes after the decision: after the exchange, and after the start of the thread's own events.
const IN_LATE_NS: u64 = 50_000;

/// How a thread left its CPU.
// Exhaustive: attribution must explain each way of leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// The scheduler took the CPU away while the thread could run (`MISC_SWITCH_OUT_PREEMPT`, or `prev_state` R).
    Preempted,
    /// The thread went to sleep; the kernel's state letter where `sched_switch` gives it (`S`, `D`, `I`, …).
    Slept(Option<char>),
    /// The thread ended (`prev_state` X or Z).
    Exited,
    /// The records do not say: the capture ended, or records are missing.
    Unknown,
}

/// The kernel's priority of a thread (`prio`, with what it has inherited): the lower, the more urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub i32);

impl fmt::Display for Priority {
    /// As users set it: `include/linux/sched/prio.h`, `deadline.h`, `rt.h`. `SCHED_FIFO` and `SCHED_RR` share numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ..0 => f.write_str("SCHED_DEADLINE"),
            prio @ 0..100 => write!(f, "real-time priority {}", 99 - prio),
            prio => write!(f, "nice {}", prio.saturating_sub(120)),
        }
    }
}

/// One stay of a thread on a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Who; pid -1 where only the thread is known.
    pub thread: ThreadId,
    /// Where.
    pub cpu: Cpu,
    /// From: the switch, or the CPU's first record where the thread was on already.
    pub start: PerfTime,
    /// To: the switch, or the capture's last record.
    pub stop: PerfTime,
    /// How it left.
    pub leave: LeaveReason,
    /// Its priority, where `sched_switch` gives it.
    pub priority: Option<Priority>,
    /// How far the scheduler's decision may lie before `start`, in nanoseconds; 0 where `sched_switch` gives it.
    pub start_late_ns: u64,
    /// The same, of `stop`.
    pub stop_late_ns: u64,
    /// The record of the switch-in, where there is one.
    pub start_record: Option<FileOffset>,
    /// The record of the switch-out, where there is one.
    pub stop_record: Option<FileOffset>,
}

/// All runs, by CPU and by thread; each list in order of time.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    pub(crate) runs: Vec<Run>,
    pub(crate) by_cpu: BTreeMap<Cpu, Vec<usize>>,
    pub(crate) by_thread: BTreeMap<Tid, Vec<usize>>,
    pub(crate) tells_switches: bool,
    pub(crate) hides_preemptions: bool,
}

impl Schedule {
    /// The runs on `cpu`, idle task included, in order of time.
    pub fn on_cpu(&self, cpu: Cpu) -> Runs<'_> {
        self.select(self.by_cpu.get(&cpu))
    }

    /// The runs of thread `tid`, in order of time. Not for the idle task, which is on every CPU.
    pub fn of_thread(&self, tid: Tid) -> Runs<'_> {
        self.select(self.by_thread.get(&tid))
    }

    /// Whether any record shows a switch. Where none did, a thread is taken to be where a record showed it.
    pub fn tells_switches(&self) -> bool {
        self.tells_switches
    }

    /// Whether SWITCH records do not show preemption, so that `Slept(None)` may be that, too. Kernels before 4.17
    /// set no `MISC_SWITCH_OUT_PREEMPT` (commit 101592b4904e); the idle task shows it, for it never sleeps.
    pub fn hides_preemptions(&self) -> bool {
        self.hides_preemptions
    }

    fn select<'a>(&'a self, indices: Option<&'a Vec<usize>>) -> Runs<'a> {
        Runs { runs: &self.runs, indices: indices.map_or(&[][..], Vec::as_slice).iter() }
    }

    /// The CPUs that have runs.
    pub fn cpus(&self) -> impl Iterator<Item = Cpu> {
        self.by_cpu.keys().copied()
    }
}

/// Runs in order of time. `nth` and what is built on it (`skip`) cost the same wherever they lead.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    runs: &'a [Run],
    indices: std::slice::Iter<'a, usize>,
}

impl Runs<'_> {
    /// How many of these runs are early, found by bisection: `is_early` holds for the first of them and for none after it.
    pub fn partition_point(&self, is_early: impl Fn(&Run) -> bool) -> usize {
        self.indices.as_slice().partition_point(|&index| self.runs.get(index).is_some_and(&is_early))
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = &'a Run;

    fn next(&mut self) -> Option<&'a Run> {
        self.nth(0)
    }

    fn nth(&mut self, n: usize) -> Option<&'a Run> {
        self.runs.get(*self.indices.nth(n)?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.indices.size_hint()
    }
}

impl DoubleEndedIterator for Runs<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.runs.get(*self.indices.next_back()?)
    }
}

impl ExactSizeIterator for Runs<'_> {}

#[cfg(test)]
mod tests;
