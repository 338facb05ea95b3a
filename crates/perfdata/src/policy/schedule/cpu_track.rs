//! One CPU: who is on it, and what each kind of record changes about that.
//!
//! Input: its records in the order of time. Output: runs that follow each other without overlap.

use model::{Cpu, FileOffset, PerfTime, ThreadId, Tid};

use super::{IN_LATE_NS, LeaveReason, OUT_LATE_NS, Priority, Run};

/// Where and when something was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) cpu: Cpu,
    pub(super) time: PerfTime,
    pub(super) record: FileOffset,
}

/// The tracepoint `sched:sched_switch`: decided, not yet done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SchedSwitch {
    pub(super) prev: ThreadId,
    pub(super) next: ThreadId,
    pub(super) leave: LeaveReason,
    /// Those of both.
    pub(super) priorities: [Option<Priority>; 2],
    pub(super) at: At,
}

/// A run that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    thread: ThreadId,
    start: PerfTime,
    /// How much earlier it may have begun.
    late_ns: u64,
    start_record: Option<FileOffset>,
    priority: Option<Priority>,
    /// The last record that showed this thread here.
    seen: PerfTime,
}

impl Open {
    /// Begun by no record of its own.
    fn unseen(thread: ThreadId, start: PerfTime, seen: PerfTime) -> Open {
        Open { thread, start, late_ns: 0, start_record: None, priority: None, seen }
    }
}

/// Who is on one CPU.
#[derive(Debug)]
pub(super) struct CpuTrack {
    cpu: Cpu,
    open: Option<Open>,
    /// While nothing is open: whoever turns out to be on the CPU has been on it since then. `None` where it is not
    /// known when that thread came.
    on_since: Option<PerfTime>,
    /// The last record of this CPU.
    last_record: PerfTime,
    /// A `sched_switch` whose SWITCH records have not come yet.
    decided: Option<SchedSwitch>,
    /// The same, where another record has shown since that it was carried out.
    carried_out: Option<SchedSwitch>,
    /// The thread of the open run, where it is known to be on no other CPU.
    settled: Option<Tid>,
}

impl CpuTrack {
    pub(super) fn new(cpu: Cpu, first_record: PerfTime) -> CpuTrack {
        CpuTrack {
            cpu,
            open: None,
            on_since: Some(first_record),
            last_record: first_record,
            decided: None,
            carried_out: None,
            settled: None,
        }
    }

    /// [`Self::present`] for the thread that is on the CPU already, which most records are of; false where it may be more than that.
    pub(super) fn is_still(&mut self, at: At, thread: Option<ThreadId>) -> bool {
        let (Some(open), Some(thread), None) = (&mut self.open, thread, &self.decided) else { return false };
        if open.thread.tid != thread.tid || !(thread.is_idle() || self.settled == Some(thread.tid)) {
            return false;
        }
        open.seen = at.time;
        self.last_record = at.time;
        true
    }

    /// `tid`, which is on this CPU, was taken off any other.
    pub(super) fn settle(&mut self, tid: Tid) {
        self.settled = Some(tid);
    }

    pub(super) fn on_cpu(&self) -> Option<ThreadId> {
        self.open.map(|open| open.thread)
    }

    /// Any other record: `thread` was on the CPU.
    pub(super) fn present(&mut self, at: At, thread: Option<ThreadId>, runs: &mut Vec<Run>) {
        self.last_record = at.time;
        let Some(thread) = thread else { return };
        if let Some(switch) = self.decided.filter(|switch| switch.prev.tid != thread.tid) {
            self.carry_out_decided(runs);
            self.carried_out = Some(switch);
        }
        match &mut self.open {
            Some(open) if open.thread.tid == thread.tid => open.seen = at.time,
            // Switch records know better who is on.
            Some(_) => {}
            None => {
                let start = self.on_since.unwrap_or(at.time);
                self.open = Some(Open::unseen(thread, start, at.time));
            }
        }
    }

