//! Untraced stretches ("silences"): losses, tracing off.
//!
//! A boundary marked by a packet without time lies between the time packets around it. Where tracing goes off in a
//! trace without CYC and MTC, the run before and the silence share one time, and both carry its uncertainty.
//!
//! Where only user code is traced, a thread that leaves its CPU in the kernel comes back in the same entry. Mostly no
//! packet shows this before user code runs again. Its silence is extended until the flow confirms or refutes it.

use model::{Cpu, Ticks, Tsc, TscRange};
use pt::{Block, FlowItem};

use super::activity::{Silence, Why};
use super::clock::Clock;

/// No processor turns tracing off and on in less: the two writes of a model-specific register alone take longer.
/// Anything shorter is the boundary between two AUX buffers.
const SHORTEST_SILENCE: Ticks = Ticks(64);

/// See the module.
#[derive(Default)]
pub(super) struct Silences {
    /// Whether only user code is traced.
    pub(super) user_only: bool,
    /// When the trace of this stay was paused, in order of time: anything may have run then.
    pub(super) pauses: Vec<TscRange>,
    /// The current silence.
    open: Option<Silence>,
    /// Since when the thread is on its CPU without any trace of it.
    bare_since: Option<Tsc>,
    /// The one in which the thread left its CPU.
    left: Option<Silence>,
    /// Parts of the silence that continues after an absence, until the flow confirms it.
    carried: Option<Vec<Silence>>,
    /// Silences that ended, in time order.
    pub(super) done: Vec<Silence>,
}

impl Silences {
    /// Whether an event had paused the trace.
    pub(super) fn is_pause(&self, silence: &Silence) -> bool {
        let next = self.pauses.partition_point(|pause| pause.stop <= silence.range.start);
        silence.why == Why::Off && self.pauses.get(next).is_some_and(|pause| pause.overlaps(silence.range))
    }

    /// Whether the flow is untraced now.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Since when it is untraced, and the uncertainty of that time.
    pub(super) fn since(&self) -> Option<(Tsc, Ticks)> {
        self.open.as_ref().map(|silence| (silence.range.start, silence.uncertainty))
    }

    /// Whether code that runs at `at` ends it: after a loss, time is known again from the first packet that carries
    /// it.
    pub(super) fn ends_at(&self, at: Tsc) -> bool {
        self.open.as_ref().is_none_or(|silence| !silence.why.is_loss() || at > silence.range.start)
    }

    /// Whether it continues although another one would begin for the reason `why`: its own reason has at least the
    /// same weight.
    pub(super) fn outweighs(&self, why: &Why) -> bool {
        self.open.as_ref().is_some_and(|silence| silence.why.is_loss() || !why.is_loss())
    }

    /// `silence` begins.
    pub(super) fn begin(&mut self, silence: Silence) {
        self.open = Some(silence);
    }

    /// The flow resumes at `at`; `resumed` where it does so exactly where it stopped. `edge` is the uncertainty of
    /// that time.
    pub(super) fn end(&mut self, at: Tsc, resumed: bool, edge: Ticks) -> Option<Silence> {
        let mut silence = self.open.take()?;
        silence.range = TscRange::new(silence.range.start, at);
        silence.resumed = resumed;
        silence.uncertainty = silence.uncertainty.max(edge);
        Some(silence)
    }

    /// `silence` ended and is not the boundary between two buffers.
    pub(super) fn keep(&mut self, silence: Silence) {
        if !silence.range.is_empty() {
            self.carried.as_mut().unwrap_or(&mut self.done).push(silence);
        }
    }

    /// The thread leaves its CPU.
    pub(super) fn leave(&mut self) {
        self.left = self.open.clone().filter(|silence| self.user_only && !silence.why.is_loss());
    }

    /// The thread comes onto its CPU by a switch at `at`: so it was recorded then, though without any trace.
    pub(super) fn scheduled(&mut self, at: Tsc) {
        self.bare_since = Some(at).filter(|_| self.user_only);
    }

    /// Its trace begins: since when it was on its CPU without, where no silence shows it.
    pub(super) fn begin_trace(&mut self) -> Option<Tsc> {
        self.bare_since.take().filter(|_| self.open.is_none())
    }

    /// The thread is back at `at`, on `cpu`, in the silence in which it left if the flow confirms that.
    pub(super) fn come_back(&mut self, cpu: Option<Cpu>, at: Tsc) {
        self.bare_since = None;
        let Some(left) = self.left.take() else { return };
        self.open = Some(Silence { range: TscRange::new(at, at), cpu, uncertainty: Ticks(0), ..left });
        self.carried.get_or_insert_default();
    }

    /// Whether `item` precedes the silence in which the thread left. Its time may reach into this stay, because there
    /// was no time packet in between, but it was processed in the stay before.
    pub(super) fn is_behind(&self, item: &FlowItem, clock: &Clock) -> bool {
        match item {
            FlowItem::Block(block) => self.is_past(block, clock),
            FlowItem::Event(event) => self.is_passed(event.aux_offset, clock),
            FlowItem::Gap(gap) => self.is_passed(gap.aux_offset, clock),
        }
    }

    /// The same of a block, whose packet may follow that of the event that ends it.
    pub(super) fn is_past(&self, block: &Block, clock: &Clock) -> bool {
        let is_in_doubt = self.carried.is_some() && self.open.is_some();
        is_in_doubt && (block.time.likely < clock.now || self.is_passed(block.aux_offset, clock))
    }

    fn is_passed(&self, aux_offset: u64, clock: &Clock) -> bool {
        let open = self.open.as_ref().filter(|_| self.carried.is_some());
        open.is_some_and(|open| open.began_on == clock.cpu && aux_offset <= open.aux_offset)
    }

    /// Tracing turns on or off now: it had been off since the thread left its CPU.
    pub(super) fn confirm(&mut self) {
        self.done.extend(self.carried.take().into_iter().flatten());
    }

    /// Something else comes first: the trace lacks what was in between, so that is unknown.
    pub(super) fn refute(&mut self) {
        if self.carried.take().is_some() {
            self.open = None;
        }
    }
}

/// Whether `silence` is only the boundary between two AUX buffers.
pub(super) fn is_border(silence: &Silence) -> bool {
    !silence.why.is_loss() && silence.range.ticks() < SHORTEST_SILENCE
}
