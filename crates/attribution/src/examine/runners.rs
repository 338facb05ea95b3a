//! What ran in a thread's place while it was ready to run: the function that had most of the user code of the thread that had its CPU.

use std::iter::once;

use model::{ThreadId, TscRange};

use super::examined::Examined;
use crate::claims::claim::Claim;
use crate::walk::activity::runs_within;
use crate::walk::hot_paths::HotPaths;

/// A function is named where the other thread's user code took one part in so many of the time, or more.
const NOTABLE: u64 = 2;

/// Names it in the longest of `claims` of which the thread is known that ran then; `ran` examines that thread's time.
pub(super) fn name_what_ran(claims: &mut [Claim], ran: impl FnOnce(TscRange, ThreadId) -> Option<Examined>) {
    let ready = claims.iter_mut().filter(|claim| claim.behind.is_some());
    let Some(claim) = ready.max_by_key(|claim| claim.range().ticks()) else { return };
    let (range, Some(thread)) = (claim.range(), claim.behind) else { return };
    let Some(examined) = ran(range, thread) else { return };
    let in_user_code: u64 = runs_within(&examined.runs, range).map(|(_, time)| time.0).sum();
    if in_user_code >= range.ticks().0 / NOTABLE {
        let hot = HotPaths::of(&examined.code, &examined.runs, once(range));
        claim.story.by_place = hot.innermost(0).unwrap_or_default();
    }
}
