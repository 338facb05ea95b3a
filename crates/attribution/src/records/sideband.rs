//! The explaining records around an interval, indexed by subject: wake-ups and system calls by thread, idle states by
//! CPU.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Cpu, FileOffset, ThreadId, Tid, TimeConversion, Tsc, TscRange};

use crate::records::event::{EventKind, Noise, Side, SidebandEvent};

/// How many records back the search for an open interrupt goes: it begins shortly before the events in it.
const INTERRUPT_SEARCHED: usize = 4096;

/// The explaining records around an interval, indexed by subject: a stretch of more of them, which others share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sideband {
    shared: Arc<Indexed>,
    /// Which of its events.
    from: usize,
    until: usize,
}

/// Explaining records, indexed by subject.
#[derive(Debug, Default)]
pub(crate) struct Indexed {
    /// In time order.
    events: Vec<SidebandEvent>,
    wakings: BySubject,
    migrations: BySubject,
    calls: BySubject,
    idle: BySubject,
    /// Samples of `perf record --off-cpu`.
    off_cpu: BySubject,
    /// What osnoise measured of threads.
    measured: BySubject,
    /// Callchains of user code that belong to earlier records: no events of their own.
    user_chains: Vec<SidebandEvent>,
}

/// The numbers of the events about each subject, in their order, after the subject's own in one word: sorting them is cheaper than a list
/// for each subject.
#[derive(Clone, Debug, Default)]
struct BySubject(Vec<u64>);

impl BySubject {
    fn add(&mut self, subject: u32, index: usize) {
        self.0.push(u64::from(subject) << 32 | index as u64);
    }

    /// Those of a subject among the events with the numbers from `from` to before `until`.
    fn of(&self, subject: u32, (from, until): (usize, usize)) -> &[u64] {
        let word = |index: usize| u64::from(subject) << 32 | index as u64;
        let first = self.0.partition_point(|&one| one < word(from));
        let count = self.0[first..].partition_point(|&one| one < word(until));
        &self.0[first..first + count]
    }

    /// All subjects that are threads.
    fn threads(&self) -> impl Iterator<Item = Tid> {
        let first_of_each = self.0.chunk_by(|one, next| one >> 32 == next >> 32).map(|about| about[0]);
        first_of_each.map(|one| Tid(((one >> 32) as u32).cast_signed()))
    }
}

/// Adds to the callchains of `events` the part that the thread's first later record with the same cookie has. A thread's samples in one stay in the
/// kernel share a cookie, and one record.
fn complete_chains(events: &mut [SidebandEvent], chains: &[SidebandEvent]) {
    let mut of_cookie: HashMap<(Option<Tid>, Option<u64>), Vec<&SidebandEvent>> = HashMap::new();
    let key = |event: &SidebandEvent| (event.thread.map(|thread| thread.tid), event.cookie);
    for chain in chains {
        of_cookie.entry(key(chain)).or_default().push(chain);
    }
    for event in events.iter_mut().filter(|event| event.cookie.is_some()) {
        let Some(later) = of_cookie.get(&key(event)) else { continue };
        if let Some(chain) = later.iter().find(|chain| chain.time >= event.time) {
            event.chain.extend(&chain.chain);
            event.cookie = None;
        }
    }
}

/// The number of the event in a word of [`BySubject`].
fn index(word: u64) -> usize {
    (word & 0xffff_ffff) as u32 as usize
}

