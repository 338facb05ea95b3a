//! Why a reader waits for a read-write lock that other readers hold: a writer is queued before it.
//!
//! Input: a wait for such a lock, and the threads of the process that slept in a system call then. Output: the one that
//! waited for the same lock as a writer, by its path into the scheduler: its callchain's or its flow's.

use model::{ThreadId, Tsc};
use perfdata::LeaveReason;

use super::examination::Examination;
use crate::records::event::{EventKind, SidebandEvent};
use crate::tables::read_write_locks::{Side, side_in_kernel, side_in_user};
use crate::tables::syscalls::{self, Object};
use crate::tables::wait_functions::{MMAP_LOCK, waited_for};
use crate::threads::follow::path_at;
use crate::threads::stays::Stay;
use crate::walk::call_path::CallPath;

/// How many threads are looked at for one wait: the flow of each may have to be decoded.
const MOST: usize = 8;

/// All futex words of one lock lie in so many bytes: `pthread_rwlock_t` has 56 on x86-64 (glibc `bits/pthreadtypes-arch.h`).
const LOCK_SIZE: u64 = 56;

/// A writer that waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuedWriter {
    /// The thread.
    pub(crate) thread: ThreadId,
    /// Since when it waits.
    pub(crate) since: Tsc,
}

/// Which lock a path waits for, and as which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    /// That of the process's address space.
    AddressSpace,
    /// The one of this futex word.
    Futex(u64),
}

impl Lock {
    fn of(path: &CallPath, call: Option<&SidebandEvent>) -> Option<(Lock, Side)> {
        match waited_for(path.kernel_functions()) {
            Some(waited) if waited.what == MMAP_LOCK => {
                return Some((Lock::AddressSpace, path.kernel_functions().find_map(side_in_kernel)?));
            }
            // Of a trace of user code alone the call says enough.
            None if path.kernel_functions().next().is_some() => return None,
            _ => {}
        }
        let EventKind::Syscall { number, arguments } = &call?.kind else { return None };
        let Some(Object::Futex(word)) = syscalls::object(&syscalls::name(*number), *arguments.first()?)
        else {
            return None;
        };
        let side = path.user.iter().rev().find_map(|site| side_in_user(&site.function))?;
        Some((Lock::Futex(word), side))
    }

    /// Whether both are words of one lock. Which word a lock begins with is not known.
    fn is(self, other: Lock) -> bool {
        match (self, other) {
            (Lock::AddressSpace, Lock::AddressSpace) => true,
            (Lock::Futex(a), Lock::Futex(b)) => a.abs_diff(b) < LOCK_SIZE,
            _ => false,
        }
    }
}

/// The writer that was queued when the thread of `stay` began to wait as a reader, by the path `left`.
pub(super) fn queued_writer(
    examination: &mut Examination<'_>,
    stay: &Stay,
    left: &CallPath,
) -> Option<QueuedWriter> {
    let Examination { scene, sideband, .. } = *examination;
    let (own, at, conversion) = (stay.thread?, stay.left_at?, scene.conversion?);
    let (lock, Side::Reader) = Lock::of(left, sideband.call_at(own.tid, at))? else { return None };
    let mut calls: Vec<&SidebandEvent> = sideband.calls_at(at).collect();
    calls.retain(|call| call.thread.is_some_and(|other| other.pid == own.pid && other.tid != own.tid));
    calls.sort_by_key(|call| (call.time, call.offset));
    calls.into_iter().take(MOST).find_map(|call| {
        let thread = call.thread?;
        let runs = scene.schedule.of_thread(thread.tid);
        let begun = runs.partition_point(|run| conversion.to_tsc(run.start) <= at);
        let run = runs.clone().nth(begun.checked_sub(1)?)?;
        let since = conversion.to_tsc(run.stop);
        if since > at || !matches!(run.leave, LeaveReason::Slept(_)) {
            return None;
        }
        let by_record = run.stop_record.and_then(|record| sideband.callchain(record, since));
        let by_record =
            by_record.map(|chain| CallPath::of_callchain(chain, thread.pid, since, scene.functions));
        let path = by_record.or_else(|| path_at(scene, thread, Some(run.cpu), since, examination.decoder))?;
        let (of_other, Side::Writer) = Lock::of(&path, Some(call))? else { return None };
        lock.is(of_other).then_some(QueuedWriter { thread, since })
    })
}

#[cfg(test)]
mod tests;
