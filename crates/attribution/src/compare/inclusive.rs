//! The time of each function as called by those above it, with everything that it called.
//!
//! Input: an interval's profile and pieces. One pass over them, and one over the callers of each node: a parser has thousands of nodes.

use model::{Cause, Ticks};

use super::profile::Profile;
use crate::examine::examined::Examined;
use crate::walk::user_code::{ByAddress, NodeKey};

/// The time of a node with everything that it called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Whole {
    /// Its code and theirs ran.
    pub(super) ran: Ticks,
    /// The kernel ran in between.
    pub(super) in_kernel: Ticks,
    /// The thread was off its CPU.
    pub(super) off_cpu: Ticks,
}

impl Whole {
    fn add(&mut self, more: &Whole) {
        self.ran.0 += more.ran.0;
        self.in_kernel.0 += more.in_kernel.0;
        self.off_cpu.0 += more.off_cpu.0;
    }
}

/// Of each node of `outlier`, whose profile is `own`. What interrupts belongs to the node that ran last.
pub(super) fn inclusive(outlier: &Examined, own: &Profile) -> ByAddress<NodeKey, Whole> {
    let mut alone: ByAddress<NodeKey, Whole> = ByAddress::default();
    for (&node, used) in own {
        alone.entry(node).or_default().ran.0 += used.ticks;
    }
    let mut last = None;
    for piece in &outlier.pieces {
        if let Some(run) = outlier.run_of(piece) {
            last = Some(run.node);
            continue;
        }
        let (Some(node), Some(claim)) = (last, outlier.claim_of(piece)) else { continue };
        let whole = alone.entry(node).or_default();
        match &claim.cause {
            Cause::OffCpu(_) | Cause::Idle(_) | Cause::CStateExit(_) => {
                whole.off_cpu.0 += piece.range.ticks().0;
            }
            cause if cause.is_kernel() => whole.in_kernel.0 += piece.range.ticks().0,
            _ => {}
        }
    }
    let mut all = alone.clone();
    for (node, whole) in alone {
        for (caller, _) in outlier.code.lineage(node).skip(1) {
            all.entry(caller).or_default().add(&whole);
        }
    }
    all
}