impl Indexed {
    /// Sorts `events` by time and by subject.
    pub(crate) fn new(mut events: Vec<SidebandEvent>) -> Indexed {
        events.sort_by_key(|event| event.time);
        let mut indexed = Indexed::default();
        if events.iter().any(|event| event.kind == EventKind::UserChain) {
            let is_chain = |event: &mut SidebandEvent| event.kind == EventKind::UserChain;
            indexed.user_chains = events.extract_if(.., is_chain).collect();
            complete_chains(&mut events, &indexed.user_chains);
        }
        for (index, event) in events.iter().enumerate() {
            match (&event.kind, event.thread, event.cpu) {
                (EventKind::Waking { target, .. }, ..) => {
                    indexed.wakings.add(target.0.cast_unsigned(), index);
                }
                (EventKind::Migration { target, .. }, ..) => {
                    indexed.migrations.add(target.0.cast_unsigned(), index);
                }
                (EventKind::Syscall { .. }, Some(thread), _) => {
                    indexed.calls.add(thread.tid.0.cast_unsigned(), index);
                }
                (EventKind::Idle { .. }, _, Some(cpu)) => indexed.idle.add(cpu.0, index),
                (EventKind::OffCpu { target, .. }, ..) => {
                    indexed.off_cpu.add(target.0.cast_unsigned(), index);
                }
                (EventKind::Noise { of: Noise::Thread { .. }, .. }, _, Some(cpu)) => {
                    indexed.measured.add(cpu.0, index);
                }
                _ => {}
            }
        }
        let Indexed { wakings, migrations, calls, idle, off_cpu, measured, .. } = &mut indexed;
        for by_subject in [wakings, migrations, calls, idle, off_cpu, measured] {
            by_subject.0.sort_unstable();
        }
        indexed.events = events;
        indexed
    }

    /// Whether callchains were completed out of later records: a part of the events may lack these.
    pub(crate) fn has_later_chains(&self) -> bool {
        !self.user_chains.is_empty()
    }
}

impl Sideband {
    /// Sorts `events` by time and by subject.
    pub(crate) fn new(events: Vec<SidebandEvent>) -> Sideband {
        let shared = Indexed::new(events);
        Sideband { from: 0, until: shared.events.len(), shared: Arc::new(shared) }
    }

    /// The events with the numbers from `from` to before `until` of those that others share.
    pub(crate) fn part_of(shared: Arc<Indexed>, from: usize, until: usize) -> Sideband {
        let until = until.min(shared.events.len());
        Sideband { from: from.min(until), until, shared }
    }

    /// These events and `more`.
    pub(crate) fn with(self, more: Vec<SidebandEvent>) -> Sideband {
        if more.is_empty() {
            return self;
        }
        let mut events = self.events().to_vec();
        events.extend(more);
        events.extend_from_slice(self.user_chains());
        Sideband::new(events)
    }

    /// Whether a record's callchain lacks the user's part, which a later record has.
    pub(crate) fn awaits_chains(&self) -> bool {
        self.events().iter().any(|event| event.cookie.is_some())
    }

    /// The callchain of the record at `offset`, made when a thread left its CPU at `at`.
    pub(crate) fn callchain(&self, offset: FileOffset, at: Tsc) -> Option<&[u64]> {
        let from = self.events().partition_point(|event| event.time < at);
        let same_time = self.events()[from..].iter().take_while(|event| event.time == at);
        same_time
            .into_iter()
            .find(|event| event.offset == offset && event.kind == EventKind::SwitchOut)
            .map(|event| &*event.chain)
    }

    /// The callchain of thread `tid`'s user code while it was off its CPU at `at`, by the sample of `perf record --off-cpu` whose time off the CPU
    /// has that moment.
    pub(crate) fn off_cpu_chain(&self, tid: Tid, at: Tsc, conversion: TimeConversion) -> Option<&[u64]> {
        let mut own = self.about(self.of_thread(&self.shared.off_cpu, tid), at);
        // Times off the CPU of one thread do not overlap: only the one that ends first after that moment may have it.
        let ended = own.find(|event| event.time > at)?;
        let EventKind::OffCpu { ns, .. } = ended.kind else { return None };
        (ended.time.before(conversion.ns_to_ticks(ns)) <= at).then_some(&*ended.chain)
    }

    /// The threads that osnoise measured on `cpu` whose records come after `from`.
    pub(crate) fn measured_threads(&self, cpu: Cpu, from: Tsc) -> impl Iterator<Item = &SidebandEvent> {
        self.about(self.of_subject(&self.shared.measured, cpu.0), from)
    }

