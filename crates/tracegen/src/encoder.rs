//! Turns an exact instruction flow into the PT packets that a CPU would write.
//!
//! Input: retired instructions with their successors, asynchronous events, times. Output: the AUX bytes of one CPU.
//! Invariant: time never runs backwards; every PSB lies at a multiple of 8, so that buffers can be cut there.
//! Source: Intel SDM vol. 3, chapter "Intel Processor Trace".

mod regions;
mod time;

use crate::instruction::{Class, Instruction};
use crate::packet::{ExecMode, IpBytes, IpPacket, Packet};

/// A near return finds its call among the last so many.
const RETURN_STACK: usize = 64;

/// What is switched on in the trace, and the machine's clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the hardware")]
pub struct Settings {
    /// Near returns that match their call become one taken TNT bit.
    pub return_compression: bool,
    /// CYC packets with every other packet.
    pub cycles: bool,
    /// MTC packets each 2^n crystal ticks; `None`: no MTC.
    pub mtc_period: Option<u8>,
    /// TSC : crystal ratio, numerator.
    pub tsc_numerator: u32,
    /// TSC : crystal ratio, denominator.
    pub tsc_denominator: u32,
    /// A PSB at least each so many bytes.
    pub psb_bytes: usize,
    /// CBR packets, with each PSB and where the ratio changes.
    pub ratios: bool,
    /// Core:bus ratio at which the core runs as fast as the TSC.
    pub tsc_ratio: u8,
    /// TNT packets of 47 bits where they fill, as Event Trace processors write them.
    pub long_tnt: bool,
    /// How much of an address a packet holds.
    pub addresses: Addresses,
    /// Event Trace is on: CFE and EVD packets.
    pub event_trace: bool,
    /// A FUP after PTW, MWAIT and EXSTOP says where.
    pub event_addresses: bool,
}

/// How addresses are compressed. Hardware decides; decoders must take all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// As short as can be: 16, 32, or 48 bits with the sign extended.
    Short,
    /// Never less than 48 bits; all 64 where the upper ones change.
    Wide,
    /// Always all 64 bits.
    Full,
}

impl Settings {
    /// perf's `config` of the event: `IA32_RTIT_CTL` with bit 0 for `pt`.
    pub fn config(&self) -> u64 {
        let mut config = 1 | 1 << 10 | 1 << 13 | 1 << 4 | 1 << 12 | 1 << 24;
        config |= u64::from(self.event_trace) << 31;
        config |= u64::from(self.cycles) << 1 | u64::from(self.event_addresses) << 5;
        config |= self.mtc_period.map_or(0, |period| 1 << 9 | u64::from(period) << 14);
        config | u64::from(!self.return_compression) << 11
    }
}

/// A rule of the manual that an encoder may be configured to break, so that tests see whether a reader notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The oldest branch of a TNT packet stands in the highest bit.
    TntOrder,
    /// An address is compressed only against one whose upper bits it shares.
    IpCompression,
    /// A return is compressed only if its call came after the last PSB.
    ReturnsBehindPsb,
}

/// The state of one CPU's trace.
#[derive(Debug)]
pub struct Encoder {
    settings: Settings,
    bytes: Vec<u8>,
    /// Byte offset and time of each PSB.
    sync_points: Vec<(usize, u64)>,
    last_ip: u64,
    tnt_bits: u64,
    tnt_count: u8,
    calls: Vec<u64>,
    clock: time::TraceTime,
    ratio: u8,
    cr3: u64,
    mode: ExecMode,
    enabled: bool,
    broken: Option<Rule>,
    /// TIPs wait for the TNT before them, and their targets.
    defers: bool,
    deferred: Vec<u64>,
}

impl Encoder {
    /// An encoder that has written nothing; tracing is off.
    pub fn new(settings: Settings) -> Encoder {
        Encoder {
            settings,
            bytes: Vec::new(),
            sync_points: Vec::new(),
            last_ip: 0,
            tnt_bits: 0,
            tnt_count: 0,
            calls: Vec::new(),
            clock: time::TraceTime::default(),
            ratio: settings.tsc_ratio,
            cr3: 0,
            mode: ExecMode::Bits64,
            enabled: false,
            broken: None,
            defers: false,
            deferred: Vec::new(),
        }
    }

    /// From here on `rule` is broken.
    pub fn break_rule(&mut self, rule: Rule) {
        self.broken = Some(rule);
    }

    /// Is tracing on?
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Offset and time of each PSB so far.
    pub fn sync_points(&self) -> &[(usize, u64)] {
        &self.sync_points
    }

