//! Packets of a stream, one after the other, across the borders of its pieces.
//!
//! ```text
//! pieces   |------------------|----|-----------------|     |--------
//!           in place ....→ ↑copied↑ in place .....→ End    (a hole: the next sync point is another stretch)
//! ```
//!
//! A packet is read in place where all bytes that it can have lie in the piece, and from a copy of a few bytes where
//! the piece ends. Nothing beyond a stretch of pieces without a hole is ever read. Source: Intel SDM vol. 3, "Intel Processor
//! Trace", packet definitions; [`crate::packets`] holds the encodings.

use super::errata::Errata;
use crate::packets::{PSB, Packet, Walking};
use crate::stream::{Placed, PtStream};

/// No packet is longer.
pub(super) const PACKET_BYTES: usize = 16;

/// An OVF.
pub(super) const OVF: [u8; 2] = [0x02, 0xf3];
/// A TMA of the usual length, and a byte more.
const SPOILT_TMA_BYTES: usize = 8;

/// Why there is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPacket {
    /// No bytes are left that follow without a hole, or too few of them.
    End,
    /// These bytes are none.
    Bad,
}

/// The reader; a copy of it reads ahead.
#[derive(Clone)]
pub(super) struct Lexer<'s> {
    stream: &'s PtStream<'s>,
    piece: usize,
    bytes: &'s [u8],
    /// Position of the first of `bytes`.
    base: u64,
    walking: Walking,
    /// Bytes passed before the stretch at hand was entered, and where that was.
    passed: u64,
    entered: u64,
}

impl<'s> Lexer<'s> {
    /// A reader that stands nowhere; see [`Lexer::enter`].
    pub(super) fn new(stream: &'s PtStream<'s>) -> Lexer<'s> {
        let (walking, entered) = (Walking::default(), stream.start());
        Lexer { stream, piece: 0, bytes: &[], base: entered, walking, passed: 0, entered }
    }

    /// Goes on at `position`, a packet border.
    pub(super) fn enter(&mut self, position: u64) {
        self.passed = self.walked();
        self.entered = position;
        self.jump(position, Walking::default());
    }

    /// Goes back, or on, to the packet at `position` of the same stretch.
    pub(super) fn rewind(&mut self, position: u64) {
        self.jump(position, Walking::default());
    }

    /// Position of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.base + self.walking.at() as u64
    }

    /// How many bytes were walked over so far.
    pub(super) fn walked(&self) -> u64 {
        self.passed + self.position().saturating_sub(self.entered)
    }

    /// Position after the last byte that follows without a hole.
    pub(super) fn stretch_end(&self) -> u64 {
        let mut piece = self.piece;
        while self.stream.goes_on(piece) {
            piece += 1;
        }
        self.stream.pieces.get(piece).map_or(self.base, Placed::end)
    }

    /// The next packet.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Packet, NoPacket> {
        if self.bytes.len() - self.walking.at() < PACKET_BYTES {
            return self.next_at_border();
        }
        match self.walking.step(self.bytes) {
            Some((packet, _)) => Ok(packet),
            None => Err(NoPacket::Bad),
        }
    }

    /// The next packet that is one: see [`Lexer::passes_over`].
    pub(super) fn next_but(&mut self, errata: Errata) -> Result<Packet, NoPacket> {
        loop {
            let position = self.position();
            let packet = self.next()?;
            if !errata.spoil_times() || !self.passes_over(&packet, position, errata) {
                return Ok(packet);
            }
        }
    }

    /// Whether `packet`, read at `position`, says nothing of the time: an OVF came in place of the last byte of a CYC (SKD007), and is next; or
    /// a TMA is spoilt (SKZ84), as reserved bits show, and so is the byte after it.
    pub(super) fn passes_over(&mut self, packet: &Packet, position: u64, errata: Errata) -> bool {
        let length = self.position() - position;
        let bytes = || self.stream.bytes(position, SPOILT_TMA_BYTES);
        match packet {
            Packet::Cyc(_) if errata.overflow_within_cyc && length == 2 && bytes()[1..].starts_with(&OVF) => {
                self.rewind(position + 1);
                true
            }
            Packet::Tma { .. } if errata.spoilt_tma => {
                let bytes = bytes();
                let is_spoilt = bytes.len() >= SPOILT_TMA_BYTES && (bytes[4] != 0 || bytes[6] > 1);
                if is_spoilt {
                    self.rewind(position + SPOILT_TMA_BYTES as u64);
                }
                is_spoilt
            }
            _ => false,
        }
    }

    /// The bytes from the next packet on that lie in one piece, if no PEBS block gives them another meaning.
    #[inline]
    pub(super) fn plain(&self) -> Option<&'s [u8]> {
        if self.walking.is_plain() { self.bytes.get(self.walking.at()..) } else { None }
    }

    /// Passes over `count` bytes of what [`Lexer::plain`] gave.
    #[inline]
    pub(super) fn pass(&mut self, count: usize) {
        self.walking.skip(count);
    }

    /// Skips padding.
    #[inline]
    pub(super) fn skip_padding(&mut self) {
        if self.bytes.get(self.walking.at()).is_none_or(|&byte| byte == 0) {
            self.skip_some_padding();
        }
    }

    fn skip_some_padding(&mut self) {
        loop {
            let rest = &self.bytes[self.walking.at()..];
            let count = rest.iter().take_while(|&&byte| byte == 0).count();
            self.walking.skip(count);
            if count < rest.len() || !self.stream.goes_on(self.piece) {
                return;
            }
            let next = self.position();
            self.jump(next, self.walking.clone());
        }
    }

    #[cold]
    fn next_at_border(&mut self) -> Result<Packet, NoPacket> {
        let position = self.position();
        let left = self.bytes.len() - self.walking.at();
        if left == 0 {
            if !self.stream.goes_on(self.piece) {
                return Err(NoPacket::End);
            }
            self.jump(position, self.walking.clone());
            return self.next();
        }
        let copy = self.stream.bytes(position, PACKET_BYTES);
        let mut walking = self.walking.clone().moved_to(0);
        let Some((packet, range)) = walking.step(&copy) else {
            return Err(if is_cut_off(&copy, &self.walking) { NoPacket::End } else { NoPacket::Bad });
        };
        if range.end <= left {
            self.walking = walking.moved_to(self.walking.at() + range.end);
        } else {
            self.jump(position + range.end as u64, walking);
        }
        Ok(packet)
    }

    /// Stands at `position` from now on, in the state of `walking`.
    fn jump(&mut self, position: u64, walking: Walking) {
        let index = self.stream.pieces.partition_point(|piece| piece.end() <= position);
        // Where nothing follows: the end of the last piece, so that the position stays.
        let Some(piece) = self.stream.pieces.get(index).filter(|piece| piece.start <= position) else {
            self.piece = index.saturating_sub(1);
            (self.bytes, self.base, self.walking) = (&[], position, walking.moved_to(0));
            return;
        };
        (self.piece, self.bytes, self.base) = (index, piece.bytes, piece.start);
        self.walking = walking.moved_to(usize::try_from(position - piece.start).unwrap_or(usize::MAX));
    }
}

/// Whether `bytes`, which are no packet, could be the front of one.
fn is_cut_off(bytes: &[u8], walking: &Walking) -> bool {
    if bytes.len() >= PACKET_BYTES {
        return false;
    }
    if bytes.len() < 2 || PSB.starts_with(bytes) {
        return true;
    }
    let mut longer = [0; 2 * PACKET_BYTES];
    longer[..bytes.len()].copy_from_slice(bytes);
    walking.clone().moved_to(0).step(&longer).is_some()
}
