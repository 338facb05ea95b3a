//! Puts time bounds on what the decoder yields and passes on what may lie in the window.
//!
//! Items wait until the next time is known: that is their `not_after`. Invariant: items leave in the order they
//! came, times never run backwards, and an item is left out only if it provably lies before the window. The core:bus
//! ratio that holds where the window begins is passed on first.

mod around;

use model::{ThreadId, Tsc, TscRange};

use crate::engine::DecodeStats;
use crate::flow::{Block, BlockEnd, EventKind, FlowItem, Gap, GapReason, PtEvent, TimeBounds};
use crate::sink::{FlowSink, Grain, WatchedCalls};
use around::Around;
pub(crate) use around::{Past, PastBlocks};

/// Items that may wait for a time: a trace without times must not pile up.
const WAITING_ITEMS: usize = 1 << 16;
/// CYC may overshoot the next MTC or TSC by this many ticks (some microseconds); a larger step back is a jump of
/// the clock and is followed.
const OVERSHOOT: u64 = 1 << 14;

/// A block, without what those that wait together have in common.
#[derive(Clone, Copy)]
pub(crate) struct Ran {
    pub(crate) ip: u64,
    pub(crate) end_ip: u64,
    pub(crate) instructions: u32,
    pub(crate) end: BlockEnd,
    pub(crate) bits: u8,
    pub(crate) aux_offset: u64,
}

pub(crate) struct Emitter<'s> {
    sink: &'s mut dyn FlowSink,
    range: TscRange,
    waiting: Vec<FlowItem>,
    /// Blocks that wait after these, all of `thread`, and whether each began before `now`: at `before`.
    ran: Vec<(Ran, bool)>,
    now: Tsc,
    /// The time before `now`, while execution has yet to reach the branch that `now` is the time of.
    since: Option<Tsc>,
    /// What `since` was last.
    before: Tsc,
    broken_off: bool,
    /// The last core:bus ratio before the window, until the window begins.
    ratio: Option<PtEvent>,
    thread: Option<ThreadId>,
    /// Whether `now` lies within the range.
    inside: bool,
    /// With [`Grain::Sums`]: the instructions of `thread` that were not given yet.
    sum: u64,
    grain: Grain,
    /// With [`Grain::Calls`].
    around: Around,
    pub(crate) stats: DecodeStats,
}