    /// How many bytes are written.
    pub(crate) fn written(&self) -> usize {
        self.bytes.len()
    }

    /// TSC of the last thing that happened.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now
    }

    /// The buffer is full: nothing more is written until tracing starts anew.
    pub fn stall(&mut self) {
        self.flush_tnt();
        self.enabled = false;
    }

    /// The AUX bytes, padded to a multiple of 8, and offset and time of each PSB.
    pub fn finish(mut self) -> (Vec<u8>, Vec<(usize, u64)>) {
        self.flush_tnt();
        self.align();
        (self.bytes, self.sync_points)
    }

    /// Tracing begins at `ip`: PSB+ (tracing off), MODE.Exec, TIP.PGE.
    pub fn start(&mut self, tsc: u64, ip: u64, mode: ExecMode) {
        self.switch_on(tsc);
        self.enable(tsc, ip, mode);
    }

    /// Tracing is switched on in code that is filtered out: PSB+ alone.
    pub fn switch_on(&mut self, tsc: u64) {
        self.clock.jump(tsc);
        self.psb(None);
    }

    /// Tracing comes back at `ip`: MODE.Exec, TIP.PGE.
    pub fn enable(&mut self, tsc: u64, ip: u64, mode: ExecMode) {
        self.advance(tsc);
        self.flush_tnt();
        self.mode = mode;
        self.mode_exec();
        self.put_cycles();
        // A full address: nothing that a decoder may still hold is trusted across the pause.
        self.put_full_ip(IpPacket::TipPge, ip);
        self.calls.clear();
        self.enabled = true;
    }

    /// Tracing stops before the instruction at `ip`, as when an MSR write stops it: FUP, TIP.PGD without address.
    pub fn disable_at(&mut self, tsc: u64, ip: u64) {
        self.advance(tsc);
        self.flush_tnt();
        self.put_cycles();
        self.put_ip(IpPacket::Fup, ip);
        self.disable();
    }

    /// A FUP and a TIP: an interrupt or exception takes the CPU from `from` to `to`, or out of what is traced.
    pub fn asynchronous(&mut self, tsc: u64, from: u64, to: Option<(u64, ExecMode)>) {
        self.advance(tsc);
        self.flush_tnt();
        self.put_cycles();
        self.put_ip(IpPacket::Fup, from);
        self.transfer(to);
    }

    /// `instruction` retired and control went to `to`; `None` if it left what is traced.
    pub fn retire(&mut self, tsc: u64, instruction: &Instruction, to: Option<(u64, ExecMode)>) {
        self.advance(tsc);
        let returns = self.settings.return_compression;
        match instruction.class {
            Class::Conditional => {
                let taken = to.is_some_and(|(to, _)| to == instruction.target);
                self.tnt(taken);
            }
            // A call to the next instruction only reads its own address: no return will match.
            Class::Call if returns && instruction.target != instruction.next() => self.push_call(instruction),
            Class::IndirectCall => {
                self.push_call(instruction);
                self.tip(to);
            }
            Class::Return => {
                let matches =
                    returns && self.calls.pop().is_some_and(|call| to.is_some_and(|(to, _)| to == call));
                if matches {
                    self.tnt(true);
                } else {
                    // Never deferred: a bit of the same TNT would be taken for the return's.
                    self.flush_tnt();
                    self.calls.clear();
                    self.tip(to);
                }
            }
            Class::IndirectJump | Class::Syscall | Class::Far => self.tip(to),
            Class::SoftwareInterrupt => self.asynchronous(tsc, instruction.ip, to),
            Class::Plain | Class::Jump | Class::Call | Class::PageTable | Class::PtWrite | Class::Mwait => {}
        }
    }

    /// A new page table.
    pub fn page_table(&mut self, cr3: u64) {
        self.cr3 = cr3;
        if self.enabled {
            self.flush_tnt();
            self.put_cycles();
            Packet::Pip { cr3, non_root: false }.put(&mut self.bytes);
        }
    }

    /// Any packet that stands for itself; with a FUP to `ip` if given.
    pub fn event(&mut self, tsc: u64, packet: Packet, ip: Option<u64>) {
        self.advance(tsc);
        self.flush_tnt();
        self.put_cycles();
        packet.put(&mut self.bytes);
        if let Some(ip) = ip {
            self.put_ip(IpPacket::Fup, ip);
        }
    }

    /// Packets were lost; tracing goes on at `ip`.
    pub fn overflow(&mut self, tsc: u64, ip: u64) {
        self.flush_tnt();
        self.clock.jump(tsc);
        Packet::Ovf.put(&mut self.bytes);
        self.calls.clear();
        // Decoders forget the last address at an OVF: a full one.
        self.put_full_ip(IpPacket::Fup, ip);
        self.psb(Some(ip));
    }

    /// Writes a PSB+ if one is due. Only between instructions, with `ip` the next one.
    pub fn psb_if_due(&mut self, ip: u64) {
        let last = self.sync_points.last().map_or(0, |&(offset, _)| offset);
        if self.bytes.len() - last >= self.settings.psb_bytes {
            let ip = self.enabled.then_some(ip);
            self.psb(ip);
        }
    }

    /// Writes the branches that are held back.
    pub fn flush_tnt(&mut self) {
        if self.tnt_count == 0 {
            return;
        }
        self.put_cycles_to(self.clock.first_branch);
        let (mut bits, count) = (self.tnt_bits, self.tnt_count);
        if self.broken == Some(Rule::TntOrder) {
            bits = bits.reverse_bits() >> (64 - count);
        }
        let packet = match u8::try_from(bits) {
            Ok(bits) if count <= 6 => Packet::TntShort { bits, count },
            _ => Packet::TntLong { bits, count },
        };
        packet.put(&mut self.bytes);
        (self.tnt_bits, self.tnt_count) = (0, 0);
        self.put_deferred();
    }

    fn tnt(&mut self, taken: bool) {
        if self.tnt_count == 0 {
            self.clock.first_branch = self.clock.now;
        }
        self.tnt_bits = self.tnt_bits << 1 | u64::from(taken);
        self.tnt_count += 1;
        if self.tnt_count == if self.settings.long_tnt { 47 } else { 6 } {
            self.flush_tnt();
        }
    }

    fn tip(&mut self, to: Option<(u64, ExecMode)>) {
        if to.is_some_and(|(ip, mode)| mode == self.mode && self.defer(ip)) {
            return;
        }
        self.flush_tnt();
        self.put_cycles();
        self.transfer(to);
    }

    fn transfer(&mut self, to: Option<(u64, ExecMode)>) {
        let Some((ip, mode)) = to else { return self.disable() };
        if mode != self.mode {
            self.mode = mode;
            self.mode_exec();
        }
        self.put_ip(IpPacket::Tip, ip);
    }

    fn push_call(&mut self, call: &Instruction) {
        if self.settings.return_compression {
            if self.calls.len() == RETURN_STACK {
                self.calls.remove(0);
            }
            self.calls.push(call.next());
        }
    }

    fn psb(&mut self, ip: Option<u64>) {
        self.flush_tnt();
        self.align();
        self.sync_points.push((self.bytes.len(), self.clock.now));
        Packet::Psb.put(&mut self.bytes);
        if self.broken != Some(Rule::ReturnsBehindPsb) {
            self.calls.clear();
        }
        Packet::ModeTsx { in_tx: false, abort: false }.put(&mut self.bytes);
        self.mode_exec();
        if let Some(ip) = ip {
            // Always full, as hardware does: perf 6.1 mis-expands a compressed one.
            self.put_full_ip(IpPacket::Fup, ip);
        }
        Packet::Pip { cr3: self.cr3, non_root: false }.put(&mut self.bytes);
        self.resynchronise_time();
        Packet::PsbEnd.put(&mut self.bytes);
    }

    fn mode_exec(&mut self) {
        Packet::ModeExec { mode: self.mode, interrupts: false }.put(&mut self.bytes);
    }

    fn put_ip(&mut self, packet: IpPacket, ip: u64) {
        let bytes = match ip ^ self.last_ip {
            change if change >> 48 == 0 && self.settings.addresses == Addresses::Wide => IpBytes::Update48,
            _ if self.settings.addresses != Addresses::Short => IpBytes::Full,
            change if change >> 16 == 0 || self.broken == Some(Rule::IpCompression) => IpBytes::Update16,
            change if change >> 32 == 0 => IpBytes::Update32,
            _ => IpBytes::SignExtended48,
        };
        self.last_ip = ip;
        Packet::Ip { packet, bytes, ip }.put(&mut self.bytes);
    }

    fn put_full_ip(&mut self, packet: IpPacket, ip: u64) {
        self.last_ip = ip;
        let is_short = self.settings.addresses == Addresses::Short;
        let bytes = if is_short { IpBytes::SignExtended48 } else { IpBytes::Full };
        Packet::Ip { packet, bytes, ip }.put(&mut self.bytes);
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}

#[cfg(test)]
mod tests;
