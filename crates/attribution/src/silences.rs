//! Time that the flow says nothing of: losses, tracing off by request, and the kernel's where only user code is traced; and what
//! else it may be where no record tells when a thread was off its CPU.

use model::{Certainty, Ticks};

use crate::claim::Claim;
use crate::examine::Scene;
use crate::files::Addresses;
use crate::follow::{claim_of_silence, or_absent};
use crate::precedence::Rank;
use crate::sideband::Sideband;
use crate::untraced::Untraced;
use crate::walk::Silence;

/// Two switches, away and back, and entry and exit of the kernel around them take longer on any machine.
const SHORTEST_ABSENCE_NS: u64 = 1_000;

impl Scene<'_> {
    /// Whether records tell switches, at times that can be joined with the trace.
    fn tells_switches(&self) -> bool {
        self.conversion.is_some() && self.switches_recorded
    }

    /// From which length on a silence of a trace of user code alone may hold an absence from the CPU that nothing tells;
    /// `None` where the kernel was traced, or records tell.
    pub(crate) fn untold_absence(&self) -> Option<Ticks> {
        let told = self.kernel_traced || self.tells_switches();
        let shortest = || self.conversion.map_or(Ticks(0), |clock| clock.ns_to_ticks(SHORTEST_ABSENCE_NS));
        (!told).then(shortest)
    }

    /// How well it is known at best that user code in the trace of a thread's CPU is the thread's own.
    pub(crate) fn whose(&self) -> Certainty {
        let is_own = self.threads_traced || self.untold_absence().is_none();
        if is_own { Certainty::Measured } else { Certainty::Inferred }
    }
}

/// Time that the flow says nothing of. The kernel's where only user code is traced: where nothing tells absences, what records
/// tell of it may lie in one, too.
pub(crate) fn add_silences(
    claims: &mut Vec<Claim>,
    silences: &[Silence],
    sideband: &Sideband,
    addresses: &Addresses<'_>,
    scene: &Scene<'_>,
) {
    let (lost, off) = split_silences(silences, scene.kernel_traced);
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
fn split_silences(silences: &[Silence], kernel_traced: bool) -> (Vec<&Silence>, Vec<&Silence>) {
    silences.iter().partition(|silence| kernel_traced || silence.why.is_loss())
}
