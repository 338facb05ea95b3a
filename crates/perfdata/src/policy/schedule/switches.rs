//! Feeds the records of a capture, in the order of time, to the tracks of its CPUs.

use std::collections::{BTreeMap, BTreeSet};

use model::{Cpu, PerfTime, Pid, ThreadId, Tid};

use super::by_number::ByNumber;
use super::cpu_track::{At, CpuTrack, SchedSwitch};
use super::task_state::TaskStates;
use super::{LeaveReason, Priority, Run, Schedule};
use crate::attr::Attr;
use crate::ordered_records::{Brief, OrderedRecords};
use crate::record::{Exchange, Record, Sample, TimedRecord, What};
use crate::stretches::LastFound;
use crate::tracepoint::{TracepointField, TracepointFormat};

/// Stands for a process that is not known.
const UNKNOWN_PROCESS: Pid = Pid(-1);

impl Schedule {
    /// Which thread ran where and when, by the records of a capture.
    pub(crate) fn of(records: &OrderedRecords) -> Schedule {
        let sched_switch = records.formats.iter().find(|format| format.name() == "sched:sched_switch");
        let reader = sched_switch.and_then(SchedSwitchReader::of);
        let is_switch = |attr: &Attr| {
            sched_switch.is_some_and(|format| attr.is_tracepoint() && attr.config == format.id())
        };
        let switches: Vec<bool> = records.attrs.iter().map(is_switch).collect();
        let mut tracks = Tracks::default();
        let (mut last_time, mut last) = (PerfTime::default(), LastFound::default());
        for brief in records.all().briefs() {
            last_time = last_time.max(brief.time.unwrap_or_default());
            match brief.what {
                // Most records say no more than who was on the CPU.
                What::Sample(event) if event.and_then(|event| switches.get(event)) != Some(&true) => {
                    tracks.learn_process(brief.thread_number, brief.thread);
                    tracks.sample(&brief);
                }
                _ => {
                    if let Some(exchange) = brief.exchange(&mut last) {
                        tracks.exchange(&brief, exchange);
                        continue;
                    }
                    let Some(record) = brief.record(&mut last) else { continue };
                    tracks.learn_processes(brief.thread_number, &record);
                    if let Some(time) = record.time {
                        tracks.learn_lives(&record.record, time);
                        tracks.record(&record, time, reader.as_ref());
                    }
                }
            }
        }
        tracks.finish(last_time)
    }

    /// A schedule of runs that do not overlap on any CPU, in any order: for schedules that come from no file.
    pub fn from_runs(mut runs: Vec<Run>) -> Schedule {
        sort(&mut runs);
        cut_double_presence(&mut runs);
        let (mut by_cpu, mut by_thread) = (ByNumber::default(), ByNumber::default());
        for (index, run) in runs.iter().enumerate() {
            let (cpu, tid) = (run.cpu, run.thread.tid);
            by_cpu.entry(cpu.0, || (cpu, Vec::new())).1.push(index);
            if !run.thread.is_idle() {
                by_thread.entry(tid.0.cast_unsigned(), || (tid, Vec::new())).1.push(index);
            }
        }
        let mut schedule = Schedule {
            by_cpu: by_cpu.into_values().collect(),
            by_thread: by_thread.into_values().collect(),
            ..Schedule::default()
        };
        schedule.tells_switches =
            runs.iter().any(|run| run.start_record.is_some() || run.stop_record.is_some());
        schedule.hides_preemptions =
            runs.iter().any(|run| run.thread.is_idle() && run.leave == LeaveReason::Slept(None));
        schedule.runs = runs;
        schedule
    }
}

/// By their starts, then their CPUs, then as they were: the places are sorted, for runs are long to move. Those of each CPU are in order
/// already, so that sorting them one CPU after the other is little more than merging.
fn sort(runs: &mut Vec<Run>) {
    let mut of_cpus: ByNumber<Vec<(PerfTime, Cpu, usize)>> = ByNumber::default();
    for (place, run) in runs.iter().enumerate() {
        of_cpus.entry(run.cpu.0, Vec::new).push((run.start, run.cpu, place));
    }
    let mut places: Vec<(PerfTime, Cpu, usize)> = of_cpus.into_values().flatten().collect();
    places.sort();
    if !places.iter().map(|(.., place)| place).is_sorted() {
        *runs = places.into_iter().map(|(.., place)| runs[place].clone()).collect();
    }
}

