//! `offcpu.lock` on a futex: whether the waker held a lock, or only sent a signal.
//!
//! The kernel knows what a futex word means only with priority inheritance: the operation shows it. Else the names of
//! the C library's and the runtimes' functions on the path show it. Without them a waker in `futex()` on the same
//! word may be either: most words are locks, but programs use them for events, too.

use crate::claims::system_call::Call;
use crate::tables::libraries::{is_library, is_unnamed, spoken};
use crate::tables::syscalls::{FutexOperation, Object};
use crate::walk::call_path::CallPath;

/// Functions that wait for a lock: glibc `nptl/pthread_mutex_*.c`, `pthread_rwlock_*.c`, `lowlevellock.c`; Rust's
/// `std::sys` (`Mutex::lock_contended`); Abseil `synchronization/mutex.cc` (`Mutex::LockSlow`, `LockSlowLoop`).
const LOCKS: [&str; 7] =
    ["mutex_lock", "mutex_timedlock", "mutex_clocklock", "rwlock", "lll_lock", "lock_contended", "LockSlow"];

/// Functions of the C library and runtimes that wait for no lock: a thread parks until it is given something to do,
/// or until an event that it waits for.
const NO_LOCKS: [&str; 26] = [
    // glibc nptl/: pthread_cond_*.c, sem_*.c, pthread_join*.c, pthread_barrier_wait.c, pthread_once.c; C++ std::call_once, the guard of a
    // static object, std::future (libstdc++-v3/src/c++11/futex.cc).
    "cond_wait",
    "cond_timedwait",
    "cond_clockwait",
    "sem_wait",
    "sem_timedwait",
    "join",
    "barrier",
    "call_once",
    "pthread_once",
    "__cxa_guard_acquire",
    "__atomic_futex",
    // Abseil synchronization/: notification.cc, blocking_counter.cc, mutex.cc: they sleep as `Mutex::Lock` does.
    "WaitForNotification",
    "BlockingCounter",
    "Mutex::Await",
    "LockWhen",
    // Go runtime/lock_futex.go (notes, semaphores), proc.go (an M without work), os_linux.go (the futex below them).
    "runtime.notesleep",
    "runtime.notetsleep",
    "runtime.semasleep",
    "runtime.mPark",
    "runtime.stopm",
    "runtime.futexsleep",
    // OpenJDK os/posix/os_posix.cpp and park_posix.hpp (PlatformEvent also as os::PlatformEvent), share/runtime/park.hpp,
    // share/prims/unsafe.cpp (LockSupport.park), os/linux/waitBarrier_linux.cpp (the end of a safepoint).
    "Parker",
    "Unsafe_Park",
    "PlatformEvent",
    "ParkEvent",
    "WaitBarrier",
];

/// Locks of runtimes, which sleep by the functions above: the waker of such a thread has released the lock. Each by
/// the parts of one function's name: Go `runtime/lock_futex.go` and `lock_spinbit.go`; JVM
/// `share/runtime/objectMonitor.cpp` (`enter`, `EnterI`, `ReenterI`: `synchronized`).
const LOCKS_OF_RUNTIMES: [[&str; 2]; 2] = [["runtime.", "lock2"], ["ObjectMonitor", "nter"]];

/// `CPython`'s functions that take the interpreter lock (`Python/ceval_gil.c`, `take_gil`): that one itself, and those that call it, which
/// a stripped interpreter exports. It sleeps on a condition variable for the switch interval at a time, and whoever lets the lock go
/// wakes it.
const TAKES_GIL: [&str; 7] = [
    "take_gil",
    "PyEval_RestoreThread",
    "PyEval_AcquireThread",
    "PyEval_AcquireLock",
    "PyGILState_Ensure",
    "_PyEval_EvalFrameDefault",
    "_Py_HandlePending",
];

/// Whether `path` waits for `CPython`'s interpreter lock: the innermost function with a name below which it waits is one that takes it.
pub(crate) fn awaits_gil(path: &CallPath) -> bool {
    let waits = path.passes_user(&["pthread_cond_"]);
    let mut named = path.user.iter().rev().map(|site| spoken(&site.function));
    let innermost = named.find(|name| !is_library(name) && !is_unnamed(name));
    waits && innermost.is_some_and(|name| TAKES_GIL.contains(&&*name))
}

/// Whether the waker had held a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// An operation or a function shows that it is a lock.
    Surely,
    /// Both used the same word, whose meaning is unknown.
    Perhaps,
    /// It is no lock, or nothing shows that it is one.
    No,
}

/// Whether the thread that made `waker_call` held what `path` waits for in `call`.
pub(crate) fn held_by_waker(call: Option<&Call>, path: Option<&CallPath>, waker_call: Option<&Call>) -> Held {
    let word = |call: Option<&Call>| match call.and_then(|call| call.object) {
        Some(Object::Futex(address)) => Some(address),
        _ => None,
    };
    match shown(call, path) {
        Some(true) => Held::Surely,
        None if word(call).is_some() && word(call) == word(waker_call) => Held::Perhaps,
        Some(false) | None => Held::No,
    }
}

