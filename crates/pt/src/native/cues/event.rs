//! An event on its way from the packets to its place in the flow.

use crate::flow::EventKind;
use crate::native::blocks::Wanted;

/// Up to three events of the flow, in order.
pub(in crate::native) type Kinds = [Option<EventKind>; 3];

/// An event.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Event {
    pub(in crate::native) what: What,
    pub(in crate::native) place: Place,
    /// The PSB to whose PSB+ it belongs: it repeats what holds anyway.
    pub(in crate::native) in_sync: Option<u64>,
    /// The clock's reading at its packet.
    pub(in crate::native) reading: Option<u64>,
    /// Where the trace ends that it needs; see [`super::Cues::at`].
    pub(in crate::native) at: u64,
}

/// What it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum What {
    /// Tracing begins.
    Enabled(u64),
    /// Tracing ends, at a branch or where MOV CR3 or the next address says.
    Disabled(Option<u64>),
    /// Tracing ends, asynchronously, before the instruction at `from`.
    BrokenOff { from: u64, to: Option<u64> },
    /// An interrupt or exception.
    Branch { from: u64, to: u64 },
    /// Packets were lost.
    Overflow(Option<u64>),
    /// A PSB+ says whether tracing is on, and where execution is.
    Sync(Option<u64>),
    /// The execution mode in bits.
    Mode(u8),
    /// Tracing was stopped.
    Stop,
    /// Nothing but what is to be passed on.
    Flow(Kinds),
}

/// Where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Place {
    /// Here.
    Here,
    /// Before the instruction at this address.
    Before(u64),
    /// After the instruction that is found so; with tracing off here.
    After(Wanted),
    /// Where tracing ends synchronously: at the address, at MOV CR3, or at the next branch that needs a packet.
    LastBranch(Option<u64>),
}