/// A thread cannot be on two CPUs. Where contradictory records say so, the earlier run ends when the later begins.
fn cut_double_presence(runs: &mut Vec<Run>) {
    let mut latest: ByNumber<Option<usize>> = ByNumber::default();
    for index in 0..runs.len() {
        let (thread, start) = (runs[index].thread, runs[index].start);
        if thread.is_idle() {
            continue;
        }
        let before = latest.entry(thread.tid.0.cast_unsigned(), || None).replace(index);
        if let Some(earlier) = before.map(|earlier| &mut runs[earlier])
            && earlier.stop > start
        {
            (earlier.stop, earlier.leave, earlier.stop_record) = (start, LeaveReason::Unknown, None);
            earlier.stop_late_ns = 0;
        }
    }
    runs.retain(|run| run.start < run.stop);
}

/// What is known of a thread so far.
#[derive(Debug, Default)]
struct OfThread {
    /// Where it is.
    cpu: Option<Cpu>,
    /// Its process, the latest known.
    process: Option<Pid>,
    /// The number of the thread and that process.
    latest: Option<usize>,
}

/// The tracks of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    cpus: ByNumber<CpuTrack>,
    threads: ByNumber<OfThread>,
    /// By the number of a thread and its process: whether the latter is the thread's latest known.
    is_latest: Vec<bool>,
    /// When threads ended, and when ones with their numbers began.
    exits: Vec<(Tid, PerfTime)>,
    forks: BTreeSet<(Tid, PerfTime)>,
    runs: Vec<Run>,
}

impl Tracks {
    /// `sched_switch` names threads without their processes; other records know these.
    fn learn_processes(&mut self, own_number: Option<usize>, record: &TimedRecord<'_>) {
        let named = match record.record {
            Record::Comm { thread, .. } | Record::Fork { thread, .. } => Some(thread),
            Record::Mmap(mmap) | Record::Mmap2(mmap) => Some(mmap.thread),
            Record::SwitchCpuWide { other, .. } => Some(other),
            _ => None,
        };
        self.learn_process(own_number, record.thread);
        self.learn_process(None, named);
    }

    /// The process of a thread; `number`: that of the thread and its process together, where they have one.
    fn learn_process(&mut self, number: Option<usize>, thread: Option<ThreadId>) {
        let is_known = |number: usize| self.is_latest.get(number) == Some(&true);
        let Some(thread) = thread.filter(|thread| thread.tid.0 > 0 && thread.pid.0 > 0) else { return };
        if number.is_some_and(is_known) {
            return;
        }
        let known = self.threads.entry(thread.tid.0.cast_unsigned(), OfThread::default);
        let before = known.process.replace(thread.pid);
        if before.is_some_and(|before| before != thread.pid)
            && let Some(before) = known.latest.take()
        {
            self.is_latest[before] = false;
        }
        if let Some(number) = number {
            if self.is_latest.len() <= number {
                self.is_latest.resize(number + 1, false);
            }
            self.is_latest[number] = true;
            known.latest = Some(number);
        }
    }

    /// A thread ends, or begins. Only SWITCH records do not show that a thread that leaves its CPU has ended.
    pub(super) fn learn_lives(&mut self, record: &Record<'_>, time: PerfTime) {
        match record {
            Record::Exit { thread, .. } => self.exits.push((thread.tid, time)),
            Record::Fork { thread, .. } => {
                self.forks.insert((thread.tid, time));
            }
            _ => {}
        }
    }

    /// A thread that leaves its CPU after its EXIT record, and does not come back, has ended. After a fork its number is
    /// another thread's.
    fn end_threads(&mut self) {
        let ended: BTreeSet<Tid> = self.exits.iter().map(|&(tid, _)| tid).collect();
        let mut of_thread: BTreeMap<Tid, Vec<usize>> = BTreeMap::new();
        for (index, run) in self.runs.iter().enumerate() {
            if ended.contains(&run.thread.tid) {
                of_thread.entry(run.thread.tid).or_default().push(index);
            }
        }
        for (tid, at) in std::mem::take(&mut self.exits) {
            let Some(indices) = of_thread.get(&tid) else { continue };
            let start = |index: &usize| self.runs[*index].start;
            let last = indices.iter().copied().filter(|index| start(index) <= at).max_by_key(start);
            let next = indices.iter().map(start).filter(|&start| start > at).min();
            let is_forked = |next: PerfTime| self.forks.range((tid, at)..=(tid, next)).next().is_some();
            let comes_back = next.is_some_and(|next| !is_forked(next));
            let run = last.map(|index| &mut self.runs[index]);
            if let Some(run) = run.filter(|run| run.leave == LeaveReason::Slept(None) && !comes_back) {
                run.leave = LeaveReason::Exited;
            }
        }
    }

