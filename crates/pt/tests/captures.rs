//! Decodes whole captures and compares every instruction with what independent decoders, or the emulator's own
//! log, say was executed.

mod support;

use std::collections::HashMap;
use std::path::Path;

use model::{Pid, Tsc, TscRange};
use support::{Capture, FileCode, corpus, emulated, expected_addresses, truth};
use tailtrace_pt::{
    EngineKind, EventKind, Flow, FlowItem, Gap, Libipt, Limits, PtEvent, PtStream, PtwriteMark, Window,
    decode_chunks, decode_window, decode_windows, instructions, scan_ptwrites,
};

const ALL: TscRange = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };

/// Each stream's flow.
fn flows(capture: &Capture, code: &FileCode) -> Vec<Flow> {
    let mut engine = Libipt::new(capture.config.clone(), Limits::default());
    let streams = capture.streams();
    let decode = |(stream, _): &(PtStream<'_>, _)| {
        let occupants = capture.occupants(stream);
        let window = Window { stream, range: ALL, occupants: &occupants };
        decode_window(&mut engine, &window, code).expect("memory")
    };
    streams.iter().map(decode).collect()
}

fn addresses(flow: &Flow, code: &FileCode) -> Vec<u64> {
    let mut addresses = Vec::new();
    // A block runs many times; its instructions are looked up once.
    let mut known: HashMap<(Pid, u64, u64, u32), Vec<u64>> = HashMap::new();
    for item in &flow.items {
        if let FlowItem::Block(block) = item {
            let pid = block.thread.map_or(Pid::KERNEL, |thread| thread.pid);
            let of_block =
                known.entry((pid, block.ip, block.end_ip, block.instructions)).or_insert_with(|| {
                    let mut of_block = Vec::new();
                    let seen = instructions(block, code, pid, |address| of_block.push(address));
                    assert_eq!(seen, block.instructions, "instructions of {block:x?}");
                    of_block
                });
            addresses.extend_from_slice(of_block);
        }
    }
    addresses
}

fn gaps(flow: &Flow) -> Vec<&Gap> {
    let mut gaps = Vec::new();
    for item in &flow.items {
        if let FlowItem::Gap(gap) = item {
            gaps.push(gap);
        }
    }
    gaps
}

#[track_caller]
fn assert_same(found: &[u64], expected: &[u64], gaps: &[&Gap]) {
    let differ = found.iter().zip(expected).position(|(found, expected)| found != expected);
    if let Some(at) = differ {
        let near = at.saturating_sub(5);
        panic!(
            "instruction {at} of {}: {:x?} instead of {:x?}; {} gaps: {:x?}",
            expected.len(),
            &found[near..found.len().min(at + 10)],
            &expected[near..expected.len().min(at + 10)],
            gaps.len(),
            &gaps[..gaps.len().min(5)]
        );
    }
    assert_eq!(found.len(), expected.len(), "gaps: {:x?}", &gaps[..gaps.len().min(8)]);
}

fn check_corpus(item: &str) {
    let Some(folder) = corpus(item) else { return };
    let capture = Capture::open(&folder.join("perf.data"));
    let code = FileCode::new(&capture, &folder.join("root"), None);
    let flows = flows(&capture, &code);
    let found: Vec<u64> = flows.iter().flat_map(|flow| addresses(flow, &code)).collect();
    let gaps: Vec<&Gap> = flows.iter().flat_map(gaps).collect();
    assert_same(&found, &expected_addresses(&folder), &gaps);
    assert_eq!(gaps.len(), 0, "{gaps:x?}");
}

fn check_emulated(name: &str) {
    let Some(folder) = emulated(name) else { return };
    let capture = Capture::open(&folder.join("perf.data"));
    let kcore = folder.join("perf.data/kcore_dir/kcore");
    let code = FileCode::new(&capture, &folder.join("symfs"), Some(Path::new(&kcore)));
    for (cpu, flow) in flows(&capture, &code).iter().enumerate() {
        let gaps = gaps(flow);
        assert_same(&addresses(flow, &code), &truth(&folder, u32::try_from(cpu).expect("small")), &gaps);
        assert!(gaps.is_empty(), "{gaps:x?}");
    }
}

#[test]
fn loopy_is_what_perf_finds() {
    check_corpus("hase/loopy-20180404T162955");
}

#[test]
fn single_is_what_perf_finds() {
    check_corpus("lldb/single");
}

#[test]
fn unzip_with_a_guest_bit_is_what_perf_finds() {
    check_corpus("xdc/unzip");
}

#[test]
fn empty_enabled_regions_lose_nothing_in_ovf_01_poc() {
    check_corpus("arcus/ovf-01-poc");
}

#[test]
fn empty_enabled_regions_lose_nothing_in_ovf_01_ben() {
    check_corpus("arcus/ovf-01-ben");
}

