//! Records of PEBS in the trace ("PEBS via PT"), by the packet walk.
//!
//! A record is one or more blocks of items, each begun by a BBP with the block's type, up to a BEP; an item is a BIP. Source: Intel
//! SDM, volume 3, "Block Begin Packet" and the tables of PEBS groups; the numbers of types and items as perf's decoder has them
//! (`tools/perf/util/intel-pt-decoder/intel-pt-decoder.h`).

use model::Tsc;

use super::StreamPackets;
use crate::clock::TscEstimate;
use crate::config::PtConfig;
use crate::packets::Packet;
use crate::recovery::expand;
use crate::stream::PtStream;

/// Types of blocks.
const BASIC: u8 = 4;
const MEMORY: u8 = 5;

/// A record of PEBS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PebsRecord {
    /// When, by the record's own time stamp, else as the window decoder would say; zero where no time packet came before.
    pub time: Tsc,
    /// The sampled instruction, else the one that the FUP after the record names.
    pub ip: Option<u64>,
    /// The counters that it is a sample of, a bit each.
    pub counters: Option<u64>,
    /// The address of the data that was loaded or stored.
    pub address: Option<u64>,
    /// How long that access took, in core cycles.
    pub latency: Option<u64>,
    /// Position of its first packet in the stream.
    pub position: u64,
}

/// The records of PEBS in a part of a stream, in order.
#[derive(Clone, Debug)]
pub struct PebsRecords<'a> {
    packets: StreamPackets<'a>,
    clock: TscEstimate,
    last_ip: u64,
    /// The record that has begun, and the type of its block.
    open: Option<(PebsRecord, u8)>,
    /// The record that a FUP follows.
    waiting: Option<PebsRecord>,
}

/// The records of PEBS in `stream` between two positions, from the first sync point on. One that is not whole, since packets were
/// lost in it, is left out.
pub fn scan_pebs_between<'a>(
    stream: &'a PtStream<'a>,
    config: &PtConfig,
    start: u64,
    stop: u64,
) -> PebsRecords<'a> {
    PebsRecords {
        packets: stream.packets_between(start, stop),
        clock: TscEstimate::new(config),
        last_ip: 0,
        open: None,
        waiting: None,
    }
}

impl PebsRecords<'_> {
    /// A block begins: of the record that has begun, else of a new one.
    fn begin(&mut self, kind: u8, position: u64) {
        let begun = self.open.take().map(|(record, _)| record);
        let time = self.clock.now().map_or(Tsc(0), |tsc| self.packets.stream.full_tsc(tsc));
        self.open = Some((begun.unwrap_or(PebsRecord { time, position, ..PebsRecord::default() }), kind));
    }

    fn item(&mut self, id: u8, payload: u64) {
        let Some((record, kind)) = &mut self.open else { return };
        match (*kind, id) {
            (BASIC, 0) => record.ip = Some(payload),
            (BASIC, 1) => record.counters = Some(payload),
            (BASIC, 2) => record.time = Tsc(payload),
            (MEMORY, 0) => record.address = Some(payload),
            (MEMORY, 2) => record.latency = Some(latency(payload)),
            _ => {}
        }
    }

    /// The record is over; where a FUP follows, it is given with that.
    fn end(&mut self, fup: bool) -> Option<PebsRecord> {
        let (record, _) = self.open.take()?;
        if fup {
            // The FUP of the one before was lost.
            return self.waiting.replace(record);
        }
        Some(record)
    }
}

/// The latency of the access: the whole item, or where the instruction's own stands in it, too (from Sapphire Rapids on), its bits
/// 47:32. No access takes 2^32 cycles. Source: `intel_pt_do_synth_pebs_sample` of `tools/perf/util/intel-pt.c`.
fn latency(item: u64) -> u64 {
    match item >> 32 {
        0 => item,
        of_access => of_access & 0xffff,
    }
}

