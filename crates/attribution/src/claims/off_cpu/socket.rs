//! `offcpu.socket`: protocol and peer of the socket a thread waited for.
//!
//! The protocol follows from the kernel functions on the path into the scheduler; protocol and peer follow from `tcp`
//! and `sock` records: the next one of the woken thread's own call, or one just before by the interrupt that woke the
//! thread.

use model::{Evidence, Tsc};

use crate::records::event::{EventKind, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::words::describe;
use crate::tables::wait_functions::protocol;
use crate::threads::stays::Stay;
use crate::threads::wakeup::Wakeup;
use crate::walk::call_path::CallPath;

/// How many records are searched on either side of the wake-up.
const SEARCHED: usize = 256;

/// "of a TCP socket".
pub(crate) fn protocol_of(path: &CallPath) -> Option<&'static str> {
    path.kernel_functions().find_map(protocol)
}

/// "TCP 10.0.0.1:40000 to 10.0.0.2:80", and the record that shows it.
pub(crate) fn connection_of(
    stay: &Stay,
    wakeup: Option<&Wakeup>,
    sideband: &Sideband,
) -> Option<(String, Evidence)> {
    let by_itself = own_record(stay, sideband);
    let found = by_itself.or_else(|| record_of_waker(wakeup?, sideband))?;
    let EventKind::Socket { connection } = &found.kind else { return None };
    Some((connection.clone(), Evidence::record(found.offset, found.cpu, describe(&found.kind))))
}

/// What the thread records about its socket after the wait, before its call ends.
fn own_record<'a>(stay: &Stay, sideband: &'a Sideband) -> Option<&'a SidebandEvent> {
    let tid = stay.thread?.tid;
    from(stay.range.stop, sideband)
        .filter(|event| event.thread.is_some_and(|thread| thread.tid == tid))
        .take_while(|event| !matches!(event.kind, EventKind::Syscall { .. }))
        .find(|event| matches!(event.kind, EventKind::Socket { .. }))
}

/// What was recorded on the waking CPU since the begin of the interrupt (or call) that woke the thread.
fn record_of_waker<'a>(wakeup: &Wakeup, sideband: &'a Sideband) -> Option<&'a SidebandEvent> {
    let events = sideband.events();
    let until = events.partition_point(|event| event.time <= wakeup.at);
    let before = events[until.saturating_sub(SEARCHED)..until].iter().rev();
    before
        .filter(|event| event.cpu == wakeup.cpu)
        .take_while(|event| !matches!(event.kind, EventKind::Softirq { .. } | EventKind::Syscall { .. }))
        .find(|event| matches!(event.kind, EventKind::Socket { .. }))
}

fn from(at: Tsc, sideband: &Sideband) -> impl Iterator<Item = &SidebandEvent> {
    let events = sideband.events();
    events[events.partition_point(|event| event.time < at)..].iter().take(SEARCHED)
}
