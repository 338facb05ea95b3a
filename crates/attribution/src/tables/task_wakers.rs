//! What a task of an asynchronous runtime waited for: by the functions through which its last poll passed, and by those through which
//! the thread passed that woke it. One table for each.
//!
//! Sources: tokio 1.54, `src/runtime/time/mod.rs` (`process_at_time`), `src/runtime/io/driver.rs` (`turn`), `src/sync/`,
//! `src/runtime/task/harness.rs` (`complete`). A wake-up lies below these functions: the lock that is released, the timer
//! that expired, the message that was sent. A poll that is pending ends below the future that is not there yet.
//!
//! Linkers fold functions whose code is the same: releasing one permit of a semaphore is the same code for a mutex and for a channel
//! with room for so many messages, and has the name of either. So a semaphore's waker says no more than that, and the poll says of what.

use model::OffCpu;

/// What a task waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// The cause.
    pub(crate) kind: OffCpu,
    /// In words.
    pub(crate) object: &'static str,
    /// Whether it is built on the runtime's semaphore.
    pub(crate) is_semaphore: bool,
}

/// What a task waited for, by parts of names of which a function on the path must have all.
struct Row {
    parts: &'static [&'static str],
    awaited: Awaited,
}

const fn row(parts: &'static [&'static str], kind: OffCpu, object: &'static str) -> Row {
    Row { parts, awaited: Awaited { kind, object, is_semaphore: false } }
}

const fn lock(parts: &'static [&'static str], object: &'static str) -> Row {
    Row { parts, awaited: Awaited { kind: OffCpu::Lock, object, is_semaphore: true } }
}

const MESSAGE: &str = "a message of an async channel";
const ROOM: Awaited = Awaited { kind: OffCpu::Other, object: "room in an async channel", is_semaphore: true };

/// The first row that fits counts: those whose functions call others of the table come first.
const WAKERS: [Row; 14] = [
    row(&["tokio::runtime::time", "process"], OffCpu::Sleep, "a timer"),
    row(&["tokio::runtime::io", "turn"], OffCpu::Socket, "a socket"),
    row(&["tokio::runtime::io", "ScheduledIo"], OffCpu::Socket, "a socket"),
    lock(&["tokio::sync::mutex"], "an async mutex"),
    lock(&["tokio::sync::rwlock"], "an async read-write lock"),
    lock(&["tokio::sync::semaphore"], "an async semaphore"),
    lock(&["tokio::sync::batch_semaphore"], "an async lock"),
    row(&["tokio::sync::mpsc"], OffCpu::Other, MESSAGE),
    row(&["tokio::sync::oneshot"], OffCpu::Other, MESSAGE),
    row(&["tokio::sync::broadcast"], OffCpu::Other, MESSAGE),
    row(&["tokio::sync::watch"], OffCpu::Other, MESSAGE),
    row(&["tokio::sync::notify"], OffCpu::Other, "a notification"),
    row(&["tokio::sync::barrier"], OffCpu::Other, "an async barrier"),
    row(&["tokio::runtime::task", "complete"], OffCpu::Other, "a task to end"),
];

/// With what the spoken name of a function begins that a poll passed through last.
const POLLED: [Row; 14] = [
    row(&["tokio::time::"], OffCpu::Sleep, "a timer"),
    row(&["tokio::runtime::time::"], OffCpu::Sleep, "a timer"),
    row(&["tokio::runtime::io::"], OffCpu::Socket, "a socket"),
    lock(&["tokio::sync::mutex::"], "an async mutex"),
    lock(&["tokio::sync::rwlock::"], "an async read-write lock"),
    lock(&["tokio::sync::semaphore::"], "an async semaphore"),
    lock(&["tokio::sync::batch_semaphore::"], "an async lock"),
    row(&["tokio::sync::mpsc::"], OffCpu::Other, MESSAGE),
    row(&["tokio::sync::oneshot::"], OffCpu::Other, MESSAGE),
    row(&["tokio::sync::broadcast::"], OffCpu::Other, MESSAGE),
    row(&["tokio::sync::watch::"], OffCpu::Other, MESSAGE),
    row(&["tokio::sync::notify::"], OffCpu::Other, "a notification"),
    row(&["tokio::sync::barrier::"], OffCpu::Other, "an async barrier"),
    row(&["tokio::runtime::task::join::"], OffCpu::Other, "a task to end"),
];

/// With what the spoken name of a function begins through which every wake-up passes: of the language, and of what marks it.
const WAKING: [&str; 3] = ["core::task::", "alloc::task::", "tailtrace_marks::task::Marker::"];

/// Whether the function with this spoken name is a part of any wake-up, and says nothing of this one.
pub(crate) fn wakes(name: &str) -> bool {
    WAKING.iter().any(|beginning| name.starts_with(beginning))
}

