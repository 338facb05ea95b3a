//! What wakes a task of an asynchronous runtime, by the functions through which the waking thread passed. One table.
//!
//! Sources: tokio 1.54, `src/runtime/time/mod.rs` (`process_at_time`), `src/runtime/io/driver.rs` (`turn`), `src/sync/`,
//! `src/runtime/task/harness.rs` (`complete`). A wake-up lies below these functions: the lock that is released, the timer
//! that expired, the message that was sent.

use model::OffCpu;

/// What a task waited for, by parts of names of which a function on the path must have all.
struct Row {
    parts: &'static [&'static str],
    kind: OffCpu,
    object: &'static str,
}

const fn row(parts: &'static [&'static str], kind: OffCpu, object: &'static str) -> Row {
    Row { parts, kind, object }
}

/// The first row that fits counts: those whose functions call others of the table come first.
const WAKERS: [Row; 14] = [
    row(&["tokio::runtime::time", "process"], OffCpu::Sleep, "a timer"),
    row(&["tokio::runtime::io", "turn"], OffCpu::Socket, "a socket"),
    row(&["tokio::runtime::io", "ScheduledIo"], OffCpu::Socket, "a socket"),
    row(&["tokio::sync::mpsc"], OffCpu::Other, "a message of an async channel"),
    row(&["tokio::sync::oneshot"], OffCpu::Other, "a message of an async channel"),
    row(&["tokio::sync::broadcast"], OffCpu::Other, "a message of an async channel"),
    row(&["tokio::sync::watch"], OffCpu::Other, "a message of an async channel"),
    row(&["tokio::sync::notify"], OffCpu::Other, "a notification"),
    row(&["tokio::sync::barrier"], OffCpu::Other, "an async barrier"),
    row(&["tokio::sync::mutex"], OffCpu::Lock, "an async mutex"),
    row(&["tokio::sync::rwlock"], OffCpu::Lock, "an async read-write lock"),
    row(&["tokio::sync::semaphore"], OffCpu::Lock, "an async semaphore"),
    row(&["tokio::sync::batch_semaphore"], OffCpu::Lock, "an async lock"),
    row(&["tokio::runtime::task", "complete"], OffCpu::Other, "a task to end"),
];

/// What the task waited for that is woken below `functions`.
pub(crate) fn woken_by(functions: &[&str]) -> Option<(OffCpu, &'static str)> {
    let fits =
        |row: &&Row| functions.iter().any(|function| row.parts.iter().all(|part| function.contains(part)));
    WAKERS.iter().find(fits).map(|row| (row.kind, row.object))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path, and what it says.
    type Case = (&'static [&'static str], Option<(OffCpu, &'static str)>);

    /// Parts of the backtraces that wakers take in a program of tokio 1.54, outermost first.
    #[test]
    fn the_path_of_the_waker_says_what_was_waited_for() {
        let cases: [Case; 5] = [
            (
                &[
                    "ledger::post::{{closure}}",
                    "core::ptr::drop_in_place<tokio::sync::mutex::MutexGuard<u64>>",
                    "tokio::sync::batch_semaphore::Semaphore::add_permits_locked",
                ],
                Some((OffCpu::Lock, "an async mutex")),
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
            assert_eq!(woken_by(path), expected, "{path:?}");
        }
    }
}
