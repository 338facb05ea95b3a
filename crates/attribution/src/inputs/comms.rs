//! The interface to thread names.

use model::{ThreadId, Tsc};

/// Names threads.
pub trait Comms: Sync {
    /// The command name of `thread` at `at`, or its number.
    fn comm(&self, thread: ThreadId, at: Tsc) -> String;
}

/// The name and number of `thread`: `auditor (tid 145)`.
pub(crate) fn named(comms: &dyn Comms, thread: ThreadId, at: Tsc) -> String {
    let (name, number) = (comms.comm(thread, at), format!("tid {}", thread.tid));
    if name == number { number } else { format!("{name} ({number})") }
}