impl Iterator for PebsRecords<'_> {
    type Item = PebsRecord;

    fn next(&mut self) -> Option<PebsRecord> {
        while let Some(found) = self.packets.next() {
            match found.packet {
                Packet::Bbp { kind, .. } => self.begin(kind, found.position),
                Packet::Bip { id, payload } => self.item(id, payload),
                Packet::Bep { ip } => {
                    if let Some(record) = self.end(ip) {
                        return Some(record);
                    }
                }
                Packet::Fup(ip) | Packet::Tip(ip) | Packet::TipPge(ip) | Packet::TipPgd(ip) => {
                    self.last_ip = expand(self.last_ip, ip);
                    if let Some(record) = self.waiting.take() {
                        let bound = matches!(found.packet, Packet::Fup(_)) && ip.compression != 0;
                        let at = bound.then_some(self.last_ip);
                        return Some(PebsRecord { ip: record.ip.or(at), ..record });
                    }
                }
                Packet::Psb | Packet::Ovf => {
                    self.last_ip = if found.packet == Packet::Psb { 0 } else { self.last_ip };
                    // An overflow ends the block that it is in.
                    self.open = None;
                    if let Some(record) = self.waiting.take() {
                        return Some(record);
                    }
                }
                packet => self.clock.apply(&packet),
            }
        }
        self.waiting.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::PSB;
    use crate::stream::Piece;

    /// By the manual's layouts: BBP is 02 63 and the type (bit 7: items of 4 bytes), BIP the item's number shifted by 3 with 100b below it,
    /// BEP 02 33, with the flag of a FUP 02 b3.
    fn records(packets: &[&[u8]]) -> Vec<PebsRecord> {
        let begin: [&[u8]; 3] = [&PSB, &[0x19, 1, 0, 0, 0, 0, 0, 0], &[0x02, 0x23]];
        let bytes = [&begin, packets].concat().concat();
        let piece = Piece { bytes: &bytes, aux_offset: 0, file_offset: model::FileOffset(0) };
        let (stream, _) = PtStream::new(None, None, [piece], false);
        scan_pebs_between(&stream, &PtConfig::default(), 0, u64::MAX).collect()
    }

    fn wide(id: u8, value: u64) -> Vec<u8> {
        [&[id << 3 | 4][..], &value.to_le_bytes()].concat()
    }

    const AT: u64 = 26;

    #[test]
    fn a_record_has_the_items_of_its_blocks() {
        let basic: Vec<u8> = [wide(0, 0x40_1000), wide(1, 2), wide(2, 7_000)].concat();
        let memory: Vec<u8> = [wide(0, 0x7f00), wide(1, 0x42), wide(2, 212)].concat();
        let found =
            records(&[&[0x02, 0x63, 4], &basic, &[0x02, 0x63, 5], &memory, &[0x02, 0x33], &[0x02, 0x63, 5]]);
        let expected = PebsRecord {
            time: Tsc(7_000),
            ip: Some(0x40_1000),
            counters: Some(2),
            address: Some(0x7f00),
            latency: Some(212),
            position: AT,
        };
        assert_eq!(found, [expected]);
    }

    /// Items of four bytes; other groups (registers, LBR) and items that are not known pass. The FUP has the address.
    #[test]
    fn what_is_not_in_the_record_is_not_known() {
        let narrow = [0x02, 0x63, 0x81, 0x04, 0xef, 0xbe, 0xad, 0xde, 0x02, 0x63, 0x84, 0x0c, 1, 0, 0, 0];
        let fup = [0x02, 0xb3, 0x7d, 0x00, 0x20, 0x40, 0x00, 0x00, 0x00];
        let found = records(&[&narrow, &fup]);
        let expected = PebsRecord {
            time: Tsc(1),
            ip: Some(0x40_2000),
            counters: Some(1),
            position: AT,
            ..PebsRecord::default()
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn an_overflow_in_a_record_leaves_none() {
        let begun = [&[0x02, 0x63, 4][..], &wide(0, 0x40_1000)].concat();
        assert_eq!(records(&[&begun, &[0x02, 0xf3], &[0x02, 0x33]]), []);
    }

    #[test]
    fn a_latency_may_have_the_instructions_own_below_it() {
        assert_eq!([212, 0xe6_0000_0140, 0xffff_00e6_0000_0140].map(latency), [212, 0xe6, 0xe6]);
    }
}
