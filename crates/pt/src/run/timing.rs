//! A run's time: what the packets give, as far as the sync points after them allow.

use model::Tsc;

use super::{Run, RunState};
use crate::decode::Walk;
use crate::error::Error;
use crate::packets::PSB;
use crate::sys::BlockDecoder;

impl Walk<'_> {
    /// Moves time, thread and code on.
    pub(super) fn see_time(
        &mut self,
        decoder: &mut BlockDecoder<'_>,
        state: &mut RunState,
        run: Run<'_>,
        at: usize,
    ) -> Result<(), Error> {
        self.advance_clock(state, run, at);
        if let Some(tsc) = state.clock.now() {
            self.emitter.time(self.stream.full_tsc(tsc).min(state.latest));
            decoder.set_time(self.emitter.now());
        }
        let now = self.emitter.now();
        if (self.may_switch || self.presence.epoch_ended(now)) && self.presence.advance(now) {
            self.select(decoder)?;
        }
        self.emitter.on(self.presence.thread());
        Ok(())
    }

    /// Moves the clock over the packets before offset `at`.
    fn advance_clock(&mut self, state: &mut RunState, run: Run<'_>, at: usize) {
        while state.clock_at < at {
            if state.clock_at >= state.period_end {
                self.enter_period(state, run);
            }
            let (before, latest) = (state.clock_at, state.latest);
            let mut ignored = 0;
            let credible = |low| {
                let credible = self.stream.full_tsc(low) <= latest;
                ignored += u64::from(!credible);
                credible
            };
            state.clock_at = state.clock.advance(run.bytes, before, at.min(state.period_end), credible);
            if ignored > 0 {
                let met = &mut self.emitter.stats;
                met.ignored_times += ignored;
                met.first_ignored_time.get_or_insert(run.base.wrapping_add(before as u64));
            }
            if state.clock_at == before {
                break;
            }
        }
    }

    /// The clock stands at a PSB: the two after it limit its time. One of them may be damaged.
    fn enter_period(&self, state: &mut RunState, run: Run<'_>) {
        let from = (state.clock_at + PSB.len()).max(run.synthetic);
        let next = self.stream.sync_from(run.base.wrapping_add(from as u64));
        let position = next.map_or(u64::MAX, |next| next.offset.wrapping_sub(run.base));
        state.period_end = usize::try_from(position).unwrap_or(usize::MAX);
        let latest = next.and_then(|next| next.tsc).map(|tsc| {
            let second = next.and_then(|next| self.stream.sync_from(next.offset + PSB.len() as u64));
            second.and_then(|second| second.tsc).map_or(tsc, |second| second.max(tsc))
        });
        state.latest = latest.unwrap_or(Tsc(u64::MAX));
    }
}
