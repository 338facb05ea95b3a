//! Indirect branches to known addresses, by the packet walk.

use std::ops::Range;

use model::Tsc;

use super::StreamPackets;
use crate::clock::TscEstimate;
use crate::config::PtConfig;
use crate::packets::Packet;
use crate::recovery::expand;
use crate::stream::PtStream;

/// An indirect branch found by the packet walk, without any code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetMark {
    /// When, as the window decoder would say; zero where no time packet came before.
    pub time: Tsc,
    /// Where it led (AVMA).
    pub ip: u64,
    /// Position of the packet in the stream.
    pub position: u64,
}

/// The branches of a stream to some addresses, in order.
#[derive(Clone, Debug)]
pub struct Targets<'a> {
    packets: StreamPackets<'a>,
    clock: TscEstimate,
    last_ip: u64,
    wanted: &'a [Range<u64>],
}

/// The indirect branches in `stream` that lead into one of `wanted`, which are in order and do not overlap. Only a branch that has a TIP
/// packet is found (SDM, volume 3, "Target IP (TIP) Packet"): an indirect jump or call, not a compressed return.
pub fn scan_targets<'a>(
    stream: &'a PtStream<'a>,
    config: &PtConfig,
    wanted: &'a [Range<u64>],
) -> Targets<'a> {
    Targets { packets: stream.packets(), clock: TscEstimate::new(config), last_ip: 0, wanted }
}

impl Targets<'_> {
    fn is_wanted(&self, ip: u64) -> bool {
        let next = self.wanted.partition_point(|range| range.end <= ip);
        self.wanted.get(next).is_some_and(|range| range.contains(&ip))
    }
}

impl Iterator for Targets<'_> {
    type Item = TargetMark;

    fn next(&mut self) -> Option<TargetMark> {
        while let Some(found) = self.packets.next() {
            match found.packet {
                Packet::Tip(ip) => {
                    self.last_ip = expand(self.last_ip, ip);
                    // Without an address its target lies where nothing is traced.
                    if ip.compression != 0 && self.is_wanted(self.last_ip) {
                        let time = self.clock.now().map_or(Tsc(0), |tsc| self.packets.stream.full_tsc(tsc));
                        return Some(TargetMark { time, ip: self.last_ip, position: found.position });
                    }
                }
                Packet::Fup(ip) | Packet::TipPge(ip) | Packet::TipPgd(ip) => {
                    self.last_ip = expand(self.last_ip, ip);
                }
                Packet::Psb => self.last_ip = 0,
                packet => self.clock.apply(&packet),
            }
        }
        None
    }
}
