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
//! The first iteration is known from its jump back on only. What ran before, back to where execution came into the loop, is of the same wait if it is
//! code of the loop alone ([`before`]). What follows a loop, and pauses once more within an iteration's length, waits up to there: so
//! a queue takes a ticket for an item that is not written yet.
//!
//! A call of `sched_yield()` makes a loop as a jump back does: a library looks for something to do between two of them, in more code than a
//! loop that looks. What writes small state on the way waits only if it comes again ([`Waiting::Notes`]), so as no work counts as waiting.
//!
//! # When the loop is left
//!
//! A packet holds up to 6 branches, or 47, and the time of the first. So the last iterations and the branch that
//! leaves the loop share one time, and only the next packet is an upper bound. All iterations take the same time, so
//! those after the last known time are extrapolated at the average rate of those before it, up to that bound. So it is where the loop
//! begins, between two times, after other code: its blocks are counted back from the later one ([`pace::Pace`]).

mod before;
mod judge;
mod open;
mod pace;

use std::sync::Arc;

use model::{Pid, Tsc};
use pt::{Block, BlockEnd};

use self::before::{Before, Ran};
use self::judge::Judge;
use self::open::{MOST_OF_WAY, Open};
use super::activity::Spin;
use super::spin_path::{Path, jumps_back};
use crate::inputs::functions::{Function, Functions};
use crate::walk::waits_in_place::{Waiting, changes_nothing};

/// The most blocks of an iteration, without rounds like the one before: one that runs more does more than look.
const MOST_BLOCKS: usize = 48;

/// The most different blocks that are kept of one loop.
const MOST_KNOWN: usize = 256;

/// See the module.
#[derive(Default)]
pub(super) struct Spins {
    previous: Option<(Block, Tsc)>,
    /// The iteration of a loop that is not known to wait.
    tried: Option<Iteration>,
    /// What runs since a jump back that is not that of `tried`: a pass of a loop with another loop inside, as one that waits until all of
    /// several words are zero.
    pass: Option<Iteration>,
    /// What runs since a system call returned.
    called: Option<Iteration>,
    open: Option<Open>,
    judge: Judge,
    before: Before,
    /// The loops that the thread was in.
    pub(super) done: Vec<Spin>,
}

