//! A walk over PT packets: what indexing, PTWRITE scans, dumps and recovery need, without any code.
//!
//! Input: bytes that begin at a packet border. Output: packets with their offsets, in order; bytes that are no
//! packet are skipped up to the next PSB. Source: Intel SDM vol. 3, "Intel Processor Trace", packet definitions.

mod parse;
mod text;

use std::ops::Range;

use parse::parse;
pub(crate) use parse::tip;

/// The 16 bytes of a PSB, which nothing else in a stream can look like.
pub(crate) const PSB: [u8; 16] =
    [0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82];

/// The address a TIP or FUP packet carries, as compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketIp {
    /// `IPBytes`: how the payload updates the last IP; 0 = none.
    pub compression: u8,
    /// The payload, zero-extended.
    pub payload: u64,
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Packet {
    /// Padding.
    Pad,
    /// Packet stream boundary: decoding may start here.
    Psb,
    /// End of what PSB began.
    PsbEnd,
    /// Taken (1) or not taken (0) branches, oldest in the highest of `bits` bits.
    Tnt {
        /// How many.
        bits: u8,
        /// Which.
        taken: u64,
    },
    /// Target of an indirect branch.
    Tip(PacketIp),
    /// Tracing begins here.
    TipPge(PacketIp),
    /// Tracing ends.
    TipPgd(PacketIp),
    /// Address that the packets around it refer to.
    Fup(PacketIp),
    /// Low seven bytes of the time-stamp counter.
    Tsc(u64),
    /// TSC and crystal clock, aligned.
    Tma {
        /// Low 16 bits of the crystal clock.
        ctc: u16,
        /// TSC ticks since that clock's last tick.
        fast: u16,
    },
    /// Eight bits of the crystal clock, from bit `mtc_freq` on.
    Mtc(u8),
    /// Core cycles since the last CYC.
    Cyc(u64),
    /// Core:bus ratio.
    Cbr(u8),
    /// Execution mode.
    ModeExec {
        /// CS.L: 64-bit code.
        long: bool,
        /// CS.D: 32-bit code.
        default_32: bool,
        /// `RFLAGS.IF`.
        interrupts: bool,
    },
    /// TSX state.
    ModeTsx {
        /// In a transaction.
        active: bool,
        /// It was aborted.
        aborted: bool,
    },
    /// Page table.
    Pip {
        /// CR3, bits 51:5.
        cr3: u64,
        /// VMX non-root operation.
        non_root: bool,
    },
    /// VMCS base address.
    Vmcs(u64),
    /// Packets were lost.
    Ovf,
    /// Tracing stopped by an address filter.
    TraceStop,
    /// Maintenance.
    Mnt(u64),
    /// PTWRITE.
    Ptw {
        /// The operand.
        payload: u64,
        /// Its size in bytes.
        size: u8,
        /// Whether a FUP with its address follows.
        ip: bool,
    },
    /// Execution stopped.
    ExStop {
        /// Whether a FUP with its address follows.
        ip: bool,
    },
    /// MWAIT.
    Mwait {
        /// EAX.
        hints: u32,
        /// ECX.
        ext: u32,
    },
    /// Power state entry.
    Pwre {
        /// C-state.
        state: u8,
        /// Sub-state.
        sub_state: u8,
        /// Requested by hardware.
        by_hardware: bool,
    },
    /// Power state exit.
    Pwrx {
        /// Last core C-state.
        last: u8,
        /// Deepest core C-state.
        deepest: u8,
        /// Wake reason: bit 0 interrupt, bit 2 store, bit 3 hardware.
        reason: u8,
    },
    /// Begin of a block of PEBS items.
    Bbp {
        /// Block type.
        kind: u8,
        /// Size of each item in bytes: 4 or 8.
        size: u8,
    },
    /// Item of such a block.
    Bip {
        /// Item id.
        id: u8,
        /// Its value.
        payload: u64,
    },
    /// End of such a block.
    Bep {
        /// Whether a FUP with its address follows.
        ip: bool,
    },
    /// Control-flow event.
    Cfe {
        /// Type.
        kind: u8,
        /// Vector.
        vector: u8,
        /// Whether a FUP with its address follows.
        ip: bool,
    },
    /// A trigger fired.
    Trig {
        /// Which, a bit for each.
        triggers: u8,
        /// How many instructions after the last address that a packet gave.
        count: Option<u16>,
        /// Whether a FUP with its address follows.
        ip: bool,
        /// Whether others fired that are not reported.
        more: bool,
    },
    /// Event data.
    Evd {
        /// Type.
        kind: u8,
        /// Payload.
        payload: u64,
    },
}

