//! An event at its place: what it changes, and what of it is passed on.
//!
//! ```text
//! in the PSB+ that was entered    all of it counts at once
//! in one that is passed           its time and events wait until execution is where its FUP says
//! in the one not to go beyond     the walk ends there
//! ```
//!
//! Source: Intel SDM vol. 3, "Intel Processor Trace", "PSB+", "OVF Packet", "MODE Packets".

use super::{Stop, Walk};
use crate::flow::EventKind;
use crate::native::cues::{Event, Kinds, What};

impl Walk<'_> {
    /// Takes in an event that execution has reached.
    pub(super) fn deliver(&mut self, event: &Event) -> Result<(), Stop> {
        self.unbroken.end();
        let passed = event.in_sync.filter(|&psb| psb != self.entered);
        if passed.is_some_and(|psb| psb >= self.stop) {
            // What lies before its FUP is the last.
            if matches!(event.what, What::Sync(None) | What::Mode(_)) {
                return Err(Stop::Border);
            }
            self.fetch();
            return Ok(());
        }
        let kinds = self.apply(event, passed.is_some())?;
        self.emitter.arrive();
        let waits = passed.is_some() && !matches!(event.what, What::Mode(_));
        if waits && matches!(event.what, What::Sync(_)) {
            self.settling = true;
        } else if waits && self.settling {
            self.held.extend(kinds.into_iter().flatten().map(|kind| (kind, event.at)));
        } else {
            self.settle();
            for kind in kinds.into_iter().flatten() {
                if self.emitter.wants_calls() {
                    self.see_event(&kind);
                }
                self.emitter.event(kind, event.at);
            }
        }
        self.delivered = self.emitter.stats.instructions;
        self.fetch();
        if self.emitter.done() { Err(Stop::Done) } else { Ok(()) }
    }

    /// Execution is where the last PSB+ said, if any: its time and events count.
    pub(super) fn settle(&mut self) {
        self.settling = false;
        self.see_time();
        if !self.held.is_empty() {
            for (kind, aux_offset) in std::mem::take(&mut self.held) {
                self.emitter.event(kind, aux_offset);
            }
        }
    }

    /// Changes what it changes; returns what is to be passed on.
    fn apply(&mut self, event: &Event, passed: bool) -> Result<Kinds, Stop> {
        let one = |kind| [Some(kind), None, None];
        let kinds = match event.what {
            What::Enabled(ip) => {
                if self.on {
                    return Err(self.mismatch(ip, "tracing begins while it is on"));
                }
                let resumed = ip == self.ip;
                self.jump(ip);
                (self.on, self.may_switch) = (true, true);
                one(EventKind::Enabled { ip, resumed })
            }
            What::Disabled(to) | What::BrokenOff { to, .. } => {
                if !self.on {
                    return Err(self.mismatch(self.ip, "tracing ends while it is off"));
                }
                (self.on, self.may_switch) = (false, true);
                let from = match event.what {
                    What::BrokenOff { from, .. } => self.guest_entry().is_none().then_some(from),
                    _ => None,
                };
                one(EventKind::Disabled { ip: to, from })
            }
            What::Branch { from, to } => {
                if !self.on {
                    return Err(self.mismatch(from, "a branch while tracing is off"));
                }
                self.jump(to);
                self.may_switch |= to >> 63 != 0;
                one(EventKind::AsyncBranch { from, to })
            }
            What::Overflow(ip) => {
                self.on = ip.is_some();
                self.jump(ip.unwrap_or(0));
                self.returns.clear();
                (self.tail, self.spelled) = (None, None);
                one(EventKind::Overflow { ip })
            }
            What::Sync(here) => {
                self.synchronise(here, passed)?;
                [None; 3]
            }
            What::Mode(bits) => {
                self.change_mode(bits, passed)?;
                [None; 3]
            }
            What::Stop if self.on => {
                return Err(self.mismatch(self.ip, "tracing is stopped while it is on"));
            }
            What::Stop => one(EventKind::TraceStop),
            What::Flow(kinds) => kinds.map(|kind| kind.map(|kind| self.locate(kind))),
        };
        Ok(kinds)
    }

    /// A PSB+ says whether tracing is on, and where execution is.
    fn synchronise(&mut self, here: Option<u64>, passed: bool) -> Result<(), Stop> {
        self.returns.clear();
        if !passed {
            self.on = here.is_some();
            self.jump(here.unwrap_or(0));
        } else if self.on != here.is_some() {
            return Err(
                self.mismatch(here.unwrap_or(self.ip), "a sync point says otherwise whether tracing is on")
            );
        }
        Ok(())
    }

    fn change_mode(&mut self, bits: u8, passed: bool) -> Result<(), Stop> {
        if passed && self.on && self.mode_known && self.bits != bits {
            return Err(self.mismatch(self.ip, "a sync point in another execution mode"));
        }
        self.mode_known = true;
        if self.bits != bits {
            self.bits = bits;
            self.select();
        }
        Ok(())
    }

    /// Gives an event the address of the instruction that it was bound to, where its packets gave none.
    fn locate(&self, kind: EventKind) -> EventKind {
        let bound = self.tail.as_ref().filter(|_| self.on).map(|tail| tail.part.block.end_ip);
        match kind {
            EventKind::Ptwrite { payload, ip: None } => EventKind::Ptwrite { payload, ip: bound },
            EventKind::ControlFlowEvent { kind: kind @ (2 | 7 | 13 | 15), vector, ip: None } => {
                EventKind::ControlFlowEvent { kind, vector, ip: bound }
            }
            kind => kind,
        }
    }
}
