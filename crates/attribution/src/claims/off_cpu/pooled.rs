//! `offcpu.poll` of a server's request that its event loop had handed over to a pool of threads: whatever the loop does until the job is
//! done does not delay the request.
//!
//! Input: the job, and what the thread of the pool did. Certainty: inferred, for the records do not say for which request a job is.

use std::sync::Arc;

use model::{Cause, Certainty, OffCpu, Role, Segment, ThreadId, TscRange};

use crate::claims::claim::Claim;
use crate::claims::lengths::tell_ns;
use crate::claims::off_cpu::context::Context;
use crate::claims::off_cpu::pool::PoolJob;
use crate::claims::off_cpu::story;
use crate::claims::precedence::Rank;
use crate::threads::stays::Stay;
use crate::walk::hot_paths::HotPaths;

/// A job of the pool at a request.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// From when the event loop had left the request, until the job was done.
    pub(crate) range: TscRange,
    /// Whose job it was, and after which.
    kind: PoolJob,
    /// The thread that had done it.
    pub(crate) by: ThreadId,
    /// What that thread did.
    pub(crate) during: Vec<Segment>,
    /// Through which functions its time passed.
    pub(crate) below: Option<Arc<HotPaths>>,
}

impl Job {
    /// Of whose thread nothing is known yet.
    pub(crate) fn new(range: TscRange, by: ThreadId, kind: PoolJob) -> Job {
        Job { range, kind, by, during: Vec::new(), below: None }
    }

    /// What the request waited for.
    pub(crate) fn object(&self) -> &'static str {
        self.kind.object()
    }

    /// What its time was for the request of the loop whose `stays` are given.
    pub(crate) fn claim(self, occurrence: u64, stays: &[Stay], context: &Context<'_>) -> Claim {
        let (range, at) = (self.range, self.range.stop);
        let mut claim = Claim::new(range, Rank::Queue, Cause::OffCpu(OffCpu::Poll), Certainty::Inferred);
        claim.occurrence = occurrence;
        claim.say(&self.kind.tell(|range| context.microseconds(range)));
        claim.say(&format!("done by {}", context.named(self.by, at)));
        let ran_ns: u64 = stays
            .iter()
            .filter(|stay| stay.place.cpu().is_some())
            .filter_map(|stay| stay.range.intersection(range))
            .map(|part| context.conversion.duration_ns(part))
            .sum();
        if ran_ns > 0 {
            claim.say(&format!("its event loop ran for {} of it", tell_ns(ran_ns)));
        }
        self.object().clone_into(&mut claim.story.object);
        claim.story.by = context.scene.comms.comm(self.by, at);
        claim.story.role = Role::Waker;
        let own = stays.iter().find_map(|stay| stay.thread);
        story::tell_apart(&mut claim.story, (own, Some(self.by)), at, context);
        (claim.during, claim.below) = (self.during, self.below);
        claim
    }
}
