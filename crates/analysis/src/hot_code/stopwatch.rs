//! Times every block of a thread's flow.
//!
//! Input: the items of one stay, in order. Output: per block its ticks and executions. Time between two time packets is
//! shared among the blocks that ran there, by their instructions; time in a gap, in a stall or while tracing was off
//! belongs to no block.
//! Invariant: the ticks of all blocks together are no more than the stay's.

use std::collections::HashMap;
use std::ops::ControlFlow;

use model::{Pid, ThreadId, Tsc, TscRange};
use pt::{Block, EventKind, FlowItem, FlowSink, PtEvent, TimeBounds};

use super::cost::{Cost, Span};

/// Blocks that wait for the next time packet before equal ones are merged.
const MOST_WAITING: usize = 4096;

/// The costs of the blocks of processes.
pub(super) type Costs = HashMap<(Pid, Span), Cost>;

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
    /// Blocks that ran since `now`, each with how many instructions of it.
    waiting: Vec<(Span, u64)>,
    /// How many may wait until equal ones are merged.
    room: usize,
    /// Whether the kernel's code at an address stands in for an indirect call or a return.
    is_thunk: &'a dyn Fn(u64) -> bool,
    /// The last block that is no thunk.
    last: Option<Span>,
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
        let span = caller.unwrap_or(own);
        if caller.is_none() {
            let cost = self.costs.entry((self.thread.pid, span)).or_default();
            cost.executions = cost.executions.saturating_add(1);
            self.last = Some(span);
        }
        if self.waiting.len() >= self.room {
            self.join_equal();
        }
        self.waiting.push((span, u64::from(block.instructions.max(1))));
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
        let ticks = u128::from(at.since(self.now).0 - self.stood_still(TscRange::new(self.now, at)));
        let whole: u128 = self.waiting.iter().map(|&(_, instructions)| u128::from(instructions)).sum();
        let (mut seen, mut given) = (0u128, 0u64);
        for (span, instructions) in self.waiting.drain(..) {
            seen += u128::from(instructions);
            let until = u64::try_from(ticks * seen / whole).unwrap_or(u64::MAX);
            let share = until.saturating_sub(given);
            given = until;
            let mut cost = Cost {
                ticks: share,
                ratio_ticks: u128::from(share) * u128::from(self.ratio),
                ..Cost::default()
            };
            cost.ticks_without_ratio = if self.ratio == 0 { share } else { 0 };
            self.costs.entry((self.thread.pid, span)).or_default().add(&cost);
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
        self.waiting.sort_unstable();
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