    fn thread(&self, tid: Tid) -> ThreadId {
        let pid = if tid.0 == 0 { Pid(0) } else { self.process(tid).unwrap_or(UNKNOWN_PROCESS) };
        ThreadId { pid, tid }
    }

    fn process(&self, tid: Tid) -> Option<Pid> {
        self.threads.get(tid.0.cast_unsigned())?.process
    }

    /// A sample of no switch.
    fn sample(&mut self, brief: &Brief<'_>) {
        let (Some(time), Some(cpu)) = (brief.time, brief.cpu) else { return };
        let at = At { cpu, time, record: brief.offset };
        self.present(at, brief.thread.filter(|thread| thread.tid.0 >= 0));
    }

    /// A SWITCH or `SWITCH_CPU_WIDE` record.
    fn exchange(&mut self, brief: &Brief<'_>, exchange: Exchange) {
        self.learn_process(brief.thread_number, brief.thread);
        self.learn_process(None, exchange.other);
        let (Some(time), Some(cpu)) = (brief.time, brief.cpu) else { return };
        let current = brief.thread.filter(|thread| thread.tid.0 >= 0);
        self.exchanged(At { cpu, time, record: brief.offset }, current, exchange);
    }

    fn exchanged(&mut self, at: At, current: Option<ThreadId>, exchange: Exchange) {
        let Exchange { out, preempt, other } = exchange;
        if out {
            self.out(at, current, other, preempt);
        } else {
            self.switched_in(at, current, other);
        }
    }

    fn record(&mut self, record: &TimedRecord<'_>, time: PerfTime, reader: Option<&SchedSwitchReader<'_>>) {
        let Some(cpu) = record.cpu else { return };
        let at = At { cpu, time, record: record.offset };
        let current = record.thread.filter(|thread| thread.tid.0 >= 0);
        match &record.record {
            Record::Switch { out, preempt } => {
                self.exchanged(at, current, Exchange { out: *out, preempt: *preempt, other: None });
            }
            Record::SwitchCpuWide { out, preempt, other } => {
                self.exchanged(at, current, Exchange { out: *out, preempt: *preempt, other: Some(*other) });
            }
            Record::ItraceStart { thread } => {
                self.present(at, Some(*thread).filter(|thread| thread.tid.0 >= 0));
            }
            Record::Lost { .. } => self.lost(at),
            Record::Sample(sample) => match reader.and_then(|reader| reader.read(sample)) {
                Some(Switched { prev, next, leave, priorities }) => {
                    let (prev, next) = (self.thread(prev), self.thread(next));
                    self.sched_switch(SchedSwitch { prev, next, leave, priorities, at });
                }
                None => self.present(at, current),
            },
            _ => self.present(at, current),
        }
    }

    fn track(&mut self, at: At) -> &mut CpuTrack {
        self.cpus.entry(at.cpu.0, || CpuTrack::new(at.cpu, at.time))
    }

    pub(super) fn out(&mut self, at: At, prev: Option<ThreadId>, next: Option<ThreadId>, preempt: bool) {
        let next = next.filter(|thread| thread.tid.0 >= 0);
        self.leave_other_cpu(at, next);
        let mut runs = std::mem::take(&mut self.runs);
        self.track(at).switch_out(at, prev, next, preempt, &mut runs);
        self.runs = runs;
        self.settle(at);
    }

    pub(super) fn switched_in(&mut self, at: At, next: Option<ThreadId>, prev: Option<ThreadId>) {
        let Some(next) = next else {
            self.present(at, None);
            return;
        };
        self.leave_other_cpu(at, Some(next));
        let mut runs = std::mem::take(&mut self.runs);
        self.track(at).switch_in(at, next, prev.filter(|thread| thread.tid.0 >= 0), &mut runs);
        self.runs = runs;
        self.settle(at);
    }