/// A packet and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketAt {
    /// Offset of its first byte from the start of the walked bytes.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
    /// The packet.
    pub packet: Packet,
}

/// The walk.
#[derive(Clone, Debug)]
pub struct Packets<'a> {
    bytes: &'a [u8],
    walking: Walking,
    skipped: usize,
}

/// Where a walk stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walking {
    at: usize,
    /// Size of the items of the PEBS block we are in.
    block: Option<u8>,
}

impl Walking {
    /// The offset of the next packet.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The same walk over other bytes, in which it stands at `at`.
    pub(crate) fn moved_to(mut self, at: usize) -> Walking {
        self.at = at;
        self
    }

    /// Whether it stands in no PEBS block, in which bytes mean something else.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.block.is_none()
    }

    /// Passes over `count` bytes: padding, or packets that begin and end no PEBS block.
    #[inline]
    pub(crate) fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// The packet here and where it lies, or `None` where there is none; does not skip.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Option<(Packet, Range<usize>)> {
        let (packet, length) = parse(bytes.get(self.at..)?, self.block)?;
        let start = self.at;
        self.at += length;
        match packet {
            Packet::Bbp { size, .. } => self.block = Some(size),
            _ if self.block.is_some() && !stays_in_block(packet) => self.block = None,
            _ => {}
        }
        Some((packet, start..self.at))
    }
}

/// Whether a packet may stand between the items of a block: time, padding and what binds to no branch.
fn stays_in_block(packet: Packet) -> bool {
    use Packet::{Bip, Cbr, Cyc, ExStop, Fup, Mnt, Mtc, Pad, Pwre, Pwrx, Tma, Tsc};
    matches!(
        packet,
        Bip { .. }
            | Pad
            | Tsc(_)
            | Tma { .. }
            | Mtc(_)
            | Cyc(_)
            | Cbr(_)
            | Fup(_)
            | Mnt(_)
            | ExStop { .. }
            | Pwre { .. }
            | Pwrx { .. }
    )
}

impl<'a> Packets<'a> {
    /// Walks `bytes` from their start, a packet border.
    pub fn new(bytes: &'a [u8]) -> Packets<'a> {
        Packets::at(bytes, 0)
    }

    /// Walks `bytes` from the packet border `offset` on.
    pub fn at(bytes: &'a [u8], offset: usize) -> Packets<'a> {
        let walking = Walking { at: offset.min(bytes.len()), block: None };
        Packets { bytes, walking, skipped: 0 }
    }

    /// Bytes skipped so far because they were no packet.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Offset after the last packet.
    pub fn offset(&self) -> usize {
        self.walking.at
    }

    /// The packet here, or `None` where there is none; does not skip.
    pub fn next_exact(&mut self) -> Option<PacketAt> {
        let (packet, Range { start, end }) = self.walking.step(self.bytes)?;
        Some(PacketAt { offset: start, length: end - start, packet })
    }
}

impl Iterator for Packets<'_> {
    type Item = PacketAt;

    fn next(&mut self) -> Option<PacketAt> {
        if let Some(packet) = self.next_exact() {
            return Some(packet);
        }
        let rest = self.bytes.get(self.walking.at..)?;
        let skip = rest
            .get(1..)
            .and_then(|rest| memchr::memmem::find(rest, &PSB))
            .map_or(rest.len(), |found| found + 1);
        self.skipped += skip;
        self.walking = Walking { at: self.walking.at + skip, block: None };
        self.next_exact()
    }
}

#[cfg(test)]
mod tests;
