//! The loop that the thread waits in.

use std::sync::Arc;

use model::{Ticks, Tsc, TscRange};
use pt::Block;

use super::before::{Before, Entered, Ran, entered};
use super::pace::Pace;
use super::{Iteration, MOST_BLOCKS, MOST_KNOWN};
use crate::inputs::functions::Function;
use crate::walk::activity::Spin;
use crate::walk::spin_path::Path;
use crate::walk::waits_in_place::Waiting;

/// The most blocks of a way of a loop that pauses: between two pauses a library looks at much, as a scheduler for tasks.
pub(super) const MOST_OF_WAY: usize = 128;

/// The most ways that wrote small state, each once so far.
const MOST_UNSURE: usize = 16;

/// How many times as long as what ran before it the code that leads to a loop may take.
const MOST_SLOWER: u64 = 4;

pub(super) struct Open {
    pub(super) head: u64,
    since: Tsc,
    /// What ran before, the last one first.
    before: Vec<Ran>,
    /// How fast its blocks run.
    pace: Pace,
    rounds: u64,
    /// The last exactly known time: that of the backward jump which completed this number of iterations.
    known: (Tsc, u64),
    function: Option<Arc<str>>,
    caller: Option<Arc<str>>,
    dozes: bool,
    /// How its iterations wait.
    how: Vec<Waiting>,
    /// Whether iterations are not alike: an inner loop had several rounds in one, or ways that write small state came in between.
    differ: bool,
    /// The blocks of its iterations, by their first and last instructions.
    blocks: Vec<(u64, u64)>,
    /// Ways that write small state and came once: what ran, and when. They wait if they come again.
    unsure: Vec<(u64, TscRange)>,
    /// Those that came again.
    sure: Vec<u64>,
    /// What ran since its head.
    pub(super) path: Path,
    /// When it was left, and how uncertain that is, unless it comes back to its head.
    away: Option<(Tsc, Ticks)>,
    /// Of what ran since: how many blocks up to the last one that pauses.
    paused: Option<usize>,
}

impl Open {
    /// The loop of `tried` waits; its third iteration begins with `block` at `at`.
    pub(super) fn new(
        tried: &Iteration,
        how: Waiting,
        function: Option<&Function>,
        (block, at): (&Block, Tsc),
        before: &Before,
    ) -> Open {
        let mut open = Open {
            head: tried.head,
            since: tried.since,
            before: before.up_to(tried.since),
            pace: Pace::new(before.first_after(tried.since)),
            rounds: 2,
            known: (at, 2),
            function: function.map(|known| known.name.clone()),
            caller: None,
            dozes: how == Waiting::Dozes,
            how: vec![how],
            differ: tried.path.has_rounds(),
            blocks: Vec::new(),
            unsure: Vec::new(),
            sure: Vec::new(),
            path: Path::default().anew(block),
            away: None,
            paused: None,
        };
        open.learn(&tried.path);
        open
    }

    /// Its function was called by `caller`.
    pub(super) fn called_by(&mut self, caller: Option<Arc<str>>) {
        self.caller = caller.filter(|caller| Some(caller) != self.function.as_ref());
    }

    /// Whether what runs is new.
    pub(super) fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// Whether one block more may lead back.
    pub(super) fn may_go_on(&self) -> bool {
        self.path.blocks.len() < if self.how == [Waiting::Looks] { MOST_BLOCKS } else { MOST_OF_WAY }
    }

    /// A way that was new led back to the head at `at`; it waits, as `how` says. Whether the loop goes on.
    pub(super) fn lead_back(&mut self, how: Waiting, at: Tsc) -> bool {
        if !self.how.contains(&how) {
            self.how.push(how);
        }
        // Where another iteration looks at memory and writes nothing, what was awaited is there.
        if how == Waiting::Notes && self.how.iter().any(|how| matches!(how, Waiting::Looks | Waiting::Pauses))
        {
            return false;
        }
        if how != Waiting::Notes || self.sure.contains(&self.path.hash) {
            let path = std::mem::take(&mut self.path);
            self.learn(&path);
            self.path = path;
            return true;
        }
        let hash = self.path.hash;
        let known = self.unsure.len();
        self.unsure.retain(|(other, _)| *other != hash);
        if self.unsure.len() < known {
            self.sure.push(hash);
            return self.lead_back(how, at);
        }
        self.differ = true;
        let left = self.away.map_or(at, |(left, _)| left);
        self.unsure.push((hash, TscRange::new(left.min(at), at)));
        self.unsure.len() <= MOST_UNSURE
    }

    /// The thread waits in the loop that begins with `block` from now on.
    pub(super) fn go_on_with(&mut self, block: &Block, at: Tsc) {
        let path = std::mem::take(&mut self.path);
        self.learn(&path);
        self.path = path;
        self.head = block.ip;
        self.begin_round(block, at);
    }

