//! Switches that the flow shows and no record does: a capture without switch records, or one that lost some without a
//! LOST record.
//!
//! Input: the stays by the records, and the switches in their flow. Where only user code was traced, the silences
//! instead: the kernel may switch in each of them. Output: stays in which the thread is off its CPU from such a
//! switch on, until it is certainly or most probably back. Packets do not name threads: threads of one program are
//! often at the same instruction, in a hot loop or in the same wait.

use model::{Interval, Phase, PhaseKind, Ticks, Tsc, TscRange};
use perfdata::LeaveReason;

use crate::inputs::scene::Scene;
use crate::tables::wait_functions::{gives_way, is_wait};
use crate::threads::late_switches::scheduler_at;
use crate::threads::stays::{Stay, Whereabouts};
use crate::walk::activity::{Activity, Frame, Silence, Switch};

/// How far after the last switch of a stay its record may lie, in ticks of 100 us at 4 GHz: records and packets of
/// one switch lie a few microseconds apart.
const APART: Ticks = Ticks(400_000);

/// The `stays` of `interval` with what only the switches of their flows show; `None` where records show all switches.
pub(crate) fn absences(
    interval: &Interval,
    stays: &[Stay],
    activity: &Activity,
    scene: &Scene<'_>,
) -> Option<Vec<Stay>> {
    if let Some(shortest) = scene.untold_absence() {
        // A thread's own trace holds no other thread's code.
        let by_cpu = !scene.threads_traced;
        return by_cpu.then(|| absences_in_silences(interval, stays, activity, shortest)).flatten();
    }
    let schedule = scene.schedule;
    let mut all = Vec::new();
    for stay in stays {
        let before = |end: Tsc| activity.switches.partition_point(|switch| switch.at < end);
        let switches = &activity.switches[before(stay.range.start)..before(stay.range.stop)];
        let mut cut = Cut { stay, frames: &activity.frames, all: &mut all };
        match (stay.place, switches) {
            (Whereabouts::OffCpu(_) | Whereabouts::Unknown | Whereabouts::NotRun, _) | (_, []) => {
                all.push(stay.clone());
            }
            _ if schedule.tells_switches() || begins(interval, stay) => cut.at_all(switches),
            (_, [first, .., last] | [first @ last]) => cut.off_until(first, last),
        }
    }
    all.iter().any(|stay| stay.left_by_flow.is_some()).then_some(all)
}

/// The same in a trace of user code alone. If user code does not resume where it had stopped after a silence of at
/// least `shortest`, another thread's code runs, or a signal's. Threads on one CPU are often at the same instruction,
/// so the time of the return is not known, except that it follows the last silence.
fn absences_in_silences(
    interval: &Interval,
    stays: &[Stay],
    activity: &Activity,
    shortest: Ticks,
) -> Option<Vec<Stay>> {
    let mut all = Vec::new();
    for stay in stays {
        let before = |end: Tsc| activity.silences.partition_point(|silence| silence.range.start < end);
        let within = &activity.silences[before(stay.range.start)..before(stay.range.stop)];
        let is_long = |silence: &&Silence| !silence.why.is_loss() && silence.range.ticks() >= shortest;
        let silences: Vec<&Silence> = within.iter().filter(is_long).collect();
        let mut cut = Cut { stay, frames: &activity.frames, all: &mut all };
        let first = silences.iter().find(|silence| !silence.resumed);
        match (stay.place, silences.last(), first) {
            (Whereabouts::OnCpu(_), Some(last), first) if first.is_some() || !begins(interval, stay) => {
                let first = first.unwrap_or(&silences[0]);
                let from = if begins(interval, stay) { first.range.start } else { stay.range.start };
                cut.present(None, Some(from));
                cut.absent((from, first.aux_offset), from, last.range.stop, LeaveReason::Unknown);
                cut.present(Some(last.range.stop), None);
            }
            _ => all.push(stay.clone()),
        }
    }
    all.iter().any(|stay| stay.left_by_flow.is_some()).then_some(all)
}

/// Whether the thread of `stay` is on its CPU at the begin: it made the interval's begin mark there, or that of a phase.
fn begins(interval: &Interval, stay: &Stay) -> bool {
    let runs = |phase: &Phase| phase.range.start == stay.range.start && phase.kind == PhaseKind::Run;
    if interval.phases.iter().any(|phase| runs(phase) && phase.thread == stay.thread) {
        return true;
    }
    let starter = interval.start_thread.or(interval.stop_thread);
    stay.range.start == interval.range.start && starter.is_some() && starter == stay.thread
}

