//! Go's scheduler and standard library, by the names of their functions: what a goroutine waits for, and what only leads to it.
//!
//! A thread that sleeps in Go's runtime says by its futex nothing of what for: each thread has one, for any purpose. The path says it:
//! `gopark` and its callers are the goroutine's, `mcall` and what it called the scheduler's. Sources: Go's `runtime/proc.go`,
//! `chan.go`, `select.go`, `sema.go`, `netpoll.go`, `time.go`, `asm_amd64.s`; `sync`, `internal/sync`, `internal/poll`. All was tried on
//! programs of Go 1.26; names of Go 1.18 and later are the same but for the move of `sync`'s mutex to `internal/sync` (1.24).

use crate::tables::libraries::go::{is_go, without_abi};

/// What a goroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parked {
    /// For a time that it has chosen.
    Sleep,
    /// For input or output, by the runtime's poller.
    Poller(&'static str),
    /// For another goroutine.
    For(&'static str),
}

/// What goroutines wait in, the first one that is on the path counts: those that call others of the table come first.
const PARKS: [(&str, Parked); 18] = [
    ("time.Sleep", Parked::Sleep),
    ("runtime.selectgo", Parked::For("a select")),
    ("runtime.chanrecv", Parked::For("a message of a channel")),
    ("runtime.chansend", Parked::For("a channel to take a message")),
    ("sync.(*WaitGroup).Wait", Parked::For("a WaitGroup")),
    ("sync.runtime_SemacquireWaitGroup", Parked::For("a WaitGroup")),
    ("sync.(*RWMutex).", Parked::For("a read-write lock")),
    ("sync.runtime_SemacquireRWMutex", Parked::For("a read-write lock")),
    ("sync.(*Cond).Wait", Parked::For("a condition variable")),
    ("sync.runtime_notifyListWait", Parked::For("a condition variable")),
    ("sync.(*Mutex).", Parked::For("a mutex")),
    ("internal/sync.(*Mutex).", Parked::For("a mutex")),
    ("internal/poll.(*FD).Accept", Parked::Poller("a connection")),
    ("internal/poll.(*FD).Read", Parked::Poller("data to read")),
    ("internal/poll.(*FD).Write", Parked::Poller("room to write")),
    ("internal/poll.runtime_pollWait", Parked::Poller("a file or socket")),
    ("runtime.semacquire", Parked::For("a semaphore")),
    ("runtime.gopark", Parked::For("another goroutine")),
];

/// What the goroutine waits for whose innermost functions these are, from those of the scheduler outwards.
pub(crate) fn parked<'f>(functions: impl Iterator<Item = &'f str>) -> Option<Parked> {
    let of_library: Vec<&str> = functions.take_while(|function| is_go(function)).collect();
    let parks = of_library.iter().rposition(|function| is_one_of(function, &["runtime.gopark"]))?;
    let callers = &of_library[parks..];
    let calls = |row: &&(&str, Parked)| callers.iter().any(|function| function.starts_with(row.0));
    PARKS.iter().find(calls).map(|row| row.1)
}

/// Functions in which a thread of Go's scheduler looks for a goroutine to run, and sleeps where there is none.
const IDLE: [&str; 2] = ["runtime.findRunnable", "runtime.stopm"];

/// A thread in this one is kept for one goroutine, and sleeps until that one can go on.
const LOCKED: [&str; 1] = ["runtime.stoplockedm"];

/// By this function, on the thread's own stack, a goroutine goes on after a panic where its deferred function recovered.
const RECOVERS: [&str; 1] = ["runtime.recovery"];

/// Whether `function` lets a goroutine go on that has recovered from a panic.
pub(crate) fn recovers(function: &str) -> bool {
    is_one_of(function, &RECOVERS)
}

/// Whether a thread in `function` has no goroutine to run.
pub(crate) fn has_no_goroutine(function: &str) -> bool {
    is_one_of(function, &IDLE)
}