    /// The next iteration begins with `block`.
    pub(super) fn begin_round(&mut self, block: &Block, at: Tsc) {
        self.differ |= self.path.has_rounds();
        self.path = std::mem::take(&mut self.path).anew(block);
        (self.away, self.paused) = (None, None);
        self.pace.round(at, self.since);
        self.rounds += 1;
        if at > self.known.0 {
            self.known = (at, self.rounds);
        }
    }

    /// `path` is an iteration of it.
    fn learn(&mut self, path: &Path) {
        for block in &path.blocks {
            let known = (block.ip, block.end_ip);
            if self.blocks.len() < MOST_KNOWN && !self.blocks.contains(&known) {
                self.blocks.push(known);
            }
        }
    }

    /// `block` runs next, and no iteration begins with it.
    pub(super) fn go_through(&mut self, block: &Block, at: Tsc) {
        self.pace.block(at, self.since);
        if self.paused == Some(self.path.ran()) {
            self.away = Some((at, Ticks(0)));
        }
        if self.away.is_none() && !self.blocks.iter().any(|(begin, _)| *begin == block.ip) {
            let bound = if block.time.not_after.0 == u64::MAX { at } else { block.time.not_after };
            // One more may take any time if they are not alike.
            let left = if self.differ || self.path.has_rounds() {
                at
            } else {
                self.ended().clamp(at, bound.max(at))
            };
            self.away = Some((left, bound.since(at)));
        }
        self.path.push(block);
    }

    /// The block that ran last pauses, after the loop was left.
    pub(super) fn pause(&mut self) {
        let ran = self.path.ran();
        if ran - self.paused.unwrap_or(0) <= MOST_BLOCKS {
            self.paused = Some(ran);
        }
    }

    /// When the iteration after the last backward jump ends, at the average rate of those whose end is known.
    fn ended(&self) -> Tsc {
        let (known, rounds) = self.known;
        let more = (self.rounds + 1).saturating_sub(rounds);
        let took = u128::from(known.since(self.since).0) * u128::from(more) / u128::from(rounds.max(1));
        known + Ticks(u64::try_from(took).unwrap_or(u64::MAX))
    }

    /// It is over at `at`, or was left before: the times in which the thread waited. Ways that wrote and did not come again are none.
    /// It does not begin before `floor`; `pauses` says of a block whether it pauses.
    pub(super) fn close(self, at: Tsc, floor: Tsc, mut pauses: impl FnMut(&Ran) -> bool) -> Vec<Spin> {
        let (stop, uncertainty) = self.away.unwrap_or((at, Ticks(0)));
        let stop = stop.min(at.max(self.since)).max(self.since);
        let only_looks = self.how == [Waiting::Looks];
        let begins = |ran: &Ran| only_looks || ran.calls || pauses(ran);
        let entered = entered(&self.before, &self.blocks, self.since, begins);
        let packet = entered.at.max(floor).min(self.since);
        let begin = self.begin(&entered).clamp(packet, stop.max(packet));
        let (mut from, mut rounds, mut spins) = (begin, self.rounds, Vec::new());
        let end = (TscRange::new(stop, stop), self.away.is_some(), uncertainty);
        let cuts = self.unsure.iter().map(|(_, range)| (*range, true, Ticks(0)));
        for (cut, left, uncertainty) in cuts.chain([end]) {
            let range = TscRange::new(from, cut.start.clamp(from, stop.max(from)));
            from = cut.stop.max(from);
            if range.is_empty() {
                continue;
            }
            let (function, caller) = (self.function.clone(), self.caller.clone());
            let (address, dozes) = (self.head, self.dozes);
            let packet = if spins.is_empty() { packet } else { range.start };
            spins.push(Spin { range, packet, function, caller, address, rounds, dozes, left, uncertainty });
            rounds = 0;
        }
        spins
    }

    /// When it began: other code may have run since the last time packet before, so its blocks are counted back from the next time. Where that
    /// code would have taken a multiple of its time, one of both stalled, and it is not known which.
    fn begin(&self, entered: &Entered) -> Tsc {
        let Some(shares) = entered.shares.filter(|_| !self.differ) else { return entered.at };
        let before_next = match entered.next {
            Some(next) => Some((next, shares.blocks)),
            None => self.pace.first.map(|(next, blocks)| (next, blocks + shares.blocks)),
        };
        let took = before_next.and_then(|(next, blocks)| Some((next, self.pace.of(blocks)?)));
        let begin = took.map_or(entered.at, |(next, took)| Tsc(next.0.saturating_sub(took.0)));
        let plausible = begin.since(entered.at).0 / MOST_SLOWER <= shares.led.0;
        if plausible { begin } else { entered.at }
    }
}