    /// Since when thread `tid`, on `cpu` until `until`, was to be rescheduled lazily, as its last records there show; `None` where they do not.
    pub(crate) fn lazy_since(&self, cpu: Cpu, tid: Tid, until: Tsc) -> Option<Tsc> {
        let later = self.events().partition_point(|event| event.time < until);
        let earlier = self.events()[later.saturating_sub(INTERRUPT_SEARCHED)..later].iter().rev();
        let on_cpu = earlier.filter(|event| event.cpu == Some(cpu) && event.kind != EventKind::SwitchOut);
        let own = on_cpu.take_while(|event| event.thread.is_some_and(|thread| thread.tid == tid));
        own.take_while(|event| event.lazy).last().map(|event| event.time)
    }

    /// All, in time order.
    pub(crate) fn events(&self) -> &[SidebandEvent] {
        &self.shared.events[self.from..self.until]
    }

    /// Those in `range`, in the order of their times.
    pub(crate) fn within(&self, range: TscRange) -> &[SidebandEvent] {
        let events = self.events();
        let from = events.partition_point(|event| event.time < range.start);
        let until = events.partition_point(|event| event.time < range.stop);
        &events[from..until.max(from)]
    }

    /// The later records that have the ends of callchains, which are no events.
    pub(crate) fn user_chains(&self) -> &[SidebandEvent] {
        &self.shared.user_chains
    }

    /// An event by a word of [`BySubject`].
    fn event(&self, word: u64) -> &SidebandEvent {
        &self.shared.events[index(word)]
    }