/// Whether a thread in `function` waits for the one goroutine that it is kept for.
pub(crate) fn awaits_its_goroutine(function: &str) -> bool {
    is_one_of(function, &LOCKED)
}

/// Functions by which a thread sleeps and wakes another one, for any purpose: names begin with these.
const SLEEPERS: [&str; 7] = [
    "internal/runtime/syscall",
    "runtime.futex",
    "runtime.mPark",
    "runtime.netpoll",
    "runtime.notesleep",
    "runtime.notetsleep",
    "runtime.notewakeup",
];

/// The functions by which a goroutine comes to its thread's sleep, and a thread to its next goroutine: their callers say what for.
const SCHEDULER: [&str; 13] = [
    "gogo",
    "runtime.execute",
    "runtime.findRunnable",
    "runtime.gogo",
    "runtime.gopark",
    "runtime.mcall",
    "runtime.park_m",
    "runtime.schedule",
    "runtime.startlockedm",
    "runtime.startm",
    "runtime.stoplockedm",
    "runtime.stopm",
    "runtime.wakep",
];

/// Whether a thread sleeps in `function`, for any purpose.
pub(crate) fn sleeps(function: &str) -> bool {
    SLEEPERS.iter().any(|beginning| function.starts_with(beginning))
}

/// Whether `function` is one of the scheduler's, for any purpose.
pub(crate) fn is_scheduler(function: &str) -> bool {
    sleeps(function) || SCHEDULER.iter().any(|beginning| function.starts_with(beginning))
}

/// Whether `function` is where every goroutine returns to that ends: it has called none of them.
pub(crate) fn ends_goroutine(function: &str) -> bool {
    is_one_of(function, &["runtime.goexit"])
}

/// Whether `function` goes on on the stack of another goroutine, by a jump.
pub(crate) fn goes_to_goroutine(function: &str) -> bool {
    is_one_of(function, &["runtime.gogo", "gogo"])
}

fn is_one_of(function: &str, names: &[&str]) -> bool {
    names.contains(&without_abi(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As on a program's paths, innermost first; the scheduler's functions come before.
    #[test]
    fn a_parked_goroutine_says_what_it_waits_for() {
        let parked_in = |functions: &[&'static str]| parked(functions.iter().copied());
        let received =
            ["runtime.mcall", "runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.next"];
        assert_eq!(parked_in(&received), Some(Parked::For("a message of a channel")));
        let slept = ["runtime.gopark", "time.Sleep", "main.backOff"];
        assert_eq!(parked_in(&slept), Some(Parked::Sleep));
        let read = [
            "runtime.gopark",
            "runtime.netpollblock",
            "internal/poll.runtime_pollWait",
            "internal/poll.(*pollDesc).wait",
            "internal/poll.(*FD).Read",
            "os.(*File).Read",
            "main.readReply",
        ];
        assert_eq!(parked_in(&read), Some(Parked::Poller("data to read")));
        let locked = [
            "runtime.gopark",
            "runtime.semacquire1",
            "internal/sync.runtime_SemacquireMutex",
            "internal/sync.(*Mutex).lockSlow",
            "main.postOrder",
        ];
        assert_eq!(parked_in(&locked), Some(Parked::For("a mutex")));
        let shared =
            ["runtime.gopark", "runtime.semacquire1", "sync.runtime_SemacquireRWMutexR", "main.readPrice"];
        assert_eq!(parked_in(&shared), Some(Parked::For("a read-write lock")));
        // What the program's own function was called by says nothing of its wait, and a thread whose goroutine ended waits for none.
        assert_eq!(
            parked_in(&["runtime.gopark", "main.wait", "time.Sleep"]),
            Some(Parked::For("another goroutine"))
        );
        assert_eq!(
            parked_in(&["runtime.schedule", "runtime.goexit0", "runtime.mcall", "runtime.goexit1"]),
            None
        );
    }
}
