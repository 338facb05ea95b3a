//! What decoding one window yields: blocks with time bounds, PT events and gaps, in the order of execution.
//!
//! A [`FlowSink`](crate::FlowSink) receives them one at a time, so a whole capture streams through without being held; [`Flow`]
//! is the sink that keeps them.

use model::{ThreadId, Ticks, Tsc};

/// Bounds of the time at which something happened: the last time packet before it and the first one after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeBounds {
    /// Not before this reading; zero where no time was seen yet.
    pub not_before: Tsc,
    /// When it most likely happened: an edge put here stays in order with those before and after it. The lower bound,
    /// unless the branch it leads to has a time: then that.
    pub likely: Tsc,
    /// Not after this reading; [`u64::MAX`] where no time packet follows in the window.
    pub not_after: Tsc,
}

impl TimeBounds {
    /// Bounds between two times, of which the first is the likely one.
    pub const fn between(not_before: Tsc, not_after: Tsc) -> TimeBounds {
        TimeBounds { not_before, likely: not_before, not_after }
    }

    /// How far apart the bounds lie; zero where the far one is not known.
    pub fn width(&self) -> Ticks {
        if self.not_after.0 == u64::MAX { Ticks(0) } else { self.not_after.since(self.not_before) }
    }
}

/// How a block of instructions ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockEnd {
    /// Neither branch nor event: the block reached the decoder's size limit, or an event interrupted it.
    FallThrough,
    /// A conditional branch, taken or not.
    ConditionalBranch,
    /// A direct or indirect near jump.
    Jump,
    /// A near call.
    Call,
    /// A near return.
    Return,
    /// `syscall`, `int n`, a far call: into the kernel by its own will.
    FarCall,
    /// `iret`, `sysret`, a far return.
    FarReturn,
    /// A far jump.
    FarJump,
    /// Any other instruction after which the decoder ended the block (`mov cr3`, `ptwrite`, …).
    Other,
}

impl BlockEnd {
    /// Whether execution may leave for another privilege level.
    pub(crate) fn is_far(self) -> bool {
        matches!(self, BlockEnd::FarCall | BlockEnd::FarReturn | BlockEnd::FarJump)
    }
}

/// Instructions executed one after the other in memory: no taken branch inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Address of the first instruction (AVMA).
    pub ip: u64,
    /// Address of the last instruction.
    pub end_ip: u64,
    /// How many instructions.
    pub instructions: u32,
    /// How the last one ended the block.
    pub end: BlockEnd,
    /// Execution mode: 16, 32 or 64 bits.
    pub bits: u8,
    /// Whether the address lies in the kernel's half of the address space.
    pub kernel: bool,
    /// The thread on the CPU, as far as sideband shows it.
    pub thread: Option<ThreadId>,
    /// When.
    pub time: TimeBounds,
    /// Position in the AUX stream up to which the decoder had read: evidence.
    pub aux_offset: u64,
}

/// What a PT event says. Field meanings: Intel SDM vol. 3, "Intel Processor Trace", packet definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// Tracing began or resumed at `ip`.
    Enabled {
        /// First traced address.
        ip: u64,
        /// Whether it resumes exactly where tracing had stopped.
        resumed: bool,
    },
    /// Tracing stopped; the next address if the trace gives it.
    Disabled {
        /// Where execution went, untraced.
        ip: Option<u64>,
        /// Address of the interrupted instruction (not executed), where an interrupt or exception ended it.
        from: Option<u64>,
    },
    /// An interrupt or exception moved execution from `from` to `to`.
    AsyncBranch {
        /// Address of the interrupted instruction (not executed).
        from: u64,
        /// Where it went.
        to: u64,
    },
    /// The page table changed (PIP).
    Paging {
        /// CR3, guest bit removed.
        cr3: u64,
        /// Whether the CPU was in VMX non-root operation.
        non_root: bool,
    },
    /// The core's buffer overflowed; packets were lost. Execution resumes at `ip` if known.
    Overflow {
        /// First address after the loss.
        ip: Option<u64>,
    },
    /// PTWRITE wrote `payload`.
    Ptwrite {
        /// The operand.
        payload: u64,
        /// The instruction, where the trace gives it.
        ip: Option<u64>,
    },
    /// Another thread runs from here on. This and the next three only with [`Grain::Calls`](crate::Grain::Calls).
    WatchedThread,
    /// A call was made as watched functions are called, of such a function or of another one.
    WatchedCall {
        /// Where it returns to.
        returns_to: u64,
    },
    /// A watched function began, by the last call.
    WatchedEntry {
        /// Its first instruction.
        ip: u64,
    },
    /// A return led to where watched calls return to.
    WatchedReturn {
        /// Where.
        to: u64,
    },
    /// The core:bus ratio is now `ratio` (CBR): at each change, and repeated at each sync point and where
    /// a window begins.
    CoreBusRatio {
        /// Core frequency in units of the bus clock.
        ratio: u32,
    },
    /// Execution stopped (EXSTOP).
    ExecutionStopped {
        /// The last instruction, where the trace gives it.
        ip: Option<u64>,
    },
    /// MWAIT executed with these operands.
    Mwait {
        /// EAX: hints.
        hints: u32,
        /// ECX: extensions.
        ext: u32,
    },
    /// Entry of a power state requested (PWRE).
    PowerEntry {
        /// Requested C-state.
        state: u8,
        /// Requested sub-state.
        sub_state: u8,
        /// Whether hardware requested it, not MWAIT or HLT.
        by_hardware: bool,
    },
    /// Back from a power state (PWRX).
    PowerExit {
        /// Last core C-state.
        last: u8,
        /// Deepest core C-state.
        deepest: u8,
        /// Woken by an interrupt.
        interrupt: bool,
        /// Woken by a store to the monitored line.
        store: bool,
        /// Woken by hardware itself.
        autonomous: bool,
    },
    /// TSX state changed.
    Transaction {
        /// In a transaction now.
        active: bool,
        /// The last one was aborted.
        aborted: bool,
    },
    /// Event Trace: interrupt, exception, SMI, VM entry or the like (CFE), by its type and vector fields.
    ControlFlowEvent {
        /// The CFE type field.
        kind: u8,
        /// The vector field.
        vector: u8,
        /// The instruction it happened at, where the trace gives it.
        ip: Option<u64>,
    },
    /// Event Trace: data belonging to the next CFE (EVD): fault address or VM-exit facts.
    EventData {
        /// The EVD type field.
        kind: u8,
        /// Its payload (CR2 for page faults).
        payload: u64,
    },
    /// A packet that stops tracing by address filter (TRACESTOP).
    TraceStop,
}