/// Whether an operation or a function shows that `path` waits for a lock in `call`.
pub(crate) fn is_lock(call: &Call, path: Option<&CallPath>) -> bool {
    shown(Some(call), path) == Some(true)
}

/// Whether `path` waits for a lock in `call`, where its operation or a function shows that.
fn shown(call: Option<&Call>, path: Option<&CallPath>) -> Option<bool> {
    let by_name = |part: &str| path.is_some_and(|path| path.passes_user(&[part]));
    let operation = call.and_then(|call| call.operation);
    let by_parts = |parts: &[&str; 2]| path.is_some_and(|path| path.passes_user(parts));
    if path.is_some_and(awaits_gil) {
        return Some(true);
    }
    if operation.is_some_and(FutexOperation::takes_lock) || LOCKS_OF_RUNTIMES.iter().any(by_parts) {
        return Some(true);
    }
    if operation.is_some_and(FutexOperation::awaits_condition) || NO_LOCKS.iter().any(|part| by_name(part)) {
        return Some(false);
    }
    LOCKS.iter().any(|part| by_name(part)).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(operation: u64) -> Call {
        let (object, operation) = (Some(Object::Futex(0x10)), Some(FutexOperation::of(operation)));
        Call { object, operation, ..Call::named("futex") }
    }

    /// The kernel knows the holder of a lock with priority inheritance (6), and that 11 waits for a condition; 0 is
    /// any wait.
    #[test]
    fn the_operation_tells_a_lock_where_the_kernel_knows_it() {
        let wake = call(1);
        assert_eq!(held_by_waker(Some(&call(6)), None, None), Held::Surely);
        assert_eq!(held_by_waker(Some(&call(11)), None, Some(&wake)), Held::No);
        assert_eq!(held_by_waker(Some(&call(0)), None, Some(&wake)), Held::Perhaps);
        assert_eq!(held_by_waker(Some(&call(0)), None, None), Held::No);
    }

    /// Go's `stopm` parks a thread without work, `lock2` waits for a lock, both in `futexsleep`; in the JVM `park` of
    /// `LockSupport` and a safepoint's barrier are no locks, `synchronized` is one. Both on the same word: without an
    /// identifying name, it may be a lock or an event.
    #[test]
    fn names_tell_a_lock_from_a_signal() {
        for (functions, held) in [
            (&["runtime.stopm", "runtime.mPark", "runtime.notesleep", "runtime.futexsleep"][..], Held::No),
            (&["runtime.notetsleep_internal", "runtime.futexsleep"], Held::No),
            (&["runtime.lock2", "runtime.futexsleep"], Held::Surely),
            (&["Unsafe_Park", "_ZN6Parker4parkEbl", "pthread_cond_wait"], Held::No),
            (&["_ZN13PlatformEvent4parkEv", "pthread_cond_wait"], Held::No),
            (&["os::PlatformEvent::park()"], Held::No),
            (&["_ZN16LinuxWaitBarrier4waitEi"], Held::No),
            (&["_ZN13ObjectMonitor6EnterIEP10JavaThread", "_ZN13PlatformEvent4parkEv"], Held::Surely),
            (&["ObjectMonitor::enter(JavaThread*)", "os::PlatformEvent::park()"], Held::Surely),
            (&["worker", "__pthread_mutex_lock", "__lll_lock_wait"], Held::Surely),
            (&["std::sys::sync::mutex::futex::Mutex::lock_contended", "futex_wait"], Held::Surely),
            (&["wait_for_request", "syscall"], Held::Perhaps),
            (&["take", "futex_wait"], Held::Perhaps),
            (
                &["await_box", "absl::Notification::WaitForNotification() const", "absl::Mutex::LockSlow"],
                Held::No,
            ),
            (&["enter", "absl::Mutex::Lock()", "absl::Mutex::LockSlow"], Held::Surely),
            (&["open_catalog", "__cxa_guard_acquire", "syscall"], Held::No),
            (
                &["_PyEval_EvalFrameDefault", "PyEval_RestoreThread", "take_gil", "pthread_cond_timedwait"],
                Held::Surely,
            ),
            (&["_PyEval_EvalFrameDefault", "python3.11+0x1b2c0", "pthread_cond_timedwait"], Held::Surely),
            (&["_PyEval_EvalFrameDefault", "wait_for_result", "pthread_cond_wait"], Held::No),
        ] {
            assert_eq!(
                held_by_waker(Some(&call(0)), Some(&CallPath::through(functions)), Some(&call(1))),
                held,
                "{functions:?}"
            );
        }
    }
}
