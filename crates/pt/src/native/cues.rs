//! What the packets say comes next: bits for branches, a target, or an event and where it belongs.
//!
//! ```text
//! packets   CYC  TNT(4)   PTW  FUP 1004   FUP 2000  MODE.Exec  TIP 9000   PSB … PSBEND
//! cues           4 bits   ptwrite "with    branch from 2000 to 9000,      "at the FUP's address":
//!                          1004"           then the mode at 9000           on, ratio, mode
//! ```
//!
//! The walk ([`super::walk`]) asks for one cue at a time, and always holds the next one: it must know whether the
//! code ahead is interrupted before it walks on. Some packets wait for another one, which gives them their address
//! (`binding`). Source: Intel SDM vol. 3, "Intel Processor Trace", "FUP Packet", "TIP.PGE", "TIP.PGD", "PSB", "OVF",
//! and the "Dependencies" and "Application" rows of each packet's table.

mod binding;
mod event;
mod glance;
mod overflow;
mod sync;

use std::collections::VecDeque;

use super::errata::Errata;
use super::lexer::{Lexer, NoPacket, OVF};
use super::timing::Timing;
use crate::config::PtConfig;
use crate::flow::EventKind;
use crate::packets::{Packet, PacketIp};
use crate::recovery::expand;
use crate::stream::PtStream;

pub(super) use event::{Event, Kinds, Place, What};

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// A TNT packet: `left` bits of `taken`, the next in the highest of them.
    Bits {
        /// Which are taken.
        taken: u64,
        /// How many are left.
        left: u8,
    },
    /// A TIP packet: the target of an indirect branch, if its address is given.
    Target(Option<u64>),
    /// An event at its place: [`Cues::event`].
    Event,
    /// No packet: bytes end here, or make no sense.
    End(Wrong),
}

impl Next {
    /// The bits of a short TNT, of a whole packet or of what is left of one: those below the highest bit set, but the lowest.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "eight at most")]
    pub(super) fn of_tnt(tnt: u8) -> Next {
        Next::Bits { taken: u64::from(tnt >> 1), left: 6 - tnt.leading_zeros() as u8 }
    }
}

/// Where decoding can go on after damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    /// At the PSB at this position.
    Sync(u64),
    /// At the TIP.PGE at this position.
    Enable(u64),
}

/// Why no cue follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// No bytes are left.
    End,
    /// Bytes that are no packet.
    BadPacket,
    /// A packet that cannot stand where it does.
    Context(&'static str),
}

impl From<NoPacket> for Wrong {
    fn from(none: NoPacket) -> Wrong {
        match none {
            NoPacket::End => Wrong::End,
            NoPacket::Bad => Wrong::BadPacket,
        }
    }
}

/// The last address given, from which the next one is expanded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastIp {
    ip: u64,
    known: bool,
    suppressed: bool,
}

impl LastIp {
    #[inline]
    pub(super) fn update(&mut self, ip: PacketIp) {
        if ip.compression == 0 {
            self.suppressed = true;
            return;
        }
        *self = LastIp { ip: expand(self.ip, ip), known: true, suppressed: false };
    }

    #[inline]
    pub(super) fn get(self) -> Option<u64> {
        (self.known && !self.suppressed).then_some(self.ip)
    }
}

/// The reader of cues.
#[derive(Clone)]
pub(super) struct Cues<'s> {
    pub(super) lexer: Lexer<'s>,
    pub(super) timing: Timing<'s>,
    errata: Errata,
    pub(super) last_ip: LastIp,
    /// Whether tracing is on, as the packets say.
    on: bool,
    /// The execution mode in bits, as the packets say.
    mode: Option<u8>,
    /// What binds to the next FUP.
    for_fup: Vec<binding::Waiting>,
    /// What binds to the next TIP, TIP.PGE or TIP.PGD.
    for_tip: Vec<binding::Waiting>,
    /// Where an asynchronous branch, whose target is to come, was taken.
    branch_from: Option<u64>,
    /// Types and payloads of the EVDs for the next CFE.
    data: Vec<(u8, u64)>,
    /// MWAIT for the next EXSTOP.
    mwait: Option<EventKind>,
    /// Events of the packet read last, but the first.
    ready: VecDeque<Event>,
    /// The event given last.
    event: Event,
    /// What stands for the evidence: the position up to which the next cue needs the trace.
    at: u64,
}

