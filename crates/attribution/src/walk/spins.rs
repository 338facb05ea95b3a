//! Spin-wait loops of user code: when the thread was in one, and when it left.
//!
//! Input: the blocks of user code in order. A short backward jump makes a loop; its code shows whether it is a
//! spin-wait loop ([`crate::walk::waits_in_place::waits_in_place`]). Interrupts in the loop are not cut out: their
//! claims are deeper.
//!
//! # When the loop is left
//!
//! A packet holds up to 6 branches, or 47, and the time of the first. So the last iterations and the branch that
//! leaves the loop share one time, and only the next packet is an upper bound. All iterations take the same time, so
//! those after the last known time are extrapolated at the average rate of those before it, up to that bound.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use model::{Pid, Ticks, Tsc, TscRange};
use pt::{Block, BlockEnd};

use super::activity::Spin;
use crate::inputs::functions::{Function, Functions};
use crate::walk::waits_in_place::{Waiting, waits_in_place};

/// The longest loop that is examined, in bytes: a load, a comparison, `pause`, a bound.
const LONGEST: u64 = 128;

/// See the module.
#[derive(Default)]
pub(super) struct Spins {
    previous: Option<(Block, Tsc)>,
    open: Option<Open>,
    known: HashMap<(Pid, u64, u64), Option<Waiting>>,
    /// The loops that the thread was in.
    pub(super) done: Vec<Spin>,
}

struct Open {
    body: Range<u64>,
    since: Tsc,
    rounds: u64,
    /// The last exactly known time: that of the backward jump which completed this number of iterations.
    known: (Tsc, u64),
    function: Option<Arc<str>>,
    dozes: bool,
}

impl Spins {
    /// `block` of `function` in process `pid` runs at `at`.
    pub(super) fn block(
        &mut self,
        block: &Block,
        function: Option<&Function>,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) {
        let previous = self.previous.replace((*block, at));
        if let Some(open) = &mut self.open {
            if open.body.contains(&block.ip) {
                open.rounds += u64::from(block.ip == open.body.start);
                if at > open.known.0 {
                    open.known = (at, open.rounds);
                }
                return;
            }
            let bound = if block.time.not_after.0 == u64::MAX { at } else { block.time.not_after };
            let left_at = open.left_at().clamp(at, bound.max(at));
            self.close(left_at, bound.since(at), true);
        }
        let Some((last, since)) = previous.filter(|(last, _)| jumps_back(last, block)) else { return };
        let body = block.ip..last.end_ip + 1;
        let key = (pid, body.start, body.end);
        let how = *self.known.entry(key).or_insert_with(|| waits_in_place(&body, pid, at, functions));
        if let Some(how) = how {
            let (function, dozes) = (function.map(|known| known.name.clone()), how == Waiting::Dozes);
            self.open = Some(Open { body, since, rounds: 1, known: (at, 1), function, dozes });
        }
    }

    /// The thread leaves its CPU at `at`, or its activity is unknown from then on.
    pub(super) fn interrupt(&mut self, at: Tsc) {
        self.close(at, Ticks(0), false);
        self.previous = None;
    }

    fn close(&mut self, at: Tsc, uncertainty: Ticks, left: bool) {
        let Some(open) = self.open.take() else { return };
        let range = TscRange::new(open.since, at);
        if !range.is_empty() {
            self.done.push(Spin {
                range,
                function: open.function,
                address: open.body.start,
                rounds: open.rounds,
                dozes: open.dozes,
                left,
                uncertainty,
            });
        }
    }
}

impl Open {
    /// When the iteration after the last backward jump ends, at the average rate of those whose end is known.
    fn left_at(&self) -> Tsc {
        let (known, rounds) = self.known;
        let more = (self.rounds + 1).saturating_sub(rounds);
        let took = u128::from(known.since(self.since).0) * u128::from(more) / u128::from(rounds.max(1));
        known + Ticks(u64::try_from(took).unwrap_or(u64::MAX))
    }
}

/// Whether execution went from `last` back to `block`, as in a short loop.
fn jumps_back(last: &Block, block: &Block) -> bool {
    let jump = matches!(last.end, BlockEnd::ConditionalBranch | BlockEnd::Jump);
    jump && block.ip <= last.end_ip && last.end_ip - block.ip < LONGEST
}
