//! When a request was with the pool of threads: its event loop had handed it over and does other things until the job is done. These
//! do not delay its answer.
//!
//! Input: the calls of the loop and of the other threads of its process. The loop answers in a turn that began with the read of an eventfd
//! and without one of the request. Who wrote there first since the eventfd was read before had done a job; that of the request was done
//! then, or later. The loop had handed it over before this thread took it up: when it was woken, or had done the one before.

use model::{ThreadId, Tsc, TscRange};

use super::Serving;
use super::turns::{is_event, written};
use crate::claims::off_cpu::pool::PoolJob;
use crate::claims::off_cpu::pooled::Job;
use crate::records::endpoints::Call;
use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::transfers::Transfer;
use crate::tables::syscalls::Transferring;

/// A thread that waits for events, by its calls in order of time.
pub(super) struct EventLoop {
    thread: ThreadId,
    /// From when to when it waited.
    polls: Vec<TscRange>,
    /// The events that it read.
    events: Vec<Transfer>,
}

impl EventLoop {
    /// `transfers` are all of `thread`.
    pub(super) fn new(thread: ThreadId, polls: Vec<TscRange>, transfers: &[Transfer]) -> EventLoop {
        let written = written(transfers);
        let events = transfers.iter().filter(|one| is_event(one, &written)).copied().collect();
        EventLoop { thread, polls, events }
    }

    /// When the turn began in which it was at `at`.
    fn turn(&self, at: Tsc) -> Option<Tsc> {
        let over = self.polls.partition_point(|poll| poll.stop <= at);
        Some(self.polls[over.checked_sub(1)?].stop)
    }

    /// The last event that it read in the turn from `turn` until `at`, and since when anything may have been written for it.
    fn event(&self, turn: Tsc, at: Tsc) -> Option<(u32, TscRange)> {
        let read = &self.events[..self.events.partition_point(|one| one.range.start < at)];
        let event = read.last().filter(|one| one.range.start >= turn)?;
        let is_earlier = |one: &&Transfer| one.endpoint == event.endpoint && one.range.stop < turn;
        let since = read.iter().rev().find(is_earlier).map_or(Tsc(0), |one| one.range.stop);
        Some((event.endpoint.descriptor, TscRange::new(since, event.range.start)))
    }
}

impl Serving {
    /// The jobs of the pool at this request, which was read and answered in `range`: in order, each after the one before.
    pub(crate) fn jobs(&self, range: TscRange, sideband: &Sideband) -> Vec<Job> {
        let is_own = |one: &&super::Moved| one.is_answer() && one.request == self.own;
        let answers = self.moved.iter().filter(is_own).map(|one| one.transfer.range.start);
        let mut jobs: Vec<Job> = Vec::new();
        for answered in answers.filter(|&at| range.contains(at)) {
            let from = jobs.last().map_or(range.start, |last| last.range.stop);
            if let Some(mut job) = self.job(answered, sideband).filter(|job| job.range.stop > from) {
                job.range.start = job.range.start.max(from);
                jobs.push(job);
            }
        }
        jobs
    }

    /// The job before the answer by the call that began at `answered`.
    pub(super) fn job(&self, answered: Tsc, sideband: &Sideband) -> Option<Job> {
        let turn = self.event_loop.turn(answered)?;
        let from = self.moved.partition_point(|one| one.transfer.range.start < turn);
        let mut moved = self.moved[from..].iter().take_while(|one| one.transfer.range.start < answered);
        if moved.any(|one| one.is_request() && one.request == self.own) {
            return None;
        }
        let (descriptor, window) = self.event_loop.event(turn, answered)?;
        let (done, by) = first_write(self.event_loop.thread, descriptor, window, sideband)?;
        let taken = self.taken.unwrap_or_default();
        let earlier = last_write(by, descriptor, done, sideband);
        let woken = sideband.wakings(by.tid, TscRange::new(Tsc(0), done)).last().map(|event| event.time);
        let taken_up = earlier.max(woken).map_or(done, |since| since.max(taken).min(done));
        let handed_over = self.left_before(taken_up)?;
        let range = TscRange::new(handed_over, done.max(handed_over));
        (!range.is_empty()).then(|| Job::new(range, by, PoolJob::begun(taken, earlier, woken)))
    }

    /// When the thread last left the request for something else before `at`, or after it where it is at the request then.
    fn left_before(&self, at: Tsc) -> Option<Tsc> {
        let later = self.turns.partition_point(|turn| turn.from <= at);
        let own = self.turns[..later].iter().rposition(|turn| turn.request == Some(self.own))?;
        Some(self.turns.get(own + 1)?.from)
    }
}

/// When another thread of the same process began to write to `descriptor` first within `window`, and which.
fn first_write(
    thread: ThreadId,
    descriptor: u32,
    window: TscRange,
    sideband: &Sideband,
) -> Option<(Tsc, ThreadId)> {
    let mut writes = sideband.within(window).iter().filter(|event| writes_to(event, descriptor));
    writes.find_map(|event| {
        let by = event.thread.filter(|by| by.pid == thread.pid && by.tid != thread.tid)?;
        Some((event.time, by))
    })
}

/// When `thread` began to write to `descriptor` last before `at`.
fn last_write(thread: ThreadId, descriptor: u32, at: Tsc, sideband: &Sideband) -> Option<Tsc> {
    let mut writes = sideband.calls_back(thread.tid, at).filter(|event| writes_to(event, descriptor));
    writes.next().map(|event| event.time)
}

fn writes_to(event: &SidebandEvent, descriptor: u32) -> bool {
    match &event.kind {
        EventKind::Syscall { number, arguments } if event.side == Side::Begin => {
            let call = arguments.first().map(|&argument| Call { number: *number, argument });
            call.and_then(|call| call.transfer()) == Some((descriptor, Transferring::Out))
        }
        _ => false,
    }
}
