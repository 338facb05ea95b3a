//! The system call in which a thread waits: by its last `sys_enter` record, which also has the object, else by the
//! flow.

use model::Cause;

use crate::claims::off_cpu::context::Context;
use crate::claims::system_call::Call;
use crate::tables::kernel_entries::UNNAMED_SYSCALL;
use crate::threads::stays::Stay;
use crate::walk::activity::Frame;

/// The system call the thread was in when it left. Where record and flow contradict each other, a record is missing
/// and the flow is right.
pub(crate) fn call_of(stay: &Stay, context: &Context<'_>) -> Option<Call> {
    let left_at = stay.left_at.unwrap_or(stay.range.start);
    let by_record = stay.thread.and_then(|thread| context.sideband.call_at(thread.tid, left_at));
    let by_record = by_record.and_then(|event| Call::of_record(event, context.scene.files));
    match Frame::open_at(&context.calls, stay.range.start).map(|frame| &frame.cause) {
        Some(Cause::Syscall(name)) if name != UNNAMED_SYSCALL => {
            by_record.filter(|call| call.name == *name).or_else(|| Some(Call::named(name)))
        }
        _ => by_record,
    }
}
