//! Which signal a handler ran for, and who sent it: by the record of the system call that sent it, or by the kernel's work from which
//! the handler came.
//!
//! Input: the thread's flow and the records. Output: words for each handler that ran for one signal, or for several of the same kind. A
//! timer that expired on another CPU leaves neither, and a signal may have been blocked for long: such a handler has no words.

use std::collections::{HashMap, HashSet};

use model::{Cause, ThreadId, Ticks, Tsc, TscRange};

use crate::claims::kernel::happened_to;
use crate::inputs::comms::{Comms, named};
use crate::records::event::{EventKind, Side};
use crate::records::sideband::Sideband;
use crate::records::words::cause;
use crate::tables::page_faults::is_of_user_code;
use crate::tables::signals::sent;
use crate::tables::syscalls;
use crate::tables::timers::sends_signal;
use crate::threads::stays::{Stay, stay_at};
use crate::walk::activity::{Activity, Frame};
use crate::walk::user_code::NodeKey;
use crate::walk::user_runs::SIGNAL;

/// The interrupt that ends user code takes no longer to arrive: about 20 us.
const ARRIVES: Ticks = Ticks(50_000);

/// Why the handler of a thread's own fault ran.
const OWN_FAULT: &str = "its own page fault";

/// `SIGUSR2 sent by auditor (tid 139)`, `a POSIX timer` or `its own page fault`, for each handler of which it is known.
pub(super) fn of_handlers(
    activity: &Activity,
    stays: &[Stay],
    sideband: &Sideband,
    comms: &dyn Comms,
) -> HashMap<NodeKey, String> {
    let nodes = &activity.code.nodes;
    let is_signal = |node: NodeKey| nodes.get(&node).is_some_and(|node| &*node.function == SIGNAL);
    let handlers: HashSet<NodeKey> =
        nodes.iter().filter(|(_, node)| is_signal(node.parent)).map(|(&handler, _)| handler).collect();
    let mut named: HashMap<NodeKey, Option<String>> = HashMap::new();
    if handlers.is_empty() {
        return HashMap::new();
    }
    let mut last = Tsc(0);
    for (index, run) in activity.runs.iter().enumerate() {
        if run.calls == 0 || !handlers.contains(&run.node) {
            continue;
        }
        let begins = run.range.start;
        let interrupted = index.checked_sub(1).map_or(begins, |before| activity.runs[before].range.stop);
        // What came before the last handler was that one's.
        let sent = TscRange::new(interrupted.before(ARRIVES).max(last), begins);
        let thread = stay_at(stays, begins).and_then(|stay| stay.thread);
        let by_record = |range| by_record(range, thread?, sideband, comms);
        let here = TscRange::new(interrupted, begins);
        let surely = by_record(here).or_else(|| by_kernel_work(&activity.frames, here));
        let words = surely.or_else(|| {
            match (untraced_entry(&activity.frames, here, stays, sideband), by_record(sent)) {
                (Some(Cause::PageFault(_)), None) => Some(OWN_FAULT.to_owned()),
                // Either of them.
                (Some(Cause::PageFault(_)), Some(_)) => None,
                // It may have brought another signal, whose sender no record shows.
                (Some(Cause::Timer), None) => Some("most likely a timer".to_owned()),
                (_, sender) => sender,
            }
        });
        let known = named.entry(run.node).or_insert_with(|| words.clone());
        if *known != words {
            *known = None;
        }
        last = begins;
    }
    named.into_iter().filter_map(|(handler, words)| Some((handler, words?))).collect()
}

/// By what the kernel did in `range`, from the interrupted code to the handler.
fn by_kernel_work(frames: &[Frame], range: TscRange) -> Option<String> {
    // They are in the order in which they ended.
    let first = frames.partition_point(|frame| frame.range.stop < range.start);
    let ended = frames[first..].iter().take_while(|frame| frame.range.stop <= range.stop);
    let work = || ended.clone().filter(|frame| frame.range.start >= range.start);
    if let Some(timer) = work().flat_map(|frame| &frame.particulars).find(|words| sends_signal(words)) {
        return Some(timer.to_string());
    }
    let last = work().filter(|frame| frame.depth == 0).last()?;
    matches!(last.cause, Cause::PageFault(_)).then(|| OWN_FAULT.to_owned())
}

/// The first fault of user code or interrupt in `range` by the records, where the kernel was not traced.
fn untraced_entry(frames: &[Frame], range: TscRange, stays: &[Stay], sideband: &Sideband) -> Option<Cause> {
    // They are in the order in which they ended.
    let first = frames.partition_point(|frame| frame.range.stop <= range.start);
    if frames.get(first).is_some_and(|frame| frame.range.start < range.stop) {
        return None;
    }
    let begun = sideband.within(range).iter().filter(|event| event.side == Side::Begin);
    let mut own = begun.filter(|event| happened_to(event, stays));
    own.find_map(|event| {
        let is_entry = match event.kind {
            EventKind::PageFault { error_code, .. } => error_code.is_none_or(is_of_user_code),
            EventKind::Softirq { .. } => false,
            _ => event.kind.is_interrupt(),
        };
        is_entry.then(|| cause(&event.kind))
    })
}

/// By the last system call in `range` that sent a signal to `thread`.
fn by_record(range: TscRange, thread: ThreadId, sideband: &Sideband, comms: &dyn Comms) -> Option<String> {
    let entries = sideband.within(range).iter().rev().filter(|event| event.side == Side::Begin);
    let mut sends = entries.filter_map(|event| {
        let EventKind::Syscall { number, arguments } = &event.kind else { return None };
        Some((sent(syscalls::known_name(*number)?, arguments, thread)?, event))
    });
    let ((signal, to_process), event) = sends.next()?;
    let sender = event.thread?;
    let by = if sender.tid == thread.tid { "itself".into() } else { named(comms, sender, event.time) };
    // Any other thread of the process may have handled that one.
    let to = if to_process { " to the process" } else { "" };
    Some(format!("{signal} sent{to} by {by}"))
}

#[cfg(test)]
mod tests;