/// Cuts absences out of a stay.
struct Cut<'a> {
    stay: &'a Stay,
    frames: &'a [Frame],
    all: &'a mut Vec<Stay>,
}

impl Cut<'_> {
    /// The absences that `switches` show.
    fn at_all(&mut self, switches: &[Switch]) {
        let (mut from, mut rest) = (None, switches);
        while let Some(index) = rest.iter().position(|switch| switch.resumes_at.is_some()) {
            let (left, later) = (&rest[index], &rest[index + 1..]);
            if self.leaves_with_the_record(&rest[index..]) {
                break;
            }
            self.present(from, Some(left.at));
            let Some((back, reason)) = comes_back(left, later) else {
                return self.absent(place(left), left.at, self.stay.range.stop, LeaveReason::Unknown);
            };
            self.absent(place(left), left.at, later[back].at, reason);
            (from, rest) = (Some(later[back].at), &later[back + 1..]);
        }
        self.present(from, None);
    }

    /// The thread that received the work may be absent before the first switch, and is certainly there after the
    /// last.
    fn off_until(&mut self, first: &Switch, last: &Switch) {
        self.absent(place(first), self.stay.range.start, last.at, LeaveReason::Unknown);
        self.present(Some(last.at), None);
    }

    /// Whether the first of `switches` is the one by which the thread leaves at the end of the stay, a moment before
    /// the record.
    fn leaves_with_the_record(&self, switches: &[Switch]) -> bool {
        let goes_on = switches.iter().any(|switch| switch.then.is_some());
        !goes_on && switches[0].at + APART >= self.stay.range.stop
    }

    /// The thread is on the CPU from a switch, or the stay's start, to another, or its end.
    fn present(&mut self, from: Option<Tsc>, until: Option<Tsc>) {
        let stay = self.stay;
        let range = TscRange::new(from.unwrap_or(stay.range.start), until.unwrap_or(stay.range.stop));
        if !range.is_empty() {
            self.all.push(Stay {
                range,
                start_record: stay.start_record.filter(|_| from.is_none()),
                stop_record: stay.stop_record.filter(|_| until.is_none()),
                late: from.map_or(stay.late, |at| self.decided_before(at)),
                ..stay.clone()
            });
        }
    }

    /// The thread is off the CPU; the switch has a time and an offset in the trace.
    fn absent(&mut self, (at, aux_offset): (Tsc, u64), from: Tsc, until: Tsc, reason: LeaveReason) {
        let (range, place) = (TscRange::new(from, until), Whereabouts::OffCpu(reason));
        self.all.push(Stay {
            left_cpu: self.stay.place.cpu(),
            left_at: Some(from),
            late: self.decided_before(at),
            left_by_flow: Some(aux_offset),
            ..Stay::new(range, self.stay.thread, place)
        });
    }

    /// How long before the switch at `at` the scheduler may have decided on it.
    fn decided_before(&self, at: Tsc) -> Ticks {
        scheduler_at(self.frames, at).map_or(Ticks(0), |since| at.since(since))
    }
}

/// The time of a switch, and its position in the trace.
fn place(switch: &Switch) -> (Tsc, u64) {
    (switch.at, switch.aux_offset)
}

/// The one of the `later` switches of the stay by which the thread that `left` comes back, and how it had left.
/// It is the first after which user code resumes where the thread had left it, unless others' user code runs
/// before. Else it is the last, because at the end of the stay the thread is there. If others ran in between, it
/// may have run in between, too.
fn comes_back(left: &Switch, later: &[Switch]) -> Option<(usize, LeaveReason)> {
    let next = later.iter().position(|switch| switch.then.is_some())?;
    if left.then.is_none() && later[next].then == left.resumes_at {
        return Some((next, reason(left)));
    }
    let last = later.iter().rposition(|switch| switch.then.is_some())?;
    Some((last, if last == 0 { reason(left) } else { LeaveReason::Unknown }))
}

/// How the thread leaves: preempted, unless its path there is a wait.
fn reason(left: &Switch) -> LeaveReason {
    let telling = |function: &&str| gives_way(function) || is_wait(function);
    match left.path.kernel_functions().find(telling) {
        Some(function) if gives_way(function) => LeaveReason::Preempted,
        _ => LeaveReason::Slept(None),
    }
}

#[cfg(test)]
mod tests;