    pub(super) fn sched_switch(&mut self, switch: SchedSwitch) {
        let at = switch.at;
        let mut runs = std::mem::take(&mut self.runs);
        self.track(at).sched_switch(switch, &mut runs);
        self.runs = runs;
        self.settle(at);
    }

    pub(super) fn present(&mut self, at: At, thread: Option<ThreadId>) {
        if self.cpus.get_mut(at.cpu.0).is_some_and(|track| track.is_still(at, thread)) {
            return;
        }
        let mut runs = std::mem::take(&mut self.runs);
        self.track(at).present(at, thread, &mut runs);
        self.runs = runs;
        self.settle(at);
    }

    pub(super) fn lost(&mut self, at: At) {
        let mut runs = std::mem::take(&mut self.runs);
        self.track(at).lost(at, &mut runs);
        self.runs = runs;
    }

    /// A thread that comes on here has left the CPU where it was, even if no record says so.
    fn leave_other_cpu(&mut self, at: At, thread: Option<ThreadId>) {
        let Some(thread) = thread.filter(|thread| !thread.is_idle()) else { return };
        let known = self.threads.get(thread.tid.0.cast_unsigned());
        let other = known.and_then(|known| known.cpu).filter(|&cpu| cpu != at.cpu);
        if let Some(track) = other.and_then(|cpu| self.cpus.get_mut(cpu.0)) {
            track.left_unseen(thread.tid, &mut self.runs);
        }
    }

    /// Notes where the thread that is on this CPU now is, and takes it off any other.
    fn settle(&mut self, at: At) {
        let on = self.cpus.get(at.cpu.0).and_then(CpuTrack::on_cpu).filter(|thread| !thread.is_idle());
        let Some(thread) = on else { return };
        self.leave_other_cpu(at, Some(thread));
        self.threads.entry(thread.tid.0.cast_unsigned(), OfThread::default).cpu = Some(at.cpu);
        if let Some(track) = self.cpus.get_mut(at.cpu.0) {
            track.settle(thread.tid);
        }
    }

    pub(super) fn finish(mut self, end: PerfTime) -> Schedule {
        for track in self.cpus.in_order() {
            track.finish(end, &mut self.runs);
        }
        self.end_threads();
        let mut runs = std::mem::take(&mut self.runs);
        for run in runs.iter_mut().filter(|run| run.thread.pid == UNKNOWN_PROCESS) {
            run.thread.pid = self.process(run.thread.tid).unwrap_or(UNKNOWN_PROCESS);
        }
        Schedule::from_runs(runs)
    }
}

/// What a `sched:sched_switch` record holds.
struct Switched {
    prev: Tid,
    next: Tid,
    leave: LeaveReason,
    priorities: [Option<Priority>; 2],
}

/// Reads the fields of `sched:sched_switch` that matter here.
struct SchedSwitchReader<'a> {
    format: &'a TracepointFormat,
    prev_pid: &'a TracepointField,
    next_pid: &'a TracepointField,
    prev_state: &'a TracepointField,
    priorities: [Option<&'a TracepointField>; 2],
    states: TaskStates,
}

impl<'a> SchedSwitchReader<'a> {
    fn of(format: &'a TracepointFormat) -> Option<SchedSwitchReader<'a>> {
        Some(SchedSwitchReader {
            format,
            prev_pid: format.field("prev_pid")?,
            next_pid: format.field("next_pid")?,
            prev_state: format.field("prev_state")?,
            priorities: ["prev_prio", "next_prio"].map(|name| format.field(name)),
            states: TaskStates::of(format),
        })
    }

    fn read(&self, sample: &Sample<'_>) -> Option<Switched> {
        if sample.format()?.id() != self.format.id() {
            return None;
        }
        let raw = sample.raw()?;
        let number = |field: &TracepointField| i32::try_from(field.value(raw)?.as_i64()?).ok();
        let tid = |field: &TracepointField| number(field).filter(|&tid| tid >= 0).map(Tid);
        #[allow(clippy::cast_sign_loss)] // A set of bits in a signed field.
        let state = self.prev_state.value(raw)?.as_i64()? as u64;
        Some(Switched {
            prev: tid(self.prev_pid)?,
            next: tid(self.next_pid)?,
            leave: self.states.leave_reason(state),
            priorities: self.priorities.map(|field| field.and_then(number).map(Priority)),
        })
    }
}
