//! The walk's view of time in which nothing retires or nothing is told: losses, tracing off, stand-stills, ratios.
//!
//! An edge that a packet without time marks lies between the time packets around it: where tracing goes off in a trace
//! without CYC and MTC, the run before and the silence share one time, and both say how far it may be off.

use std::sync::Arc;

use model::{Cause, FaultKind, Ticks, Tsc, TscRange};
use pt::{BlockEnd, FlowItem, Gap, GapReason};

use super::{Silence, Stall, Walker, Why};
use crate::entries::{UNNAMED_SYSCALL, exception_of, vector_cause};

/// No processor turns tracing off and on in less: the two writes of a model-specific register alone take longer. What
/// seems shorter is the border between two AUX buffers.
const SHORTEST_SILENCE: Ticks = Ticks(64);

/// The slowest that code runs which is only slow: a stand-still is longer than this for each instruction retired
/// meanwhile. Without CYC and MTC packets, thousands retire between two times.
const SLOWEST_INSTRUCTION: u64 = 100;

/// Ticks for an instruction of ordinary code: a few to one where caches miss now and then.
const USUAL_INSTRUCTION: u64 = 4;

impl Walker<'_> {
    /// A stand-still that ends with a new ratio was the switch to it. CBR tells the ratio again at each sync point.
    pub(super) fn see_ratio(&mut self, ratio: u32, at: Tsc) {
        if ratio == 0 || ratio == self.ratio {
            return;
        }
        if self.ratio != 0
            && let Some(stall) = self.out.stalls.last_mut()
            && stall.range.stop == at
            && stall.cpu == self.cpu
        {
            stall.ratio_changed = true;
        }
        self.close_run(at);
        self.ratio = ratio;
    }

    /// Where only user code is traced, tracing goes off with the kernel entry.
    pub(super) fn entry_that_ends_tracing(&mut self) -> Option<Cause> {
        let vector = self.vector.take();
        self.exception = vector.and_then(exception_of);
        let by_vector = vector.map(vector_cause);
        let previous = self.previous.filter(|block| !block.kernel && block.end == BlockEnd::FarCall);
        by_vector.or_else(|| previous.map(|_| Cause::Syscall(UNNAMED_SYSCALL.into())))
    }

    pub(super) fn gap(&mut self, gap: &Gap) {
        let at = self.advance(&gap.time, gap.aux_offset);
        self.lose(at, Why::Gap(gap.reason.clone()), gap.aux_offset);
    }

    /// Nothing is known from `at` on. What was open may end meanwhile, and where execution goes on tells nothing.
    pub(super) fn lose(&mut self, at: Tsc, why: Why, aux_offset: u64) {
        self.refute_silence();
        self.close_run(at);
        self.begin_silence(at, why, None, aux_offset);
        self.stack.cut(at);
        self.switches.lose();
        self.forget_path();
        self.user.forget();
        self.spins.interrupt(at);
    }

    /// A long step to `at`, which ends at `until`, in which next to nothing retired becomes a [`Stall`].
    pub(super) fn notice_stall(&mut self, at: Tsc, until: Tsc, aux_offset: u64) {
        // What retired took its time, too.
        let worked = Ticks(self.retired.saturating_mul(USUAL_INSTRUCTION));
        let length = Ticks(until.since(self.seen.min(self.now)).0.saturating_sub(worked.0));
        // What retired before the thread was looked at is not known: the part that was seen must tell by itself.
        let seen = at.since(self.now);
        let traced = self.previous.is_some() && self.silence.is_none();
        if traced && seen >= self.shortest_stall() && seen.0 / SLOWEST_INSTRUCTION >= self.retired {
            self.out.stalls.push(Stall {
                range: TscRange::new(self.now, at),
                length,
                function: self.current.as_ref().map(|function| function.name.clone()),
                ratio_changed: false,
                cpu: self.cpu,
                aux_offset,
            });
        }
    }

    /// A switch of the ratio takes a few microseconds and says itself what it is: shorter steps may be one.
    fn shortest_stall(&self) -> Ticks {
        Ticks(self.stall_threshold.0 / 8)
    }

    pub(super) fn begin_silence(&mut self, at: Tsc, why: Why, entry: Option<Cause>, aux_offset: u64) {
        if self.silence.as_ref().is_some_and(|silence| silence.why.is_loss() || !why.is_loss()) {
            // Already silent, for the reason that weighs more: it goes on.
            return;
        }
        self.end_silence(at, false);
        let (range, resumed, uncertainty) = (TscRange::new(at, at), false, self.edge);
        let address = self.address.take().filter(|_| entry == Some(Cause::PageFault(FaultKind::Minor)));
        let (cpu, missing) = (self.cpu, self.missing_code(&why, at));
        self.silence = Some(Silence {
            range,
            began: at,
            began_on: cpu,
            why,
            missing,
            resumed,
            entry,
            exception: self.exception.take(),
            address,
            cpu,
            uncertainty,
            aux_offset,
        });
    }

    /// The function whose bytes the decoder lacks: its name may be known all the same, from a `perf-PID.map`.
    fn missing_code(&self, why: &Why, at: Tsc) -> Option<Arc<str>> {
        let Why::Gap(GapReason::NoCode { ip }) = *why else { return None };
        self.functions.function_at(self.pid, ip, at).map(|function| function.name)
    }

    /// The flow goes on at `at`; `resumed` where it does exactly where it stopped.
    pub(super) fn end_silence(&mut self, at: Tsc, resumed: bool) {
        let Some(mut silence) = self.silence.take() else { return };
        let start = silence.range.start;
        silence.range = TscRange::new(start, at);
        silence.resumed = resumed;
        silence.uncertainty = silence.uncertainty.max(self.edge);
        if !silence.why.is_loss() && silence.range.ticks() < SHORTEST_SILENCE {
            if self.stack.is_empty() {
                self.user.bridge(start, at);
            }
            return;
        }
        if silence.why.is_loss() {
            self.postpone(start, at);
        } else {
            self.user.close(start, silence.uncertainty);
            if !resumed && !self.in_trace_driver() {
                self.stack.cut(start);
                self.forget_path();
            }
        }
        if !silence.range.is_empty() {
            self.carried.as_mut().unwrap_or(&mut self.out.silences).push(silence);
        }
    }

    /// Where only user code is traced, a thread that leaves its CPU in the kernel comes back in the same entry, mostly
    /// without a packet to say so before it is in user code again.
    pub(super) fn leave_in_silence(&mut self) {
        self.left_silent = self.silence.clone().filter(|silence| self.user_only && !silence.why.is_loss());
    }

    /// The thread is back at `at`: in the silence in which it had left, if the flow bears that out.
    pub(super) fn return_into_silence(&mut self, at: Tsc) {
        let Some(left) = self.left_silent.take() else { return };
        let range = TscRange::new(at, at);
        self.silence = Some(Silence { range, cpu: self.cpu, uncertainty: Ticks(0), ..left });
        self.carried.get_or_insert_default();
    }

    /// Whether `item` lies before the silence in which the thread had left. Its time may reach into this stay, for there
    /// was no time packet meanwhile, but it was met in the one before.
    pub(super) fn lies_before_silence(&self, item: &FlowItem) -> bool {
        let Some(silence) = self.silence.as_ref().filter(|_| self.carried.is_some()) else { return false };
        let (aux_offset, too_early) = match item {
            // Its packet may stand behind that of the event that ends it.
            FlowItem::Block(block) => (block.aux_offset, block.time.likely < self.now),
            FlowItem::Event(event) => (event.aux_offset, false),
            FlowItem::Gap(gap) => (gap.aux_offset, false),
        };
        too_early || (silence.began_on == self.cpu && aux_offset <= silence.aux_offset)
    }

    /// Tracing goes on or off now: it had been off since the thread left its CPU.
    pub(super) fn bear_out_silence(&mut self) {
        self.out.silences.extend(self.carried.take().into_iter().flatten());
    }

    /// Something else comes first: the trace lacks what was between, and nothing is known of it.
    pub(super) fn refute_silence(&mut self) {
        if self.carried.take().is_some() {
            self.silence = None;
        }
    }

    /// What began behind a loss before any time was told began when it was.
    fn postpone(&mut self, from: Tsc, to: Tsc) {
        self.stack.postpone(from, to);
        self.user.postpone(to);
    }

    /// The kernel's PT driver turns tracing off and on while it serves its own interrupt: that is a part of it.
    fn in_trace_driver(&self) -> bool {
        let name = self.current.as_ref().map_or("", |function| &*function.name);
        name.starts_with("pt_") || name.starts_with("intel_pt_") || name == "native_write_msr"
    }
}
