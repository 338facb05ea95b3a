//! Which iterations wait; the answers for the same code are kept.

use std::hash::Hash;

use model::{Pid, Tsc};
use pt::Block;

use super::before::Before;
use crate::inputs::functions::Functions;
use crate::walk::spin_path::Path;
use crate::walk::user_code::ByAddress;
use crate::walk::waits_in_place::{
    Waiting, Waits, idles_in_place, passes_in_place, pauses_in, waits_in_place,
};

/// The most different iterations that are examined.
const MOST_JUDGED: usize = 4096;

/// The iterations whose answers are found at once, as a power of two: the loops of a program come again and again.
const RECENT_BITS: u32 = 8;

/// The same of passes, which differ more often: each goes through a loop.
const MOST_PASSES: usize = 256;

/// The most blocks that run between two pauses, with all rounds of inner loops, unless these only pass time: a thread that runs more works.
const MOST_OF_PAUSING: usize = 256;

/// The same between two looks: so long may a reading be that a sequence lock's writer makes useless.
const MOST_OF_READING: usize = 4096;

/// An iteration, by process and what ran, and whether it waits.
type Judged = ((Pid, u64), Option<Waits>);

/// See the module.
#[derive(Default)]
pub(super) struct Judge {
    /// By process and what ran.
    known: ByAddress<(Pid, u64), Option<Waits>>,
    /// Some of them, by a part of the hash.
    recent: Vec<Option<Judged>>,
    passes: ByAddress<(Pid, u64), Option<Waits>>,
    /// Rounds of inner loops, and whether they only pass time.
    rounds: ByAddress<(Pid, u64), bool>,
    /// Blocks, and whether they pause.
    pauses: ByAddress<(Pid, u64, u64), bool>,
}

impl Judge {
    /// Whether one iteration waits, whose last block is followed by the last one in `before`.
    pub(super) fn iteration(
        &mut self,
        path: &mut Path,
        before: &mut Before,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> Option<Waiting> {
        path.end_round();
        let key = (pid, path.hash);
        #[allow(clippy::cast_possible_truncation)] // Few bits.
        let slot = (path.hash >> (u64::BITS - RECENT_BITS)) as usize;
        let how = match self.recent.get(slot) {
            Some(Some((recent, how))) if *recent == key => *how,
            found => {
                if found.is_none() {
                    self.recent = vec![None; 1 << RECENT_BITS];
                }
                let waits = || waits_in_place(&path.blocks, pid, at, functions);
                let how = kept(&mut self.known, MOST_JUDGED, key, waits);
                self.recent[slot] = Some((key, how));
                how
            }
        };
        let how = how_in_stack(how?, before, pid, at, functions)?;
        self.is_short(path, how, pid, at, functions).then_some(how)
    }

    /// The same of a whole pass.
    pub(super) fn pass(
        &mut self,
        path: &mut Path,
        before: &mut Before,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> Option<Waiting> {
        path.end_round();
        let key = (pid, path.hash);
        let waits = || passes_in_place(&path.blocks, pid, at, functions);
        let how = kept(&mut self.passes, MOST_PASSES, key, waits);
        let how = how_in_stack(how.filter(|waits| waits.how != Waiting::Notes)?, before, pid, at, functions)?;
        self.is_short(path, how, pid, at, functions).then_some(how)
    }

    /// Whether the block from `ip` to its last instruction, at `end_ip`, pauses.
    pub(super) fn pauses(
        &mut self,
        (ip, end_ip): (u64, u64),
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> bool {
        kept(&mut self.pauses, MOST_JUDGED, (pid, ip, end_ip), || pauses_in((ip, end_ip), pid, at, functions))
    }

    /// Whether no more ran in `path`, which waits as `how` says, than in an iteration that waits.
    fn is_short(&mut self, path: &Path, how: Waiting, pid: Pid, at: Tsc, functions: &dyn Functions) -> bool {
        let most = if how == Waiting::Looks { MOST_OF_READING } else { MOST_OF_PAUSING };
        path.ran() <= most || path.rounds().all(|round| self.idles(round, pid, at, functions))
    }

    /// Whether a round of an inner loop only passes time.
    fn idles(&mut self, round: &[Block], pid: Pid, at: Tsc, functions: &dyn Functions) -> bool {
        let key = (pid, Path::of(round).hash);
        kept(&mut self.rounds, MOST_PASSES, key, || idles_in_place(round, pid, at, functions))
    }
}

/// How an iteration waits, if all that it writes is on the stack.
fn how_in_stack(
    waits: Waits,
    before: &mut Before,
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> Option<Waiting> {
    let is_own = before.point_to_stack(waits.into_stack, pid, at, functions);
    before.keep_registers(waits.keeps);
    is_own.then_some(waits.how)
}

/// The answer for `key`, found once; with `most` of them known, none for others.
fn kept<K: Hash + Eq, T: Copy + Default>(
    known: &mut ByAddress<K, T>,
    most: usize,
    key: K,
    find: impl FnOnce() -> T,
) -> T {
    if known.len() >= most {
        return known.get(&key).copied().unwrap_or_default();
    }
    *known.entry(key).or_insert_with(find)
}
