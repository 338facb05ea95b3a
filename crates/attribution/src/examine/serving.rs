//! What the thread that answered did with regard to the request: the parts of a wait for an answer.
//!
//! Input: what that thread did during the wait, and its system calls. It worked for whichever descriptor it read from last; what it
//! wrote to another descriptor before it read from there was for the same request (a server that it asks in turn). Between two requests is the
//! time from a call that waits for events until the next read. Buffers are not recorded, so a thread that reads several requests at
//! once is taken to work for the last of them.

use std::collections::{HashMap, HashSet};

use model::{Cause, OffCpu, Part, Segment, ThreadId, Tid, Tsc, TscRange};

use crate::records::event::{EventKind, Side};
use crate::records::sideband::Sideband;
use crate::records::transfers::{Transfer, transfers};
use crate::tables::syscalls::{self, Object, Transferring};

/// Bytes of an eventfd's or timerfd's counter, and of a signal from a signalfd (`include/uapi/linux/signalfd.h`).
const EVENT: u64 = 8;
const SIGNAL: u64 = 128;

/// For which descriptor a thread worked, and what it moved.
pub(super) struct Serving {
    /// The descriptor of the answer, or of the request where these are two.
    own: u32,
    /// From when on it worked for which descriptor; `None`: for none.
    turns: Vec<(Tsc, Option<u32>)>,
    /// In order; one ends before the next begins.
    transfers: Vec<Transfer>,
    /// The descriptors that it wrote to.
    written: HashSet<u32>,
    /// The first descriptor of the request that another one is used for.
    origins: HashMap<u32, u32>,
    /// Which thread an answer on a descriptor woke: the client at its other end.
    clients: HashMap<u32, ThreadId>,
}

impl Serving {
    /// Of `thread`, which ended the wait `range` by a call that it was in at `answered`; `None` where that call wrote nothing,
    /// or where it had read nothing before.
    pub(super) fn of(
        thread: ThreadId,
        range: TscRange,
        answered: Tsc,
        sideband: &Sideband,
    ) -> Option<Serving> {
        let tid = thread.tid;
        let call = sideband.call_at(tid, answered)?;
        let EventKind::Syscall { number, arguments } = &call.kind else { return None };
        let name = syscalls::name(*number);
        syscalls::transfers(&name).filter(|&direction| direction == Transferring::Out)?;
        let Object::FileDescriptor(answer) = syscalls::object(&name, *arguments.first()?)? else {
            return None;
        };
        let until = answered.max(range.stop);
        let transfers = transfers(sideband, tid, until);
        let out = transfers.iter().filter(|one| one.direction == Transferring::Out);
        let mut serving = Serving {
            own: answer,
            turns: Vec::new(),
            written: out.map(|one| one.descriptor).collect(),
            transfers,
            origins: HashMap::new(),
            clients: HashMap::new(),
        };
        serving.find_clients(thread, sideband);
        serving.take_turns(polls(sideband, tid, until));
        let is_request =
            |one: &&Transfer| one.direction == Transferring::In && one.bytes > 0 && !serving.is_event(one);
        let read = serving.transfers.iter().rev().filter(is_request).map(|one| one.descriptor);
        let own = read
            .clone()
            .find(|&one| serving.origin(one) == serving.origin(answer))
            .or_else(|| read.clone().next())?;
        serving.own = serving.origin(own);
        Some(serving)
    }

    /// Who was woken by what `thread` wrote.
    fn find_clients(&mut self, thread: ThreadId, sideband: &Sideband) {
        for one in self.transfers.iter().filter(|one| one.direction == Transferring::Out) {
            let woken = sideband.wakings_by(thread, one.range).find_map(|target| sideband.thread(target));
            if let Some(client) = woken {
                self.clients.insert(one.descriptor, client);
            }
        }
    }

    /// Follows the transfers and the calls that wait for events.
    fn take_turns(&mut self, polls: Vec<Tsc>) {
        let mut polls = polls.into_iter().peekable();
        let mut current = None;
        let mut read_from = HashSet::new();
        for one in &self.transfers {
            let Transfer { range, descriptor, direction, .. } = *one;
            while let Some(poll) = polls.next_if(|&poll| poll < range.start) {
                current = None;
                self.turns.push((poll, None));
            }
            match direction {
                Transferring::In if self.is_event(one) => {}
                Transferring::In => {
                    current = Some(self.origin(descriptor));
                    read_from.insert(descriptor);
                    self.turns.push((range.start, current));
                }
                Transferring::Out if read_from.contains(&descriptor) => {
                    self.turns.push((range.start, Some(self.origin(descriptor))));
                    self.turns.push((range.stop, current));
                }
                Transferring::Out => {
                    if let Some(current) = current {
                        self.origins.insert(descriptor, current);
                    }
                }
            }
        }
        self.turns.extend(polls.map(|poll| (poll, None)));
    }

