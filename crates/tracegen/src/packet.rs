//! Intel PT packets, one by one, as bytes.
//!
//! Input: a [`Packet`] with its fields as the manual names them. Output: its bytes, appended to a buffer.
//! No state: which packet is due, and how an address is compressed, is the encoder's business.
//! Source: Intel SDM vol. 3, chapter "Intel Processor Trace", section "Packet definitions".

mod walk;

pub use walk::{Walk, Walked};

/// How many address bytes a TIP, TIP.PGE, TIP.PGD or FUP carries (the manual's `IPBytes` field).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpBytes {
    /// 0: no address, it is out of context.
    Suppressed,
    /// 1: bits 15:0, the rest as in the last address.
    Update16,
    /// 2: bits 31:0, the rest as in the last address.
    Update32,
    /// 3: bits 47:0, sign-extended.
    SignExtended48,
    /// 4: bits 47:0, the rest as in the last address.
    Update48,
    /// 6: all 64 bits.
    Full,
}

impl IpBytes {
    /// The field's value, bits 7:5 of the first byte.
    const fn field(self) -> u8 {
        match self {
            IpBytes::Suppressed => 0,
            IpBytes::Update16 => 1,
            IpBytes::Update32 => 2,
            IpBytes::SignExtended48 => 3,
            IpBytes::Update48 => 4,
            IpBytes::Full => 6,
        }
    }

    /// Number of payload bytes.
    const fn len(self) -> usize {
        match self {
            IpBytes::Suppressed => 0,
            IpBytes::Update16 => 2,
            IpBytes::Update32 => 4,
            IpBytes::SignExtended48 | IpBytes::Update48 => 6,
            IpBytes::Full => 8,
        }
    }
}

/// Which packet an address travels in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpPacket {
    /// TIP: the target of an indirect branch, an exception or an interrupt.
    Tip,
    /// TIP.PGE: tracing begins at this address.
    TipPge,
    /// TIP.PGD: tracing ends; the address is where execution went.
    TipPgd,
    /// FUP: where an asynchronous event hit.
    Fup,
}

/// Width of a general purpose register or an address in the mode that MODE.Exec names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecMode {
    /// CS.L = 0, CS.D = 0.
    Bits16,
    /// CS.L = 0, CS.D = 1.
    Bits32,
    /// CS.L = 1.
    Bits64,
}

/// One packet with its fields as the manual names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the manual's; a comment says only what they do not")]
pub enum Packet {
    /// One byte of nothing.
    Pad,
    Psb,
    PsbEnd,
    /// Time stamp counter, bits 55:0.
    Tsc(u64),
    /// CTC\[15:0\] of the last common timestamp copy, and TSC ticks since (9 bits).
    Tma {
        ctc: u16,
        fast_counter: u16,
    },
    /// CTC\[N+7:N\], N being the MTC period.
    Mtc(u8),
    /// Core cycles since the last CYC.
    Cyc(u64),
    /// Core:bus ratio.
    Cbr(u8),
    /// Execution mode; `interrupts` is IF (Event Trace only).
    ModeExec {
        mode: ExecMode,
        interrupts: bool,
    },
    ModeTsx {
        in_tx: bool,
        abort: bool,
    },
    /// CR3 bits 51:5 are kept; NR is the guest bit.
    Pip {
        cr3: u64,
        non_root: bool,
    },
    /// Up to 6 branches; `bits` holds the oldest in the highest of `count` bits.
    TntShort {
        bits: u8,
        count: u8,
    },
    /// Up to 47 branches, the same way.
    TntLong {
        bits: u64,
        count: u8,
    },
    Ip {
        packet: IpPacket,
        bytes: IpBytes,
        ip: u64,
    },
    Ovf,
    TraceStop,
    /// PTWRITE payload of 4 or 8 bytes; `fup` says that a FUP follows.
    Ptw {
        payload: u64,
        wide: bool,
        fup: bool,
    },
    /// Execution stopped; `fup` says that a FUP follows.
    ExStop {
        fup: bool,
    },
    Mwait {
        hints: u32,
        extensions: u32,
    },
    /// Power entry; `hw` says that the hardware started it.
    Pwre {
        hw: bool,
        state: u8,
        sub_state: u8,
    },
    /// Power exit: last and deepest core state, and the wake reason bits (interrupt 1, store 2, autonomous 8).
    Pwrx {
        last: u8,
        deepest: u8,
        wake: u8,
    },
    /// Control-flow event of Event Trace; `fup` says that a FUP follows.
    Cfe {
        kind: u8,
        vector: u8,
        fup: bool,
    },
    /// A trigger fired: a bit for each; how many instructions after the last address; `multiple`: others that are not reported.
    Trig {
        triggers: u8,
        count: Option<u16>,
        multiple: bool,
        fup: bool,
    },
    /// Event data: kind 0 is the page fault's address, others as the manual lists them.
    Evd {
        kind: u8,
        payload: u64,
    },
    /// VMCS base address, bits 51:12.
    Vmcs(u64),
    /// Maintenance: ignored by decoders.
    Mnt(u64),
    /// Block of PEBS items begins; `narrow` items carry 4 bytes, others 8.
    Bbp {
        kind: u8,
        narrow: bool,
    },
    /// One item of a block.
    Bip {
        id: u8,
        payload: u64,
        narrow: bool,
    },
    /// The block ends.
    Bep {
        fup: bool,
    },
}

