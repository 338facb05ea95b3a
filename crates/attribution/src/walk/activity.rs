//! What a thread did, as far as its flows show: the output of the walk.

use std::fmt;
use std::sync::Arc;

use model::{Cause, Certainty, Cpu, Ticks, Tsc, TscRange};
use pt::GapReason;

use super::kernel_runs::KernelCode;
use super::string_instructions::StringTime;
use super::user_code::{NodeKey, UserCode};
use crate::walk::call_path::CallPath;

/// A stretch of kernel work: an entry until its return, or a landmark function until it returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// When, including the work that interrupted it.
    pub(crate) range: TscRange,
    /// Its cause.
    pub(crate) cause: Cause,
    /// Its occurrence; two parts of one occurrence with a loss between them share it.
    pub(crate) occurrence: u64,
    /// The symbol that identified it: the entry stub or the landmark function.
    pub(crate) symbol: Arc<str>,
    /// The number of frames it is nested in: the deepest frame is what really ran.
    pub(crate) depth: usize,
    /// The CPU on which it began.
    pub(crate) cpu: Option<Cpu>,
    /// The position of its first packets in that CPU's AUX stream.
    pub(crate) aux_offset: u64,
    /// The uncertainty of its boundaries.
    pub(crate) uncertainty: Ticks,
    /// Whether it was open when the flow began or resumed, so that its start is a lower bound only.
    pub(crate) began_before: bool,
    /// For a page fault the address, if Event Trace reports it.
    pub(crate) address: Option<u64>,
    /// For a page fault what it did beyond bringing in one new page: `copies on write`.
    pub(crate) fault_work: Option<&'static str>,
    /// What else the flow shows about it: the requested work.
    pub(crate) particulars: Vec<Arc<str>>,
}

impl Frame {
    /// The last one of `frames`, which are in time order, that began before `at`, if it lasted until then.
    pub(crate) fn open_at<'a>(frames: &[&'a Frame], at: Tsc) -> Option<&'a Frame> {
        let later = frames.partition_point(|frame| frame.range.start < at);
        frames[..later].last().copied().filter(|frame| frame.range.stop >= at)
    }
}

/// User code that ran in one node of the call tree without leaving it: a function run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// When.
    pub(crate) range: TscRange,
    /// The function; `None` where no symbol covers it.
    pub(crate) function: Option<Arc<str>>,
    /// The function together with its callers.
    pub(crate) node: NodeKey,
    /// Instructions executed.
    pub(crate) instructions: u64,
    /// How often the function's first instruction was executed.
    pub(crate) calls: u64,
    /// The part of its time that passed between time packets where a code line ran for the first time.
    pub(crate) cold: Ticks,
    /// The core:bus ratio of the last CBR packet, 0 where there was none.
    pub(crate) ratio: u32,
    /// The CPU on which it ran.
    pub(crate) cpu: Option<Cpu>,
    /// The uncertainty of its boundaries.
    pub(crate) uncertainty: Ticks,
    /// Where it began in the AUX stream.
    pub(crate) aux_offset: u64,
}

/// Which nodes ran in `range`, run by run, and for how long in it; `runs` are in order of time.
pub(crate) fn runs_within(runs: &[Run], range: TscRange) -> impl Iterator<Item = (NodeKey, Ticks)> {
    let first = runs.partition_point(|run| run.range.stop <= range.start);
    let inside = runs[first..].iter().take_while(move |run| run.range.start < range.stop);
    inside.map(move |run| (run.node, run.range.intersection(range).map_or(Ticks(0), TscRange::ticks)))
}

/// Time that passed between two adjacent packets without anything retired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stall {
    /// From the last known time before to the first one after, as far as the thread was there.
    pub(crate) range: TscRange,
    /// The total length.
    pub(crate) length: Ticks,
    /// What the instructions that retired in it are likely to have taken, at its beginning.
    pub(crate) worked: Ticks,
    /// The function in which the thread was.
    pub(crate) function: Option<Arc<str>>,
    /// Whether it ended with a new core:bus ratio.
    pub(crate) ratio_changed: bool,
    /// The CPU that stalled.
    pub(crate) cpu: Option<Cpu>,
    /// Where in the AUX stream.
    pub(crate) aux_offset: u64,
}