    /// Whether `one` reads an event and no request: eight bytes of an eventfd or a timerfd, `struct signalfd_siginfo`; nothing is ever
    /// written to these.
    fn is_event(&self, one: &Transfer) -> bool {
        let is_small = one.bytes == EVENT || (one.bytes > 0 && one.bytes.is_multiple_of(SIGNAL));
        is_small && !self.written.contains(&one.descriptor)
    }

    fn origin(&self, descriptor: u32) -> u32 {
        self.origins.get(&descriptor).copied().unwrap_or(descriptor)
    }

    /// For which descriptor it worked at `at`.
    fn turn(&self, at: Tsc) -> Option<u32> {
        let later = self.turns.partition_point(|&(from, _)| from <= at);
        self.turns[later.checked_sub(1)?].1
    }

    /// Whether it was asleep in a read of its own at `at`.
    fn reads_at(&self, at: Tsc) -> bool {
        let later = self.transfers.partition_point(|one| one.range.start <= at);
        let begun = later.checked_sub(1).map(|last| self.transfers[last]);
        begun.is_some_and(|one| one.direction == Transferring::In && one.range.contains(at))
    }

    /// Marks each segment with its part; the work for others with their descriptor, by `name` the client, and what was moved in
    /// `range`.
    pub(super) fn mark(&self, during: &mut [Segment], range: TscRange, name: impl Fn(ThreadId) -> String) {
        let taken = self.taken(range);
        let mut moved: HashMap<u32, String> = HashMap::new();
        for segment in during {
            let middle = Tsc(segment.range.start.0 + segment.range.ticks().0 / 2);
            let turn = self.turn(middle);
            let part = match &segment.cause {
                Cause::OffCpu(OffCpu::Runnable | OffCpu::Preempted) | Cause::CStateExit(_) => Part::NotRun,
                Cause::OffCpu(_) if self.reads_at(middle) => Part::Between,
                Cause::OffCpu(OffCpu::Poll) if taken.is_none_or(|taken| taken > middle) => Part::Between,
                Cause::OffCpu(_) => Part::Waits,
                Cause::TraceLoss | Cause::Unexplained => continue,
                _ if turn.is_none() => Part::Between,
                _ if turn == Some(self.own) => Part::OwnWork,
                _ => Part::OthersFirst,
            };
            segment.story.part = Some(part);
            if let (Part::OthersFirst, Some(other)) = (part, turn) {
                let object = moved.entry(other).or_insert_with(|| self.moved(other, range));
                segment.story.object.clone_from(object);
                segment.story.by = self.clients.get(&other).map_or_else(String::new, |&client| name(client));
            }
        }
    }

    /// When it had first read from the descriptor of the request in `range`.
    fn taken(&self, range: TscRange) -> Option<Tsc> {
        let took = |one: &&Transfer| {
            one.direction == Transferring::In
                && self.origin(one.descriptor) == self.own
                && one.range.stop > range.start
        };
        self.transfers.iter().find(took).map(|one| one.range.stop)
    }

    /// `fd 12: 38 bytes in, 8190 bytes out`
    fn moved(&self, descriptor: u32, range: TscRange) -> String {
        let sum = |direction| {
            let inside = |one: &&Transfer| {
                self.origin(one.descriptor) == descriptor
                    && one.direction == direction
                    && one.range.stop > range.start
            };
            self.transfers.iter().filter(inside).fold(0_u64, |sum, one| sum.saturating_add(one.bytes))
        };
        let (input, output) = (sum(Transferring::In), sum(Transferring::Out));
        let moved: Vec<String> = [(input, "in"), (output, "out")]
            .into_iter()
            .filter(|&(bytes, _)| bytes > 0)
            .map(|(bytes, way)| format!("{bytes} bytes {way}"))
            .collect();
        if moved.is_empty() {
            format!("fd {descriptor}")
        } else {
            format!("fd {descriptor}: {}", moved.join(", "))
        }
    }
}

/// When thread `tid` began to wait for events, until `until`.
fn polls(sideband: &Sideband, tid: Tid, until: Tsc) -> Vec<Tsc> {
    let waits = |number: u64| syscalls::waits_for(&syscalls::name(number)) == Some(OffCpu::Poll);
    let is_poll = |kind: &EventKind| matches!(kind, EventKind::Syscall { number, .. } if waits(*number));
    let begun = sideband.calls_of(tid, until).filter(|event| event.side == Side::Begin);
    begun.filter(|event| is_poll(&event.kind)).map(|event| event.time).collect()
}

#[cfg(test)]
mod tests;