/// Where code is missing perf goes on at the next TIP and libipt only at the next PSB or TIP.PGE: what we find is
/// what perf finds, in its order, with holes.
fn check_partial(item: &str, count: usize) {
    let Some(folder) = corpus(item) else { return };
    let capture = Capture::open(&folder.join("perf.data"));
    let code = FileCode::new(&capture, &folder.join("root"), None);
    let flows = flows(&capture, &code);
    let found: Vec<u64> = flows.iter().flat_map(|flow| addresses(flow, &code)).collect();
    let mut expected = expected_addresses(&folder).into_iter();
    for (index, address) in found.iter().enumerate() {
        assert!(
            expected.any(|expected| expected == *address),
            "instruction {index}, {address:x}, is not perf's"
        );
    }
    assert_eq!(found.len(), count);
}

#[test]
fn multifile_is_what_libipt_finds() {
    check_partial("lldb/multifile", 45);
}

#[test]
fn dyn_test_is_what_libipt_finds() {
    check_partial("xdc/dyn_test", 2918);
}

/// Counts and last addresses by libipt and by LLDB's own decoder (`corpus/README.md`).
#[test]
fn multicore_is_what_libipt_finds() {
    let Some(folder) = corpus("lldb/multicore") else { return };
    let capture = Capture::open(&folder.join("perf.data"));
    let code = FileCode::new(&capture, &folder.join("root"), None);
    let mut of_thread: std::collections::BTreeMap<i32, (u32, u64)> = std::collections::BTreeMap::new();
    for flow in flows(&capture, &code) {
        for item in flow.items {
            if let FlowItem::Block(block) = item {
                let entry = of_thread.entry(block.thread.map_or(-1, |thread| thread.tid.0)).or_default();
                *entry = (entry.0 + block.instructions, block.end_ip);
            }
        }
    }
    assert_eq!(of_thread.get(&3_497_496), Some(&(19521, 0x40_0ba7)), "{of_thread:x?}");
    assert_eq!(of_thread.get(&3_497_497), Some(&(61825, 0x40_0bd7)), "{of_thread:x?}");
}

#[test]
fn spsc_small_is_what_ran() {
    check_emulated("spsc_k32_small");
}

#[test]
fn spsc_is_what_ran() {
    check_emulated("spsc_k8_150ms");
}

#[test]
fn noise_is_what_ran() {
    check_emulated("noise");
}

#[test]
fn fault_is_what_ran() {
    check_emulated("fault");
}

#[test]
fn preempt_is_what_ran() {
    check_emulated("preempt");
}

/// Chunks on two threads, put together, are the flow of one.
fn check_chunks(folder: &Path, root: &str, kcore: Option<&Path>) {
    let capture = Capture::open(&folder.join("perf.data"));
    let code = FileCode::new(&capture, &folder.join(root), kcore);
    for ((stream, _), whole) in capture.streams().iter().zip(flows(&capture, &code)) {
        let occupants = capture.occupants(stream);
        let window = Window { stream, range: ALL, occupants: &occupants };
        // Some chunks for each thread, down to one for each sync point.
        let (limits, threads) = (Limits { chunk_bytes: 1, ..Limits::default() }, 8);
        let chunks = decode_chunks(
            EngineKind::Libipt,
            &capture.config,
            &limits,
            &window,
            &code,
            threads,
            Flow::default,
        )
        .expect("memory");
        let points = stream.index().points().len();
        assert!(chunks.len() * 4 > points.min(64), "{} chunks of {points}", chunks.len());
        let joined = Flow { items: chunks.into_iter().flat_map(|chunk| chunk.items).collect() };
        assert!(
            addresses(&joined, &code) == addresses(&whole, &code),
            "{} {:?}",
            folder.display(),
            stream.cpu()
        );
        let strip = |flow: &Flow| -> Vec<String> {
            let other = flow.items.iter().filter_map(|item: &'_ FlowItem| match item {
                FlowItem::Block(_) => None,
                // Where tracing had stopped is not known at the start of a chunk.
                FlowItem::Event(PtEvent { kind: EventKind::Enabled { ip, .. }, .. }) => {
                    Some(format!("on {ip:x}"))
                }
                FlowItem::Event(event) => Some(format!("{:x?} {:x}", event.kind, event.time.not_before.0)),
                FlowItem::Gap(gap) => {
                    Some(format!("{:x?} {:x} {:x}", gap.reason, gap.aux_offset, gap.resumed_at))
                }
            });
            other.collect()
        };
        let (joined, whole) = (strip(&joined), strip(&whole));
        let differ = joined.iter().zip(&whole).position(|(joined, whole)| joined != whole);
        assert_eq!(differ.map(|at| (&joined[at], &whole[at])), None);
        assert_eq!(joined.len(), whole.len());
    }
}

