//! What a thread did, as far as its flows tell: the output of the walk.

use std::fmt;
use std::sync::Arc;

use model::{Cause, Certainty, Cpu, Ticks, Tsc, TscRange};
use pt::GapReason;

use super::user_code::{NodeKey, UserCode};
use crate::call_path::CallPath;

/// A stretch of kernel work: an entry until its return, or a landmark function until it returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// When, the work that interrupted it included.
    pub(crate) range: TscRange,
    /// What for.
    pub(crate) cause: Cause,
    /// Which happening it is; two parts of one happening with a loss between them share it.
    pub(crate) occurrence: u64,
    /// The symbol that told: the entry stub or the landmark function.
    pub(crate) symbol: Arc<str>,
    /// How many frames it lies in: the deepest one is what really ran.
    pub(crate) depth: usize,
    /// The CPU on which it began.
    pub(crate) cpu: Option<Cpu>,
    /// Where its first packets stand in that CPU's AUX stream.
    pub(crate) aux_offset: u64,
    /// How far its edges may be off.
    pub(crate) uncertainty: Ticks,
    /// Whether it was open when the flow began or came back, so that its start is a lower bound only.
    pub(crate) began_before: bool,
    /// Of a page fault the address, if Event Trace tells it.
    pub(crate) address: Option<u64>,
    /// What else the flow tells of it: what was asked for.
    pub(crate) particulars: Vec<Arc<str>>,
}

impl Frame {
    /// The last one of `frames`, which are in order of time, that began before `at`, where it lasted until then.
    pub(crate) fn open_at<'a>(frames: &[&'a Frame], at: Tsc) -> Option<&'a Frame> {
        let later = frames.partition_point(|frame| frame.range.start < at);
        frames[..later].last().copied().filter(|frame| frame.range.stop >= at)
    }
}

/// User code that ran in one node of the call tree without leaving it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// When.
    pub(crate) range: TscRange,
    /// The function; `None` where no symbol covers it.
    pub(crate) function: Option<Arc<str>>,
    /// The function as called by those above it.
    pub(crate) node: NodeKey,
    /// Instructions executed.
    pub(crate) instructions: u64,
    /// How often the function's first instruction was executed.
    pub(crate) calls: u64,
    /// How much of it passed between time packets with a code line in between that had not run before.
    pub(crate) cold: Ticks,
    /// The core:bus ratio that CBR last told, 0 where none did.
    pub(crate) ratio: u32,
    /// The CPU on which it ran.
    pub(crate) cpu: Option<Cpu>,
    /// How far its edges may be off.
    pub(crate) uncertainty: Ticks,
    /// Where it began in the AUX stream.
    pub(crate) aux_offset: u64,
}

/// Time that passed between two neighbouring packets without anything retired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stall {
    /// From the last time seen before to the first one after, as far as the thread was there.
    pub(crate) range: TscRange,
    /// How long it was in all.
    pub(crate) length: Ticks,
    /// The function in which it happened.
    pub(crate) function: Option<Arc<str>>,
    /// Whether it ended with a new core:bus ratio.
    pub(crate) ratio_changed: bool,
    /// The CPU that stood still.
    pub(crate) cpu: Option<Cpu>,
    /// Where in the AUX stream.
    pub(crate) aux_offset: u64,
}

/// Time in a loop that waits in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spin {
    /// When.
    pub(crate) range: TscRange,
    /// The function that the loop is in.
    pub(crate) function: Option<Arc<str>>,
    /// Where the loop begins.
    pub(crate) address: u64,
    /// How often it went round.
    pub(crate) rounds: u64,
    /// Whether it lets the core doze between its rounds.
    pub(crate) dozes: bool,
    /// Whether the thread was seen to leave it.
    pub(crate) left: bool,
    /// How far off the time may be at which it left.
    pub(crate) uncertainty: Ticks,
}

impl Spin {
    /// The loop by its function, or by its address.
    pub(crate) fn name(&self) -> String {
        match &self.function {
            Some(function) => format!("waiting loop in {function}()"),
            None => format!("waiting loop at {:#x}", self.address),
        }
    }
}

