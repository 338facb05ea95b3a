//! Who is on the CPU, and so whose code the decoder reads.
//!
//! The sideband says since when a thread is on; the flow says when the switch can have happened: in the kernel
//! (its code is the same in each process), or while user code was not traced. A user block never changes hands.

use model::{CodeBytes, CodeEpoch, Pid, ThreadId, Tsc};

use crate::engine::Occupant;

pub(crate) struct Presence<'w> {
    occupants: &'w [Occupant],
    next: usize,
    code: &'w dyn CodeBytes,
    epoch: CodeEpoch,
    pid: Pid,
    thread: Option<ThreadId>,
}

impl<'w> Presence<'w> {
    /// Who is on at `at`.
    pub(crate) fn new(occupants: &'w [Occupant], code: &'w dyn CodeBytes, at: Tsc) -> Presence<'w> {
        let next = occupants.partition_point(|occupant| occupant.since <= at).max(1).min(occupants.len());
        let thread =
            next.checked_sub(1).and_then(|index| occupants.get(index)).map(|occupant| occupant.thread);
        let pid = thread.map_or(Pid::KERNEL, |thread| thread.pid);
        Presence { occupants, next, code, epoch: code.epoch(pid, at), pid, thread }
    }

    pub(crate) fn thread(&self) -> Option<ThreadId> {
        self.thread
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn epoch(&self) -> &CodeEpoch {
        &self.epoch
    }

    /// It is `now`, at a place where threads may change: moves on, and says whether the image changed.
    pub(crate) fn advance(&mut self, now: Tsc) -> bool {
        let moved = self.next_since().is_some_and(|since| since <= now);
        while self.next_since().is_some_and(|since| since <= now) {
            self.thread = self.occupants.get(self.next).map(|occupant| occupant.thread);
            self.next += 1;
        }
        let pid = self.thread.map_or(Pid::KERNEL, |thread| thread.pid);
        if (moved && pid != self.pid) || now >= self.epoch.until {
            self.pid = pid;
            self.epoch = self.code.epoch(pid, now);
            return true;
        }
        false
    }

    /// Whether the mappings of the present process change at `now` or before: to be looked at anywhere.
    pub(crate) fn epoch_ended(&self, now: Tsc) -> bool {
        now >= self.epoch.until
    }

    /// The time before which neither thread nor mappings change.
    pub(crate) fn quiet_until(&self) -> Tsc {
        self.next_since().map_or(self.epoch.until, |since| since.min(self.epoch.until))
    }

    fn next_since(&self) -> Option<Tsc> {
        self.occupants.get(self.next).map(|occupant| occupant.since)
    }
}