impl<'s> Emitter<'s> {
    pub(crate) fn new(sink: &'s mut dyn FlowSink, range: TscRange) -> Emitter<'s> {
        let stats = DecodeStats::default();
        let (waiting, now, grain) = (Vec::new(), Tsc(0), sink.grain());
        Emitter {
            sink,
            range,
            waiting,
            ran: Vec::new(),
            now,
            since: None,
            before: now,
            broken_off: false,
            ratio: None,
            thread: None,
            inside: range.start == now,
            sum: 0,
            grain,
            around: Around::default(),
            stats,
        }
    }

    /// The last time seen.
    pub(crate) fn now(&self) -> Tsc {
        self.now
    }

    /// Whether nothing more is wanted: the window's end has passed, or the sink broke off.
    pub(crate) fn done(&self) -> bool {
        self.broken_off || self.now > self.range.stop
    }

    /// The trace says that it is `time` now.
    #[inline]
    pub(crate) fn time(&mut self, time: Tsc) {
        if time == self.now {
            return;
        }
        let overshot = time < self.now && self.now.0 - time.0 < OVERSHOOT;
        if !overshot {
            self.flush(time.max(self.now));
            self.now = time;
            self.inside = time >= self.range.start && time <= self.range.stop;
        }
    }

    /// The time up to which it may move on by [`Emitter::move_quietly`]: nothing waits for a time, and the window neither
    /// begins nor ends.
    pub(crate) fn quiet_until(&self) -> Tsc {
        let waits = !self.waiting.is_empty() || !self.ran.is_empty();
        if waits || self.done() {
            Tsc(0)
        } else if self.now < self.range.start {
            self.range.start
        } else {
            Tsc(self.range.stop.0.saturating_add(1))
        }
    }

    /// It is `time` now: no earlier than before, and before [`Emitter::quiet_until`].
    pub(crate) fn move_quietly(&mut self, time: Tsc) {
        self.now = time;
    }

    /// The thread on the CPU from now on.
    #[inline]
    pub(crate) fn on(&mut self, thread: Option<ThreadId>) {
        if self.thread != thread {
            self.give_sum();
            self.line_up();
            self.thread = thread;
            self.enter_thread();
        }
    }

    /// The thread on the CPU.
    pub(crate) fn thread(&self) -> Option<ThreadId> {
        self.thread
    }

    /// Whether instructions are wanted block by block.
    #[inline]
    pub(crate) fn wants_blocks(&self) -> bool {
        self.grain == Grain::Blocks
    }

    /// Whether blocks are wanted around calls alone.
    #[inline]
    pub(crate) fn wants_calls(&self) -> bool {
        self.grain == Grain::Calls
    }

    /// Of which calls.
    pub(crate) fn watched(&self) -> WatchedCalls {
        self.sink.watched()
    }

    /// The last time came with a packet whose branch is next but was not reached yet: what is emitted until then began
    /// between `before` and it. Nearer to it: the time before is that of the first of several branches in a TNT.
    pub(crate) fn read_ahead(&mut self, before: Tsc) {
        if before < self.now {
            (self.since, self.before) = (Some(before), before);
        } else {
            self.since = None;
        }
    }

    /// The time before the last one, if [`Emitter::read_ahead`] gave it and execution has yet to arrive.
    pub(crate) fn ahead_of(&self) -> Option<Tsc> {
        self.since
    }

    /// Execution has reached the packet that gave the last time.
    #[inline]
    pub(crate) fn arrive(&mut self) {
        self.since = None;
    }

    #[inline]
    pub(crate) fn block(&mut self, block: &Block) {
        if self.grain == Grain::Sums {
            return self.add(u64::from(block.instructions));
        }
        self.stats.instructions += u64::from(block.instructions);
        self.push(FlowItem::Block(*block));
    }

    /// A block ran on the thread at hand.
    #[inline]
    pub(crate) fn ran(&mut self, ran: Ran) {
        if self.grain == Grain::Sums {
            return self.add(u64::from(ran.instructions));
        }
        self.stats.instructions += u64::from(ran.instructions);
        self.make_room();
        self.ran.push((ran, self.since.is_some()));
    }

    /// So many instructions ran; with [`Grain::Sums`].
    #[inline]
    pub(crate) fn add(&mut self, instructions: u64) {
        self.stats.instructions += instructions;
        self.sum += if self.inside { instructions } else { 0 };
    }

    fn give_sum(&mut self) {
        if self.sum > 0 && !self.broken_off {
            self.sink.sum(self.thread, self.sum);
        }
        self.sum = 0;
    }

    pub(crate) fn event(&mut self, kind: EventKind, aux_offset: u64) {
        let event = PtEvent { kind, thread: self.thread, time: self.open_time(), aux_offset };
        self.push(FlowItem::Event(event));
    }

    /// A part that could not be decoded. A decoder may notice only after the packet at which it can go on that it has
    /// failed: then nothing is left out, and the gap is where it failed.
    pub(crate) fn gap(&mut self, reason: GapReason, aux_offset: u64, resumed_at: u64) {
        self.stats.gaps += 1;
        self.part();
        let (time, thread, resumed_at) = (self.open_time(), self.thread, resumed_at.max(aux_offset));
        self.push(FlowItem::Gap(Gap { reason, thread, time, aux_offset, resumed_at }));
    }

    /// Nothing follows: what waits has no later bound. `learnt` is what was learnt of watched calls, if these were wanted.
    pub(crate) fn finish(mut self, learnt: Option<&WatchedCalls>) -> DecodeStats {
        self.give_sum();
        self.flush(Tsc(u64::MAX));
        if let Some(learnt) = learnt {
            self.sink.learnt(learnt);
        }
        self.stats
    }

    /// Bounds of what happens now: the next time is not known yet.
    pub(crate) fn open_time(&self) -> TimeBounds {
        let not_before = self.since.unwrap_or(self.now);
        TimeBounds { not_before, likely: self.now, not_after: Tsc(u64::MAX) }
    }

    #[inline]
    fn push(&mut self, item: FlowItem) {
        self.make_room();
        self.line_up();
        self.waiting.push(item);
    }

    #[inline]
    fn make_room(&mut self) {
        if self.waiting.len() + self.ran.len() >= WAITING_ITEMS {
            self.flush(Tsc(u64::MAX));
        }
    }

    /// Puts the blocks that wait in front of an item to come.
    fn line_up(&mut self) {
        let mut ran = std::mem::take(&mut self.ran);
        for (ran, began_before) in ran.drain(..) {
            let block = self.block_of(ran, began_before, Tsc(u64::MAX));
            self.waiting.push(FlowItem::Block(block));
        }
        self.ran = ran;
    }

    /// The block that `ran` with the thread and time at hand.
    #[inline]
    fn block_of(&self, ran: Ran, began_before: bool, not_after: Tsc) -> Block {
        let Ran { ip, end_ip, instructions, end, bits, aux_offset } = ran;
        let not_before = if began_before { self.before } else { self.now };
        let time = TimeBounds { not_before, likely: self.now, not_after };
        let kernel = ip >> 63 != 0;
        Block { ip, end_ip, instructions, end, bits, kernel, thread: self.thread, time, aux_offset }
    }

    #[inline]
    fn flush(&mut self, not_after: Tsc) {
        if !(self.waiting.is_empty() && self.ran.is_empty()) {
            self.flush_waiting(not_after);
        }
    }

    fn flush_waiting(&mut self, not_after: Tsc) {
        if not_after < self.range.start || self.broken_off {
            self.leave_out();
            return;
        }
        if let Some(mut event) = self.ratio.take() {
            event.time = TimeBounds { not_before: self.now, likely: self.now, not_after };
            self.give(&FlowItem::Event(event));
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        for mut item in waiting.drain(..) {
            if self.broken_off {
                break;
            }
            match &mut item {
                FlowItem::Block(block) => block.time.not_after = not_after,
                FlowItem::Event(event) => event.time.not_after = not_after,
                FlowItem::Gap(gap) => gap.time.not_after = not_after,
            }
            self.give(&item);
        }
        self.waiting = waiting;
        let mut ran = std::mem::take(&mut self.ran);
        for &(ran, began_before) in &ran {
            if self.broken_off {
                break;
            }
            self.give(&FlowItem::Block(self.block_of(ran, began_before, not_after)));
        }
        ran.clear();
        self.ran = ran;
    }

    #[inline]
    fn give(&mut self, item: &FlowItem) {
        self.stats.items += 1;
        self.broken_off |= self.sink.item(item).is_break();
    }

    /// What waits lies before the window; of it only the ratio still counts in the window.
    fn leave_out(&mut self) {
        self.ran.clear();
        for item in self.waiting.drain(..) {
            if let FlowItem::Event(event) = item
                && matches!(event.kind, EventKind::CoreBusRatio { .. })
            {
                self.ratio = Some(event);
            }
        }
    }
}
