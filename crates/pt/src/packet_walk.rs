//! The packet walk over a whole stream, pieces and all.

mod pebs;
mod targets;

use model::Tsc;

use crate::clock::TscEstimate;
use crate::config::PtConfig;
use crate::packets::{Packet, Packets};
use crate::recovery::expand;
use crate::stream::PtStream;
pub use pebs::{PebsRecord, PebsRecords, scan_pebs_between};
pub use targets::{TargetMark, Targets, scan_targets};

/// No packet is longer, except a CYC or PTW by a few bytes less.
const PACKET_BYTES: usize = 16;

/// A packet of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPacket {
    /// Position of its first byte in the stream.
    pub position: u64,
    /// The packet.
    pub packet: Packet,
}

/// The packets of a stream in order, from a sync point on; what is no packet is skipped up to the next PSB.
#[derive(Clone, Debug)]
pub struct StreamPackets<'a> {
    stream: &'a PtStream<'a>,
    piece: usize,
    walk: Packets<'a>,
    stop: u64,
    skipped: u64,
}

impl<'a> PtStream<'a> {
    /// All packets from the first sync point on.
    pub fn packets(&'a self) -> StreamPackets<'a> {
        self.packets_between(self.start(), u64::MAX)
    }

    /// The packets from the first sync point at or after `start` on, those that begin at `stop` or later left out.
    pub fn packets_between(&'a self, start: u64, stop: u64) -> StreamPackets<'a> {
        let mut packets = StreamPackets { stream: self, piece: 0, walk: Packets::new(&[]), stop, skipped: 0 };
        match self.psb_from(start) {
            Some(position) => packets.jump(position),
            None => packets.piece = self.pieces.len(),
        }
        packets
    }
}

impl StreamPackets<'_> {
    /// Bytes skipped because they were no packet, up to here.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn jump(&mut self, position: u64) {
        self.piece = self.stream.pieces.partition_point(|piece| piece.end() <= position);
        if let Some(piece) = self.stream.pieces.get(self.piece) {
            let skip = usize::try_from(position.saturating_sub(piece.start)).unwrap_or(usize::MAX);
            self.walk = Packets::at(piece.bytes, skip);
        }
    }

    /// The packet that begins in this piece and ends in the next.
    fn straddling(&mut self, position: u64) -> Option<StreamPacket> {
        let bytes = self.stream.bytes(position, PACKET_BYTES);
        let found = Packets::new(&bytes).next_exact()?;
        self.jump(position + found.length as u64);
        Some(StreamPacket { position, packet: found.packet })
    }
}

impl Iterator for StreamPackets<'_> {
    type Item = StreamPacket;

    fn next(&mut self) -> Option<StreamPacket> {
        loop {
            let piece = self.stream.pieces.get(self.piece)?;
            let position = piece.start + self.walk.offset() as u64;
            if position >= self.stop {
                return None;
            }
            if let Some(found) = self.walk.next_exact() {
                return Some(StreamPacket { position, packet: found.packet });
            }
            let (end, left) = (piece.end(), piece.end() - position);
            let goes_on = self.stream.goes_on(self.piece);
            if left == 0 && goes_on {
                self.jump(end);
                continue;
            }
            if goes_on
                && left < PACKET_BYTES as u64
                && let Some(found) = self.straddling(position)
            {
                return Some(found);
            }
            let from = if left == 0 { end } else { position + 1 };
            let next = self.stream.psb_from(from);
            self.skipped += next.unwrap_or(end).min(end).saturating_sub(position);
            match next {
                Some(next) => self.jump(next),
                None => self.piece = self.stream.pieces.len(),
            }
        }
    }
}

/// A PTWRITE found by the packet walk, without any code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtwriteMark {
    /// When, as the window decoder would say; zero where no time packet came before.
    pub time: Tsc,
    /// The operand.
    pub payload: u64,
    /// Address of the instruction, where the trace gives it.
    pub ip: Option<u64>,
    /// Position of the packet in the stream.
    pub position: u64,
}

/// The PTWRITEs of a stream, in order.
#[derive(Clone, Debug)]
pub struct Ptwrites<'a> {
    packets: StreamPackets<'a>,
    clock: TscEstimate,
    last_ip: u64,
    waiting: Option<PtwriteMark>,
}

/// The PTWRITEs in `stream`, found by the packet walk alone. Times are those the window decoder gives.
pub fn scan_ptwrites<'a>(stream: &'a PtStream<'a>, config: &PtConfig) -> Ptwrites<'a> {
    Ptwrites { packets: stream.packets(), clock: TscEstimate::new(config), last_ip: 0, waiting: None }
}

/// The same between two sync points, so that several threads can share a stream.
pub fn scan_ptwrites_between<'a>(
    stream: &'a PtStream<'a>,
    config: &PtConfig,
    start: u64,
    stop: u64,
) -> Ptwrites<'a> {
    Ptwrites {
        packets: stream.packets_between(start, stop),
        clock: TscEstimate::new(config),
        last_ip: 0,
        waiting: None,
    }
}

impl Ptwrites<'_> {
    fn mark(&self, payload: u64, position: u64) -> PtwriteMark {
        let time = self.clock.now().map_or(Tsc(0), |tsc| self.packets.stream.full_tsc(tsc));
        PtwriteMark { time, payload, ip: None, position }
    }
}

impl Iterator for Ptwrites<'_> {
    type Item = PtwriteMark;

    fn next(&mut self) -> Option<PtwriteMark> {
        while let Some(found) = self.packets.next() {
            match found.packet {
                Packet::Fup(ip) | Packet::Tip(ip) | Packet::TipPge(ip) | Packet::TipPgd(ip) => {
                    self.last_ip = expand(self.last_ip, ip);
                    if let Some(mark) = self.waiting.take() {
                        let bound = matches!(found.packet, Packet::Fup(_)) && ip.compression != 0;
                        return Some(PtwriteMark { ip: bound.then_some(self.last_ip), ..mark });
                    }
                }
                Packet::Ptw { payload, ip, .. } => {
                    let mark = self.mark(payload, found.position);
                    let before =
                        if ip { self.waiting.replace(mark) } else { self.waiting.take().or(Some(mark)) };
                    if !ip && before.is_some_and(|before| before.position != mark.position) {
                        // The FUP of the one before was lost: both are due.
                        self.waiting = Some(mark);
                    }
                    if before.is_some() {
                        return before;
                    }
                }
                Packet::Psb | Packet::Ovf => {
                    self.last_ip = if found.packet == Packet::Psb { 0 } else { self.last_ip };
                    if let Some(mark) = self.waiting.take() {
                        return Some(mark);
                    }
                }
                packet => self.clock.apply(&packet),
            }
        }
        self.waiting.take()
    }
}

#[cfg(test)]
mod tests;
