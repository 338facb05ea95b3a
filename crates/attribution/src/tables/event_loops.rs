//! Event loops of runtimes and the pools of threads that work for them, by function. One table, one row per runtime.
//!
//! The loop sleeps in a call that waits for events; a thread of the pool takes one job after the other from a queue and wakes the loop when
//! one is done. Sources: the files named at each row.

/// A runtime with an event loop and a pool.
struct EventLoop {
    /// Functions by which another thread wakes the loop, exported where a stripped library is to show them.
    wakes: &'static [&'static str],
}

const LOOPS: [EventLoop; 1] = [
    // libuv src/unix/async.c, called by src/threadpool.c (`worker`) when a job is done: Node.js, Julia, uvloop.
    EventLoop { wakes: &["uv_async_send"] },
];

/// Whether the function called `name` wakes an event loop, of a thread that has done a job for it.
pub(crate) fn wakes_loop(name: &str) -> bool {
    LOOPS.iter().any(|row| row.wakes.contains(&name))
}
