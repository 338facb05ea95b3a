//! Stalls: time between two packets in which almost nothing retired.
//!
//! This file decides what counts as a stall; `claims/stalls.rs` names it. Invariant: a stall lies where the flow is
//! traced, and no string instruction ran in it: the time of such a one is the code's
//! ([`super::string_instructions`]).

use std::sync::Arc;

use model::{Cpu, Ticks, Tsc, TscRange};

use super::activity::Stall;
use super::clock::Clock;
use super::string_instructions::{SHORTEST, StringInstruction, StringTime};

/// The slowest rate of code that is merely slow: a stall is longer than this for each instruction retired in it.
/// Without CYC and MTC packets, thousands retire between two times.
pub(super) const SLOWEST_INSTRUCTION: u64 = 100;

/// Ticks for an instruction of ordinary code: a few, with occasional cache misses.
const USUAL_INSTRUCTION: u64 = 4;

/// See the module.
pub(super) struct Stalls {
    /// The shortest that counts, unless the core:bus ratio changed with it.
    threshold: Ticks,
    done: Vec<Stall>,
    /// The last step, where it was long, but so much retired in it that only a new core:bus ratio makes a stall of it.
    perhaps: Option<Stall>,
    /// The repeated string instruction that runs since the clock's last step.
    string: Option<StringInstruction>,
    strings: Vec<StringTime>,
}

impl Stalls {
    /// Those of at least `threshold`.
    pub(super) fn new(threshold: Ticks) -> Stalls {
        Stalls { threshold, done: Vec::new(), perhaps: None, string: None, strings: Vec::new() }
    }

    /// `string` runs since the clock's last step.
    pub(super) fn begin(&mut self, string: StringInstruction) {
        self.string = Some(string);
    }

    /// The clock moves on.
    pub(super) fn pass(&mut self) {
        self.string = None;
    }

    /// Whether a step of `clock` to `at` is as slow as one with a string instruction in it.
    pub(super) fn may_be_string(clock: &Clock, at: Tsc) -> bool {
        let step = at.since(clock.now.min(at));
        step >= SHORTEST && step.0 / SLOWEST_INSTRUCTION >= clock.retired
    }

    /// A step of `clock` in `function` to `at`, which ends at `until`: a stall if it is long and almost nothing
    /// retired.
    pub(super) fn notice(
        &mut self,
        clock: &Clock,
        (at, until): (Tsc, Tsc),
        function: Option<&Arc<str>>,
        aux_offset: u64,
    ) {
        if let Some(string) = &self.string {
            self.strings.push(string.clone().over(TscRange::new(clock.now, at)));
            return;
        }
        // What retired took time, too.
        let worked = Ticks(clock.retired.saturating_mul(USUAL_INSTRUCTION));
        let length = Ticks(until.since(clock.seen.min(clock.now)).0.saturating_sub(worked.0));
        // What retired before the observed part is not known: the observed part must be long enough by itself.
        let seen = at.since(clock.now);
        let stall = || Stall {
            range: TscRange::new(clock.now, at),
            length,
            worked,
            function: function.cloned(),
            ratio_changed: false,
            cpu: clock.cpu,
            aux_offset,
        };
        self.perhaps = None;
        if seen >= self.shortest() && seen.0 / SLOWEST_INSTRUCTION >= clock.retired {
            self.done.push(stall());
        } else if seen.0.saturating_sub(worked.0) >= self.shortest().0 {
            self.perhaps = Some(stall());
        }
    }

    /// A change of the ratio takes a few microseconds and is identified by its packet: shorter steps may be one.
    fn shortest(&self) -> Ticks {
        Ticks(self.threshold.0 / 8)
    }

    /// `cpu` has a new ratio at `at`: the stall that ends there was the change to it. It began when what retired in the step
    /// had taken its time.
    pub(super) fn change_ratio(&mut self, at: Tsc, cpu: Option<Cpu>) {
        let ends_here = |stall: &&mut Stall| stall.range.stop == at && stall.cpu == cpu;
        self.done.extend(self.perhaps.take_if(|stall| ends_here(&stall)));
        if let Some(stall) = self.done.last_mut().filter(ends_here) {
            stall.range.start = Tsc(stall.range.start.0.saturating_add(stall.worked.0)).min(at);
            stall.worked = Ticks(0);
            stall.ratio_changed = true;
        }
    }

    /// All stalls that count, and the time in string instructions.
    pub(super) fn finish(mut self) -> (Vec<Stall>, Vec<StringTime>) {
        let threshold = self.threshold;
        self.done.retain(|stall| stall.ratio_changed || stall.length >= threshold);
        (self.done, self.strings)
    }
}
