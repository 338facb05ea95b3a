//! Packets of the usual kinds, one after the other: times, bits and targets, which make up nearly all of a trace.
//!
//! ```text
//! CYC? TNT | CYC? MTC | CYC? TIP | PAD ...   read in place; any other packet is left to `Cues::next`
//! ```
//!
//! Source: Intel SDM vol. 3, "Intel Processor Trace", packet definitions.

use super::{Cues, LastIp, Next};
use crate::native::lexer::PACKET_BYTES;
use crate::packets::{Packet, Packets, tip};

/// What a glance found.
pub(in crate::native) struct Glance {
    /// Bits or a target; nothing where another packet is next.
    pub(in crate::native) next: Option<Next>,
    /// How many bytes were passed over.
    pub(in crate::native) at: usize,
    /// Where the trace ends that the cue needs, but for padding.
    pub(in crate::native) needs: usize,
}

/// A PTWRITE with the FUP that says where.
pub(in crate::native) struct Ptwrite {
    pub(in crate::native) payload: u64,
    /// The instruction.
    pub(in crate::native) ip: u64,
    /// The clock's reading at the FUP.
    pub(in crate::native) reading: Option<u64>,
    /// Where the packet after the FUP begins.
    pub(in crate::native) end: usize,
    cycles: u64,
    last_ip: LastIp,
    fup: usize,
}

/// The first byte of a PTW, as of other packets.
const EXTENDED: u8 = 0x02;

impl<'s> Cues<'s> {
    /// The bytes from the next packet on in which a glance may look: tracing is on, and nothing waits for a target.
    #[inline]
    pub(in crate::native) fn stretch(&self) -> Option<&'s [u8]> {
        let is_usual =
            self.on && self.ready.is_empty() && self.branch_from.is_none() && self.for_tip.is_empty();
        if is_usual { self.lexer.plain() } else { None }
    }

    /// The next cue, from byte `at` of the stretch `bytes` on, and the times before it.
    #[allow(clippy::inline_always, reason = "the loop around it keeps `at` in a register then")]
    #[inline(always)]
    pub(in crate::native) fn glance(&mut self, bytes: &[u8], mut at: usize) -> Glance {
        loop {
            // All bytes that a CYC and a TIP can have must be there.
            let Some(bytes) = bytes.get(at..).and_then(<[u8]>::first_chunk::<{ 2 * PACKET_BYTES }>) else {
                return Glance { next: None, at, needs: at };
            };
            let mut first = bytes[0];
            let mut cycles_bytes = 0;
            if first & 0x03 == 0x03 {
                let second = bytes[1];
                let is_long = first & 0x04 != 0;
                if is_long && (second & 0x01 != 0 || self.may_hold_overflow([second, bytes[2]])) {
                    return Glance { next: None, at, needs: at };
                }
                let high = if is_long { u64::from(second) << 4 } else { 0 };
                self.timing.count(u64::from(first >> 3) | high);
                cycles_bytes = if is_long { 2 } else { 1 };
                first = bytes[cycles_bytes];
            }
            at += cycles_bytes;
            if first & 0x01 == 0 && first > 0x02 {
                return Glance { next: Some(Next::of_tnt(first)), at: at + 1, needs: at + 1 };
            }
            if first == 0x59 {
                self.timing.tick(bytes[cycles_bytes + 1]);
                at += 2;
            } else if first == 0 {
                at += 1;
            } else {
                let target = bytes[cycles_bytes..].first_chunk::<PACKET_BYTES>().and_then(tip);
                let Some((ip, length)) = target else { return Glance { next: None, at, needs: at } };
                self.last_ip.update(ip);
                return Glance { next: Some(Next::Target(self.last_ip.get())), at: at + length, needs: at };
            }
        }
    }

    /// Stands `at` bytes after where the stretch began; the cue given last needs the trace up to `needs`.
    #[inline]
    pub(in crate::native) fn pass(&mut self, at: usize, needs: usize) {
        let began = self.lexer.position();
        self.lexer.pass(at);
        self.at = began + needs as u64;
        if needs == at {
            self.stand_after();
        }
    }

    /// The PTWRITE at byte `at` of the stretch `bytes`, if no more than a CYC lies between it and its FUP.
    pub(in crate::native) fn ptwrite_at(&self, bytes: &[u8], at: usize) -> Option<Ptwrite> {
        if bytes.get(at) != Some(&EXTENDED) || !self.for_fup.is_empty() {
            return None;
        }
        let mut packets = Packets::at(bytes, at);
        let Packet::Ptw { payload, ip: true, .. } = packets.next_exact()?.packet else { return None };
        let (mut next, mut cycles) = (packets.next_exact()?, 0);
        if let Packet::Cyc(count) = next.packet {
            (next, cycles) = (packets.next_exact()?, count);
        }
        let Packet::Fup(ip) = next.packet else { return None };
        let mut last_ip = self.last_ip;
        last_ip.update(ip);
        Some(Ptwrite {
            payload,
            ip: last_ip.get()?,
            reading: self.timing.reading_after(cycles),
            end: packets.offset(),
            cycles,
            last_ip,
            fup: next.offset,
        })
    }

    /// Takes in the time and the address of `ptwrite`; where the trace ends that it needs.
    pub(in crate::native) fn pass_ptwrite(&mut self, ptwrite: &Ptwrite) -> u64 {
        self.timing.count(ptwrite.cycles);
        self.last_ip = ptwrite.last_ip;
        self.lexer.position() + ptwrite.fup as u64
    }
}
