//! Time without trace: losses, tracing off by request, the kernel's time where only user code is traced, and what
//! else it may be where no record shows when a thread was off its CPU.

use model::{Cause, Certainty, Evidence, Tsc, TscRange};

use crate::claims::claim::Claim;
use crate::claims::paused::{claim_of_paused, claims_of_paused_stay};
use crate::claims::precedence::Rank;
use crate::claims::untraced::Untraced;
use crate::inputs::scene::Scene;
use crate::records::sideband::Sideband;
use crate::threads::addresses::Addresses;
use crate::threads::follow::FollowedStay;
use crate::threads::stays::{Stay, Whereabouts};
use crate::walk::activity::Silence;

/// Time without trace. It may be the kernel's where only user code is traced; where absences are not recorded, work
/// shown by records may lie in one, too.
pub(crate) fn add_silences(
    claims: &mut Vec<Claim>,
    silences: &[Silence],
    sideband: &Sideband,
    addresses: &Addresses<'_>,
    scene: &Scene<'_>,
) {
    let mut left = Vec::new();
    for silence in silences {
        match claim_of_paused(silence, addresses.stays, scene) {
            Some(claim) => claims.push(claim),
            None => left.push(silence),
        }
    }
    let (lost, off) = split_silences(left, scene.kernel_traced);
    let leaves_untold = scene.threads_traced && !scene.tells_switches();
    claims.extend(lost.into_iter().map(|silence| match claim_of_silence(silence, addresses.stays) {
        claim if leaves_untold && !silence.why.is_loss() => or_absent(claim),
        claim => claim,
    }));
    let shortest = scene.untold_absence();
    let untraced = Untraced::new(sideband, addresses, claims, shortest).claims(&off);
    if let Some(shortest) = shortest {
        claims.retain(|claim| {
            let next = off.partition_point(|silence| silence.range.stop <= claim.range().start);
            let within = off.get(next).filter(|silence| silence.range.overlaps(claim.range()));
            claim.bid.rank != Rank::KernelByRecord
                || within.is_none_or(|silence| silence.range.ticks() < shortest)
        });
    }
    claims.extend(untraced);
}

/// Silences that are lost or filtered trace, and those that are the kernel's time where only user code is traced.
fn split_silences(silences: Vec<&Silence>, kernel_traced: bool) -> (Vec<&Silence>, Vec<&Silence>) {
    silences.into_iter().partition(|silence| kernel_traced || silence.why.is_loss())
}

/// The lowest claims, below all that the flows of stays show: there is no packet for the time, or no trace at all. An event may
/// have paused the trace; else no record gives a reason, and only the absence of other claims supports it.
pub(crate) fn claims_of_uncovered(followed: &[FollowedStay], scene: &Scene<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    for followed in followed {
        let mut from = followed.stay.range.start;
        let paused = claims_of_paused_stay(&followed.stay, scene);
        for paused in &paused {
            claims.push(claim_of_uncovered(followed, TscRange::new(from, paused.range().start)));
            from = paused.range().stop;
        }
        claims.push(claim_of_uncovered(followed, TscRange::new(from, followed.stay.range.stop)));
        claims.extend(paused);
    }
    claims.retain(|claim| !claim.range().is_empty());
    claims
}

fn claim_of_uncovered(followed: &FollowedStay, range: TscRange) -> Claim {
    let FollowedStay { stay, traced } = followed;
    let mut claim = Claim::new(range, Rank::Uncovered, Cause::TraceLoss, Certainty::Unknown);
    claim.cpu = stay.place.cpu();
    claim.occurrence = range.start.0;
    claim.say(if *traced { "no packets here" } else { "no trace of this CPU" });
    claim
}

/// Time without trace, except the kernel's where only user code is traced ([`crate::claims::untraced`]). Where the
/// kernel is traced, too, and execution resumed exactly where it had stopped, something below the kernel took the
/// time: an SMI turns tracing off and on. But the kernel itself turns the trace of a single thread off when the
/// thread leaves its CPU, and on when it is back, at the same instruction: the part of that in a stay of `stays` is
/// the path back.
fn claim_of_silence(silence: &Silence, stays: &[Stay]) -> Claim {
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
    // It began in its range, at the last known time before or later.
    claim.uncertainty = silence.uncertainty.min(silence.range.ticks());
    claim.evidence.push(Evidence::packet(silence.aux_offset, silence.cpu, silence.why.to_string()));
    claim
}

/// The trace of a single thread goes off with the thread: where no record shows when it left its CPU, a silence may
/// be that.
fn or_absent(mut claim: Claim) -> Claim {
    claim.bid.rank = Rank::StandStill;
    (claim.cause, claim.certainty) = (Cause::Unexplained, Certainty::Unknown);
    claim.say("most probably off its CPU: no switch record");
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