/// What ran since a loop's head.
struct Iteration {
    head: u64,
    /// The jump, or the system call, that began it.
    jump: u64,
    since: Tsc,
    path: Path,
    /// The iteration before, if it wrote small state: what ran, and since when.
    noted: Option<(u64, Tsc)>,
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
        self.before.push(block, at);
        if self.stays((previous.map(|(last, _)| last), block), pid, at, functions) {
            return false;
        }
        let from = |way: fn(&Block, &Block) -> bool| {
            previous.filter(|(last, _)| way(last, block)).map(|(last, since)| (last.end_ip, since))
        };
        if let Some((call, _)) = from(|last, _| last.end == BlockEnd::FarCall) {
            let called = self.called.take();
            self.called = self.turn(called, (call, at), function, (block, at), pid, functions);
        } else {
            push(&mut self.called, block, MOST_OF_WAY);
        }
        if self.open.is_some() {
            return true;
        }
        let Some((jump, since)) = from(jumps_back) else {
            push(&mut self.tried, block, MOST_BLOCKS);
            push(&mut self.pass, block, MOST_BLOCKS);
            return false;
        };
        let other_jump = self.tried.as_ref().is_some_and(|tried| tried.jump != jump);
        let tried = self.tried.take();
        self.tried = self.turn(tried, (jump, since), function, (block, at), pid, functions);
        if self.tried.is_some() {
            self.pass_on((jump, since, other_jump), function, (block, at), pid, functions);
        }
        self.open.is_some()
    }

    /// `jump`, or a system call, led to `block`, at `since`, which may begin another iteration of `tried`. That of the next one, unless the loop
    /// waits, which opens it.
    fn turn(
        &mut self,
        tried: Option<Iteration>,
        (jump, since): (u64, Tsc),
        function: Option<&Function>,
        (block, at): (&Block, Tsc),
        pid: Pid,
        functions: &dyn Functions,
    ) -> Option<Iteration> {
        let mut tried = tried.filter(|tried| tried.head == block.ip);
        let how = tried
            .as_mut()
            .and_then(|tried| self.judge.iteration(&mut tried.path, &mut self.before, pid, at, functions));
        let mut noted = None;
        if let (Some(tried), Some(how)) = (&mut tried, how) {
            let before = tried.noted.filter(|(hash, _)| *hash == tried.path.hash);
            if how != Waiting::Notes || before.is_some() {
                tried.since = before.map_or(tried.since, |(_, since)| since);
                self.begin(tried, how, function, (block, at));
                return None;
            }
            noted = Some((tried.path.hash, tried.since));
        }
        let path = tried.map_or_else(Path::default, |tried| tried.path).anew(block);
        Some(Iteration { head: block.ip, jump, since, path, noted })
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
                if let Some(how) = self.judge.pass(&mut pass.path, &mut self.before, pid, at, functions) {
                    self.begin(&pass, how, function, (block, at));
                }
            }
            // Where it goes on for long, the loop that it was in may be left.
            Some(mut pass) if !other_jump || pass.path.ran() <= MOST_BLOCKS => {
                pass.path.push(block);
                self.pass = Some(pass).filter(|pass| pass.path.blocks.len() <= MOST_BLOCKS);
            }
            _ if other_jump => {
                self.pass =
                    Some(Iteration { head: block.ip, jump, since, path: Path::of(&[*block]), noted: None });
            }
            _ => {}
        }
    }

    /// The loop that begins is in a function that `caller` called.
    pub(super) fn called_by(&mut self, caller: Option<Arc<str>>) {
        if let Some(open) = &mut self.open {
            open.called_by(caller);
        }
    }

    /// The loop of `tried` waits; its third iteration begins with `block` at `at`.
    fn begin(&mut self, tried: &Iteration, how: Waiting, function: Option<&Function>, begins: (&Block, Tsc)) {
        self.open = Some(Open::new(tried, how, function, begins, &self.before));
        (self.tried, self.pass, self.called) = (None, None, None);
    }

    /// Whether `block`, after `last`, belongs to the loop that the thread is in, or may lead back to it.
    fn stays(
        &mut self,
        (last, block): (Option<Block>, &Block),
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> bool {
        let Some(mut open) = self.open.take() else {
            self.before.leave_loop();
            return false;
        };
        if block.ip == open.head {
            if open.is_away() {
                let how = self.judge.iteration(&mut open.path, &mut self.before, pid, at, functions);
                if !how.is_some_and(|how| open.lead_back(how, at)) {
                    self.close(open, pid, at, functions);
                    return false;
                }
            }
            open.begin_round(block, at);
        } else {
            let back = last.is_some_and(|last| jumps_back(&last, block));
            match self.leads(&open, back, block, pid, at, functions) {
                Leads::On => open.go_on_with(block, at),
                Leads::Nowhere if open.may_go_on() => {
                    open.go_through(block, at);
                    if open.is_away() && self.goes_on_pausing(&open, block, pid, at, functions) {
                        open.pause();
                    }
                }
                _ => {
                    self.close(open, pid, at, functions);
                    return false;
                }
            }
        }
        self.open = Some(open);
        true
    }

    /// Whether `block`, the last one that ran since `open` was left, pauses, and nothing that ran since its head worked. Few blocks run on such a
    /// way; those of a longer one are not read again with each pause.
    fn goes_on_pausing(
        &mut self,
        open: &Open,
        block: &Block,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> bool {
        let way = &open.path.blocks;
        way.len() <= MOST_BLOCKS
            && self.judge.pauses((block.ip, block.end_ip), pid, at, functions)
            && changes_nothing(way, pid, at, functions)
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
        if !back || !open.is_away() || open.path.repeats() {
            return Leads::Nowhere;
        }
        let Some(head) = blocks.iter().rposition(|known| known.ip == block.ip) else { return Leads::Nowhere };
        let (judge, before) = (&mut self.judge, &mut self.before);
        let mut how = |blocks: &[Block]| judge.iteration(&mut Path::of(blocks), before, pid, at, functions);
        let mut waits = |blocks: &[Block]| how(blocks).is_some_and(|how| how != Waiting::Notes);
        if !waits(&blocks[head..]) {
            Leads::Nowhere
        } else if waits(&blocks[..head]) {
            Leads::On
        } else if how(blocks).is_some() {
            Leads::Nowhere
        } else {
            Leads::Away
        }
    }

    /// The activity of the thread is unknown from `at` on.
    pub(super) fn interrupt(&mut self, pid: Pid, at: Tsc, functions: &dyn Functions) {
        if let Some(open) = self.open.take() {
            self.close(open, pid, at, functions);
        }
        self.previous = None;
        self.before.clear();
        (self.tried, self.pass, self.called) = (None, None, None);
    }

    fn close(&mut self, open: Open, pid: Pid, at: Tsc, functions: &dyn Functions) {
        let floor = self.done.last().map_or(Tsc(0), |last| last.range.stop);
        let judge = &mut self.judge;
        let pauses = |ran: &Ran| judge.pauses((ran.ip, ran.end_ip), pid, at, functions);
        self.done.extend(open.close(at, floor, pauses));
        self.before.leave_loop();
    }
}

/// `block` runs next in `iteration`, which has no more than `most`.
fn push(iteration: &mut Option<Iteration>, block: &Block, most: usize) {
    if let Some(goes_on) = iteration {
        goes_on.path.push(block);
        if goes_on.path.blocks.len() > most {
            *iteration = None;
        }
    }
}
