//! Random programs, what they executed, and the trace of it: known by construction, for no decoder takes part.
//!
//! ```text
//! seed → code (layout): bytes, and what each instruction is
//!          ↓
//!        walk (execution): chance chooses each branch, each event ──→ the list of what happened
//!          ↓
//!        encoder ──→ packets
//! ```
//!
//! Input: a seed. Output: code, PT bytes, and each instruction and event with its time. Invariants: the same seed gives
//! the same bytes; execution never goes in a circle without a packet, which no trace can show.

mod encoding;
mod execution;
mod layout;

use crate::encoder::Settings;
use layout::Layout;

/// Code in one mode, at its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Where the first byte lies.
    pub address: u64,
    /// Execution mode: 16, 32 or 64 bits.
    pub bits: u8,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Offset and length of each instruction in them.
    pub instructions: Vec<(u32, u8)>,
}

/// What happened, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The instruction at this address ran.
    Ran(u64),
    /// Tracing began at this address.
    Enabled(u64),
    /// Tracing ended.
    Disabled {
        /// Where execution went, if the trace says it.
        to: Option<u64>,
        /// The instruction before which it ended, which did not run; none where one that ran ended it.
        from: Option<u64>,
    },
    /// An interruption took execution from one address to another.
    Interrupted {
        /// Where it was; the instruction there did not run.
        from: u64,
        /// Where it went.
        to: u64,
    },
    /// Packets were lost; where execution was then, or tracing was off.
    Lost(Option<u64>),
    /// The instruction at this address wrote a value into the trace.
    Ptwrite {
        /// The value.
        payload: u64,
        /// The instruction.
        ip: u64,
    },
    /// A transaction began.
    Began,
    /// It was committed.
    Committed,
    /// It was aborted.
    Aborted,
    /// Event Trace gave the data of the next event.
    Data {
        /// The EVD's type.
        kind: u8,
        /// Its payload.
        payload: u64,
    },
    /// Event Trace: a control-flow event.
    Reported {
        /// The CFE's type.
        kind: u8,
        /// Its vector.
        vector: u8,
        /// The instruction it happened at.
        ip: u64,
    },
    /// The page table changed.
    Paging(u64),
    /// A region that stops the trace was met.
    Stopped,
}

/// What libipt 2.1.2 does not decode, or takes for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beyond {
    /// ERETU or ERETS ran: ordinary instructions to it.
    EventReturns,
    /// RSM ran: an ordinary instruction to it.
    ReturnsFromSmm,
    /// A trigger fired: no packet to it.
    Triggers,
    /// Event Trace named a system call or a software interrupt, as only processors with FRED do: no events to it.
    EventsOfFred,
    /// MOV CR3 ran before the far transfer that left what is traced: it takes MOV CR3 for what ended tracing.
    PageTableOnTheWayOut,
    /// The interrupt flag changed, and no other packet came before packets were lost: its FUP shows nothing to it.
    FlagBeforeLoss,
}

/// A program, its execution and its trace.
#[derive(Clone, Debug)]
pub struct Program {
    /// What is switched on in the trace, and the clocks.
    pub settings: Settings,
    /// All code, by address.
    pub code: Vec<Code>,
    /// The PT bytes.
    pub trace: Vec<u8>,
    /// What happened and when, in TSC ticks: an instruction when it retired.
    pub happened: Vec<(u64, Happened)>,
    /// Times of packets that bind to no instruction: nothing says whether what is between two branches ran before.
    pub unbound: Vec<u64>,
    /// What is in it that libipt 2.1.2 does not decode, or takes for something else.
    pub beyond_libipt: Vec<Beyond>,
    /// Whether times can be held against the trace exactly: one core cycle is one tick.
    pub has_exact_times: bool,
}

/// The program of `seed`.
pub fn program(seed: u64) -> Program {
    let mut dice = crate::dice::Dice::new(seed);
    let layout = Layout::new(&mut dice);
    execution::execute(layout, dice)
}