/// Why a flow says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The core's buffer overflowed: an OVF packet says so.
    Overflow,
    /// The decoder could not go on.
    Gap(GapReason),
    /// Tracing was off.
    Off,
}

impl Why {
    /// Whether packets or code were lost.
    pub(crate) fn is_loss(&self) -> bool {
        *self != Why::Off
    }

    /// How well it is known that trace is missing: a packet or the buffers' offsets say it, or the flow; where bytes do
    /// not decode, nothing tells what ran.
    pub(crate) fn certainty(&self) -> Certainty {
        match self {
            Why::Overflow | Why::Gap(GapReason::MissingAux) => Certainty::Measured,
            Why::Off => Certainty::Decoded,
            Why::Gap(_) => Certainty::Unknown,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Overflow => f.write_str("the core's buffer overflowed"),
            Why::Gap(reason) => reason.fmt(f),
            Why::Off => f.write_str("tracing was off"),
        }
    }
}

/// A stretch about which the flow says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    /// When.
    pub(crate) range: TscRange,
    /// When it began: before `range` where the thread left its CPU meanwhile and this is a later part of it.
    pub(crate) began: Tsc,
    /// The CPU on which it began.
    pub(crate) began_on: Option<Cpu>,
    /// Why.
    pub(crate) why: Why,
    /// The function whose code bytes are missing, if they are and its name is known.
    pub(crate) missing: Option<Arc<str>>,
    /// Whether execution went on exactly where it had stopped.
    pub(crate) resumed: bool,
    /// Where only user code is traced: the kernel entry that turned tracing off, if the flow tells.
    pub(crate) entry: Option<Cause>,
    /// For another exception of the processor, what it is, if Event Trace tells it.
    pub(crate) exception: Option<&'static str>,
    /// For a page fault, its address, if Event Trace tells it.
    pub(crate) address: Option<u64>,
    /// The CPU.
    pub(crate) cpu: Option<Cpu>,
    /// How far its edges may be off.
    pub(crate) uncertainty: Ticks,
    /// Where it began in the AUX stream of that CPU.
    pub(crate) aux_offset: u64,
}

impl Silence {
    /// What the decoder could not get past.
    pub(crate) fn gap(&self) -> Option<&GapReason> {
        match &self.why {
            Why::Gap(reason) => Some(reason),
            Why::Overflow | Why::Off => None,
        }
    }
}

/// A place in the flow where the kernel exchanges one thread's registers for another's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Switch {
    /// When.
    pub(crate) at: Tsc,
    /// Where in the AUX stream.
    pub(crate) aux_offset: u64,
    /// Where the thread's user code would go on, if it ran since the thread came onto its CPU.
    pub(crate) resumes_at: Option<u64>,
    /// Where the CPU's user code goes on before the next switch, if it does.
    pub(crate) then: Option<u64>,
    /// Where the thread stood, if its user code ran.
    pub(crate) path: CallPath,
}

/// What a thread did, as far as its flows tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Kernel work, in the order in which it ended.
    pub(crate) frames: Vec<Frame>,
    /// User work, in order of time.
    pub(crate) runs: Vec<Run>,
    /// The code that the runs are made of.
    pub(crate) code: UserCode,
    /// Stand-stills of at least the walker's threshold.
    pub(crate) stalls: Vec<Stall>,
    /// Loss, and tracing off.
    pub(crate) silences: Vec<Silence>,
    /// Switches to another thread, in order of time.
    pub(crate) switches: Vec<Switch>,
    /// Loops that wait in place, in order of time.
    pub(crate) spins: Vec<Spin>,
    /// Where the thread stood at the end of each of its stays on a CPU.
    pub(crate) paths: Vec<CallPath>,
}

impl Activity {
    /// Whether the flow tells of any code that ran within `range`.
    pub(crate) fn ran_within(&self, range: TscRange) -> bool {
        let runs = self.runs.iter().map(|run| run.range);
        let frames = self.frames.iter().map(|frame| frame.range);
        runs.chain(frames).any(|ran| ran.overlaps(range))
    }
}