#[test]
fn chunks_join_without_a_seam() {
    for item in ["arcus/ovf-01-ben", "lldb/multicore", "xdc/unzip", "xdc/dyn_test"] {
        let Some(folder) = corpus(item) else { return };
        check_chunks(&folder, "root", None);
    }
    let Some(folder) = emulated("spsc_k32_small") else { return };
    check_chunks(&folder, "symfs", Some(&folder.join("perf.data/kcore_dir/kcore")));
}

#[test]
fn ptwrites_lie_where_the_program_read_the_clock() {
    let Some(folder) = emulated("fault") else { return };
    let capture = Capture::open(&folder.join("perf.data"));
    let code =
        FileCode::new(&capture, &folder.join("symfs"), Some(&folder.join("perf.data/kcore_dir/kcore")));
    let streams = capture.streams();
    let marks: Vec<PtwriteMark> =
        streams.iter().flat_map(|(stream, _)| scan_ptwrites(stream, &capture.config)).collect();
    let csv = std::fs::read_to_string(folder.join("intervals.csv")).expect("the intervals");
    let of = |tag: u64, index: u64| {
        let found =
            marks.iter().filter(|mark| mark.payload >> 56 == tag && mark.payload >> 32 & 0xff_ffff == index);
        let found: Vec<_> = found.collect();
        assert_eq!(found.len(), 1, "marks {tag:x} of interval {index}");
        found[0].time.0
    };
    let hz = capture.conversion.expect("a conversion").tsc_hz();
    let mut lags = Vec::new();
    for (index, line) in csv.lines().skip(1).enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        for (tag, field) in [(0x51, 1), (0x52, 2)] {
            let tsc: u64 = fields[field].parse().expect("a reading");
            let lag = i128::from(of(tag, index as u64)) - i128::from(tsc);
            lags.push(lag * 1_000_000_000 / i128::from(hz));
        }
    }
    lags.sort_unstable();
    println!("lag in ns: {} to {}, median {}", lags[0], lags[lags.len() - 1], lags[lags.len() / 2]);
    assert_eq!(lags.len(), 1000);
    assert!(lags[0] > -20 && lags[999] < 1500, "{} to {}", lags[0], lags[999]);
    let mut decoded = Vec::new();
    for flow in flows(&capture, &code) {
        for item in flow.items {
            if let FlowItem::Event(pt_event) = item
                && let EventKind::Ptwrite { payload, ip } = pt_event.kind
            {
                decoded.push((pt_event.time.not_before, payload, ip));
            }
        }
    }
    // Without a FUP only the decoder knows the address: that aside, both see the same.
    let scanned: Vec<_> = marks.iter().map(|mark| (mark.time, mark.payload)).collect();
    assert_eq!(decoded.iter().map(|(time, payload, _)| (*time, *payload)).collect::<Vec<_>>(), scanned);
}

/// Instructions that certainly ran within `range`, with the time they had begun by.
fn clipped(flow: &Flow, range: TscRange, code: &FileCode) -> Vec<(u64, u64)> {
    let mut inside = Vec::new();
    for item in &flow.items {
        if let FlowItem::Block(block) = item
            && block.time.not_before >= range.start
            && block.time.not_after <= range.stop
        {
            let pid = block.thread.map_or(Pid::KERNEL, |thread| thread.pid);
            instructions(block, code, pid, |address| inside.push((address, block.time.not_before.0)));
        }
    }
    inside
}

#[test]
fn windows_are_pieces_of_the_whole() {
    let Some(folder) = emulated("preempt") else { return };
    let capture = Capture::open(&folder.join("perf.data"));
    let code =
        FileCode::new(&capture, &folder.join("symfs"), Some(&folder.join("perf.data/kcore_dir/kcore")));
    for ((stream, _), whole) in capture.streams().iter().zip(flows(&capture, &code)) {
        let span = stream.time_span().expect("times");
        let occupants = capture.occupants(stream);
        let step = span.ticks().0 / 40;
        let windows: Vec<Window<'_>> = (0..40)
            .map(|index| {
                let start = Tsc(span.start.0 + index * step + index * index * 77);
                Window {
                    stream,
                    range: TscRange::new(start, start + model::Ticks(100_000)),
                    occupants: &occupants,
                }
            })
            .collect();
        let flows =
            decode_windows(EngineKind::Libipt, &capture.config, &Limits::default(), &windows, &code, 2)
                .expect("memory");
        for (window, flow) in windows.iter().zip(&flows) {
            let expected = clipped(&whole, window.range, &code);
            assert!(
                clipped(flow, window.range, &code) == expected,
                "{:?} of CPU {:?}",
                window.range,
                stream.cpu()
            );
            assert!(expected.len() > 100 || flow.items.len() < 100, "an empty window");
            let blocks = flow.items.len();
            let outside = flow.items.iter().filter(|item| match item {
                FlowItem::Block(block) => {
                    block.time.not_after < window.range.start || block.time.not_before > window.range.stop
                }
                _ => false,
            });
            assert_eq!(outside.count(), 0, "of {blocks}");
        }
    }
}
