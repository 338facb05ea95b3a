//! Spin-wait loops of user code: when the thread was in one, and when it left.
//!
//! Input: the blocks of user code in order. A short backward jump makes a loop, and what runs until it comes back to the same
//! place, in whatever functions, is an iteration. An iteration shows whether the loop waits
//! ([`crate::walk::waits_in_place::waits_in_place`]). Interrupts, system calls and absences in the loop are not cut out: their
//! claims are stronger.
//!
//! One loop may have several ways from head to head: an attempt to take the lock after it was seen free, a longer pause. So code
//! that is not known yet leaves the loop only if it does not come back, or if it worked on the way. A way may read a lot, as a reader does
//! whom a sequence lock makes read again: rounds of an inner loop that are alike count as one ([`super::spin_path::Path`]).
//!
//! # When the loop is left
//!
//! A packet holds up to 6 branches, or 47, and the time of the first. So the last iterations and the branch that
//! leaves the loop share one time, and only the next packet is an upper bound. All iterations take the same time, so
//! those after the last known time are extrapolated at the average rate of those before it, up to that bound.

use std::sync::Arc;

use model::{Pid, Ticks, Tsc, TscRange};
use pt::Block;

use super::activity::Spin;
use super::spin_path::{Path, jumps_back};
use super::user_code::ByAddress;
use crate::inputs::functions::{Function, Functions};
use crate::walk::waits_in_place::{Waiting, passes_in_place, waits_in_place};

/// The most blocks of an iteration, without rounds like the one before: one that runs more does more than look.
const MOST_BLOCKS: usize = 48;

/// The most different blocks that are kept of one loop.
const MOST_KNOWN: usize = 256;

/// The most different iterations that are examined.
const MOST_JUDGED: usize = 4096;

/// The iterations whose answers are found at once, as a power of two: the loops of a program come again and again.
const RECENT_BITS: u32 = 8;

/// The same of passes, which differ more often: each goes through a loop.
const MOST_PASSES: usize = 256;

/// An iteration, by process and what ran, and whether it waits.
type Judged = ((Pid, u64), Option<Waiting>);

/// See the module.
#[derive(Default)]
pub(super) struct Spins {
    previous: Option<(Block, Tsc)>,
    /// The iteration of a loop that is not known to wait.
    tried: Option<Iteration>,
    /// What runs since a jump back that is not that of `tried`: a pass of a loop with another loop inside, as one that waits until all of
    /// several words are zero.
    pass: Option<Iteration>,
    open: Option<Open>,
    /// By process and what ran.
    known: ByAddress<(Pid, u64), Option<Waiting>>,
    /// Some of them, by a part of the hash.
    recent: Vec<Option<Judged>>,
    passes: ByAddress<(Pid, u64), Option<Waiting>>,
    /// The loops that the thread was in.
    pub(super) done: Vec<Spin>,
}

/// What ran since a loop's head.
struct Iteration {
    head: u64,
    /// The jump that began it.
    jump: u64,
    since: Tsc,
    path: Path,
}

struct Open {
    head: u64,
    since: Tsc,
    rounds: u64,
    /// The last exactly known time: that of the backward jump which completed this number of iterations.
    known: (Tsc, u64),
    function: Option<Arc<str>>,
    caller: Option<Arc<str>>,
    dozes: bool,
    /// Whether an inner loop had several rounds in an iteration.
    has_rounds: bool,
    /// The blocks of its iterations.
    blocks: Vec<u64>,
    /// What ran since its head.
    path: Path,
    /// When it was left, and how uncertain that is, unless it comes back to its head.
    away: Option<(Tsc, Ticks)>,
}

/// Where what follows a loop has come.
enum Leads {
    /// To another loop, without work in between: a delay that grew is counted in another loop of the same function (the unrolled one).
    On,
    /// To another loop that waits, after work.
    Away,
    /// To none of these: it may come back.
    Nowhere,
}