/// A PT event at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtEvent {
    /// What it says.
    pub kind: EventKind,
    /// The thread on the CPU, as far as sideband shows it.
    pub thread: Option<ThreadId>,
    /// When.
    pub time: TimeBounds,
    /// Position in the AUX stream: evidence.
    pub aux_offset: u64,
}

/// Why a part of the trace could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GapReason {
    /// No code bytes at this address.
    NoCode {
        /// The address.
        ip: u64,
    },
    /// Packets and code contradict each other; the decoder's own word.
    Mismatch {
        /// Where decoding stood.
        ip: u64,
        /// The decoder's message.
        message: String,
    },
    /// Bytes that are no packet.
    BadPacket,
    /// AUX data is missing between two buffers.
    MissingAux,
    /// No sync point: decoding could not begin.
    NoSync,
    /// A bound on work was reached: more instructions than can be true between two packets.
    EndlessLoop {
        /// Where decoding stood.
        ip: u64,
    },
}

impl std::fmt::Display for GapReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GapReason::NoCode { ip } => write!(f, "no code bytes at {ip:#x}"),
            GapReason::Mismatch { ip, message } => write!(f, "trace and code disagree at {ip:#x}: {message}"),
            GapReason::BadPacket => f.write_str("bytes that are not a packet"),
            GapReason::MissingAux => f.write_str("AUX data is missing"),
            GapReason::NoSync => f.write_str("no sync point"),
            GapReason::EndlessLoop { ip } => write!(f, "no end of the code at {ip:#x}"),
        }
    }
}

/// An undecodable part of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Why.
    pub reason: GapReason,
    /// The thread on the CPU, as far as sideband shows it.
    pub thread: Option<ThreadId>,
    /// From the last time before it to the first time after it.
    pub time: TimeBounds,
    /// AUX offset at which decoding failed.
    pub aux_offset: u64,
    /// AUX offset at which it went on, or the window's end.
    pub resumed_at: u64,
}

/// One thing of a flow.
// Exhaustive: a consumer that skips a kind of item would lose time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowItem {
    /// Instructions ran.
    Block(Block),
    /// The processor said something.
    Event(PtEvent),
    /// Nothing is known.
    Gap(Gap),
}

impl FlowItem {
    /// Whose it is, where that is known.
    pub fn thread(&self) -> Option<ThreadId> {
        match self {
            FlowItem::Block(block) => block.thread,
            FlowItem::Event(event) => event.thread,
            FlowItem::Gap(gap) => gap.thread,
        }
    }

    /// When it was.
    pub fn time(&self) -> TimeBounds {
        match self {
            FlowItem::Block(block) => block.time,
            FlowItem::Event(event) => event.time,
            FlowItem::Gap(gap) => gap.time,
        }
    }

    /// Where in the trace its packets end, as far as is known.
    pub fn aux_offset(&self) -> u64 {
        match self {
            FlowItem::Block(block) => block.aux_offset,
            FlowItem::Event(event) => event.aux_offset,
            FlowItem::Gap(gap) => gap.resumed_at,
        }
    }
}

/// A window's blocks, events and gaps, kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// In the order of execution.
    pub items: Vec<FlowItem>,
}
