//! Follows the interval's threads through the flows of their stays on CPUs, and makes claims of what the flow itself
//! says: time that stood still, time without trace.

use model::{Cause, Certainty, Cpu, Evidence, ThreadId, Ticks, Tsc, TscRange};
use pt::FlowSink;

use crate::call_path::CallPath;
use crate::claim::Claim;
use crate::examine::Scene;
use crate::precedence::Rank;
use crate::timeline::{Stay, Whereabouts};
use crate::walk::{Activity, Frame, Silence, Stall, Walker};

/// Decodes the trace of a CPU, or of a thread where the capture is per thread.
pub trait Decode {
    /// Sends what `thread` (and others) did on `cpu` during `range` into `sink`; `false` where there is no trace.
    /// Without a CPU only the thread's own trace will do.
    fn decode(
        &mut self,
        cpu: Option<Cpu>,
        thread: ThreadId,
        range: TscRange,
        sink: &mut dyn FlowSink,
    ) -> bool;
}

/// Walks the flows of all stays on CPUs; says of which there is no trace. What a thread ran while it was `busy` with
/// other intervals is not counted.
pub(crate) fn follow(
    scene: &Scene<'_>,
    stays: &[Stay],
    busy: Option<(ThreadId, Tsc)>,
    decoder: &mut dyn Decode,
) -> (Activity, Vec<Claim>) {
    let mut whole = Activity::default();
    let mut uncovered = Vec::new();
    for of_one in stays.chunk_by(|a, b| a.thread == b.thread) {
        let Some(thread) = of_one[0].thread else { continue };
        let mut walker = Walker::new(scene.functions, scene.stall_threshold);
        if !scene.kernel_traced {
            walker.traces_user_code_only();
        }
        if let Some((_, until)) = busy.filter(|(who, _)| who.tid == thread.tid) {
            walker.counts_from(until);
        }
        let activity = follow_thread(walker, thread, of_one, decoder, &mut uncovered);
        append(&mut whole, activity);
    }
    (whole, uncovered)
}

/// How much flow before a moment tells where a thread stands then: a system call from its entry to the scheduler.
const ON_THE_WAY: Ticks = Ticks(200_000);

/// Where `thread` stood on `cpu` at `at`, by a short piece of its flow before.
pub(crate) fn path_at(
    scene: &Scene<'_>,
    thread: ThreadId,
    cpu: Option<Cpu>,
    at: Tsc,
    decoder: &mut dyn Decode,
) -> Option<CallPath> {
    let before = TscRange::new(at.before(ON_THE_WAY), at);
    let mut walker = Walker::new(scene.functions, scene.stall_threshold);
    walker.switch_in(cpu, before.start);
    let traced =
        decoder.decode(cpu, thread, before, &mut OfThread { walker: &mut walker, thread, until: at });
    walker.switch_out(at);
    walker.finish(at).paths.pop().filter(|_| traced)
}

/// What `cpu`, where `thread` is, was doing in the kernel up to `at`, by a short piece of its flow before.
pub(crate) fn work_at(
    scene: &Scene<'_>,
    cpu: Cpu,
    thread: ThreadId,
    at: Tsc,
    decoder: &mut dyn Decode,
) -> Vec<Frame> {
    let before = TscRange::new(at.before(ON_THE_WAY), at);
    let mut walker = Walker::new(scene.functions, scene.stall_threshold);
    walker.switch_in(Some(cpu), before.start);
    decoder.decode(Some(cpu), thread, before, &mut OfThread { walker: &mut walker, thread, until: at });
    walker.switch_out(at);
    walker.finish(at).frames
}

fn follow_thread(
    mut walker: Walker<'_>,
    thread: ThreadId,
    stays: &[Stay],
    decoder: &mut dyn Decode,
    uncovered: &mut Vec<Claim>,
) -> Activity {
    let mut end = Tsc(0);
    let mut was_off = false;
    for stay in stays {
        let Some((cpu, _)) = stay.traced_by() else {
            was_off = true;
            continue;
        };
        walker.switch_in(cpu, stay.range.start);
        if std::mem::take(&mut was_off) {
            walker.scheduled(stay.range.start);
        }
        let mut sink = OfThread { walker: &mut walker, thread, until: stay.range.stop };
        let traced = decoder.decode(cpu, thread, stay.range, &mut sink);
        walker.switch_out(stay.range.stop);
        end = stay.range.stop;
        if cpu.is_some() || traced {
            uncovered.push(claim_of_uncovered(stay, cpu, traced));
        }
    }
    walker.finish(end)
}

/// Adds what the next thread did; its happenings are others.
fn append(whole: &mut Activity, next: Activity) {
    let known = whole.frames.iter().map(|frame| frame.occurrence).max().unwrap_or(0);
    whole.frames.extend(next.frames.into_iter().map(|mut frame| {
        frame.occurrence += known;
        frame
    }));
    whole.runs.extend(next.runs);
    whole.code.add(next.code);
    whole.stalls.extend(next.stalls);
    whole.silences.extend(next.silences);
    whole.paths.extend(next.paths);
    whole.switches.extend(next.switches);
    whole.spins.extend(next.spins);
}

