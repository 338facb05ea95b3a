//! What the thread that answered did with regard to the request: the parts of a wait for an answer.
//!
//! Input: what that thread did during the wait, and its system calls. It worked for whichever descriptor it read from last; what it
//! asked of another server, and what came back from there, was for the same request. What it did after a wait for events without a read (a timer expired, a
//! job of its pool was done) was for whom it then wrote to, and so is the rest, unless it writes to another one. A server that it asks is one that it connected
//! to, else one that it wrote to before it read from there. Between two requests is the time from a call that waits for events until
//! the next read. Buffers are not recorded, so a thread that reads several requests at once is taken to work for the last of them.

use std::collections::HashMap;

use model::{Cause, OffCpu, Part, Segment, ThreadId, Tsc, TscRange};

use self::in_pool::EventLoop;
use self::turns::{Turn, Turns, polls, turn_at};
use crate::claims::off_cpu::pool::PoolJob;
use crate::claims::off_cpu::pooled::Job;
use crate::records::endpoints::Endpoint;
use crate::records::sideband::Sideband;
use crate::records::transfers::{Transfer, transfers};
use crate::tables::syscalls::Transferring;

/// For which request a thread worked, and what it moved. A request is known by the descriptor that it came by.
pub(super) struct Serving {
    /// The request that the wait was for.
    own: Endpoint,
    /// When its first read had ended, before or during the wait.
    taken: Option<Tsc>,
    /// When it was with the pool of the thread's process before it was answered.
    in_pool: Option<Job>,
    /// The thread.
    event_loop: EventLoop,
    /// From when on it worked for which request.
    turns: Vec<Turn>,
    /// In order; one ends before the next begins.
    moved: Vec<Moved>,
    /// Which thread an answer to a request woke: the client that sent it.
    clients: HashMap<Endpoint, ThreadId>,
}

/// A transfer, and the request that it belonged to.
struct Moved {
    transfer: Transfer,
    request: Endpoint,
}

impl Serving {
    /// Of `thread`, which ended the wait `range` by a call that it was in at `answered`; `None` where that call moved nothing,
    /// or wrote where it had read nothing before.
    pub(super) fn of(
        thread: ThreadId,
        range: TscRange,
        answered: Tsc,
        sideband: &Sideband,
    ) -> Option<Serving> {
        let until = answered.max(range.stop);
        let (transfers, polls) = (transfers(sideband, thread.tid, until), polls(sideband, thread.tid, until));
        let last = transfers[..transfers.partition_point(|one| one.range.start <= answered)].last();
        let client = last.filter(|one| one.direction == Transferring::Out).map(|one| one.endpoint);
        let Turns { moved, worked_for: turns, .. } = Turns::of(&transfers, &polls, client);
        let later = moved.partition_point(|one| one.transfer.range.start <= answered);
        let (before, last) = moved[..later].split_at(later.checked_sub(1)?);
        // The call still goes on, or ends, where it wakes somebody.
        let last = last.first().filter(|one| one.transfer.range.stop >= answered)?;
        let requests = || before.iter().rev().filter(|one| one.is_request()).map(|one| one.request);
        let own = match last.transfer.direction {
            Transferring::Out => {
                requests().find(|&request| request == last.request).or_else(|| requests().next())?
            }
            // It took the request: the buffer of that is free for the next (`sock_wfree` wakes who sleeps at the other end).
            Transferring::In => last.request,
        };
        let (taken, begun) = (taken(&moved[..later], own, last.transfer), last.transfer.range.start);
        let event_loop = EventLoop::new(thread, polls, &transfers);
        let mut serving =
            Serving { own, taken, in_pool: None, event_loop, turns, moved, clients: HashMap::new() };
        serving.in_pool = serving.job(begun, sideband);
        serving.find_clients(thread, sideband);
        Some(serving)
    }

    /// Whether the request came by this descriptor.
    pub(super) fn came_by(&self, descriptor: u32) -> bool {
        self.own.descriptor == descriptor
    }

    /// Who was woken by what `thread` wrote to them.
    fn find_clients(&mut self, thread: ThreadId, sideband: &Sideband) {
        for one in self.moved.iter().filter(|one| one.is_answer()) {
            let mut woken = sideband.wakings_by(thread, one.transfer.range);
            if let Some(client) = woken.find_map(|target| sideband.thread(target)) {
                self.clients.insert(one.request, client);
            }
        }
    }

