//! The time of a packet, from TSC, TMA, MTC, CYC and CBR packets.
//!
//! Why not libipt's estimate: it scales CYC by a calibration over MTC periods, and a period in which the core was
//! halted has next to no cycles, so that it ran up to 400 us ahead on a trace with idle states. Here CYC is scaled
//! by the ratio that CBR states, and never counts beyond the next MTC. Source: Intel SDM vol. 3, "Intel Processor
//! Trace", timing packets.

mod pace;
mod reciprocal;

use crate::config::PtConfig;
use crate::packets::{Packet, Packets};
pub(crate) use pace::{Mark, Pace};
use reciprocal::Reciprocal;

/// Estimates the low 56 bits of the TSC.
#[derive(Clone, Debug)]
pub(crate) struct TscEstimate {
    /// Maximum non-turbo ratio: TSC ticks per bus clock. 0 = unknown.
    nominal: u64,
    /// Core cycles per bus clock, if known.
    ratio: Option<Reciprocal>,
    /// An MTC each 2^this crystal clocks.
    mtc_shift: u8,
    /// TSC ticks per crystal clock: multiplied by one number, divided by another.
    crystal: Option<(u64, Reciprocal)>,
    /// TSC ticks from one MTC to the next.
    mtc_ticks: u64,
    /// The last time that did not come from CYC, and the cycles since.
    base: Option<u64>,
    cycles: u64,
    mtc: Option<MtcAnchor>,
}

/// A crystal clock reading whose TSC is known.
#[derive(Clone, Copy, Debug)]
struct MtcAnchor {
    /// The TSC when the crystal clock read `count << mtc_shift` and all lower bits were zero.
    tsc: u64,
    /// MTC periods since.
    periods: u64,
    /// The last MTC.
    last: u8,
}

impl TscEstimate {
    pub(crate) fn new(config: &PtConfig) -> TscEstimate {
        let crystal = config.tsc_ctc_ratio.filter(|&(n, d)| n != 0 && d != 0);
        let mut estimate = TscEstimate {
            nominal: u64::from(config.nom_freq),
            ratio: None,
            mtc_shift: config.mtc_freq.min(15),
            crystal: crystal.map(|(n, d)| (u64::from(n), Reciprocal::of(u64::from(d)))),
            mtc_ticks: 0,
            base: None,
            cycles: 0,
            mtc: None,
        };
        estimate.mtc_ticks = estimate.crystal_ticks(1 << estimate.mtc_shift);
        estimate
    }

    /// Takes in all packets of `bytes` from the packet border `from` that begin before `upto`, except TSC packets that
    /// are not `credible`; returns the border after them. Stops early at what is no packet.
    pub(crate) fn advance(
        &mut self,
        bytes: &[u8],
        from: usize,
        upto: usize,
        mut credible: impl FnMut(u64) -> bool,
    ) -> usize {
        let mut at = from;
        while at < upto {
            let Some(&first) = bytes.get(at) else { break };
            if first & 0x01 == 0 && first != 0x02 {
                // Short TNT or padding: no time.
                at += 1;
            } else if first & 0x07 == 0x03 {
                self.count(u64::from(first >> 3));
                at += 1;
            } else {
                let Some(packet) = Packets::at(bytes, at).next_exact() else { break };
                at += packet.length;
                match packet.packet {
                    Packet::Tsc(tsc) if !credible(tsc) => {}
                    packet => self.apply(&packet),
                }
            }
        }
        at
    }

    /// Takes in the next packet of the stream.
    #[inline]
    pub(crate) fn apply(&mut self, packet: &Packet) {
        match *packet {
            Packet::Tsc(tsc) => self.set(tsc),
            Packet::Tma { ctc, fast } => self.align(ctc, fast),
            Packet::Mtc(count) => self.tick(count),
            Packet::Cyc(cycles) => self.count(cycles),
            Packet::Cbr(ratio) => {
                if let Some(now) = self.now() {
                    self.set(now);
                }
                self.ratio = (ratio != 0).then(|| Reciprocal::of(u64::from(ratio)));
            }
            _ => {}
        }
    }

    /// So many core cycles passed.
    #[inline]
    pub(crate) fn count(&mut self, cycles: u64) {
        self.cycles = self.cycles.saturating_add(cycles);
    }

    /// The time now, if any was given.
    #[inline]
    pub(crate) fn now(&self) -> Option<u64> {
        self.now_after(0)
    }

    /// The time so many core cycles after now, if no MTC comes before.
    #[inline]
    pub(crate) fn now_after(&self, cycles: u64) -> Option<u64> {
        Some(self.base?.wrapping_add(self.ticks_of(self.cycles.saturating_add(cycles))))
    }

    fn set(&mut self, tsc: u64) {
        self.base = Some(tsc);
        self.cycles = 0;
    }

    /// TSC ticks that so many cycles since `base` took: at most up to the next MTC, which did not come yet.
    #[inline]
    fn ticks_of(&self, cycles: u64) -> u64 {
        let Some(ratio) = self.ratio else { return 0 };
        let most = if self.mtc.is_some() { self.mtc_ticks } else { u64::MAX };
        ratio.divide_product(cycles, self.nominal).min(most)
    }

    fn align(&mut self, ctc: u16, fast: u16) {
        let (Some(tsc), Some(_)) = (self.base, self.crystal) else { return };
        let low = u64::from(ctc) & ((1 << self.mtc_shift) - 1);
        let tsc = tsc.wrapping_sub(u64::from(fast)).wrapping_sub(self.crystal_ticks(low));
        self.mtc = Some(MtcAnchor { tsc, periods: 0, last: self.tick_at(ctc) });
    }

    /// An MTC that holds `count`.
    pub(crate) fn tick(&mut self, count: u8) {
        if self.base.is_none() || self.crystal.is_none() {
            return;
        }
        let Some(anchor) = &mut self.mtc else {
            self.mtc = self.now().map(|now| MtcAnchor { tsc: now, periods: 0, last: count });
            return;
        };
        anchor.periods += u64::from(count.wrapping_sub(anchor.last));
        anchor.last = count;
        let MtcAnchor { tsc, periods, .. } = *anchor;
        self.set(tsc.wrapping_add(self.crystal_ticks(periods << self.mtc_shift)));
    }

    /// The eight bits an MTC at this reading would hold.
    #[allow(clippy::cast_possible_truncation, reason = "MTC holds eight bits")]
    fn tick_at(&self, ctc: u16) -> u8 {
        (ctc >> self.mtc_shift) as u8
    }

    #[inline]
    fn crystal_ticks(&self, clocks: u64) -> u64 {
        self.crystal.map_or(0, |(n, d)| d.divide_product(clocks, n))
    }
}

#[cfg(test)]
mod tests;