/// Passes on what one thread did; what others did on the same CPU is not the interval's.
struct OfThread<'w, 'a> {
    walker: &'w mut Walker<'a>,
    thread: ThreadId,
    /// The end of the stay: a window may hold the first item behind it, and that is not the stay's.
    until: Tsc,
}

impl FlowSink for OfThread<'_, '_> {
    fn item(&mut self, item: pt::FlowItem) -> std::ops::ControlFlow<()> {
        let is_own = item.thread().is_none_or(|thread| thread.tid == self.thread.tid);
        if is_own && item.time().likely < self.until {
            self.walker.item(&item);
        }
        std::ops::ControlFlow::Continue(())
    }
}

/// The floor below all that the flow of a stay says: there is no packet for it, or no trace at all. No record says why,
/// so nothing supports it but that nothing else does.
fn claim_of_uncovered(stay: &Stay, cpu: Option<Cpu>, traced: bool) -> Claim {
    let mut claim = Claim::new(stay.range, Rank::Uncovered, Cause::TraceLoss, Certainty::Unknown);
    claim.cpu = cpu;
    claim.occurrence = stay.range.start.0;
    claim.say(if traced { "no packets here" } else { "no trace of this CPU" });
    claim
}

/// Time in which nothing retired.
pub(crate) fn claim_of_stall(stall: &Stall) -> Claim {
    let (cause, what) = if stall.ratio_changed {
        (Cause::FrequencySwitch, "the core:bus ratio changed")
    } else {
        (Cause::HardwareGap, "nothing retired and no record explains it")
    };
    let mut claim = Claim::new(stall.range, Rank::StandStill, cause, Certainty::Inferred);
    let place = stall.function.as_deref().map_or_else(String::new, |function| format!("in {function}: "));
    claim.say(&format!("{place}{what}"));
    claim.occurrence = stall.range.start.0;
    claim.cpu = stall.cpu;
    claim.evidence.push(Evidence::packet(stall.aux_offset, stall.cpu, "first packet behind the stand-still"));
    claim
}

/// Time without trace, but for the kernel's where only user code is traced (`untraced.rs`). Where the kernel is traced,
/// too, and execution went on exactly where it had stopped, something below the kernel took the time: an SMI turns
/// tracing off and on. But the kernel itself turns the trace of a single thread off when that leaves its CPU, and on when it
/// is back, with one and the same instruction: what of that lies in a stay of `stays` is the way back.
pub(crate) fn claim_of_silence(silence: &Silence, stays: &[Stay]) -> Claim {
    let (rank, cause, certainty) = match (silence.why.is_loss(), silence.resumed) {
        (true, _) => (Rank::Loss, Cause::TraceLoss, silence.why.certainty()),
        (false, true) if comes_back(silence.range.start, stays) => {
            (Rank::Untraced, Cause::Schedule, Certainty::Inferred)
        }
        (false, true) => (Rank::StandStill, Cause::HardwareGap, Certainty::Inferred),
        (false, false) => (Rank::Untraced, Cause::TraceFiltered, silence.why.certainty()),
    };
    let mut claim = Claim::new(silence.range, rank, cause, certainty);
    claim.say(&silence.why.to_string());
    if let Some(function) = &silence.missing {
        claim.say(&format!("in {function}()"));
    }
    claim.gap = silence.gap().cloned();
    claim.occurrence = silence.range.start.0;
    claim.cpu = silence.cpu;
    // It began in its range, at the last time known before or later.
    claim.uncertainty = silence.uncertainty.min(silence.range.ticks());
    claim.evidence.push(Evidence::packet(silence.aux_offset, silence.cpu, silence.why.to_string()));
    claim
}

/// The trace of a single thread goes off with it: where no record tells when it left its CPU, a silence may be that.
pub(crate) fn or_absent(mut claim: Claim) -> Claim {
    claim.bid.rank = Rank::StandStill;
    (claim.cause, claim.certainty) = (Cause::Unexplained, Certainty::Unknown);
    claim.say("most probably off its CPU, no switch record tells");
    claim
}

/// Whether a thread comes onto its CPU at `at`.
fn comes_back(at: Tsc, stays: &[Stay]) -> bool {
    let behind = stays.partition_point(|stay| stay.range.start < at);
    let Some([before, stay]) = behind.checked_sub(1).and_then(|before| stays.get(before..=behind)) else {
        return false;
    };
    let was_off = matches!(before.place, Whereabouts::OffCpu(_)) && before.thread == stay.thread;
    stay.range.start == at && was_off
}

#[cfg(test)]
mod tests;