/// Time in a spin-wait loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spin {
    /// When.
    pub(crate) range: TscRange,
    /// The last known time before it: what ran in between led to the loop.
    pub(crate) packet: Tsc,
    /// The function that the loop is in.
    pub(crate) function: Option<Arc<str>>,
    /// What called that function, if the flow shows it.
    pub(crate) caller: Option<Arc<str>>,
    /// Where the loop begins.
    pub(crate) address: u64,
    /// The number of iterations that jumped back: all but the last one.
    pub(crate) rounds: u64,
    /// Whether it lets the core doze between iterations (`tpause`).
    pub(crate) dozes: bool,
    /// Whether the thread was observed to leave the loop.
    pub(crate) left: bool,
    /// The uncertainty of the time at which it left.
    pub(crate) uncertainty: Ticks,
}

impl Spin {
    /// The loop by its function, or by its address.
    pub(crate) fn name(&self) -> String {
        match &self.function {
            Some(function) => format!("spin-wait loop in {function}()"),
            None => format!("spin-wait loop at {:#x}", self.address),
        }
    }
}

/// Why a stretch is untraced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The core's buffer overflowed: an OVF packet reports it.
    Overflow,
    /// The decoder could not continue.
    Gap(GapReason),
    /// Tracing was off.
    Off,
}

impl Why {
    /// Whether packets or code were lost.
    pub(crate) fn is_loss(&self) -> bool {
        *self != Why::Off
    }

    /// How well it is known that trace is missing: a packet, the buffers' offsets or the flow show it. Where bytes do
    /// not decode, what ran is unknown.
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

/// An untraced stretch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    /// When.
    pub(crate) range: TscRange,
    /// When it began: before `range` where the thread was off its CPU in between and this is a later part.
    pub(crate) began: Tsc,
    /// The CPU on which it began.
    pub(crate) began_on: Option<Cpu>,
    /// Why.
    pub(crate) why: Why,
    /// The function whose code bytes are missing, if they are and its name is known.
    pub(crate) missing: Option<Arc<str>>,
    /// Whether execution resumed exactly where it had stopped.
    pub(crate) resumed: bool,
    /// Where only user code is traced: the kernel entry that turned tracing off, if the flow shows it.
    pub(crate) entry: Option<Cause>,
    /// For another processor exception, its description, if Event Trace reports it.
    pub(crate) exception: Option<&'static str>,
    /// For a page fault, its address, if Event Trace reports it.
    pub(crate) address: Option<u64>,
    /// The CPU.
    pub(crate) cpu: Option<Cpu>,
    /// The uncertainty of its boundaries.
    pub(crate) uncertainty: Ticks,
    /// Where it began in the AUX stream of that CPU.
    pub(crate) aux_offset: u64,
}

impl Silence {
    /// What the decoder could not decode.
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
    /// Where the thread's user code would resume, if it ran since the thread came onto its CPU.
    pub(crate) resumes_at: Option<u64>,
    /// Where user code on the CPU resumes before the next switch, if it does.
    pub(crate) then: Option<u64>,
    /// Where the thread was, if its user code ran.
    pub(crate) path: CallPath,
}

/// What a thread did, as far as its flows show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Kernel work, in the order in which it ended.
    pub(crate) frames: Vec<Frame>,
    /// The kernel functions that it was done by.
    pub(crate) kernel: KernelCode,
    /// User code, in time order.
    pub(crate) runs: Vec<Run>,
    /// The code that the runs are made of.
    pub(crate) code: UserCode,
    /// Stalls of at least the walker's threshold.
    pub(crate) stalls: Vec<Stall>,
    /// Time in single string instructions, in time order.
    pub(crate) strings: Vec<StringTime>,
    /// Untraced stretches: losses, and tracing off.
    pub(crate) silences: Vec<Silence>,
    /// Switches to another thread, in time order.
    pub(crate) switches: Vec<Switch>,
    /// Spin-wait loops, in time order.
    pub(crate) spins: Vec<Spin>,
    /// Where the thread was at the end of each of its stays on a CPU.
    pub(crate) paths: Vec<CallPath>,
}

impl Activity {
    /// Whether the flow shows any code that ran within `range`.
    pub(crate) fn ran_within(&self, range: TscRange) -> bool {
        let runs = self.runs.iter().map(|run| run.range);
        let frames = self.frames.iter().map(|frame| frame.range);
        runs.chain(frames).any(|ran| ran.overlaps(range))
    }
}
