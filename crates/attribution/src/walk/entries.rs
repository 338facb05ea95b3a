//! How execution came to where it is: the block before, and what packets announced about the next entry.
//!
//! Input: blocks and events in order. Output: whether a block of kernel code is an entry, a return or neither, and
//! which entry turned tracing off. A hole in the flow clears this state.

use model::{Cause, ThreadId};
use pt::{Block, BlockEnd, PtEvent};

use super::clock::Moment;
use crate::tables::exceptions::exception_of;
use crate::tables::kernel_entries::{UNNAMED_SYSCALL, vector_cause};

/// The length of `iretq`: one that returns to the next instruction serialises the core and ends no interrupt
/// (`iret_to_self` in `arch/x86/include/asm/sync_core.h`).
const IRETQ_LENGTH: u64 = 2;

/// See the module.
#[derive(Default)]
pub(super) struct Entries {
    /// The last block.
    pub(super) previous: Option<Block>,
    /// It ended in a near return whose target is not known yet.
    pub(super) returning: bool,
    /// The asynchronous branch that enters the kernel with the next block.
    pub(super) pending: Option<PtEvent>,
    /// A transaction was aborted: the asynchronous branch that follows is no kernel entry.
    pub(super) aborted: bool,
    /// The vector that Event Trace announced, until execution resumes.
    pub(super) vector: Option<u8>,
    /// The address of the page fault that Event Trace announced, until execution resumes.
    pub(super) address: Option<u64>,
    /// Where tracing resumed, if nothing has retired since.
    pub(super) enabled: Option<Enabled>,
}

/// Tracing resumes.
pub(super) struct Enabled {
    pub(super) moment: Moment,
    /// Where.
    pub(super) ip: u64,
    pub(super) thread: Option<ThreadId>,
}

/// How execution came to a block of kernel code.
pub(super) enum Arrival {
    /// From user code or by a far call.
    Entry,
    /// By an interrupt or exception.
    Asynchronous {
        /// The position of its packet in the AUX stream.
        aux_offset: u64,
        /// For a page fault its address, if Event Trace reports it.
        address: Option<u64>,
    },
    /// By a return from an interrupt or exception.
    Return,
    /// None of these.
    Within,
}

/// What turned tracing off.
#[derive(Default)]
pub(super) struct Off {
    /// The kernel entry, where the flow shows one.
    pub(super) entry: Option<Cause>,
    /// For another processor exception, its description.
    pub(super) exception: Option<&'static str>,
}

impl Entries {
    /// Execution continues untraced.
    pub(super) fn forget(&mut self) {
        *self = Entries::default();
    }

    /// How execution came to the kernel's code at `ip`.
    pub(super) fn arrive(&mut self, ip: u64) -> Arrival {
        if let Some(event) = self.pending.take() {
            return Arrival::Asynchronous { aux_offset: event.aux_offset, address: self.address.take() };
        }
        match &self.previous {
            Some(previous) if !previous.kernel || previous.end == BlockEnd::FarCall => Arrival::Entry,
            Some(previous) if returns_from_interrupt(previous, ip) => Arrival::Return,
            _ => Arrival::Within,
        }
    }

    /// User code runs: no kernel work is in progress.
    pub(super) fn reach_user_code(&mut self) {
        self.pending = None;
        self.returning = false;
    }

    /// `block` has run.
    pub(super) fn pass(&mut self, block: &Block) {
        self.previous = Some(*block);
        self.address = None;
    }

    /// An asynchronous branch: it enters the kernel, unless it goes to the start of an aborted transaction.
    pub(super) fn branch(&mut self, event: &PtEvent) {
        if !std::mem::take(&mut self.aborted) {
            self.pending = Some(*event);
        }
    }

    /// The block before, if it returned from an interrupt or exception to `ip`.
    pub(super) fn returned_to(&self, ip: u64) -> Option<&Block> {
        self.previous.as_ref().filter(|last| returns_from_interrupt(last, ip) && !self.aborted)
    }

    /// What turns tracing off now: where only user code is traced, the kernel entry.
    pub(super) fn turn_off(&mut self) -> Off {
        let vector = self.vector.take();
        let by_vector = vector.map(vector_cause);
        let call = self.previous.filter(|block| !block.kernel && block.end == BlockEnd::FarCall);
        let entry = by_vector.or_else(|| call.map(|_| Cause::Syscall(UNNAMED_SYSCALL.into())));
        Off { entry, exception: vector.and_then(exception_of) }
    }
}

/// Whether `previous` ended in a far return from an interrupt or exception: the interrupted code resumes at `ip`.
fn returns_from_interrupt(previous: &Block, ip: u64) -> bool {
    let returns = previous.kernel && previous.end == BlockEnd::FarReturn;
    returns && ip != previous.end_ip.wrapping_add(IRETQ_LENGTH)
}