    pub(super) fn sched_switch(&mut self, switch: SchedSwitch, runs: &mut Vec<Run>) {
        self.carry_out_decided(runs);
        self.present(switch.at, Some(switch.prev), runs);
        self.drop_other_than(switch.prev.tid, runs);
        if let Some(open) = &mut self.open {
            open.priority = switch.priorities[0].or(open.priority);
        }
        self.decided = Some(switch);
    }

    /// SWITCH out: the edge, unless a `sched_switch` came before. `prev` is `None` where the kernel has already forgotten its number (it ended).
    pub(super) fn switch_out(
        &mut self,
        at: At,
        prev: Option<ThreadId>,
        next: Option<ThreadId>,
        preempt: bool,
        runs: &mut Vec<Run>,
    ) {
        if self.decided.is_some_and(|switch| prev.is_some_and(|prev| prev.tid != switch.prev.tid)) {
            self.carry_out_decided(runs);
        }
        if self.is_carried_out(prev) {
            self.last_record = at.time;
            return;
        }
        let decided = self.decided.take();
        let leave = match (decided, prev) {
            (Some(switch), _) => switch.leave,
            (None, None) => LeaveReason::Exited,
            (None, Some(_)) if preempt => LeaveReason::Preempted,
            (None, Some(_)) => LeaveReason::Slept(None),
        };
        let late_ns = if decided.is_some() { 0 } else { self.late(at, OUT_LATE_NS) };
        self.last_record = at.time;
        if let Some(prev) = prev {
            self.drop_other_than(prev.tid, runs);
            if let (None, Some(start)) = (self.open, self.on_since) {
                self.open = Some(Open::unseen(prev, start, start));
            }
        }
        let priority = decided.and_then(|switch| switch.priorities[1]);
        let edge = Edge { at: decided.map_or(at, |switch| switch.at), late_ns, priority };
        self.close(edge.end(leave), runs);
        let next = next.or(decided.map(|switch| switch.next));
        self.open = next.map(|thread| edge.begin(thread));
    }

    /// SWITCH in: the edge where nothing came before it.
    pub(super) fn switch_in(&mut self, at: At, next: ThreadId, prev: Option<ThreadId>, runs: &mut Vec<Run>) {
        let late_ns = self.late(at, IN_LATE_NS);
        self.last_record = at.time;
        if let Some(switch) = self.decided.take() {
            if switch.next.tid == next.tid {
                let edge = Edge::decided(switch);
                self.close(edge.end(switch.leave), runs);
                self.open = Some(edge.begin(next));
                return;
            }
            self.decided = Some(switch);
            self.carry_out_decided(runs);
        }
        if let Some(open) = self.open.as_mut().filter(|open| open.thread.tid == next.tid) {
            // Begun by the SWITCH out; this is the record of the thread's own side.
            if open.start_record.is_some() && open.seen == open.start {
                open.start_record = Some(at.record);
            }
            open.thread = next;
            open.seen = at.time;
            return;
        }
        let edge = Edge { at, late_ns, priority: None };
        let end = End { stop_record: None, ..edge.end(LeaveReason::Unknown) };
        match (self.open, self.on_since, prev) {
            (Some(open), _, Some(prev)) if open.thread.tid == prev.tid => self.close(end, runs),
            (None, Some(start), Some(thread)) => {
                self.open = Some(Open::unseen(thread, start, start));
                self.close(end, runs);
            }
            _ => self.close_at_last_sight(runs),
        }
        self.open = Some(edge.begin(next));
    }

    /// Records were lost between the last record of this CPU and this one, switches perhaps among them.
    pub(super) fn lost(&mut self, at: At, runs: &mut Vec<Run>) {
        self.carry_out_decided(runs);
        self.close(End::unseen(self.last_record), runs);
        self.on_since = Some(at.time);
        self.last_record = at.time;
    }

