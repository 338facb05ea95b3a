//! When a request was with the pool of threads: its event loop had handed it over and does other things until the job is done. These
//! do not delay its answer.
//!
//! Input: the calls of the loop and of the other threads of its process. The loop answers in a turn that began with the read of an eventfd
//! and without one of the request. Who wrote there first since the eventfd was read before had done a job; that of the request was done
//! then, or later.

use model::{ThreadId, Tsc, TscRange};

use super::{Serving, is_event, written};
use crate::records::endpoints::Call;
use crate::records::event::{EventKind, Side};
use crate::records::sideband::Sideband;
use crate::records::transfers::Transfer;
use crate::tables::syscalls::Transferring;

impl Serving {
    /// From when to when the request was with the pool of `thread`, which answers it by the call that began at `answered`. `transfers` and
    /// `polls` are all of this thread.
    pub(super) fn in_pool(
        &self,
        thread: ThreadId,
        answered: Tsc,
        transfers: &[Transfer],
        polls: &[TscRange],
        sideband: &Sideband,
    ) -> Option<TscRange> {
        let turn = polls.iter().rev().find(|poll| poll.stop <= answered)?.stop;
        let is_own = |at: &Tsc| (turn..answered).contains(at);
        let mut read = self.moved.iter().filter(|one| one.is_request() && one.request == self.own);
        if read.any(|one| is_own(&one.transfer.range.start)) {
            return None;
        }
        let written = written(transfers);
        let events = || transfers.iter().rev().filter(|one| is_event(one, &written));
        let event = events().find(|one| is_own(&one.range.start))?;
        let earlier = events().find(|one| one.endpoint == event.endpoint && one.range.stop < turn);
        let window = TscRange::new(earlier.map_or(Tsc(0), |one| one.range.stop), event.range.start);
        let done = first_write(thread, event.endpoint.descriptor, window, sideband)?;
        let handed_over = self.left_before(done)?;
        (handed_over < done).then(|| TscRange::new(handed_over, done))
    }

    /// When the thread last left the request for something else before `at`.
    fn left_before(&self, at: Tsc) -> Option<Tsc> {
        let later = self.turns.partition_point(|&(from, _)| from <= at);
        let own = self.turns[..later].iter().rposition(|&(_, request)| request == Some(self.own))?;
        Some(self.turns.get(own + 1)?.0)
    }
}

/// When another thread of the same process began to write to `descriptor` first within `window`.
fn first_write(thread: ThreadId, descriptor: u32, window: TscRange, sideband: &Sideband) -> Option<Tsc> {
    let from = sideband.events().partition_point(|event| event.time < window.start);
    let within = sideband.events()[from..].iter().take_while(|event| event.time < window.stop);
    let is_other = |other: ThreadId| other.pid == thread.pid && other.tid != thread.tid;
    let mut writes = within.filter(|event| event.side == Side::Begin && event.thread.is_some_and(is_other));
    let write = writes.find(|event| match &event.kind {
        EventKind::Syscall { number, arguments } => {
            let call = arguments.first().map(|&argument| Call { number: *number, argument });
            call.and_then(|call| call.transfer()) == Some((descriptor, Transferring::Out))
        }
        _ => false,
    });
    write.map(|event| event.time)
}
