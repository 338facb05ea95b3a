//! The interface to thread names.

use model::{ThreadId, Tsc};

use crate::tables::kernel_entries::serves_interrupt;

/// Names threads.
pub trait Comms: Sync {
    /// The command name of `thread` at `at`, or its number.
    fn comm(&self, thread: ThreadId, at: Tsc) -> String;

    /// The control group that `thread` was in at `at`, in words: `nginx.service`. Empty for the root, `None` where it is unknown.
    fn group(&self, _thread: ThreadId, _at: Tsc) -> Option<String> {
        None
    }
}

/// ` of nginx.service`: the group of `thread`, where it is known to be another one than that of `own`, and not the root.
pub(crate) fn of_other_group(comms: &dyn Comms, thread: ThreadId, own: Option<ThreadId>, at: Tsc) -> String {
    let groups = own.and_then(|own| comms.group(own, at)).zip(comms.group(thread, at));
    let other = groups.filter(|(own, group)| own != group && !group.is_empty());
    other.map_or_else(String::new, |(_, group)| format!(" of {group}"))
}

/// The name and number of `thread`: `auditor (tid 145)`, `threaded interrupt irq/24-eth0 (tid 77)`.
pub(crate) fn named(comms: &dyn Comms, thread: ThreadId, at: Tsc) -> String {
    let (name, number) = (comms.comm(thread, at), format!("tid {}", thread.tid));
    let kind = if serves_interrupt(&name) { "threaded interrupt " } else { "" };
    if name == number { number } else { format!("{kind}{name} ({number})") }
}
