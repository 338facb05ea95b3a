//! Examines one interval: where its threads were, what they did there, and which claim wins each tick.
//!
//! Input: the capture and an interval. Output: [`Examined`], exclusive pieces over the interval's range, before
//! comparison: all user code is one kind. Decoding is asked for by [`Decode`], so that tests can script flows.

use model::{
    Cause, Certainty, Cpu, Evidence, Interval, IntervalId, Segment, ThreadId, Ticks, TimeConversion, TscRange,
};
use perfdata::{PerfData, Schedule};
use pt::FlowSink;

use crate::claim::Claim;
use crate::functions::Functions;
use crate::kernel::{claims_of_frames, claims_of_records};
use crate::offcpu::{self, Comms};
use crate::partition::{Piece, partition};
use crate::precedence::Rank;
use crate::sideband::{SidebandEvent, events_within};
use crate::timeline::{Stay, Whereabouts, stays};
use crate::walk::{Activity, Run, Silence, Stall, Walker};

/// Decodes the trace of a CPU, or of a thread where the capture is per thread.
pub trait Decode {
    /// Sends what `thread` (and others) did on `cpu` during `range` into `sink`; `false` where there is no trace.
    /// Without a CPU only the thread's own trace will do.
    fn decode(&mut self, cpu: Option<Cpu>, thread: ThreadId, range: TscRange, sink: &mut dyn FlowSink) -> bool;
}

/// What examining needs of a capture.
pub struct Capture<'a> {
    /// The records.
    pub perf: &'a PerfData,
    /// Who ran where.
    pub schedule: &'a Schedule,
    /// The bridge to perf's clock; without it no record can be joined with the trace.
    pub conversion: Option<TimeConversion>,
    /// Function names.
    pub functions: &'a dyn Functions,
    /// Thread names.
    pub comms: &'a dyn Comms,
    /// Whether the kernel's code was traced, by the PT event's configuration.
    pub kernel_traced: bool,
    /// Time between two neighbouring packets from which on it counts as a stand-still.
    pub stall_threshold: Ticks,
}

/// How many wake-ups the path of who ended a wait is followed back.
const DURING_DEPTH: usize = 2;

/// How much sideband before an interval may explain what happens in it: a begin without its end, in ticks of 1 ms
/// at 4 GHz.
const LOOK_BACK: Ticks = Ticks(4_000_000);

/// An interval cut into exclusive pieces, each with its claim.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The interval.
    pub interval: Interval,
    /// Where its thread was.
    pub stays: Vec<Stay>,
    /// All claims; pieces point into it.
    pub(crate) claims: Vec<Claim>,
    /// Exclusive pieces in order, without holes.
    pub(crate) pieces: Vec<Piece>,
    /// The user runs; claim `first_run + i` is run `i`'s.
    pub(crate) runs: Vec<Run>,
    /// Index of the first user run's claim.
    pub(crate) first_run: usize,
}

impl Examined {
    /// The user run that a piece belongs to, if it is user code.
    pub(crate) fn run_of(&self, piece: &Piece) -> Option<&Run> {
        self.runs.get(piece.claim?.checked_sub(self.first_run)?)
    }
}

/// Examines `interval`.
pub fn examine(capture: &Capture<'_>, interval: &Interval, decoder: &mut dyn Decode) -> Examined {
    examine_to_depth(capture, interval, decoder, DURING_DEPTH)
}

fn examine_to_depth(
    capture: &Capture<'_>,
    interval: &Interval,
    decoder: &mut dyn Decode,
    depth: usize,
) -> Examined {
    let stays = stays(interval, capture.schedule, capture.conversion);
    let around = TscRange::new(interval.range.start.before(LOOK_BACK), interval.range.stop);
    let events = capture
        .conversion
        .map_or_else(Vec::new, |conversion| events_within(capture.perf, around, conversion));
    let (activity, uncovered) = follow(capture, &stays, decoder);
    let mut claims = claims_of_frames(&activity.frames, &events, &stays);
    claims.extend(claims_of_records(&events, &stays, claims.len() as u64 + 1));
    claims.extend(off_cpu_claims(capture, &stays, &events, &activity, decoder, depth));
    claims.extend(activity.stalls.iter().map(claim_of_stall));
    claims.extend(activity.silences.iter().map(|silence| claim_of_silence(silence, capture.kernel_traced)));
    claims.extend(uncovered);
    let first_run = claims.len();
    claims.extend(activity.runs.iter().map(claim_of_run));
    let pieces = partition(interval.range, &claims);
    Examined { interval: interval.clone(), stays, claims, pieces, runs: activity.runs, first_run }
}

