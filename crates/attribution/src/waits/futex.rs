//! `offcpu.lock` on a futex: whether who ended the wait held a lock, or only gave a signal.
//!
//! Only with priority inheritance the kernel knows what a futex word means: the operation tells. Else the names of the C
//! library's and the runtimes' functions on the way do; without them, a waker in `futex()` on the very word is taken for the holder, for a lock is what most words are.

use crate::call_path::CallPath;
use crate::syscalls::{FutexOperation, Object};
use crate::waits::Call;

/// What the C library and runtimes call waits that are for no lock: a thread parks until it is given something to do, or
/// what it waits for has happened.
const NO_LOCKS: [&str; 19] = [
    // glibc nptl/: pthread_cond_*.c, sem_*.c, pthread_join*.c, pthread_barrier_wait.c; C++ std::call_once.
    "cond_wait",
    "cond_timedwait",
    "cond_clockwait",
    "sem_wait",
    "sem_timedwait",
    "join",
    "barrier",
    "call_once",
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

/// Locks of runtimes, which sleep by the functions above: who wakes such a thread has released the lock. Each by the parts
/// of one function's name: Go `runtime/lock_futex.go` and `lock_spinbit.go`; JVM `share/runtime/objectMonitor.cpp` (`enter`,
/// `EnterI`, `ReenterI`: `synchronized`).
const LOCKS_OF_RUNTIMES: [[&str; 2]; 2] = [["runtime.", "lock2"], ["ObjectMonitor", "nter"]];

/// Whether the thread that made `waker_call` held what `path` waits for in `call`.
pub(crate) fn was_held(call: Option<&Call>, path: Option<&CallPath>, waker_call: Option<&Call>) -> bool {
    let word = |call: Option<&Call>| match call.and_then(|call| call.object) {
        Some(Object::Futex(address)) => Some(address),
        _ => None,
    };
    let by_name = |part: &str| path.is_some_and(|path| path.passes_user(&[part]));
    let operation = call.and_then(|call| call.operation);
    if operation.is_some_and(FutexOperation::takes_lock) {
        return true;
    }
    let by_parts = |parts: &[&str; 2]| path.is_some_and(|path| path.passes_user(parts));
    if LOCKS_OF_RUNTIMES.iter().any(by_parts) {
        return true;
    }
    if operation.is_some_and(FutexOperation::awaits_condition) || NO_LOCKS.iter().any(|part| by_name(part)) {
        return false;
    }
    let same_word = word(call).is_some() && word(call) == word(waker_call);
    same_word || ["mutex_lock", "rwlock", "lll_lock"].iter().any(|part| by_name(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_path::Site;

    fn call(operation: u64) -> Call {
        let (object, operation) = (Some(Object::Futex(0x10)), Some(FutexOperation::of(operation)));
        Call { name: "futex".into(), object, file: None, operation, timeout: None, record: None }
    }

    /// The kernel knows the holder of a lock with priority inheritance (6), and that 11 waits for a condition; of 0, any
    /// wait, the waker's call on the same word tells.
    #[test]
    fn the_operation_tells_a_lock_where_the_kernel_knows_it() {
        let wake = call(1);
        assert!(was_held(Some(&call(6)), None, None));
        assert!(!was_held(Some(&call(11)), None, Some(&wake)));
        assert!(was_held(Some(&call(0)), None, Some(&wake)));
        assert!(!was_held(Some(&call(0)), None, None));
    }

    fn path(functions: &[&str]) -> CallPath {
        let site = |name: &&str| Site { ip: 0, function: (*name).into(), line: None };
        CallPath { user: functions.iter().map(site).collect(), ..CallPath::default() }
    }

    /// Go's `stopm` parks a thread without work, `lock2` waits for a lock, both in `futexsleep`; in the JVM `park` of
    /// `LockSupport` and a safepoint's barrier are no locks, `synchronized` is one.
    #[test]
    fn who_wakes_a_parked_thread_held_nothing() {
        for (functions, held) in [
            (&["runtime.stopm", "runtime.mPark", "runtime.notesleep", "runtime.futexsleep"][..], false),
            (&["runtime.notetsleep_internal", "runtime.futexsleep"], false),
            (&["runtime.lock2", "runtime.futexsleep"], true),
            (&["Unsafe_Park", "_ZN6Parker4parkEbl", "pthread_cond_wait"], false),
            (&["_ZN13PlatformEvent4parkEv", "pthread_cond_wait"], false),
            (&["os::PlatformEvent::park()"], false),
            (&["_ZN16LinuxWaitBarrier4waitEi"], false),
            (&["_ZN13ObjectMonitor6EnterIEP10JavaThread", "_ZN13PlatformEvent4parkEv"], true),
            (&["ObjectMonitor::enter(JavaThread*)", "os::PlatformEvent::park()"], true),
            (&["take", "futex_wait"], true),
        ] {
            // Both on the same word: without a name that tells, a lock.
            assert_eq!(
                was_held(Some(&call(0)), Some(&path(functions)), Some(&call(1))),
                held,
                "{functions:?}"
            );
        }
    }
}