impl<'s> Cues<'s> {
    pub(super) fn new(stream: &'s PtStream<'s>, config: &PtConfig) -> Cues<'s> {
        let errata = Errata::of(config);
        Cues {
            lexer: Lexer::new(stream),
            timing: Timing::new(stream, config),
            errata,
            last_ip: LastIp::default(),
            on: false,
            mode: None,
            for_fup: Vec::new(),
            for_tip: Vec::new(),
            branch_from: None,
            data: Vec::new(),
            mwait: None,
            ready: VecDeque::new(),
            event: Event { what: What::Stop, place: Place::Here, in_sync: None, reading: None, at: 0 },
            at: 0,
        }
    }

    /// Goes on at the sync point at `position`, with nothing known from before but the time.
    pub(super) fn enter(&mut self, position: u64) {
        self.lexer.enter(position);
        self.reset();
        self.at = position;
    }

    /// Where the trace ends that the cue given last needs: the start of its packet if others may belong to it, or
    /// else of the packet after it.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    fn reset(&mut self) {
        self.last_ip = LastIp::default();
        (self.on, self.mode, self.branch_from, self.mwait) = (false, None, None, None);
        self.for_fup.clear();
        self.for_tip.clear();
        self.data.clear();
        self.ready.clear();
    }

    /// The next cue.
    #[inline]
    pub(super) fn next(&mut self) -> Next {
        if let Some(next) = self.next_ready() {
            return next;
        }
        loop {
            if let Some(bytes) = self.stretch() {
                let glance = self.glance(bytes, 0);
                self.pass(glance.at, glance.needs);
                if let Some(next) = glance.next {
                    return next;
                }
            }
            let position = self.lexer.position();
            let packet = match self.lexer.next() {
                Ok(packet) => packet,
                Err(none) => {
                    self.at = position;
                    return Next::End(none.into());
                }
            };
            let next = match packet {
                Packet::Cyc(_) | Packet::Mtc(_) | Packet::Tsc(_) | Packet::Tma { .. } => {
                    self.take_time(&packet, position);
                    continue;
                }
                Packet::Tnt { bits, taken } => self.bits(bits, taken),
                Packet::Tip(ip) => self.tip(ip, position),
                Packet::Pad => continue,
                packet => self.seldom(packet, position),
            };
            match next {
                Ok(Some(next)) => return next,
                Ok(None) => {}
                Err(wrong) => {
                    self.at = if wrong == Wrong::End { self.lexer.position() } else { position };
                    return Next::End(wrong);
                }
            }
        }
    }

    /// Takes in what the packet at `position` says of the time.
    #[inline]
    fn take_time(&mut self, packet: &Packet, position: u64) {
        if !self.errata.spoil_times() || !self.lexer.passes_over(packet, position, self.errata) {
            self.timing.apply(packet, position);
        }
    }

    /// Whether an OVF may have come in place of what follows the first byte of a CYC (SKD007): then it is read by itself.
    #[inline]
    fn may_hold_overflow(&self, after_first: [u8; 2]) -> bool {
        after_first == OVF && self.errata.overflow_within_cyc
    }

    #[inline]
    fn bits(&mut self, bits: u8, taken: u64) -> Result<Option<Next>, Wrong> {
        if bits == 0 {
            return Err(Wrong::BadPacket);
        }
        if !self.on {
            return Err(Wrong::Context("branches while tracing is off"));
        }
        self.stand_after();
        Ok(Some(Next::Bits { taken, left: bits }))
    }

    /// The cue needs the trace up to the next packet.
    #[inline]
    fn stand_after(&mut self) {
        self.lexer.skip_padding();
        self.at = self.lexer.position();
    }

    /// A packet that is not among the usual ones.
    fn seldom(&mut self, packet: Packet, position: u64) -> Result<Option<Next>, Wrong> {
        match packet {
            Packet::Psb => self.psb(position)?,
            Packet::Ovf => self.overflow(position)?,
            Packet::Fup(ip) => self.fup(ip, position)?,
            Packet::TipPge(ip) => self.enable(ip, position)?,
            Packet::TipPgd(ip) => self.disable(ip, position),
            Packet::PsbEnd => {}
            packet => self.notice(packet, position),
        }
        Ok(self.next_ready())
    }

    /// The next event of the packet read last.
    #[inline]
    fn next_ready(&mut self) -> Option<Next> {
        if self.ready.is_empty() {
            return None;
        }
        self.event = self.ready.pop_front()?;
        Some(Next::Event)
    }

    /// The event that [`Cues::next`] gave last.
    pub(super) fn event(&self) -> Event {
        self.event
    }

    /// An event that binds to no other packet is due.
    fn give(&mut self, what: What, place: Place) {
        self.stand_after();
        self.push(what, place);
    }

    fn push(&mut self, what: What, place: Place) {
        let reading = self.timing.reading();
        self.ready.push_back(Event { what, place, in_sync: None, reading, at: self.at });
    }

    /// Passes over packets from `from` on, which is where the last cue's trace ends, keeping the time: to the next
    /// place at or after `least` where decoding can go on. `None` where it is not among the bytes that follow.
    pub(super) fn skip(&mut self, from: u64, least: u64) -> Option<Resume> {
        let kept = (self.last_ip, self.mode);
        self.reset();
        (self.last_ip, self.mode) = kept;
        self.lexer.rewind(from);
        loop {
            let position = self.lexer.position();
            match self.lexer.next() {
                Ok(Packet::Psb) if position >= least => return Some(Resume::Sync(position)),
                Ok(Packet::TipPge(ip)) if position >= least && ip.compression != 0 => {
                    self.lexer.rewind(position);
                    return Some(Resume::Enable(position));
                }
                Ok(Packet::Psb | Packet::Ovf) => self.last_ip = LastIp::default(),
                Ok(Packet::Tip(ip) | Packet::TipPge(ip) | Packet::TipPgd(ip) | Packet::Fup(ip)) => {
                    self.last_ip.update(ip);
                }
                Ok(Packet::ModeExec { long, default_32, .. }) => {
                    self.mode = Some(binding::mode_bits(long, default_32));
                }
                Ok(packet) => self.timing.apply(&packet, position),
                Err(_) => return None,
            }
        }
    }

    /// The execution mode in bits, as far as the packets say.
    pub(super) fn mode_in_bits(&self) -> Option<u8> {
        self.mode
    }

    /// Whether the packet after the bits that are read now is a TIP, deferred until after them: its target. SDM,
    /// "Deferred TIPs".
    pub(super) fn deferred_target(&mut self) -> Option<u64> {
        if !self.ready.is_empty() || !self.for_tip.is_empty() || self.branch_from.is_some() {
            return None;
        }
        let before = (self.lexer.clone(), self.timing.clone());
        loop {
            let position = self.lexer.position();
            match self.lexer.next() {
                Ok(packet @ (Packet::Cyc(_) | Packet::Mtc(_) | Packet::Tsc(_) | Packet::Tma { .. })) => {
                    self.timing.apply(&packet, position);
                }
                Ok(Packet::Pad) => {}
                Ok(Packet::Tip(ip)) if ip.compression != 0 => {
                    self.last_ip.update(ip);
                    self.at = position;
                    return self.last_ip.get();
                }
                _ => break,
            }
        }
        (self.lexer, self.timing) = before;
        None
    }
}
