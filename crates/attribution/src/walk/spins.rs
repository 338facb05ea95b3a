//! Loops of user code that wait in place for another thread: when the thread was in one, and when it left.
//!
//! Input: the blocks of user code in order. A jump back over a few bytes makes a loop; whether that loop waits, its
//! code tells ([`crate::spin::waits_in_place`]). What interrupts the loop is not left out: it has deeper claims.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use model::{Pid, Tsc, TscRange};
use pt::{Block, BlockEnd};

use super::activity::Spin;
use crate::functions::{Function, Functions};
use crate::spin::{Waiting, waits_in_place};

/// The longest loop that is looked at, in bytes: a load, a comparison, `pause`, a bound.
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
                return;
            }
            self.close(at, true);
        }
        let Some((last, since)) = previous.filter(|(last, _)| jumps_back(last, block)) else { return };
        let body = block.ip..last.end_ip + 1;
        let key = (pid, body.start, body.end);
        let how = *self.known.entry(key).or_insert_with(|| waits_in_place(&body, pid, at, functions));
        if let Some(how) = how {
            let (function, dozes) = (function.map(|known| known.name.clone()), how == Waiting::Dozes);
            self.open = Some(Open { body, since, rounds: 1, function, dozes });
        }
    }

    /// The thread leaves its CPU at `at`, or what it does then is not known.
    pub(super) fn interrupt(&mut self, at: Tsc) {
        self.close(at, false);
        self.previous = None;
    }

    fn close(&mut self, at: Tsc, left: bool) {
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
            });
        }
    }
}

/// Whether execution went from `last` back to `block`, as a short loop does.
fn jumps_back(last: &Block, block: &Block) -> bool {
    let jump = matches!(last.end, BlockEnd::ConditionalBranch | BlockEnd::Jump);
    jump && block.ip <= last.end_ip && last.end_ip - block.ip < LONGEST
}
