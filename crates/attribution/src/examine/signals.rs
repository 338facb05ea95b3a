//! Which signal a handler ran for, and who sent it: by the kernel's work from which the handler came, or by the record of the system
//! call that sent it.
//!
//! Input: the thread's flow and the records. Output: words for each handler, for the first time that it ran. A timer that expired on
//! another CPU leaves neither, and its handler has no words.

use std::collections::HashMap;

use model::{Cause, ThreadId, Tsc, TscRange};

use crate::inputs::comms::{Comms, named};
use crate::records::event::{EventKind, Side};
use crate::records::sideband::Sideband;
use crate::tables::signals::sent;
use crate::tables::syscalls;
use crate::tables::timers::is_timer;
use crate::threads::stays::{Stay, stay_at};
use crate::walk::activity::{Activity, Frame};
use crate::walk::user_code::NodeKey;
use crate::walk::user_runs::SIGNAL;

/// `SIGUSR2 sent by auditor (tid 139)`, `a POSIX timer` or `its own page fault`, for each handler of which it is known.
pub(super) fn of_handlers(
    activity: &Activity,
    stays: &[Stay],
    sideband: &Sideband,
    comms: &dyn Comms,
) -> HashMap<NodeKey, String> {
    let nodes = &activity.code.nodes;
    let is_signal = |node: NodeKey| nodes.get(&node).is_some_and(|node| &*node.function == SIGNAL);
    let handlers = nodes.iter().filter(|(_, node)| is_signal(node.parent)).map(|(&handler, _)| handler);
    let named = handlers.filter_map(|handler| {
        let first = activity.runs.iter().position(|run| run.node == handler)?;
        let begins = activity.runs[first].range.start;
        let interrupted = first.checked_sub(1).map_or(begins, |before| activity.runs[before].range.stop);
        let by_work = by_kernel_work(&activity.frames, TscRange::new(interrupted, begins));
        let by_record = || by_record(begins, stay_at(stays, begins)?.thread?, sideband, comms);
        Some((handler, by_work.or_else(by_record)?))
    });
    named.collect()
}

/// By what the kernel did in `range`, from the interrupted code to the handler.
fn by_kernel_work(frames: &[Frame], range: TscRange) -> Option<String> {
    let within = |frame: &&Frame| frame.range.start >= range.start && frame.range.stop <= range.stop;
    let work = || frames.iter().filter(within);
    if let Some(timer) = work().flat_map(|frame| &frame.particulars).find(|words| is_timer(words)) {
        return Some(timer.to_string());
    }
    let is_fault = work().any(|frame| matches!(frame.cause, Cause::PageFault(_)));
    is_fault.then(|| "its own page fault".to_owned())
}

/// By the last system call before `begins` that sent a signal to `thread`.
fn by_record(begins: Tsc, thread: ThreadId, sideband: &Sideband, comms: &dyn Comms) -> Option<String> {
    let events = sideband.events();
    let before = events[..events.partition_point(|event| event.time < begins)].iter().rev();
    let mut sends = before.filter(|event| event.side == Side::Begin).filter_map(|event| {
        let EventKind::Syscall { number, arguments } = &event.kind else { return None };
        Some((sent(syscalls::known_name(*number)?, arguments, thread)?, event))
    });
    let (signal, event) = sends.next()?;
    let sender = event.thread?;
    let by = if sender.tid == thread.tid { "itself".into() } else { named(comms, sender, event.time) };
    Some(format!("{signal} sent by {by}"))
}

#[cfg(test)]
mod tests;
