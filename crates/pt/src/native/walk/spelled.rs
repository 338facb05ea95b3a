//! PTWRITE emulated for CPUs that have none: a function whose 64 conditional branches spell the payload, highest bit
//! first, each to the next instruction whether taken or not.
//!
//! ```text
//! jmp ──over 16 bytes of mark──→ shl rax; jc → shl rax; jc → ...   64 bits, then PTWRITE with the payload
//! ```
//!
//! Between two of its branches interrupts may come, and other threads: only branches that follow the last one on the
//! same thread count. Source: perf-intel-pt(1), "Emulated PTWRITE".

use model::ThreadId;

use super::{Stop, Walk};
use crate::flow::EventKind;
use crate::native::blocks::Block;

/// Most branches of other code in between: so long as a payload is read, execution is followed block by block.
const MOST_OTHERS: u16 = 10_000;
/// Most bytes from a branch to the next one: `shl rax` and `jc`, and before the first one the load of RAX.
const REACH: u64 = 16;

/// A payload of which some bits are read.
#[derive(Clone, Copy)]
pub(super) struct Spelled {
    /// The jump at its begin.
    ip: u64,
    /// Whose it is.
    thread: Option<ThreadId>,
    payload: u64,
    bits: u8,
    /// Where the code after the last of its branches begins.
    next: u64,
    others: u16,
}

impl Walk<'_> {
    /// Execution left `block` over the mark of an emulated PTWRITE.
    pub(super) fn begin_payload(&mut self, block: &Block) {
        let thread = self.presence.thread();
        let (ip, next) = (block.end_ip, block.target);
        self.spelled = Some(Spelled { ip, thread, payload: 0, bits: 0, next, others: 0 });
    }

    /// Execution left `block` by a conditional branch while a payload was read.
    pub(super) fn spell(&mut self, block: &Block, taken: bool) {
        let thread = self.presence.thread();
        let Some(spelled) = &mut self.spelled else { return };
        let follows = block.end_ip.checked_sub(spelled.next).is_some_and(|distance| distance < REACH);
        if follows && block.target == block.next && thread == spelled.thread && spelled.bits < 64 {
            spelled.payload = spelled.payload << 1 | u64::from(taken);
            (spelled.bits, spelled.next) = (spelled.bits + 1, block.next);
        } else {
            spelled.others += 1;
            if spelled.others >= MOST_OTHERS {
                self.spelled = None;
            }
        }
    }

    /// Passes the payload on once all of it is read.
    pub(super) fn give_payload(&mut self) -> Result<(), Stop> {
        if let Some(Spelled { ip, payload, .. }) = self.spelled.take_if(|spelled| spelled.bits == 64) {
            self.emitter.event(EventKind::Ptwrite { payload, ip: Some(ip) }, self.at);
        }
        if self.emitter.done() { Err(Stop::Done) } else { Ok(()) }
    }
}
