//! The open tasks of a thread: the API ends them without saying which.
//!
//! A signal handler may begin and end tasks between any two steps: the depth is moved first, so that it writes above what it interrupts.

use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

/// Tasks deeper than this are not written.
const MOST: usize = 64;

/// The program paused the collection.
static PAUSED: AtomicBool = AtomicBool::new(false);

/// `__itt_pause`: tasks and frames that begin from now on are not written.
pub(crate) extern "C" fn pause() {
    PAUSED.store(true, Ordering::Relaxed);
}

/// `__itt_resume`.
pub(crate) extern "C" fn resume() {
    PAUSED.store(false, Ordering::Relaxed);
}

pub(crate) fn is_paused() -> bool {
    PAUSED.load(Ordering::Relaxed)
}

/// An open task.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    /// The address of its domain.
    pub(crate) domain: usize,
    /// `None`: it is not written.
    pub(crate) label: Option<&'static CStr>,
    pub(crate) key: u64,
}

const NONE: Task = Task { domain: 0, label: None, key: 0 };

struct Stack {
    /// Also of those that are too deep.
    depth: Cell<usize>,
    tasks: [Cell<Task>; MOST],
}

std::thread_local! {
    /// Without a destructor, which the C library would allocate memory for.
    static STACK: Stack = const { Stack { depth: Cell::new(0), tasks: [const { Cell::new(NONE) }; MOST] } };
}

/// A task begins; false where it is too deep.
pub(crate) fn push(task: Task) -> bool {
    STACK.with(|stack| {
        let depth = stack.depth.get();
        stack.depth.set(depth + 1);
        compiler_fence(Ordering::SeqCst);
        stack.tasks.get(depth).map(|place| place.set(task)).is_some()
    })
}

/// The innermost task of a domain ends; `None` where none is open, or it is too deep.
pub(crate) fn pop(domain: usize) -> Option<Task> {
    STACK.with(|stack| {
        let last = stack.depth.get().checked_sub(1)?;
        let Some(top) = stack.tasks.get(last) else {
            stack.depth.set(last);
            return None;
        };
        let top = top.get();
        if top.domain == domain {
            stack.depth.set(last);
            return Some(top);
        }
        let at = (0..last).rev().find(|&at| stack.tasks[at].get().domain == domain)?;
        let ended = stack.tasks[at].get();
        (at..last).for_each(|at| stack.tasks[at].set(stack.tasks[at + 1].get()));
        stack.depth.set(last);
        Some(ended)
    })
}

/// Label and key of the innermost open task; `None` where none is open, or it is not written.
pub(crate) fn innermost() -> Option<(&'static CStr, u64)> {
    STACK.with(|stack| {
        let last = stack.depth.get().checked_sub(1)?;
        let task = stack.tasks.get(last)?.get();
        Some((task.label?, task.key))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(domain: usize, key: u64) -> Task {
        Task { domain, label: Some(c"task"), key }
    }

    fn popped(domain: usize) -> Option<u64> {
        pop(domain).map(|task| task.key)
    }

    #[test]
    fn the_innermost_of_a_domain_ends() {
        assert!(push(task(1, 10)) && push(task(2, 20)) && push(task(1, 11)) && push(task(2, 21)));
        assert_eq!((popped(1), innermost().map(|(_, key)| key)), (Some(11), Some(21)));
        assert_eq!(
            (popped(2), popped(2), popped(2), popped(1), popped(1)),
            (Some(21), Some(20), None, Some(10), None)
        );
        assert!(innermost().is_none());
    }

    #[test]
    fn what_is_too_deep_is_counted() {
        for key in 0..70 {
            assert_eq!(push(task(1, key)), key < 64, "{key}");
        }
        assert_eq!((0..6).filter_map(|_| popped(1)).count(), 0);
        assert_eq!((popped(1), popped(1)), (Some(63), Some(62)));
    }
}
