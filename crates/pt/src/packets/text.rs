//! Packets as `perf script -D` prints them, so that a reader finds them again there.

use std::fmt;

use super::{Packet, PacketIp};

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Packet::Pad => f.write_str("PAD"),
            Packet::Psb => f.write_str("PSB"),
            Packet::PsbEnd => f.write_str("PSBEND"),
            Packet::Ovf => f.write_str("OVF"),
            Packet::TraceStop => f.write_str("TRACESTOP"),
            Packet::Tnt { bits, taken } => tnt(f, bits, taken),
            Packet::Tip(ip) => target(f, "TIP", ip),
            Packet::TipPge(ip) => target(f, "TIP.PGE", ip),
            Packet::TipPgd(ip) => target(f, "TIP.PGD", ip),
            Packet::Fup(ip) => target(f, "FUP", ip),
            Packet::Tsc(tsc) => write!(f, "TSC {tsc:#x}"),
            Packet::Tma { ctc, fast } => write!(f, "TMA CTC {ctc:#x} FC {fast:#x}"),
            Packet::Mtc(ctc) => write!(f, "MTC {ctc:#x}"),
            Packet::Cyc(cycles) => write!(f, "CYC {cycles:#x}"),
            Packet::Cbr(ratio) => write!(f, "CBR {ratio:#x}"),
            Packet::ModeExec { long, default_32, interrupts } => {
                let bits = if long {
                    64
                } else if default_32 {
                    32
                } else {
                    16
                };
                write!(f, "MODE.Exec IF:{} {bits}", u8::from(interrupts))
            }
            Packet::ModeTsx { active, aborted } => {
                write!(f, "MODE.TSX TXAbort:{} InTX:{}", u8::from(aborted), u8::from(active))
            }
            // perf prints the bits of CR3 that the packet carries, without the five that are always zero.
            Packet::Pip { cr3, non_root } => write!(f, "PIP {:#x} (NR={})", cr3 >> 5, u8::from(non_root)),
            Packet::Vmcs(address) => write!(f, "VMCS {address:#x}"),
            Packet::Mnt(payload) => write!(f, "MNT {payload:#x}"),
            Packet::Ptw { payload, ip, .. } => write!(f, "PTWRITE {payload:#x} IP:{}", u8::from(ip)),
            Packet::ExStop { ip } => write!(f, "EXSTOP IP:{}", u8::from(ip)),
            Packet::Mwait { hints, ext } => write!(f, "MWAIT Hints {hints:#x} Extensions {ext:#x}"),
            Packet::Pwre { state, sub_state, by_hardware } => {
                write!(f, "PWRE HW:{} CState:{state} Sub-CState:{sub_state}", u8::from(by_hardware))
            }
            Packet::Pwrx { last, deepest, reason } => {
                write!(f, "PWRX Last CState:{last} Deepest CState:{deepest} Wake Reason {reason:#x}")
            }
            Packet::Bbp { kind, size } => write!(f, "BBP SZ {size}-byte Type {kind:#x}"),
            Packet::Bip { id, payload } => write!(f, "BIP ID {id:#04x} Value {payload:#x}"),
            Packet::Bep { ip } => write!(f, "BEP IP:{}", u8::from(ip)),
            Packet::Cfe { kind, vector, ip } => {
                write!(f, "CFE IP:{} Type {kind:#04x} Vector {vector:#x}", u8::from(ip))
            }
            Packet::Trig { triggers, count, ip, more } => {
                let count = count.map_or_else(String::new, |count| format!(" ICNT {count}"));
                write!(f, "TRIG IP:{} {triggers:#04x} MULT:{}{count}", u8::from(ip), u8::from(more))
            }
            Packet::Evd { kind, payload } => write!(f, "EVD Type {kind:#04x} Payload {payload:#x}"),
        }
    }
}

/// Taken and not taken branches, the oldest first.
fn tnt(f: &mut fmt::Formatter<'_>, bits: u8, taken: u64) -> fmt::Result {
    f.write_str("TNT ")?;
    for bit in (0..bits.min(64)).rev() {
        f.write_str(if taken >> bit & 1 == 1 { "T" } else { "N" })?;
    }
    write!(f, " ({bits})")
}

/// An address as compressed.
fn target(f: &mut fmt::Formatter<'_>, name: &str, ip: PacketIp) -> fmt::Result {
    match ip.compression {
        0 => write!(f, "{name} no ip"),
        // Six bytes, of which bit 47 goes on to the left.
        3 => write!(f, "{name} {:#x}", (ip.payload << 16).cast_signed() >> 16),
        _ => write!(f, "{name} {:#x}", ip.payload),
    }
}
