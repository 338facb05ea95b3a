//! One packet from its bytes. Source: Intel SDM vol. 3, "Intel Processor Trace", packet definitions.

use super::{PSB, Packet, PacketIp};

/// The packet at the start of `bytes` and its length; `None` where they are none or end within it.
pub(super) fn parse(bytes: &[u8], block: Option<u8>) -> Option<(Packet, usize)> {
    let &first = bytes.first()?;
    if let Some(size) = block
        && first & 0x07 == 0x04
    {
        let size = usize::from(size);
        return Some((Packet::Bip { id: first >> 3, payload: unsigned(bytes, 1, size)? }, 1 + size));
    }
    match first {
        0x00 => Some((Packet::Pad, 1)),
        0x02 => parse_extended(bytes),
        _ if first & 0x01 == 0 => Some((short_tnt(first), 1)),
        _ if first & 0x03 == 0x03 => parse_cyc(bytes),
        0x19 => Some((Packet::Tsc(unsigned(bytes, 1, 7)?), 8)),
        0x59 => Some((Packet::Mtc(*bytes.get(1)?), 2)),
        0xd9 => trigger(bytes),
        0x99 => Some((mode(*bytes.get(1)?)?, 2)),
        _ => parse_ip(bytes),
    }
}

/// `size` bytes at `from`, little endian.
fn unsigned(bytes: &[u8], from: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(from..from + size)?;
    Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// A TRIG: flags, which triggers, and a count where a flag says so. Source: libipt 2.2, `pt_packet_trig`.
fn trigger(bytes: &[u8]) -> Option<(Packet, usize)> {
    let (flags, triggers) = (*bytes.get(1)?, *bytes.get(2)?);
    let flag = |bit: u8| flags >> bit & 1 != 0;
    let count = if flag(6) { Some(u16::from_le_bytes([*bytes.get(3)?, *bytes.get(4)?])) } else { None };
    let length = if count.is_some() { 5 } else { 3 };
    Some((Packet::Trig { triggers, count, ip: flag(7), more: flag(5) }, length))
}

fn short_tnt(byte: u8) -> Packet {
    let stop = byte.checked_ilog2().unwrap_or(1);
    let bits = u8::try_from(stop.saturating_sub(1)).unwrap_or(0);
    Packet::Tnt { bits, taken: u64::from(byte >> 1) & ((1 << bits) - 1) }
}

fn mode(byte: u8) -> Option<Packet> {
    let bit = |index: u8| byte >> index & 1 != 0;
    match byte >> 5 {
        0 => Some(Packet::ModeExec { long: bit(0), default_32: bit(1), interrupts: bit(2) }),
        1 => Some(Packet::ModeTsx { active: bit(0), aborted: bit(1) }),
        _ => None,
    }
}

/// The TIP at the start of `bytes`, more than it can have, and its length; `None` where it is another packet.
#[inline]
pub(crate) fn tip(bytes: &[u8; 16]) -> Option<(PacketIp, usize)> {
    let &[first, p0, p1, p2, p3, p4, p5, p6, p7, ..] = bytes;
    if first & 0x1f != TIP {
        return None;
    }
    let compression = first >> 5;
    let size = ip_bytes(compression)?;
    let payload = u64::from_le_bytes([p0, p1, p2, p3, p4, p5, p6, p7]);
    let payload = if size == 0 { 0 } else { payload & u64::MAX >> (64 - 8 * size) };
    Some((PacketIp { compression, payload }, 1 + size))
}

/// Opcode of a TIP, in the low five bits.
const TIP: u8 = 0x0d;

/// Bytes of an address so compressed.
#[inline]
fn ip_bytes(compression: u8) -> Option<usize> {
    match compression {
        0 => Some(0),
        1 => Some(2),
        2 => Some(4),
        3 | 4 => Some(6),
        6 => Some(8),
        _ => None,
    }
}

fn parse_ip(bytes: &[u8]) -> Option<(Packet, usize)> {
    let &first = bytes.first()?;
    let compression = first >> 5;
    let size = ip_bytes(compression)?;
    let ip = PacketIp { compression, payload: unsigned(bytes, 1, size)? };
    let packet = match first & 0x1f {
        TIP => Packet::Tip(ip),
        0x11 => Packet::TipPge(ip),
        0x01 => Packet::TipPgd(ip),
        0x1d => Packet::Fup(ip),
        _ => return None,
    };
    Some((packet, 1 + size))
}

fn parse_cyc(bytes: &[u8]) -> Option<(Packet, usize)> {
    let &first = bytes.first()?;
    let mut value = u64::from(first >> 3);
    if first & 0x04 == 0 {
        return Some((Packet::Cyc(value), 1));
    }
    let mut shift = 5;
    for (index, &byte) in bytes.iter().enumerate().skip(1) {
        if shift >= 64 {
            return None;
        }
        value |= u64::from(byte >> 1) << shift;
        shift += 7;
        if byte & 1 == 0 {
            return Some((Packet::Cyc(value), index + 1));
        }
    }
    None
}

/// Packets that begin with 0x02.
fn parse_extended(bytes: &[u8]) -> Option<(Packet, usize)> {
    let &second = bytes.get(1)?;
    Some(match second {
        0x82 => (bytes.get(..16)? == PSB).then_some((Packet::Psb, 16))?,
        0x23 => (Packet::PsbEnd, 2),
        0xf3 => (Packet::Ovf, 2),
        0x83 => (Packet::TraceStop, 2),
        0x03 => (Packet::Cbr(*bytes.get(2..4)?.first()?), 4),
        0x43 => {
            let payload = unsigned(bytes, 2, 6)?;
            (Packet::Pip { cr3: payload >> 1 << 5, non_root: payload & 1 != 0 }, 8)
        }
        0xa3 => (long_tnt(unsigned(bytes, 2, 6)?)?, 8),
        0x73 => (tma(bytes)?, 7),
        0xc8 => (Packet::Vmcs(unsigned(bytes, 2, 5)? << 12), 7),
        0xc3 => (*bytes.get(2)? == 0x88).then_some((Packet::Mnt(unsigned(bytes, 3, 8)?), 11))?,
        0xc2 => (mwait(bytes)?, 10),
        0x22 => (pwre(bytes)?, 4),
        0xa2 => (pwrx(bytes)?, 7),
        0x62 | 0xe2 => (Packet::ExStop { ip: second & 0x80 != 0 }, 2),
        0x63 => {
            let byte = *bytes.get(2)?;
            (Packet::Bbp { kind: byte & 0x1f, size: if byte & 0x80 == 0 { 8 } else { 4 } }, 3)
        }
        0x33 | 0xb3 => (Packet::Bep { ip: second & 0x80 != 0 }, 2),
        0x13 => {
            let (kind, vector) = (*bytes.get(2)?, *bytes.get(3)?);
            (Packet::Cfe { kind: kind & 0x1f, vector, ip: kind & 0x80 != 0 }, 4)
        }
        0x53 => (Packet::Evd { kind: *bytes.get(2)? & 0x3f, payload: unsigned(bytes, 3, 8)? }, 11),
        _ if second & 0x1f == 0x12 => ptwrite(bytes)?,
        _ => return None,
    })
}

fn long_tnt(payload: u64) -> Option<Packet> {
    let stop = payload.checked_ilog2()?;
    Some(Packet::Tnt { bits: u8::try_from(stop).ok()?, taken: payload & ((1 << stop) - 1) })
}

fn tma(bytes: &[u8]) -> Option<Packet> {
    let ctc = u16::from_le_bytes([*bytes.get(2)?, *bytes.get(3)?]);
    let fast = u16::from_le_bytes([*bytes.get(5)?, *bytes.get(6)? & 1]);
    Some(Packet::Tma { ctc, fast })
}

fn mwait(bytes: &[u8]) -> Option<Packet> {
    let half = |from| unsigned(bytes, from, 4).and_then(|value| u32::try_from(value).ok());
    Some(Packet::Mwait { hints: half(2)?, ext: half(6)? })
}

fn pwre(bytes: &[u8]) -> Option<Packet> {
    let (low, high) = (*bytes.get(2)?, *bytes.get(3)?);
    Some(Packet::Pwre { state: high >> 4, sub_state: high & 0x0f, by_hardware: low & 0x80 != 0 })
}

fn pwrx(bytes: &[u8]) -> Option<Packet> {
    let (states, reason) = (*bytes.get(2)?, *bytes.get(3)? & 0x0f);
    bytes.get(6)?;
    Some(Packet::Pwrx { last: states >> 4, deepest: states & 0x0f, reason })
}

fn ptwrite(bytes: &[u8]) -> Option<(Packet, usize)> {
    let &second = bytes.get(1)?;
    let size = match (second >> 5) & 0x03 {
        0 => 4u8,
        1 => 8,
        _ => return None,
    };
    let payload = unsigned(bytes, 2, usize::from(size))?;
    Some((Packet::Ptw { payload, size, ip: second & 0x80 != 0 }, 2 + usize::from(size)))
}