/// What the task waited for that is woken below `functions`.
pub(crate) fn woken_by(functions: &[&str]) -> Option<Awaited> {
    let fits =
        |row: &&Row| functions.iter().any(|function| row.parts.iter().all(|part| function.contains(part)));
    WAKERS.iter().find(fits).map(|row| row.awaited)
}

/// What the future is for that `functions` polled, spoken names from the innermost to the program's own: a semaphore's is for what
/// has one.
pub(crate) fn polled(functions: &[String]) -> Option<Awaited> {
    let of_one = |function: &String| {
        let fits = |row: &&Row| row.parts.iter().all(|part| function.starts_with(part));
        POLLED.iter().find(fits)
    };
    let mut rows = functions.iter().filter_map(of_one).map(|row| row.awaited);
    let innermost = rows.next()?;
    if !innermost.is_semaphore {
        return Some(innermost);
    }
    let of = rows.find(|outer| *outer != innermost);
    Some(match of {
        Some(of) if of.is_semaphore => of,
        Some(of) if of.object == MESSAGE => ROOM,
        _ => innermost,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path, and what it says.
    type Case = (&'static [&'static str], Option<(OffCpu, &'static str)>);

    fn said(awaited: Option<Awaited>) -> Option<(OffCpu, &'static str)> {
        awaited.map(|awaited| (awaited.kind, awaited.object))
    }

    /// Parts of the backtraces that wakers take in a program of tokio 1.54, outermost first.
    #[test]
    fn the_path_of_the_waker_says_what_was_waited_for() {
        let cases: [Case; 6] = [
            (
                &[
                    "ledger::post::{{closure}}",
                    "core::ptr::drop_in_place<tokio::sync::mutex::MutexGuard<u64>>",
                    "tokio::sync::batch_semaphore::Semaphore::add_permits_locked",
                ],
                Some((OffCpu::Lock, "an async mutex")),
            ),
            (
                // Of a guard that was dropped, too: the same code.
                &[
                    "<tokio::sync::mpsc::bounded::Semaphore as tokio::sync::mpsc::chan::Semaphore>::add_permits",
                    "tokio::sync::batch_semaphore::Semaphore::add_permits_locked",
                ],
                Some((OffCpu::Lock, "an async lock")),
            ),
            (
                &[
                    "tokio::runtime::time::Driver::park_internal",
                    "tokio::runtime::time::<impl tokio::runtime::time::handle::Handle>::process_at_time",
                ],
                Some((OffCpu::Sleep, "a timer")),
            ),
            (
                &["tokio::runtime::time::Driver::park_internal", "tokio::runtime::io::driver::Driver::turn"],
                Some((OffCpu::Socket, "a socket")),
            ),
            (
                &["tokio::runtime::task::harness::Harness<T,S>::complete"],
                Some((OffCpu::Other, "a task to end")),
            ),
            (&["tokio::runtime::task::harness::Harness<T,S>::poll", "ledger::post::{{closure}}"], None),
        ];
        for (path, expected) in cases {
            assert_eq!(said(woken_by(path)), expected, "{path:?}");
        }
    }

    /// Functions of polls that were pending in a program of tokio 1.54, innermost first.
    #[test]
    fn the_path_of_the_last_poll_says_what_is_waited_for() {
        let cases: [Case; 6] = [
            (
                &[
                    "tokio::sync::batch_semaphore::Acquire::poll",
                    "tokio::sync::mutex::Mutex::lock::{{closure}}",
                ],
                Some((OffCpu::Lock, "an async mutex")),
            ),
            (
                &[
                    "tokio::sync::batch_semaphore::Acquire::poll",
                    "tokio::sync::mpsc::bounded::Sender::reserve_inner",
                ],
                Some((OffCpu::Other, "room in an async channel")),
            ),
            // A time limit around another future.
            (
                &["tokio::sync::batch_semaphore::Acquire::poll", "tokio::time::timeout::Timeout::poll"],
                Some((OffCpu::Lock, "an async lock")),
            ),
            (
                &["tokio::sync::oneshot::Task::set_task", "tokio::time::timeout::Timeout::poll"],
                Some((OffCpu::Other, "a message of an async channel")),
            ),
            (
                &["alloc::task::raw_waker::clone_waker", "tokio::time::sleep::Sleep::poll"],
                Some((OffCpu::Sleep, "a timer")),
            ),
            (&["core::ptr::drop_in_place", "tokio::runtime::scheduler::multi_thread::worker::run"], None),
        ];
        for (path, expected) in cases {
            let functions: Vec<String> = path.iter().map(|&function| function.to_owned()).collect();
            assert_eq!(said(polled(&functions)), expected, "{path:?}");
        }
    }
}