impl Packet {
    /// Appends the packet's bytes to `out`. Fields wider than the packet's own are cut.
    pub fn put(self, out: &mut Vec<u8>) {
        match self {
            Packet::Pad => out.push(0),
            Packet::Psb => (0..8).for_each(|_| out.extend([0x02, 0x82])),
            Packet::PsbEnd => out.extend([0x02, 0x23]),
            Packet::Tsc(tsc) => put_tail(out, &[0x19], tsc, 7),
            Packet::Tma { ctc, fast_counter } => {
                out.extend([0x02, 0x73]);
                out.extend(ctc.to_le_bytes());
                out.push(0);
                out.extend((fast_counter & 0x1ff).to_le_bytes());
            }
            Packet::Mtc(ctc) => out.extend([0x59, ctc]),
            Packet::Cyc(cycles) => put_cyc(out, cycles),
            Packet::Cbr(ratio) => out.extend([0x02, 0x03, ratio, 0]),
            Packet::ModeExec { mode, interrupts } => out.extend([0x99, mode_exec(mode, interrupts)]),
            Packet::ModeTsx { in_tx, abort } => {
                out.extend([0x99, 0x20 | u8::from(in_tx) | u8::from(abort) << 1]);
            }
            Packet::Pip { cr3, non_root } => {
                put_tail(out, &[0x02, 0x43], (cr3 >> 5 << 1) | u64::from(non_root), 6);
            }
            Packet::TntShort { bits, count } => out.push(((1 << count) | bits) << 1),
            Packet::TntLong { bits, count } => put_tail(out, &[0x02, 0xa3], (1 << count) | bits, 6),
            Packet::Ip { packet, bytes, ip } => put_ip(out, packet, bytes, ip),
            Packet::Ovf => out.extend([0x02, 0xf3]),
            Packet::TraceStop => out.extend([0x02, 0x83]),
            Packet::Ptw { payload, wide, fup } => {
                let head = 0x12 | u8::from(wide) << 5 | u8::from(fup) << 7;
                put_tail(out, &[0x02, head], payload, if wide { 8 } else { 4 });
            }
            Packet::ExStop { fup } => out.extend([0x02, 0x62 | u8::from(fup) << 7]),
            Packet::Mwait { hints, extensions } => {
                put_tail(out, &[0x02, 0xc2], u64::from(hints) | u64::from(extensions) << 32, 8);
            }
            Packet::Pwre { hw, state, sub_state } => {
                out.extend([0x02, 0x22, u8::from(hw) << 7, state << 4 | (sub_state & 15)]);
            }
            Packet::Pwrx { last, deepest, wake } => {
                out.extend([0x02, 0xa2, last << 4 | (deepest & 15), wake & 15, 0, 0, 0]);
            }
            Packet::Cfe { kind, vector, fup } => {
                out.extend([0x02, 0x13, kind & 31 | u8::from(fup) << 7, vector]);
            }
            Packet::Trig { triggers, count, multiple, fup } => {
                let flags = u8::from(fup) << 7 | u8::from(count.is_some()) << 6 | u8::from(multiple) << 5;
                out.extend([0xd9, flags, triggers]);
                out.extend(count.into_iter().flat_map(u16::to_le_bytes));
            }
            Packet::Evd { kind, payload } => put_tail(out, &[0x02, 0x53, kind & 63], payload, 8),
            Packet::Vmcs(base) => put_tail(out, &[0x02, 0xc8], base >> 12, 5),
            Packet::Mnt(payload) => put_tail(out, &[0x02, 0xc3, 0x88], payload, 8),
            Packet::Bbp { kind, narrow } => out.extend([0x02, 0x63, kind & 31 | u8::from(narrow) << 7]),
            Packet::Bip { id, payload, narrow } => {
                put_tail(out, &[id << 3 | 0x04], payload, if narrow { 4 } else { 8 });
            }
            Packet::Bep { fup } => out.extend([0x02, 0x33 | u8::from(fup) << 7]),
        }
    }
}

/// Appends `head` and the low `len` bytes of `payload`.
fn put_tail(out: &mut Vec<u8>, head: &[u8], payload: u64, len: usize) {
    out.extend(head);
    out.extend(&payload.to_le_bytes()[..len]);
}

/// CYC: 5 bits in the first byte, 7 in each that follows; a flag in each byte says whether another one comes.
fn put_cyc(out: &mut Vec<u8>, cycles: u64) {
    let mut rest = cycles >> 5;
    out.push(0x03 | (cycles as u8 & 0x1f) << 3 | u8::from(rest != 0) << 2);
    while rest != 0 {
        let seven = rest as u8 & 0x7f;
        rest >>= 7;
        out.push(seven << 1 | u8::from(rest != 0));
    }
}

fn mode_exec(mode: ExecMode, interrupts: bool) -> u8 {
    let width = match mode {
        ExecMode::Bits16 => 0,
        ExecMode::Bits64 => 1,
        ExecMode::Bits32 => 2,
    };
    width | u8::from(interrupts) << 2
}

fn put_ip(out: &mut Vec<u8>, packet: IpPacket, bytes: IpBytes, ip: u64) {
    let opcode = match packet {
        IpPacket::Tip => 0x0d,
        IpPacket::TipPge => 0x11,
        IpPacket::TipPgd => 0x01,
        IpPacket::Fup => 0x1d,
    };
    put_tail(out, &[bytes.field() << 5 | opcode], ip, bytes.len());
}

#[cfg(test)]
mod tests;
