use std::collections::BTreeMap;
use std::process::Command;

use analysis::request::Input;
use model::Tid;
use perfdata::PerfData;
use pt::Packet;

use super::*;

/// A bundled capture of real hardware, its path and the capture itself in `work`.
fn with_capture<T>(work: impl FnOnce(&str, &Capture<'_>) -> T) -> T {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/captures/multicore/perf.data");
    let perf = PerfData::open(path.as_ref()).expect("opens");
    let input = Input { path: path.into(), ..Input::default() };
    work(path, &Capture::new(&perf, &input))
}

/// What perf dumps of each CPU's stream: `.  0000004c:  19 ba 39 4d 7b 89 5e 04     TSC 0x45e897b4d39ba`.
fn dumped(text: &str) -> BTreeMap<u32, Vec<(u64, String)>> {
    let mut streams: BTreeMap<u32, Vec<(u64, String)>> = BTreeMap::new();
    let mut place = None;
    for line in text.lines() {
        if let Some((_, facts)) = line.split_once("PERF_RECORD_AUXTRACE size: ") {
            let fact = |name: &str| facts.split_once(name)?.1.split_whitespace().next();
            place = fact("cpu: ").and_then(|cpu| cpu.parse().ok()).zip(fact("offset: ").and_then(number));
        } else if line.contains(" PERF_RECORD_") {
            place = None;
        }
        let Some((cpu, base)) = place else { continue };
        let Some((offset, rest)) = line.strip_prefix(".  ").and_then(|rest| rest.split_once(":  ")) else {
            continue;
        };
        let bytes = rest.split(' ').take_while(|word| word.len() == 2).count() * 3;
        let text = rest.get(bytes..).unwrap_or("").trim();
        let offset = u64::from_str_radix(offset, 16).expect("an offset");
        // perf prints several as one.
        if text != "PAD" {
            streams.entry(cpu).or_default().push((base + offset, text.to_owned()));
        }
    }
    streams
}

/// `0x1f`, and `0` as perf prints it.
fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

#[test]
fn packets_are_spelled_as_perf_does() {
    with_capture(|path, capture| {
        let dump = Command::new("perf").args(["script", "-D", "-i", path]).output().expect("perf runs");
        let theirs = dumped(&String::from_utf8_lossy(&dump.stdout));
        let mut compared = 0;
        for stream in capture.streams() {
            let cpu = stream.cpu().expect("traced by CPU");
            let ours: Vec<(u64, String)> = stream
                .packets()
                .filter(|found| found.packet != Packet::Pad)
                .map(|found| (found.position, found.packet.to_string()))
                .collect();
            let begin = ours.first().expect("a packet").0;
            let same: Vec<(u64, String)> =
                theirs[&cpu.0].iter().filter(|(position, _)| *position >= begin).cloned().collect();
            assert_eq!(ours, same, "CPU {cpu}");
            compared += ours.len();
        }
        assert!(compared > 4000, "{compared} packets");
    });
}

/// The packets shown begin before the block's own, which are marked, and end soon after them.
#[test]
fn packets_around_a_block_are_few_and_marked() {
    with_capture(|_, capture| {
        let stream = capture.streams().next().expect("a stream");
        let positions: Vec<u64> = stream
            .packets()
            .filter(|found| found.packet != Packet::Pad)
            .map(|found| found.position)
            .collect();
        let (begin, end) = (positions[200], positions[203]);
        let mut used = crate::tui::pages::flow_list::tests::used(0x1000, 1);
        used.cpu = stream.cpu();
        used.aux_before = begin;
        used.block.aux_offset = end;
        let thread = ThreadId { pid: Pid(1), tid: stream.thread().unwrap_or(Tid(1)) };
        let shown = packets(capture, &used, thread);
        let own: Vec<u64> = shown.iter().filter(|line| line.is_own).map(|line| line.offset).collect();
        assert_eq!(own, positions[200..203]);
        let offsets: Vec<u64> = shown.iter().map(|line| line.offset).collect();
        assert_eq!(offsets, positions[200 - PACKETS_BEFORE..203 + PACKETS_BEHIND]);
    });
}
