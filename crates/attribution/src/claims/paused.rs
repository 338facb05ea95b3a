//! Time in which another event had paused the trace: nothing was lost, and nothing but that is unknown.
//!
//! Input: the pauses by attributes and records, and where a trace is silent. Output: claims of `trace.filtered`, measured. Where
//! a flow runs on in a pause it wins, for it happened.

use model::{Cause, Certainty, Cpu, Evidence, TscRange};

use crate::claims::claim::Claim;
use crate::claims::precedence::Rank;
use crate::inputs::scene::Scene;
use crate::threads::pauses::{Paused, paused_within};
use crate::threads::stays::{Stay, stay_at};
use crate::walk::activity::{Silence, Why};

/// The claim of a silence that a pause explains. The kernel writes the pausing sample once the trace is off, and the resuming one
/// before it is on: a silence reaches a little beyond both.
///
/// Where only user code is traced, the trace is off in the kernel anyway: a silence of one entry that holds all of the pause is
/// the kernel's.
pub(crate) fn claim_of_paused(silence: &Silence, stays: &[Stay], scene: &Scene<'_>) -> Option<Claim> {
    if silence.why != Why::Off {
        return None;
    }
    let range = silence.range;
    let thread = stay_at(stays, range.start).and_then(|stay| stay.thread);
    let paused = paused_within(scene, range, silence.cpu, thread);
    let first = paused.first()?;
    let is_kernels = !scene.kernel_traced && silence.entry.is_some() && first.range.start > range.start;
    if is_kernels && paused.iter().all(|paused| paused.range.stop < range.stop) {
        return None;
    }
    let mut claim = claim(range, Rank::Untraced, first, silence.cpu);
    claim.occurrence = range.start.0;
    claim.uncertainty = silence.uncertainty.min(range.ticks());
    claim.evidence.push(Evidence::packet(silence.aux_offset, silence.cpu, silence.why.to_string()));
    Some(claim)
}

/// The lowest claims, of the parts of `stay` in which the trace was paused.
pub(crate) fn claims_of_paused_stay(stay: &Stay, scene: &Scene<'_>) -> Vec<Claim> {
    let cpu = stay.place.cpu();
    let paused = paused_within(scene, stay.range, cpu, stay.thread);
    paused.iter().map(|paused| claim(paused.range, Rank::Uncovered, paused, cpu)).collect()
}

fn claim(range: TscRange, rank: Rank, paused: &Paused<'_>, cpu: Option<Cpu>) -> Claim {
    let mut claim = Claim::new(range, rank, Cause::TraceFiltered, Certainty::Measured);
    claim.cpu = cpu;
    claim.occurrence = paused.range.start.0;
    match paused.by {
        Some(turn) => {
            claim.say(&format!("the trace was paused by {}", turn.event));
            claim.evidence.push(Evidence::record(
                turn.record,
                cpu,
                format!("{} pauses the trace", turn.event),
            ));
        }
        None => claim.say("the trace began paused"),
    }
    claim
}

#[cfg(test)]
mod tests;