    fn of_subject<'a>(&self, by_subject: &'a BySubject, subject: u32) -> &'a [u64] {
        by_subject.of(subject, (self.from, self.until))
    }

    fn of_thread<'a>(&self, by_subject: &'a BySubject, tid: Tid) -> &'a [u64] {
        self.of_subject(by_subject, tid.0.cast_unsigned())
    }

    /// The wake-ups of `target` within `range`.
    pub(crate) fn wakings(&self, target: Tid, range: TscRange) -> impl Iterator<Item = &SidebandEvent> {
        self.about(self.of_thread(&self.shared.wakings, target), range.start)
            .take_while(move |event| event.time < range.stop)
    }

    /// Whom `waker` woke within `range`, also in an interrupt in its context.
    pub(crate) fn wakings_by(&self, waker: ThreadId, range: TscRange) -> impl Iterator<Item = Tid> {
        let within = self.within(range).iter();
        within.filter(move |event| event.thread == Some(waker)).filter_map(|event| match event.kind {
            EventKind::Waking { target, .. } => Some(target),
            _ => None,
        })
    }

    /// The thread with the number `tid`, if it made a system call.
    pub(crate) fn thread(&self, tid: Tid) -> Option<ThreadId> {
        self.calls_of(tid, Tsc(u64::MAX)).find_map(|event| event.thread)
    }

    /// The migrations of `target` within `range`.
    pub(crate) fn migrations(&self, target: Tid, range: TscRange) -> impl Iterator<Item = &SidebandEvent> {
        self.about(self.of_thread(&self.shared.migrations, target), range.start)
            .take_while(move |event| event.time < range.stop)
    }

    /// The system calls that threads were in at `at`.
    pub(crate) fn calls_at(&self, at: Tsc) -> impl Iterator<Item = &SidebandEvent> {
        self.shared.calls.threads().filter_map(move |tid| self.call_at(tid, at))
    }

    /// The system call that thread `tid` was in at `at`: its last record is a `sys_enter`.
    pub(crate) fn call_at(&self, tid: Tid, at: Tsc) -> Option<&SidebandEvent> {
        self.last_call(tid, at).filter(|last| last.side == Side::Begin)
    }

    /// The last record of thread `tid`'s system calls at or before `at`: of the begin or the end of one.
    pub(crate) fn last_call(&self, tid: Tid, at: Tsc) -> Option<&SidebandEvent> {
        let of_thread = self.of_thread(&self.shared.calls, tid);
        let later = of_thread.partition_point(|&word| self.event(word).time <= at);
        Some(self.event(of_thread[later.checked_sub(1)?]))
    }

    /// The first record of thread `tid`'s system calls after `at`: of the begin or the end of one.
    pub(crate) fn next_call(&self, tid: Tid, at: Tsc) -> Option<&SidebandEvent> {
        self.about(self.of_thread(&self.shared.calls, tid), at).find(|event| event.time > at)
    }

    /// The records of thread `tid`'s system calls before `until`, in order.
    pub(crate) fn calls_of(&self, tid: Tid, until: Tsc) -> impl Iterator<Item = &SidebandEvent> {
        self.about(self.of_thread(&self.shared.calls, tid), Tsc(0))
            .take_while(move |event| event.time < until)
    }

    /// The same, the last one first.
    pub(crate) fn calls_back(&self, tid: Tid, until: Tsc) -> impl Iterator<Item = &SidebandEvent> {
        let of_thread = self.of_thread(&self.shared.calls, tid);
        let later = of_thread.partition_point(|&word| self.event(word).time < until);
        of_thread[..later].iter().rev().map(|&word| self.event(word))
    }

    /// The first record within `range` by which `cpu` leaves idle, and the one by which it had entered idle.
    pub(crate) fn idle_exit(&self, cpu: Cpu, range: TscRange) -> Option<(&SidebandEvent, &SidebandEvent)> {
        let of_cpu = self.of_subject(&self.shared.idle, cpu.0);
        let from = of_cpu.partition_point(|&word| self.event(word).time < range.start);
        let is_exit = |&word: &u64| self.event(word).side == Side::End;
        let found = of_cpu[from..].iter().position(is_exit)? + from;
        let awake = self.event(of_cpu[found]);
        let entered = self.event(of_cpu[found.checked_sub(1)?]);
        (range.contains(awake.time) && entered.side == Side::Begin).then_some((entered, awake))
    }

    /// The first record that `cpu` made within `range`, after its begin.
    pub(crate) fn first_on(&self, cpu: Cpu, range: TscRange) -> Option<&SidebandEvent> {
        let from = self.events().partition_point(|event| event.time <= range.start);
        let mut within = self.events()[from..].iter().take_while(|event| event.time < range.stop);
        within.find(|event| event.cpu == Some(cpu))
    }

    /// The records that the CPU of `event` made before it, latest first; those of the same time by their order. At most
    /// `most` records of all CPUs are searched.
    pub(crate) fn earlier_on_cpu(
        &self,
        event: &SidebandEvent,
        most: usize,
    ) -> impl Iterator<Item = &SidebandEvent> + Clone {
        let cpu = event.cpu;
        let from = self.events().partition_point(|other| other.time < event.time);
        let same_time = self.events()[from..].iter().take_while(|other| other.time == event.time);
        let same_time = same_time.take(INTERRUPT_SEARCHED);
        let own = same_time.take_while(|other| other.offset != event.offset).count();
        let until = from + own;
        self.events()[until.saturating_sub(most)..until].iter().rev().filter(move |other| other.cpu == cpu)
    }

    /// The innermost interrupt or softirq that `cpu` was serving at `at`: begun and not ended.
    pub(crate) fn interrupt_at(&self, cpu: Cpu, at: Tsc) -> Option<&SidebandEvent> {
        self.open_at(cpu, at, EventKind::is_interrupt)
    }

    /// The innermost work of such a kind that `cpu` was doing at `at`: begun and not ended.
    pub(crate) fn open_at(
        &self,
        cpu: Cpu,
        at: Tsc,
        is_such: impl Fn(&EventKind) -> bool,
    ) -> Option<&SidebandEvent> {
        let later = self.events().partition_point(|event| event.time <= at);
        let mut ended: Vec<&SidebandEvent> = Vec::new();
        let earlier = self.events()[later.saturating_sub(INTERRUPT_SEARCHED)..later].iter().rev();
        for event in earlier.filter(|event| event.cpu == Some(cpu) && is_such(&event.kind)) {
            match event.side {
                Side::End => ended.push(event),
                Side::Begin => match ended.iter().position(|end| end.kind.same_work(&event.kind)) {
                    Some(index) => drop(ended.swap_remove(index)),
                    None => return Some(event),
                },
            }
        }
        None
    }

    fn about<'a>(&'a self, of: &'a [u64], from: Tsc) -> impl Iterator<Item = &'a SidebandEvent> {
        let first = of.partition_point(|&word| self.event(word).time < from);
        of[first..].iter().map(|&word| self.event(word))
    }
}

#[cfg(test)]
mod tests;
