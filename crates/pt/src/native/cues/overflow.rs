//! Overflows: whether tracing is on again, and where.
//!
//! ```text
//! OVF  (time, CBR)*  FUP 2000                    tracing is on, at 2000
//! OVF  (time, CBR)*  anything else               tracing is off, until TIP.PGE
//!
//! with the erratum's models
//! OVF  (time, CBR)*  TIP.PGD                     off: APL11, SKD010
//! OVF  (time, CBR)*  FUP ... TIP.PGE             off: APL12
//! OVF  ... TIP 3000 | FUP 3000 | PSB(FUP 3000)   on, at 3000: SKD010, the FUP is missing
//! ```
//!
//! Source: Intel SDM vol. 3, "Intel Processor Trace", "OVF Packet", "Overflow"; for the errata see [`super::Errata`].

use super::{Cues, LastIp, NoPacket, Place, What, Wrong};
use crate::flow::EventKind;
use crate::packets::{Packet, PacketIp};

/// What comes after an OVF.
enum After {
    /// Tracing is on at the FUP that is next.
    Fup,
    /// Tracing is off.
    Off,
    /// Tracing is off after the packets up to this position.
    OffFrom(u64),
    /// The FUP is missing: tracing is on at this address, and the packets from this position on count. A MODE.TSX was read on the way.
    OnAt(PacketIp, u64, Option<(bool, bool)>),
}

impl Cues<'_> {
    /// An OVF was read at `position`.
    pub(super) fn overflow(&mut self, position: u64) -> Result<(), Wrong> {
        let stated = std::mem::take(&mut self.ready);
        self.reset();
        self.ready = stated;
        match self.after_overflow()? {
            After::Fup => {
                self.overflow_before_fup();
                return Ok(());
            }
            After::Off => {}
            After::OffFrom(end) => self.pass_times(end),
            After::OnAt(ip, end, transaction) => {
                self.pass_times(end);
                self.last_ip.update(ip);
                self.on = true;
                self.at = self.lexer.position();
                self.push(What::Overflow(self.last_ip.get()), Place::Here);
                if let Some((active, aborted)) = transaction {
                    let what = What::Flow([Some(EventKind::Transaction { active, aborted }), None, None]);
                    self.wait_for_fup(what, !aborted);
                }
                return Ok(());
            }
        }
        if self.ready.is_empty() {
            self.stand_after();
        } else {
            self.at = position;
        }
        self.push(What::Overflow(None), Place::Here);
        Ok(())
    }

    /// Takes in what the packets before `end` say of the time; they say nothing else that counts.
    fn pass_times(&mut self, end: u64) {
        while self.lexer.position() < end {
            let position = self.lexer.position();
            let Ok(packet) = self.lexer.next_but(self.errata) else { return };
            self.timing.apply(&packet, position);
        }
    }

    fn after_overflow(&self) -> Result<After, Wrong> {
        let mut ahead = self.lexer.clone();
        let usual = loop {
            match ahead.next_but(self.errata) {
                Ok(Packet::Fup(_)) if self.errata.fup_after_overflow_while_off => {
                    let after_fup = ahead.position();
                    let off = self.is_off(ahead).then_some(After::OffFrom(after_fup));
                    return Ok(off.unwrap_or(After::Fup));
                }
                Ok(Packet::Fup(_)) => return Ok(After::Fup),
                Ok(
                    Packet::Pad
                    | Packet::Mnt(_)
                    | Packet::Cbr(_)
                    | Packet::Tsc(_)
                    | Packet::Tma { .. }
                    | Packet::Mtc(_)
                    | Packet::Cyc(_),
                ) => {}
                Ok(Packet::TipPgd(_)) if self.errata.disabled_after_overflow => {
                    return Ok(After::OffFrom(ahead.position()));
                }
                Ok(Packet::PsbEnd | Packet::Tip(_) | Packet::TipPgd(_) | Packet::Tnt { .. }) => {
                    break Err(Wrong::Context("branches after an overflow of which nothing says where"));
                }
                Ok(_) | Err(NoPacket::End) => break Ok(After::Off),
                Err(NoPacket::Bad) => break Err(Wrong::BadPacket),
            }
        };
        let missing = self.errata.fup_missing_after_overflow.then(|| self.missing_fup()).flatten();
        missing.map_or(usual, Ok)
    }

    /// Whether the packets from `ahead` on show that tracing is off: APL12.
    fn is_off(&self, mut ahead: super::Lexer<'_>) -> bool {
        loop {
            match ahead.next_but(self.errata) {
                Ok(Packet::TraceStop | Packet::TipPge(_)) => return true,
                Ok(Packet::Psb) => return self.fup_in_sync(&mut ahead) == Some(None),
                Ok(
                    Packet::Tnt { .. } | Packet::Tip(_) | Packet::TipPgd(_) | Packet::PsbEnd | Packet::Ovf,
                )
                | Err(_) => return false,
                Ok(_) => {}
            }
        }
    }

    /// Where execution is although no FUP says it: SKD010. `None` where tracing is off, or nothing shows that it is on.
    fn missing_fup(&self) -> Option<After> {
        let mut ahead = self.lexer.clone();
        let mut transaction = None;
        loop {
            let position = ahead.position();
            match ahead.next_but(self.errata).ok()? {
                Packet::TipPgd(_) => return Some(After::OffFrom(ahead.position())),
                Packet::Tip(ip) => return given(ip).then(|| After::OnAt(ip, ahead.position(), None)),
                Packet::Fup(ip) => return given(ip).then_some(After::OnAt(ip, position, transaction)),
                Packet::Psb => {
                    let ip = self.fup_in_sync(&mut ahead)??;
                    return given(ip).then_some(After::OnAt(ip, position, None));
                }
                // Another one has no FUP either, so tracing is off.
                Packet::ModeTsx { active, aborted } if transaction.is_none() => {
                    transaction = Some((active, aborted));
                }
                // Of the first three what changed stays unknown, as all that was lost.
                Packet::Pip { .. }
                | Packet::Vmcs(_)
                | Packet::ModeExec { .. }
                | Packet::Pad
                | Packet::Mnt(_)
                | Packet::Cbr(_)
                | Packet::Tsc(_)
                | Packet::Tma { .. }
                | Packet::Mtc(_)
                | Packet::Cyc(_)
                | Packet::Pwre { .. }
                | Packet::Pwrx { .. }
                | Packet::Trig { ip: false, .. }
                | Packet::Evd { .. }
                | Packet::ExStop { ip: false }
                | Packet::Ptw { ip: false, .. }
                | Packet::Cfe { ip: false, .. } => {}
                _ => return None,
            }
        }
    }

    /// The FUP of the PSB+ whose PSB was read, if it has one; `None` where its end is not there.
    #[allow(clippy::option_option, reason = "no PSB+, and no FUP in it, are two things")]
    fn fup_in_sync(&self, ahead: &mut super::Lexer<'_>) -> Option<Option<PacketIp>> {
        loop {
            match ahead.next_but(self.errata).ok()? {
                Packet::Fup(ip) => return Some(Some(ip)),
                Packet::PsbEnd => return Some(None),
                Packet::Ovf => return None,
                _ => {}
            }
        }
    }
}

fn given(ip: PacketIp) -> bool {
    let mut last = LastIp::default();
    last.update(ip);
    last.get().is_some()
}
