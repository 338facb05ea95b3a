//! `offcpu.lock` on a futex: whether who ended the wait held a lock, or only gave a signal.
//!
//! The kernel does not know what a futex word means. The names of the C library's functions on the way do; without
//! them, a waker in `futex()` on the very word is taken for the holder, for a lock is what most words are.

use crate::call_path::CallPath;
use crate::syscalls::Object;
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
    if NO_LOCKS.iter().any(|part| by_name(part)) {
        return false;
    }
    let same_word = word(call).is_some() && word(call) == word(waker_call);
    same_word || ["mutex_lock", "rwlock", "lll_lock"].iter().any(|part| by_name(part))
}
