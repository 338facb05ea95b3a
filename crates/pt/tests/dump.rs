//! The packet walk against `perf script -D`'s listing of the same files.

mod support;

use std::io::Read as _;

use support::{Capture, corpus};
use tailtrace_pt::{Packet, PacketIp};

/// Offset in its AUXTRACE record and text of each packet that perf lists, padding left out; one list per record.
fn listing(item: &str) -> Option<Vec<Vec<(u64, String)>>> {
    let path = corpus(item)?.join("expected/dump.txt.gz");
    let mut text = Vec::new();
    let file = std::fs::File::open(path).expect("the listing");
    flate2::read::GzDecoder::new(file).read_to_end(&mut text).expect("gzip");
    let mut records = Vec::new();
    for line in String::from_utf8_lossy(&text).lines() {
        if line.contains("Intel Processor Trace data: size") {
            records.push(Vec::new());
        }
        // `.  00000016:  19 96 8f f8 d5 29 fe 0a                         TSC 0xafe29d5f88f96`
        let Some((offset, rest)) = line.strip_prefix(".  ").and_then(|line| line.split_once(":  ")) else {
            continue;
        };
        let (Ok(offset), 8) = (u64::from_str_radix(offset, 16), offset.len()) else { continue };
        let packet = rest.get(48..).unwrap_or_default().trim();
        if packet != "PAD"
            && let Some(record) = records.last_mut()
        {
            record.push((offset, packet.to_owned()));
        }
    }
    Some(records)
}

/// perf prints the payload as it is.
fn address(name: &str, ip: PacketIp) -> String {
    if ip.compression == 0 { format!("{name} no ip") } else { format!("{name} {:#x}", ip.payload) }
}

fn text(packet: &Packet) -> String {
    match *packet {
        Packet::Psb => "PSB".into(),
        Packet::PsbEnd => "PSBEND".into(),
        Packet::Ovf => "OVF".into(),
        Packet::TraceStop => "TraceSTOP".into(),
        Packet::Tsc(tsc) => format!("TSC {tsc:#x}"),
        Packet::Tma { ctc, fast } => format!("TMA CTC {ctc:#x} FC {fast:#x}"),
        Packet::Mtc(count) => format!("MTC {count:#x}"),
        Packet::Cyc(cycles) => format!("CYC {cycles:#x}"),
        Packet::Cbr(ratio) => format!("CBR {ratio:#x}"),
        Packet::Vmcs(base) => format!("VMCS {base:#x}"),
        Packet::Pip { cr3, non_root } => format!("PIP {:#x} (NR={})", cr3 >> 5, u8::from(non_root)),
        Packet::ModeTsx { active, aborted } => {
            format!("MODE.TSX TXAbort:{} InTX:{}", u8::from(aborted), u8::from(active))
        }
        Packet::ModeExec { long, default_32, interrupts } => {
            let bits = if long {
                64
            } else if default_32 {
                32
            } else {
                16
            };
            format!("MODE.Exec IF:{} {bits}", u8::from(interrupts))
        }
        Packet::Tnt { bits, taken } => {
            let letter = |bit: u8| if taken >> bit & 1 != 0 { 'T' } else { 'N' };
            format!("TNT {} ({bits})", (0..bits).rev().map(letter).collect::<String>())
        }
        Packet::Tip(ip) => address("TIP", ip),
        Packet::TipPge(ip) => address("TIP.PGE", ip),
        Packet::TipPgd(ip) => address("TIP.PGD", ip),
        Packet::Fup(ip) => address("FUP", ip),
        ref other => format!("{other:?}"),
    }
}

fn check(item: &str) {
    let Some(records) = listing(item) else { return };
    let Some(folder) = corpus(item) else { return };
    let file = if item.starts_with("quipper") { "perf.data.intel_pt-4.14" } else { "perf.data" };
    let path = if folder.join(file).exists() { folder.join(file) } else { folder.join("perf.data") };
    let capture = Capture::open(&path);
    let streams = capture.streams();
    assert_eq!(streams.len(), records.len());
    for ((stream, _), expected) in streams.iter().zip(records) {
        let packets = stream.packets().filter(|packet| packet.packet != Packet::Pad);
        let found: Vec<(u64, String)> = packets.map(|found| (found.position, text(&found.packet))).collect();
        // The walk begins at the first PSB, the listing at the first byte.
        let first = found.first().map_or(u64::MAX, |packet| packet.0);
        let expected: Vec<_> = expected.into_iter().filter(|packet| packet.0 >= first).collect();
        let differ = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(differ.map(|at| (&found[at], &expected[at])), None);
        assert_eq!(found.len(), expected.len());
        assert!(!found.is_empty());
    }
}

#[test]
fn loopy_packet_by_packet() {
    check("hase/loopy-20180404T162955");
}

#[test]
fn quipper_packet_by_packet() {
    check("quipper");
}
