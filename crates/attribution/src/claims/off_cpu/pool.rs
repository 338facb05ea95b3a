//! Jobs of a pool of threads: an event loop waits until one is done, which may have to queue after others.
//!
//! Input: a wait that another thread of the process ended by waking the loop, and the system calls of both. The loop handed the job over after
//! it had last read a request. That thread is at the job since it was woken, or has said that the one before was done, whichever was later:
//! a job from before the request is another one's, and one that began when another was done had to queue.

use model::{Tsc, TscRange};

use crate::records::sideband::Sideband;
use crate::records::transfers::{Transfer, transfers};
use crate::tables::event_loops::wakes_loop;
use crate::tables::libraries::spoken;
use crate::tables::syscalls::Transferring;
use crate::threads::stays::Stay;
use crate::threads::wakeup::Wakeup;
use crate::walk::call_path::CallPath;

const OWN: &str = "a job of its thread pool";
const QUEUED: &str = "a job of its thread pool, queued after others";
const EARLIER: &str = "its thread pool, busy with an earlier job";

/// What the pool did when the loop waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolJob {
    /// A job, as far as is known of the request that was read last.
    Own,
    /// That, and from when to when its thread had been at another one first.
    Queued(TscRange),
    /// A job that was begun before that request was read.
    Earlier,
}

impl PoolJob {
    /// The job whose end ended the wait of `stay`; `waker` is where the thread was that woke the loop.
    pub(crate) fn of(
        stay: &Stay,
        wakeup: &Wakeup,
        waker: Option<&CallPath>,
        sideband: &Sideband,
    ) -> Option<PoolJob> {
        let own = stay.thread?;
        let worker = wakeup.thread().filter(|worker| worker.pid == own.pid && worker.tid != own.tid)?;
        if !waker?.user.iter().any(|site| wakes_loop(&spoken(&site.function))) {
            return None;
        }
        let left = stay.left_at.unwrap_or(stay.range.start);
        let requests = transfers(sideband, own.tid, left);
        let Some(read) = requests.iter().rev().find(|one| is_request(one, &requests)) else {
            return Some(PoolJob::Own);
        };
        let (read, before) = (read.range.start, TscRange::new(Tsc(0), wakeup.recorded_at));
        let done = transfers(sideband, worker.tid, wakeup.recorded_at);
        let done = done.iter().rev().find(|one| is_done(one) && one.range.stop < wakeup.recorded_at);
        let done = done.map(|one| one.range.stop);
        let woken = sideband.wakings(worker.tid, before).last().map(|event| event.time);
        Some(PoolJob::begun(read, done, woken))
    }

    /// What a thread of the pool was at that was `woken` then and had `done` another job then, after the request was `read`.
    pub(crate) fn begun(read: Tsc, done: Option<Tsc>, woken: Option<Tsc>) -> PoolJob {
        match done.max(woken) {
            Some(since) if since < read => PoolJob::Earlier,
            // It was not idle in between.
            Some(since) if done == Some(since) => PoolJob::Queued(TscRange::new(read, since)),
            _ => PoolJob::Own,
        }
    }

    /// What the loop waited for.
    pub(super) fn object(self) -> &'static str {
        match self {
            PoolJob::Own => OWN,
            PoolJob::Queued(_) => QUEUED,
            PoolJob::Earlier => EARLIER,
        }
    }

    /// Whether such a job is called `object`.
    pub(crate) fn is_object(object: &str) -> bool {
        [OWN, QUEUED, EARLIER].contains(&object)
    }

    /// For the particulars.
    pub(super) fn tell(self, microseconds: impl Fn(TscRange) -> String) -> String {
        match self {
            PoolJob::Own => "for a job of its thread pool".to_owned(),
            PoolJob::Queued(range) => format!(
                "for a job of its thread pool, whose thread was at another one for {} first",
                microseconds(range)
            ),
            PoolJob::Earlier => {
                "the thread of its pool that woke it was at that job before the last request was read"
                    .to_owned()
            }
        }
    }
}

/// Whether the loop read a request, and not that something had happened.
fn is_request(one: &Transfer, all: &[Transfer]) -> bool {
    let is_written =
        || all.iter().any(|other| other.direction == Transferring::Out && other.endpoint == one.endpoint);
    one.direction == Transferring::In && (!one.endpoint.may_be_event(one.bytes) || is_written())
}

/// Whether a thread of the pool said that a job was done: by the eight bytes of an eventfd.
fn is_done(one: &Transfer) -> bool {
    one.direction == Transferring::Out && one.endpoint.may_be_event(one.bytes)
}

#[cfg(test)]
mod tests;