    /// `tid` is on another CPU now.
    pub(super) fn left_unseen(&mut self, tid: Tid, runs: &mut Vec<Run>) {
        if self.decided.is_some_and(|switch| switch.prev.tid == tid) {
            self.carry_out_decided(runs);
        }
        if self.open.is_some_and(|open| open.thread.tid == tid) {
            self.close_at_last_sight(runs);
        }
    }

    pub(super) fn finish(&mut self, end: PerfTime, runs: &mut Vec<Run>) {
        self.carry_out_decided(runs);
        self.close(End::unseen(end), runs);
    }

    /// How much earlier than by the record of a switch it may have been decided: not before the CPU's record before.
    fn late(&self, at: At, most_ns: u64) -> u64 {
        at.time.0.saturating_sub(self.last_record.0).min(most_ns)
    }

    /// Whether a SWITCH out of `prev` belongs to a `sched_switch` by which the next thread is here already: a record of
    /// that one stands between the two.
    fn is_carried_out(&mut self, prev: Option<ThreadId>) -> bool {
        let switch = self.carried_out.take().filter(|_| self.decided.is_none());
        switch.is_some_and(|switch| {
            prev.is_some_and(|prev| prev.tid == switch.prev.tid)
                && self.open.is_some_and(|open| {
                    open.thread.tid == switch.next.tid && open.start_record == Some(switch.at.record)
                })
        })
    }

    /// No SWITCH records came.
    fn carry_out_decided(&mut self, runs: &mut Vec<Run>) {
        if let Some(switch) = self.decided.take() {
            let edge = Edge::decided(switch);
            self.close(edge.end(switch.leave), runs);
            self.open = Some(edge.begin(switch.next));
        }
    }

    /// A switch away from whoever was thought to be on was missed.
    fn drop_other_than(&mut self, tid: Tid, runs: &mut Vec<Run>) {
        if self.open.is_some_and(|open| open.thread.tid != tid) {
            self.close_at_last_sight(runs);
        }
    }

    fn close_at_last_sight(&mut self, runs: &mut Vec<Run>) {
        if let Some(open) = self.open {
            self.close(End::unseen(open.seen), runs);
        }
    }

    fn close(&mut self, end: End, runs: &mut Vec<Run>) {
        self.on_since = None;
        self.settled = None;
        let Some(Open { thread, start, late_ns: start_late_ns, start_record, priority, .. }) =
            self.open.take()
        else {
            return;
        };
        let End { stop, leave, stop_late_ns, stop_record } = end;
        if start < stop {
            let cpu = self.cpu;
            let run = Run {
                thread,
                cpu,
                start,
                stop,
                leave,
                priority,
                start_late_ns,
                stop_late_ns,
                start_record,
                stop_record,
            };
            runs.push(run);
        }
    }
}

/// A switch: one thread's run ends here and the next one's begins.
#[derive(Clone, Copy, Debug)]
struct Edge {
    at: At,
    /// How much earlier it may have been decided.
    late_ns: u64,
    /// That of the thread that comes.
    priority: Option<Priority>,
}

impl Edge {
    fn decided(switch: SchedSwitch) -> Edge {
        Edge { at: switch.at, late_ns: 0, priority: switch.priorities[1] }
    }

    fn begin(self, thread: ThreadId) -> Open {
        let start = self.at.time;
        let (late_ns, priority) = (self.late_ns, self.priority);
        Open { thread, start, late_ns, start_record: Some(self.at.record), priority, seen: start }
    }

    fn end(self, leave: LeaveReason) -> End {
        End { stop: self.at.time, leave, stop_late_ns: self.late_ns, stop_record: Some(self.at.record) }
    }
}

/// How a run ends.
#[derive(Clone, Copy, Debug)]
struct End {
    stop: PerfTime,
    leave: LeaveReason,
    stop_late_ns: u64,
    stop_record: Option<FileOffset>,
}

impl End {
    /// At the last time that is known of it.
    fn unseen(stop: PerfTime) -> End {
        End { stop, leave: LeaveReason::Unknown, stop_late_ns: 0, stop_record: None }
    }
}