/// Walks the flows of all stays on CPUs; says of which there is no trace.
fn follow(capture: &Capture<'_>, stays: &[Stay], decoder: &mut dyn Decode) -> (Activity, Vec<Claim>) {
    let mut walker = Walker::new(capture.functions, capture.stall_threshold);
    let mut uncovered = Vec::new();
    let mut end = model::Tsc(0);
    for stay in stays {
        let Some(thread) = stay.thread else { continue };
        let cpu = match stay.place {
            Whereabouts::OnCpu(cpu) => Some(cpu),
            Whereabouts::Unknown => None,
            Whereabouts::OffCpu(_) => continue,
        };
        walker.switch_in(cpu, stay.range.start);
        let mut sink = OfThread { walker: &mut walker, thread };
        let traced = decoder.decode(cpu, thread, stay.range, &mut sink);
        walker.switch_out(stay.range.stop);
        end = stay.range.stop;
        if cpu.is_none() && !traced {
            continue;
        }
        let mut claim = Claim::new(stay.range, Rank::Uncovered, Cause::TraceLoss, Certainty::Measured);
        claim.cpu = cpu;
        claim.detail = if traced { "no packets here" } else { "no trace of this CPU" }.into();
        uncovered.push(claim);
    }
    (walker.finish(end), uncovered)
}

/// Passes on what one thread did; what others did on the same CPU is not the interval's.
struct OfThread<'w, 'a> {
    walker: &'w mut Walker<'a>,
    thread: ThreadId,
}

impl FlowSink for OfThread<'_, '_> {
    fn item(&mut self, item: pt::FlowItem) -> std::ops::ControlFlow<()> {
        let thread = match &item {
            pt::FlowItem::Block(block) => block.thread,
            pt::FlowItem::Event(event) => event.thread,
            pt::FlowItem::Gap(gap) => gap.thread,
        };
        if thread.is_none_or(|thread| thread.tid == self.thread.tid) {
            self.walker.item(&item);
        }
        std::ops::ControlFlow::Continue(())
    }
}

fn off_cpu_claims(
    capture: &Capture<'_>,
    stays: &[Stay],
    events: &[SidebandEvent],
    activity: &Activity,
    decoder: &mut dyn Decode,
    depth: usize,
) -> Vec<Claim> {
    let Some(conversion) = capture.conversion else { return Vec::new() };
    let context = offcpu::Context {
        schedule: capture.schedule,
        conversion,
        events,
        frames: &activity.frames,
        comms: capture.comms,
    };
    let mut claims = Vec::new();
    for (index, stay) in stays.iter().enumerate() {
        let mut of_stay = offcpu::claims_of_stay(stay, index as u64, &context);
        let wait = of_stay.iter_mut().find(|claim| matches!(claim.cause, Cause::OffCpu(_)));
        if let (Some(wait), Some((wakeup, _))) = (wait, offcpu::wakeup(stay, events))
            && depth > 0
        {
            wait.during = during(capture, wait.range, &wakeup, decoder, depth - 1);
        }
        claims.append(&mut of_stay);
    }
    claims
}

/// What the thread that ended a wait did meanwhile.
fn during(
    capture: &Capture<'_>,
    wait: TscRange,
    wakeup: &offcpu::Wakeup,
    decoder: &mut dyn Decode,
    depth: usize,
) -> Vec<Segment> {
    let Some(waker) = wakeup.waker.filter(|waker| !waker.is_idle() && wakeup.interrupt.is_none()) else {
        return Vec::new();
    };
    let interval = Interval::new(IntervalId(0), "", wait, Some(waker));
    let examined = examine_to_depth(capture, &interval, decoder, depth);
    crate::segments::plain(&examined)
}

fn claim_of_stall(stall: &Stall) -> Claim {
    let (cause, what) = if stall.ratio_changed {
        (Cause::FrequencySwitch, "the core:bus ratio changed")
    } else {
        (Cause::HardwareGap, "nothing retired and no record explains it")
    };
    let mut claim = Claim::new(stall.range, Rank::StandStill, cause, Certainty::Inferred);
    let place = stall.function.as_deref().map_or_else(String::new, |function| format!("in {function}: "));
    claim.detail = format!("{place}{what}");
    claim.occurrence = stall.range.start.0;
    claim.evidence.push(Evidence::packet(stall.aux_offset, None, "first packet behind the stand-still"));
    claim
}

fn claim_of_silence(silence: &Silence, kernel_traced: bool) -> Claim {
    let (rank, cause) = match (silence.lost, kernel_traced) {
        (true, _) => (Rank::Loss, Cause::TraceLoss),
        (false, true) => (Rank::Untraced, Cause::TraceFiltered),
        (false, false) => (Rank::Untraced, Cause::KernelUnknown),
    };
    let mut claim = Claim::new(silence.range, rank, cause, Certainty::Decoded);
    claim.detail.clone_from(&silence.why);
    claim.occurrence = silence.range.start.0;
    claim.evidence.push(Evidence::packet(silence.aux_offset, None, silence.why.clone()));
    claim
}

fn claim_of_run(run: &Run) -> Claim {
    let mut claim = Claim::new(run.range, Rank::User, Cause::UserExpected, Certainty::Decoded);
    claim.detail = run.function.as_deref().unwrap_or("[no symbol]").to_owned();
    claim.evidence.push(Evidence::packet(run.aux_offset, run.cpu, "first packet of the run"));
    claim
}
