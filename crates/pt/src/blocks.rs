//! Blocks of PEBS items (BBP, BIP, BEP), which libipt 2.1.2 takes for bytes that are no packet.
//!
//! A sync period that holds some is decoded from a copy in which they are padding. A BEP that binds a FUP becomes an
//! EXSTOP that binds it, of the same size, for the FUP counts for the compression of later addresses; the event is
//! left out. Source: Intel SDM vol. 3, "Intel Processor Trace", "Block Begin Packet" and the packets after it.

use crate::packets::{Packet, Walking};

/// Second bytes of BBP, BEP and BEP with a FUP, after 0x02.
const BBP: u8 = 0x63;
const BEP: u8 = 0x33;
const BEP_IP: u8 = 0xb3;
/// EXSTOP with a FUP.
pub(crate) const EXSTOP_IP: [u8; 2] = [0x02, 0xe2];

/// Whether the packets of `period`, which begins at a packet border, hold parts of blocks.
pub(crate) fn holds_blocks(period: &[u8]) -> bool {
    let looks_so = |at: usize| matches!(period.get(at + 1), Some(&(BBP | BEP | BEP_IP)));
    if !memchr::memchr_iter(0x02, period).any(looks_so) {
        return false;
    }
    let mut walking = Walking::default();
    while let Some((packet, _)) = walking.step(period) {
        if matches!(packet, Packet::Bbp { .. } | Packet::Bep { .. }) {
            return true;
        }
    }
    false
}

/// Overwrites the parts of blocks in `bytes`, which begin at a packet border. Returns the offsets of the EXSTOPs
/// that stand for BEPs, in order.
pub(crate) fn blank(bytes: &mut [u8]) -> Vec<usize> {
    let mut stand_ins = Vec::new();
    let mut walking = Walking::default();
    while let Some((packet, range)) = walking.step(bytes) {
        match packet {
            Packet::Bep { ip: true } => {
                stand_ins.push(range.start);
                bytes[range].copy_from_slice(&EXSTOP_IP);
            }
            Packet::Bbp { .. } | Packet::Bip { .. } | Packet::Bep { .. } => bytes[range].fill(0),
            _ => {}
        }
    }
    stand_ins
}

#[cfg(test)]
mod tests;
