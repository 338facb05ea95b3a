//! PSB+: where what was known before ends.
//!
//! ```text
//! PSB  TSC  TMA  CBR  MODE.Exec  PIP  FUP 1004  PSBEND      any order; all of it holds at 1004
//! ```
//!
//! Source: Intel SDM vol. 3, "Intel Processor Trace", "PSB Packet", "PSB+".

use super::binding::mode_bits;
use super::{Cues, Event, LastIp, Place, What, Wrong};
use crate::flow::EventKind;
use crate::packets::Packet;

impl Cues<'_> {
    /// A PSB was read at `psb`: takes in its PSB+.
    pub(super) fn psb(&mut self, psb: u64) -> Result<(), Wrong> {
        let waits = !self.for_fup.is_empty() || !self.for_tip.is_empty() || self.branch_from.is_some();
        if waits || self.mwait.is_some() || !self.data.is_empty() {
            return Err(Wrong::Context("a sync point between packets that belong together"));
        }
        self.timing.sync_point(psb);
        (self.last_ip, self.on) = (LastIp::default(), false);
        let mut stated = Vec::new();
        let overflown = loop {
            let position = self.lexer.position();
            let packet = self.lexer.next_but(self.errata)?;
            match packet {
                Packet::Fup(ip) => {
                    self.on = ip.compression != 0 && !self.enable_follows();
                    if self.on {
                        self.last_ip.update(ip);
                    }
                }
                Packet::Cbr(ratio) => {
                    self.timing.apply(&packet, position);
                    stated.push(flow(EventKind::CoreBusRatio { ratio: u32::from(ratio) }));
                }
                Packet::ModeExec { long, default_32, .. } => {
                    let bits = mode_bits(long, default_32);
                    if self.mode.is_some_and(|known| known != bits) {
                        return Err(Wrong::Context("a sync point in another execution mode"));
                    }
                    self.mode = Some(bits);
                    stated.push(What::Mode(bits));
                }
                Packet::ModeTsx { active, aborted } => {
                    stated.push(flow(EventKind::Transaction { active, aborted }));
                }
                Packet::Pip { cr3, non_root } => stated.push(flow(EventKind::Paging { cr3, non_root })),
                Packet::Vmcs(_) | Packet::Mnt(_) | Packet::Pad => {}
                Packet::Tsc(_) | Packet::Tma { .. } | Packet::Mtc(_) | Packet::Cyc(_) => {
                    self.timing.apply(&packet, position);
                }
                Packet::PsbEnd | Packet::Ovf => {
                    self.at = position;
                    break packet == Packet::Ovf;
                }
                _ => return Err(Wrong::Context("a packet that cannot stand in PSB+")),
            }
        };
        self.state(psb, &stated, overflown);
        if overflown { self.overflow(self.at) } else { Ok(()) }
    }

    /// Whether TIP.PGE comes before anything but state and time: tracing is off, whatever the PSB+ says. Erratum of
    /// Broadwell (BDM70) to Golden Cove: a PSB+ before TIP.PGE may have a FUP as if tracing were on already.
    fn enable_follows(&self) -> bool {
        use Packet::{Cbr, Cyc, Mnt, ModeExec, ModeTsx, Mtc, Pad, Pip, PsbEnd, Tma, Tsc, Vmcs};
        let mut ahead = self.lexer.clone();
        loop {
            match ahead.next_but(self.errata) {
                Ok(Packet::TipPge(_)) => return true,
                Ok(
                    Pad
                    | PsbEnd
                    | Pip { .. }
                    | ModeExec { .. }
                    | ModeTsx { .. }
                    | Vmcs(_)
                    | Mnt(_)
                    | Tsc(_)
                    | Cbr(_)
                    | Tma { .. }
                    | Mtc(_)
                    | Cyc(_),
                ) => {}
                _ => return false,
            }
        }
    }

    /// Gives what a PSB+ states, first whether tracing is on.
    fn state(&mut self, psb: u64, stated: &[What], overflown: bool) {
        let here = self.last_ip.get().filter(|_| self.on);
        // Where an overflow ended the PSB+, its FUP may be among what was lost.
        let status = (!overflown || here.is_some()).then_some(What::Sync(here));
        for &what in status.iter().chain(stated) {
            let place = match what {
                What::Mode(_)
                | What::Flow([Some(EventKind::Transaction { .. } | EventKind::Paging { .. }), ..]) => {
                    here.map_or(Place::Here, Place::Before)
                }
                _ => Place::Here,
            };
            let reading = self.timing.reading();
            self.ready.push_back(Event { what, place, in_sync: Some(psb), reading, at: self.at });
        }
    }
}

fn flow(kind: EventKind) -> What {
    What::Flow([Some(kind), None, None])
}
