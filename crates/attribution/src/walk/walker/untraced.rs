//! Where the flow stops and resumes: what each of the walker's parts does then.

use std::sync::Arc;

use model::{Cause, FaultKind, Tsc, TscRange};
use pt::GapReason;

use super::Walker;
use crate::walk::activity::{Silence, Why};
use crate::walk::entries::Off;
use crate::walk::silences::is_border;

impl Walker<'_> {
    /// The flow is unknown from `at` on. Open work may end in between, and the place where execution resumes does not
    /// show it.
    pub(super) fn lose(&mut self, at: Tsc, why: Why, aux_offset: u64) {
        self.silences.begin_trace();
        self.silences.refute();
        self.close_kernel(at);
        self.close_run(at);
        self.begin_silence(at, why, Off::default(), aux_offset);
        self.stack.cut(at);
        self.switches.lose();
        self.entries.forget();
        self.user.forget();
        self.spins.interrupt(self.code.pid, at, self.code.functions);
    }

    /// The flow is untraced from `at` on, unless it already is for a reason of greater weight.
    pub(super) fn begin_silence(&mut self, at: Tsc, why: Why, off: Off, aux_offset: u64) {
        if self.silences.outweighs(&why) {
            return;
        }
        self.end_silence(at, false);
        let is_fault = off.entry == Some(Cause::PageFault(FaultKind::Minor));
        let (cpu, missing) = (self.clock.cpu, self.missing_code(&why, at));
        self.silences.begin(Silence {
            range: TscRange::new(at, at),
            began: at,
            began_on: cpu,
            why,
            missing,
            resumed: false,
            entry: off.entry,
            exception: off.exception,
            address: self.entries.address.take().filter(|_| is_fault),
            cpu,
            uncertainty: self.clock.edge,
            aux_offset,
        });
    }

    /// The function whose bytes the decoder lacks: a `perf-PID.map` may still name it.
    fn missing_code(&self, why: &Why, at: Tsc) -> Option<Arc<str>> {
        let Why::Gap(GapReason::NoCode { ip }) = *why else { return None };
        self.code.function_at(None, ip, at).map(|function| function.name)
    }

    /// The flow resumes at `at`; `resumed` where it does so exactly where it stopped.
    pub(super) fn end_silence(&mut self, at: Tsc, resumed: bool) {
        let Some(silence) = self.silences.end(at, resumed, self.clock.edge) else { return };
        let start = silence.range.start;
        if is_border(&silence) {
            if self.stack.is_empty() {
                self.user.bridge(start, at);
            }
            return;
        }
        if silence.why.is_loss() {
            // Items after a loss start at the first timestamp that follows it.
            self.stack.postpone(start, at);
            self.kernel.postpone(at);
            self.user.postpone(at);
        } else {
            self.user.close(start, silence.uncertainty);
            let is_pause = self.silences.is_pause(&silence);
            if is_pause {
                self.user.run_unseen();
            }
            if is_pause || !resumed && !self.code.in_trace_driver() {
                self.kernel.close(start);
                self.stack.cut(start);
                self.entries.forget();
            }
        }
        self.silences.keep(silence);
    }
}
