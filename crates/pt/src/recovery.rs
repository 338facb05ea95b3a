//! Where decoding goes on after a fault: at the next TIP.PGE or PSB, whichever comes first.
//!
//! libipt itself goes on at PSBs only. The trace from a TIP.PGE on decodes after a synthetic PSB+ that says:
//! tracing is off, this is the execution mode, and this was the time; the timing packets since the last sync point
//! are repeated in it, so that time and calibration are as if there had been no fault.

use crate::packets::{PSB, Packet, PacketIp, Packets};

const PSB_END: [u8; 2] = [0x02, 0x23];
/// MODE.Exec for 64-bit code.
const LONG_MODE: [u8; 2] = [0x99, 0x01];

/// Where decoding can go on, as offsets into the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// At a PSB.
    Sync(usize),
    /// At a TIP.PGE: `prefix` followed by the bytes from `after` on.
    Enable {
        /// The TIP.PGE.
        at: usize,
        /// The byte after it.
        after: usize,
        /// A PSB+ and the TIP.PGE with its full address.
        prefix: Vec<u8>,
    },
    /// Nowhere in these bytes.
    Nowhere,
}

/// Finds it after a fault at `fault`, given that `sync` is the PSB that decoding last passed; never before `least`.
pub(crate) fn resume(bytes: &[u8], sync: usize, fault: usize, least: usize) -> Resume {
    let mut packets = Packets::at(bytes, sync);
    let mut state = WalkState::default();
    while let Some(found) = packets.next_exact() {
        let reached = found.offset >= fault.max(least) && found.offset > sync;
        match found.packet {
            Packet::Psb if reached => return Resume::Sync(found.offset),
            Packet::TipPge(ip) if reached && ip.compression != 0 => {
                let after = found.offset + found.length;
                return Resume::Enable { at: found.offset, after, prefix: state.prefix(ip) };
            }
            packet => state.apply(packet, &bytes[found.offset..found.offset + found.length]),
        }
    }
    // Bytes that are no packet: only a PSB helps.
    let from = packets.offset().max(least).max(sync + 1);
    let found = bytes.get(from..).and_then(|rest| memchr::memmem::find(rest, &PSB));
    found.map_or(Resume::Nowhere, |found| Resume::Sync(from + found))
}

/// What a decoder would know at a packet.
#[derive(Default)]
struct WalkState {
    last_ip: u64,
    mode: Option<[u8; 2]>,
    timing: Vec<u8>,
}

impl WalkState {
    fn apply(&mut self, packet: Packet, bytes: &[u8]) {
        match packet {
            Packet::Psb => self.last_ip = 0,
            Packet::Tip(ip) | Packet::TipPge(ip) | Packet::TipPgd(ip) | Packet::Fup(ip) => {
                self.last_ip = expand(self.last_ip, ip);
            }
            Packet::ModeExec { .. } => self.mode = bytes.try_into().ok(),
            Packet::Tsc(_) => {
                // An absolute time: what came before is only needed for calibration, and may be long.
                self.timing.clear();
                self.timing.extend_from_slice(bytes);
            }
            Packet::Tma { .. } | Packet::Mtc(_) | Packet::Cyc(_) | Packet::Cbr(_) => {
                self.timing.extend_from_slice(bytes);
            }
            _ => {}
        }
    }

    fn prefix(&self, ip: PacketIp) -> Vec<u8> {
        let mut prefix = PSB.to_vec();
        prefix.extend_from_slice(&self.timing);
        prefix.extend_from_slice(&self.mode.unwrap_or(LONG_MODE));
        prefix.extend_from_slice(&PSB_END);
        // TIP.PGE with IPBytes = 6: a full address.
        prefix.push(0x11 | 6 << 5);
        prefix.extend_from_slice(&expand(self.last_ip, ip).to_le_bytes());
        prefix
    }
}

/// The address a compressed one stands for (SDM, "IP Compression").
pub(crate) fn expand(last: u64, ip: PacketIp) -> u64 {
    match ip.compression {
        1 => last & !0xffff | ip.payload,
        2 => last & !0xffff_ffff | ip.payload,
        3 => (ip.payload << 16).cast_signed().wrapping_shr(16).cast_unsigned(),
        4 => last & !0xffff_ffff_ffff | ip.payload,
        6 => ip.payload,
        _ => last,
    }
}

#[cfg(test)]
mod tests;