impl Spins {
    /// `block` of `function` in process `pid` runs at `at`. Whether a loop that waits begins with it.
    pub(super) fn block(
        &mut self,
        block: &Block,
        function: Option<&Function>,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> bool {
        let previous = self.previous.replace((*block, at));
        if self.stays((previous.map(|(last, _)| last), block), pid, at, functions) {
            return false;
        }
        let Some((last, since)) = previous.filter(|(last, _)| jumps_back(last, block)) else {
            self.try_on(block);
            return false;
        };
        let jump = last.end_ip;
        let other_jump = self.tried.as_ref().is_some_and(|tried| tried.jump != jump);
        let mut tried = self.tried.take().filter(|tried| tried.head == block.ip);
        let how = tried.as_mut().and_then(|tried| self.judge(&mut tried.path, pid, at, functions));
        match (tried, how) {
            (Some(tried), Some(how)) => self.begin(&tried, how, function, (block, at)),
            (tried, _) => {
                let path = tried.map_or_else(Path::default, |tried| tried.path).anew(block);
                self.tried = Some(Iteration { head: block.ip, jump, since, path });
                self.pass_on((jump, since, other_jump), function, (block, at), pid, functions);
            }
        }
        self.open.is_some()
    }

    /// `jump` led back to `block`, the last time at `since`; the loop tried before has an `other_jump`.
    fn pass_on(
        &mut self,
        (jump, since, other_jump): (u64, Tsc, bool),
        function: Option<&Function>,
        (block, at): (&Block, Tsc),
        pid: Pid,
        functions: &dyn Functions,
    ) {
        let is_over = |pass: &Iteration| pass.jump == jump && pass.head == block.ip;
        match self.pass.take() {
            Some(mut pass) if is_over(&pass) => {
                if let Some(how) = self.judge_pass(&mut pass.path, pid, at, functions) {
                    self.begin(&pass, how, function, (block, at));
                }
            }
            // Where it goes on for long, the loop that it was in may be left.
            Some(mut pass) if !other_jump || pass.path.ran() <= MOST_BLOCKS => {
                pass.path.push(block);
                self.pass = Some(pass).filter(|pass| pass.path.blocks.len() <= MOST_BLOCKS);
            }
            _ if other_jump => {
                self.pass = Some(Iteration { head: block.ip, jump, since, path: Path::of(&[*block]) });
            }
            _ => {}
        }
    }

    /// The loop that begins is in a function that `caller` called.
    pub(super) fn called_by(&mut self, caller: Option<Arc<str>>) {
        if let Some(open) = &mut self.open {
            open.caller = caller.filter(|caller| Some(caller) != open.function.as_ref());
        }
    }

    /// `block` is a part of the loop that does not wait as far as is known.
    fn try_on(&mut self, block: &Block) {
        if let Some(tried) = &mut self.tried {
            tried.path.push(block);
            if tried.path.blocks.len() > MOST_BLOCKS {
                self.tried = None;
            }
        }
        if let Some(pass) = &mut self.pass {
            pass.path.push(block);
            if pass.path.blocks.len() > MOST_BLOCKS {
                self.pass = None;
            }
        }
    }

    /// The loop of `tried` waits; its third iteration begins with `block` at `at`.
    fn begin(
        &mut self,
        tried: &Iteration,
        how: Waiting,
        function: Option<&Function>,
        (block, at): (&Block, Tsc),
    ) {
        let mut open = Open {
            head: tried.head,
            since: tried.since,
            rounds: 2,
            known: (at, 2),
            function: function.map(|known| known.name.clone()),
            caller: None,
            dozes: how == Waiting::Dozes,
            has_rounds: tried.path.has_rounds(),
            blocks: Vec::new(),
            path: Path::default().anew(block),
            away: None,
        };
        open.learn(&tried.path);
        (self.open, self.pass) = (Some(open), None);
    }

    /// Whether `block`, after `last`, belongs to the loop that the thread is in, or may lead back to it.
    fn stays(
        &mut self,
        (last, block): (Option<Block>, &Block),
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> bool {
        let Some(mut open) = self.open.take() else { return false };
        if block.ip == open.head {
            if open.away.is_some() {
                if self.judge(&mut open.path, pid, at, functions).is_none() {
                    self.close(open, at);
                    return false;
                }
                let path = std::mem::take(&mut open.path);
                open.learn(&path);
                open.path = path;
            }
            open.begin_round(block, at);
        } else {
            let back = last.is_some_and(|last| jumps_back(&last, block));
            match self.leads(&open, back, block, pid, at, functions) {
                Leads::On => open.go_on_with(block, at),
                Leads::Nowhere if open.path.blocks.len() < MOST_BLOCKS => open.go_through(block, at),
                _ => {
                    self.close(open, at);
                    return false;
                }
            }
        }
        self.open = Some(open);
        true
    }

    /// Where what follows `open` has come, whose next block is `block`, after a jump `back` or not.
    fn leads(
        &mut self,
        open: &Open,
        back: bool,
        block: &Block,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> Leads {
        let blocks = &open.path.blocks;
        if !back || open.away.is_none() || open.path.repeats() {
            return Leads::Nowhere;
        }
        let Some(head) = blocks.iter().rposition(|known| known.ip == block.ip) else { return Leads::Nowhere };
        let mut waits = |blocks: &[Block]| self.judge(&mut Path::of(blocks), pid, at, functions).is_some();
        if !waits(&blocks[head..]) {
            Leads::Nowhere
        } else if waits(&blocks[..head]) {
            Leads::On
        } else if waits(blocks) {
            Leads::Nowhere
        } else {
            Leads::Away
        }
    }

    /// Whether one iteration waits; the answer for the same blocks is kept.
    fn judge(&mut self, path: &mut Path, pid: Pid, at: Tsc, functions: &dyn Functions) -> Option<Waiting> {
        path.end_round();
        let key = (pid, path.hash);
        #[allow(clippy::cast_possible_truncation)] // Few bits.
        let slot = (path.hash >> (u64::BITS - RECENT_BITS)) as usize;
        match self.recent.get(slot) {
            Some(Some((recent, how))) if *recent == key => return *how,
            Some(_) => {}
            None => self.recent = vec![None; 1 << RECENT_BITS],
        }
        let how = if self.known.len() >= MOST_JUDGED {
            self.known.get(&key).copied().flatten()
        } else {
            *self.known.entry(key).or_insert_with(|| waits_in_place(&path.blocks, pid, at, functions))
        };
        self.recent[slot] = Some((key, how));
        how
    }

    /// The same of a whole pass.
    fn judge_pass(
        &mut self,
        path: &mut Path,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> Option<Waiting> {
        path.end_round();
        let key = (pid, path.hash);
        if self.passes.len() >= MOST_PASSES {
            return self.passes.get(&key).copied().flatten();
        }
        *self.passes.entry(key).or_insert_with(|| passes_in_place(&path.blocks, pid, at, functions))
    }

    /// The activity of the thread is unknown from `at` on.
    pub(super) fn interrupt(&mut self, at: Tsc) {
        if let Some(open) = self.open.take() {
            self.close(open, at);
        }
        self.previous = None;
        (self.tried, self.pass) = (None, None);
    }

    fn close(&mut self, open: Open, at: Tsc) {
        let (stop, uncertainty) = open.away.unwrap_or((at, Ticks(0)));
        let range = TscRange::new(open.since, stop.min(at.max(open.since)).max(open.since));
        if !range.is_empty() {
            self.done.push(Spin {
                range,
                function: open.function,
                caller: open.caller,
                address: open.head,
                rounds: open.rounds,
                dozes: open.dozes,
                left: open.away.is_some(),
                uncertainty,
            });
        }
    }
}

impl Open {
    /// The thread waits in the loop that begins with `block` from now on.
    fn go_on_with(&mut self, block: &Block, at: Tsc) {
        let path = std::mem::take(&mut self.path);
        self.learn(&path);
        self.path = path;
        self.head = block.ip;
        self.begin_round(block, at);
    }

    /// The next iteration begins with `block`.
    fn begin_round(&mut self, block: &Block, at: Tsc) {
        self.has_rounds |= self.path.has_rounds();
        self.path = std::mem::take(&mut self.path).anew(block);
        self.away = None;
        self.rounds += 1;
        if at > self.known.0 {
            self.known = (at, self.rounds);
        }
    }

    /// `path` is an iteration of it.
    fn learn(&mut self, path: &Path) {
        for block in &path.blocks {
            if self.blocks.len() < MOST_KNOWN && !self.blocks.contains(&block.ip) {
                self.blocks.push(block.ip);
            }
        }
    }

    /// `block` runs next, and no iteration begins with it.
    fn go_through(&mut self, block: &Block, at: Tsc) {
        if self.away.is_none() && !self.blocks.contains(&block.ip) {
            let bound = if block.time.not_after.0 == u64::MAX { at } else { block.time.not_after };
            // Iterations of several rounds are not alike: one more may take any time.
            let left = if self.has_rounds || self.path.has_rounds() {
                at
            } else {
                self.ended().clamp(at, bound.max(at))
            };
            self.away = Some((left, bound.since(at)));
        }
        self.path.push(block);
    }

    /// When the iteration after the last backward jump ends, at the average rate of those whose end is known.
    fn ended(&self) -> Tsc {
        let (known, rounds) = self.known;
        let more = (self.rounds + 1).saturating_sub(rounds);
        let took = u128::from(known.since(self.since).0) * u128::from(more) / u128::from(rounds.max(1));
        known + Ticks(u64::try_from(took).unwrap_or(u64::MAX))
    }
}