    /// Whether it was asleep in a read of its own at `at`.
    fn reads_at(&self, at: Tsc) -> bool {
        let later = self.moved.partition_point(|one| one.transfer.range.start <= at);
        let begun = later.checked_sub(1).map(|last| self.moved[last].transfer);
        begun.is_some_and(|one| one.direction == Transferring::In && one.range.contains(at))
    }

    /// Marks each segment with its part, and the first one in which it read the request; the work for others with their descriptor,
    /// by `name` the client, and what was moved in `range`.
    pub(super) fn mark(&self, during: &mut [Segment], range: TscRange, name: impl Fn(ThreadId) -> String) {
        let taken = self.taken;
        let mut moved: HashMap<Endpoint, String> = HashMap::new();
        let mut to_take = self.first_read(range);
        let turns = turns::settled(&self.turns, during);
        for segment in during {
            let middle = Tsc(segment.range.start.0 + segment.range.ticks().0 / 2);
            let turn = turn_at(&turns, middle);
            let in_pool = self.in_pool.as_ref().filter(|job| job.range.contains(middle));
            if let Some(job) = in_pool.filter(|_| PoolJob::is_object(&segment.story.object)) {
                job.object().clone_into(&mut segment.story.object);
            }
            let part = match &segment.cause {
                Cause::Unexplained => continue,
                // Whatever it did then, the request was not delayed by it.
                _ if in_pool.is_some() => Part::Waits,
                Cause::OffCpu(OffCpu::Runnable | OffCpu::Preempted) | Cause::CStateExit(_) => Part::NotRun,
                Cause::OffCpu(_) if self.reads_at(middle) => Part::Between,
                Cause::OffCpu(OffCpu::Poll) if taken.is_none_or(|taken| taken > middle) => Part::Between,
                Cause::OffCpu(_) => Part::Waits,
                Cause::Gc(_) if segment.cpu.is_none() => Part::Waits,
                _ if turn.is_none() => Part::Between,
                _ if turn == Some(self.own) => Part::OwnWork,
                _ => Part::OthersFirst,
            };
            segment.story.part = Some(part);
            let is_read_here = |read: &mut TscRange| part == Part::OwnWork && read.start < segment.range.stop;
            segment.story.takes = to_take.take_if(is_read_here).is_some();
            if let (Part::OthersFirst, Some(other)) = (part, turn) {
                let object = moved.entry(other).or_insert_with(|| self.moved(other, range));
                segment.story.object.clone_from(object);
                segment.story.by = self.clients.get(&other).map_or_else(String::new, |&client| name(client));
            }
        }
    }

    /// The first read in `range` from where the request came; what another server answered is none.
    fn first_read(&self, range: TscRange) -> Option<TscRange> {
        let read = self.moved.iter().filter(|one| one.is_request() && one.transfer.endpoint == self.own);
        read.map(|one| one.transfer.range).find(|read| read.stop > range.start)
    }

    /// `fd 12: 38 bytes in, 8190 bytes out`
    fn moved(&self, request: Endpoint, range: TscRange) -> String {
        let of_request =
            |one: &&Moved| one.transfer.endpoint == request && one.transfer.range.stop > range.start;
        let sum = |direction| {
            let transfers = self.moved.iter().filter(of_request).map(|one| one.transfer);
            let bytes = transfers.filter(|one| one.direction == direction).map(|one| one.bytes);
            bytes.fold(0_u64, u64::saturating_add)
        };
        let descriptor = request.descriptor;
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

impl Moved {
    /// Whether it read something of its request.
    fn is_request(&self) -> bool {
        self.transfer.direction == Transferring::In && self.transfer.bytes > 0
    }

    /// Whether it went back to where the request came from.
    fn is_answer(&self) -> bool {
        self.transfer.direction == Transferring::Out && self.transfer.endpoint == self.request
    }
}

/// When the first read of `own` had ended since the answer before the last one, which `ended` the wait.
fn taken(moved: &[Moved], own: Endpoint, ended: Transfer) -> Option<Tsc> {
    let is_answer =
        |one: &&Moved| one.transfer.direction == Transferring::Out && one.transfer.endpoint == ended.endpoint;
    let is_read = |one: &&Moved| one.is_request() && one.transfer.endpoint == own;
    // An answer may be written in parts.
    let until = moved.iter().rposition(|one| is_read(&one))?;
    let before = moved[..until].iter().rposition(|one| is_answer(&one)).map_or(0, |answer| answer + 1);
    moved[before..=until].iter().find(is_read).map(|one| one.transfer.range.stop)
}

pub(super) mod in_pool;
#[cfg(test)]
mod tests;
mod turns;
