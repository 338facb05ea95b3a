//! What a thread of Go's runtime sleeps for: for what its goroutine waits for, or because it has no goroutine to run.
//!
//! Input: the path by which it left its CPU, and what ran when it was back. A thread that is kept for one goroutine waits for what that
//! one does. Any other one leaves its goroutine where it parks and takes the next: below another thread's wait its sleep is that of the
//! goroutine with which it goes on only if it waited for that by itself, for a time or for input and output.

use model::OffCpu;

use crate::claims::off_cpu::wait::Wait;
use crate::tables::goroutines::{Parked, awaits_its_goroutine, has_no_goroutine, parked};
use crate::tables::libraries::{called, spoken};
use crate::walk::call_path::CallPath;

/// What the runtime's causes are called after.
pub(crate) const RUNTIME: &str = "go";

/// Why such a thread sleeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Goroutine {
    /// It has no goroutine to run.
    None,
    /// Its goroutine waits, in the function of the program that is given where it is not that of the path.
    Waits(Parked, Option<String>),
}

impl Goroutine {
    /// Of the thread that left its CPU by `path`; `resumed`, below another thread's wait: the functions that it ran when it was back, up to
    /// the first one of the program itself. `None` where it was not Go's scheduler that let it sleep.
    pub(crate) fn of(path: &CallPath, resumed: Option<&[&str]>) -> Option<Goroutine> {
        let functions = || path.user.iter().rev().map(|site| &*site.function);
        if functions().any(awaits_its_goroutine) {
            let waits = parked(functions()).unwrap_or(Parked::For("its turn in Go's scheduler"));
            return Some(Goroutine::Waits(waits, None));
        }
        if !functions().any(has_no_goroutine) {
            return None;
        }
        let waits = match resumed {
            None => parked(functions()).map(|waits| (waits, None)),
            Some(resumed) => parked(resumed.iter().copied())
                .filter(|waits| !matches!(waits, Parked::For(_)))
                .map(|waits| (waits, resumed.last().map(|own| called(&spoken(own))))),
        };
        Some(waits.map_or(Goroutine::None, |(waits, place)| Goroutine::Waits(waits, place)))
    }

    /// What it waits for, in words; empty where it sleeps for a time.
    pub(super) fn object(&self) -> &'static str {
        match self {
            Goroutine::Waits(Parked::For(what) | Parked::Poller(what), _) => what,
            _ => "",
        }
    }

    /// The kernel knows the thread's sleep, and not that the goroutine chose its length.
    pub(crate) fn correct(&self, wait: &mut Wait) {
        if matches!(self, Goroutine::Waits(Parked::Sleep, _)) {
            wait.kind = OffCpu::Sleep;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARKS: [&str; 4] = ["runtime.gopark", "runtime.mcall", "runtime.park_m", "runtime.schedule"];

    fn left(own: &[&str], last: &[&str]) -> CallPath {
        CallPath::through(&[own, &PARKS, last].concat())
    }

    #[test]
    fn a_thread_that_is_kept_for_a_goroutine_waits_for_what_it_waits_for() {
        let last = ["runtime.stoplockedm", "runtime.notesleep", "runtime.futexsleep"];
        let received = left(&["main.next", "runtime.chanrecv1", "runtime.chanrecv"], &last);
        let message = Parked::For("a message of a channel");
        assert_eq!(Goroutine::of(&received, None), Some(Goroutine::Waits(message, None)));
        assert_eq!(Goroutine::of(&received, Some(&["main.other"])), Some(Goroutine::Waits(message, None)));
        let preempted =
            CallPath::through(&["main.next", "runtime.mcall", "runtime.schedule", "runtime.stoplockedm"]);
        assert_eq!(Goroutine::of(&preempted, None).expect("a wait").object(), "its turn in Go's scheduler");
    }

    /// The thread's own sleeps: of its interval's goroutine, and of the one that it goes on with.
    #[test]
    fn a_thread_without_a_goroutine_is_idle() {
        let last = ["runtime.findRunnable", "runtime.stopm", "runtime.futexsleep"];
        let received = left(&["main.next", "runtime.chanrecv"], &last);
        let message = Parked::For("a message of a channel");
        assert_eq!(Goroutine::of(&received, None), Some(Goroutine::Waits(message, None)));
        // Below the wait of another thread: what it left parked is somebody else's.
        let resumes = |functions: &[&str]| Goroutine::of(&received, Some(functions));
        assert_eq!(
            resumes(&["runtime.gogo", "runtime.gopark", "runtime.chanrecv", "main.next"]),
            Some(Goroutine::None)
        );
        let slept = ["runtime.gogo", "runtime.gopark", "time.Sleep", "main.backOff"];
        assert_eq!(resumes(&slept), Some(Goroutine::Waits(Parked::Sleep, Some("main.backOff()".into()))));
        assert_eq!(resumes(&["runtime.schedule", "runtime.startlockedm"]), Some(Goroutine::None));
        let ended = CallPath::through(&[
            "runtime.goexit1",
            "runtime.mcall",
            "runtime.goexit0",
            "runtime.schedule",
            "runtime.findRunnable",
        ]);
        assert_eq!(Goroutine::of(&ended, None), Some(Goroutine::None));
        assert_eq!(
            Goroutine::of(&CallPath::through(&["main.next", "runtime.lock2", "runtime.futexsleep"]), None),
            None
        );
    }
}
