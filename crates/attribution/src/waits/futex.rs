//! `offcpu.lock` on a futex: whether who ended the wait held a lock, or only gave a signal.
//!
//! Only with priority inheritance the kernel knows what a futex word means: the operation tells. Else the names of the C library's functions on the way do; without
//! them, a waker in `futex()` on the very word is taken for the holder, for a lock is what most words are.

use crate::call_path::CallPath;
use crate::syscalls::{FutexOperation, Object};
use crate::waits::Call;

/// What the C library calls waits that are for no lock.
const NO_LOCKS: [&str; 8] = [
    "cond_wait",
    "cond_timedwait",
    "cond_clockwait",
    "sem_wait",
    "sem_timedwait",
    "join",
    "barrier",
    "call_once",
];

/// Whether the thread that made `waker_call` held what `path` waits for in `call`.
pub(crate) fn was_held(call: Option<&Call>, path: Option<&CallPath>, waker_call: Option<&Call>) -> bool {
    let word = |call: Option<&Call>| match call.and_then(|call| call.object) {
        Some(Object::Futex(address)) => Some(address),
        _ => None,
    };
    let by_name = |part: &str| path.is_some_and(|path| path.passes_user(part));
    let operation = call.and_then(|call| call.operation);
    if operation.is_some_and(FutexOperation::takes_lock) {
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

    fn call(operation: u64) -> Call {
        let (object, operation) = (Some(Object::Futex(0x10)), Some(FutexOperation::of(operation)));
        Call { name: "futex".into(), object, operation, timeout: None, record: None }
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
}
