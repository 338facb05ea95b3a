//! Names what a thread that ended a wait ran, beside what such threads run in typical intervals: the outermost function of the
//! program itself that no baseline ran there is what was different (`lrangeCommand()`, not `memcpy()` below it).

use std::collections::HashSet;
use std::sync::Arc;

use model::{Cause, OffCpu, Segment};

use crate::examine::examined::Examined;

/// Names the user code below the waits among `segments`, those of `outlier`.
pub(super) fn name_unusual(segments: &mut [Segment], outlier: &Examined, baselines: &[&Examined]) {
    let claims = baselines.iter().flat_map(|baseline| &baseline.claims);
    let mut below = claims.filter_map(|claim| claim.below.as_ref()).peekable();
    if below.peek().is_none() {
        return;
    }
    let usual: HashSet<Arc<str>> = below.flat_map(|below| below.functions.iter().cloned()).collect();
    for claim in &outlier.claims {
        let Some(below) = &claim.below else { continue };
        for segment in segments.iter_mut().filter(|segment| claim.holds(segment)) {
            for (index, part) in segment.during.iter_mut().enumerate() {
                let named = if has_place(&part.cause) { below.unusual(index, &usual) } else { None };
                if let Some(place) = named {
                    (part.story.place, part.story.unusual) = (place, true);
                }
            }
        }
    }
}

/// Whether the code that ran, or was left for it, says what it was for.
fn has_place(cause: &Cause) -> bool {
    let is_code = matches!(cause, Cause::UserExpected | Cause::UserSpin | Cause::Gc(_));
    let is_ready = matches!(cause, Cause::OffCpu(OffCpu::Runnable | OffCpu::Preempted));
    is_code || !is_ready && matches!(cause, Cause::OffCpu(_) | Cause::Syscall(_) | Cause::PageFault(_))
}
