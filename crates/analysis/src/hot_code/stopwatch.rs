//! Times every block of a thread's flow.
//!
//! Input: the items of one stay, in order. Output: per block its ticks and executions. Time between two time packets is
//! shared among the blocks that ran there, by their instructions; time in a gap, in a stall or while tracing was off
//! belongs to no block.
//! Invariant: the ticks of all blocks together are no more than the stay's.

use std::ops::ControlFlow;

use model::{ThreadId, Tsc, TscRange};
use pt::{Block, EventKind, FlowItem, FlowSink, PtEvent, TimeBounds};

use super::cost::{Cost, Span};
use super::costs::Costs;

/// Blocks that wait for the next time packet before equal ones are merged.
const MOST_WAITING: usize = 4096;

/// See the module.
pub(super) struct Stopwatch<'a> {
    costs: &'a mut Costs,
    thread: ThreadId,
    start: Tsc,
    stop: Tsc,
    now: Tsc,
    /// When the CPU stalled, in order.
    still: &'a [TscRange],
    /// The time by which the last block was over.
    not_after: Tsc,
    ratio: u32,
    /// Blocks that ran since `now`, by their numbers, each with how many instructions of it.
    waiting: Vec<(usize, u64)>,
    /// How many may wait until equal ones are merged.
    room: usize,
    /// Whether the kernel's code at an address stands in for an indirect call or a return.
    is_thunk: &'a dyn Fn(u64) -> bool,
    /// The last block that is no thunk.
    last: Option<usize>,
}

impl<'a> Stopwatch<'a> {
    /// For the flow of `thread` in `range`, in which its CPU stood `still`; adds to `costs`. The time of thunks is that of the block
    /// before them.
    pub(super) fn new(
        costs: &'a mut Costs,
        thread: ThreadId,
        range: TscRange,
        still: &'a [TscRange],
        is_thunk: &'a dyn Fn(u64) -> bool,
    ) -> Stopwatch<'a> {
        Stopwatch {
            costs,
            thread,
            start: range.start,
            stop: range.stop,
            now: range.start,
            still,
            not_after: range.start,
            ratio: 0,
            waiting: Vec::new(),
            room: MOST_WAITING,
            is_thunk,
            last: None,
        }
    }

    /// The stay is over.
    pub(super) fn finish(mut self) {
        let end = self.not_after.min(self.stop);
        self.advance(end);
    }

    fn block(&mut self, block: &Block) {
        self.advance(block.time.likely);
        let TimeBounds { likely, not_after, .. } = block.time;
        if likely >= self.stop || (likely < self.start && not_after <= self.start) {
            return;
        }
        self.not_after = block.time.not_after;
        let own = Span { first: block.ip, last: block.end_ip, instructions: block.instructions };
        let caller = self.last.filter(|_| block.kernel && (self.is_thunk)(block.ip));
        let number = caller.unwrap_or_else(|| self.costs.number((self.thread.pid, own)));
        if caller.is_none() {
            let cost = self.costs.of(number);
            cost.executions = cost.executions.saturating_add(1);
            self.last = Some(number);
        }
        if self.waiting.len() >= self.room {
            self.join_equal();
        }
        self.waiting.push((number, u64::from(block.instructions.max(1))));
    }

    fn event(&mut self, kind: &EventKind, time: &TimeBounds) {
        self.advance(time.likely);
        match kind {
            EventKind::CoreBusRatio { ratio } => self.ratio = *ratio,
            EventKind::Disabled { .. } | EventKind::TraceStop | EventKind::Overflow { .. } => {
                self.waiting.clear();
            }
            _ => {}
        }
    }

    /// Shares the time up to `at` among the blocks that ran since.
    fn advance(&mut self, at: Tsc) {
        let at = at.min(self.stop);
        if at <= self.now {
            return;
        }
        let ticks = at.since(self.now).0 - self.stood_still(TscRange::new(self.now, at));
        let whole =
            self.waiting.iter().fold(0u64, |sum, &(_, instructions)| sum.saturating_add(instructions));
        let (mut seen, mut given) = (0u64, 0u64);
        for (number, instructions) in self.waiting.drain(..) {
            seen = seen.saturating_add(instructions);
            let until = share(ticks, seen, whole);
            let share = until.saturating_sub(given);
            given = until;
            let mut cost = Cost {
                ticks: share,
                ratio_ticks: u128::from(share) * u128::from(self.ratio),
                ..Cost::default()
            };
            cost.ticks_without_ratio = if self.ratio == 0 { share } else { 0 };
            self.costs.of(number).add(&cost);
        }
        self.room = MOST_WAITING;
        self.now = at;
    }

    /// How many ticks of `range` the CPU stalled.
    fn stood_still(&self, range: TscRange) -> u64 {
        let from = self.still.partition_point(|still| still.stop <= range.start);
        let within = self.still[from..].iter().map_while(|still| still.intersection(range));
        within.map(|still| still.ticks().0).sum()
    }

    /// Joins equal blocks that wait; without time packets for long, there are no more than there is code.
    fn join_equal(&mut self) {
        let costs = &self.costs;
        self.waiting.sort_unstable_by_key(|&(number, instructions)| (costs.span(number), instructions));
        self.waiting.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            is_same
        });
        self.room = (self.waiting.len() * 2).max(MOST_WAITING);
    }
}

/// `ticks * seen / whole`, where `seen` is no more than `whole`.
fn share(ticks: u64, seen: u64, whole: u64) -> u64 {
    match ticks.checked_mul(seen) {
        Some(product) => product / whole.max(1),
        None => {
            (u128::from(ticks) * u128::from(seen) / u128::from(whole.max(1))).try_into().unwrap_or(u64::MAX)
        }
    }
}

impl FlowSink for Stopwatch<'_> {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        if item.thread().is_some_and(|thread| thread.tid != self.thread.tid) {
            // The ratio is the core's: it holds for whichever thread runs when it changes.
            if let FlowItem::Event(PtEvent { kind: EventKind::CoreBusRatio { ratio }, .. }) = item {
                self.ratio = *ratio;
            }
            return ControlFlow::Continue(());
        }
        match item {
            FlowItem::Block(block) => self.block(block),
            FlowItem::Event(event) => self.event(&event.kind, &event.time),
            FlowItem::Gap(gap) => {
                self.advance(gap.time.likely);
                self.waiting.clear();
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
