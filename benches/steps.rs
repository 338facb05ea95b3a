//! The steps from perf.data to segments, one by one, on the emulated capture `noise` of the fixtures.
//!
//! `cargo bench`; throughput where a step goes over bytes or records. Ratios against perf: `scripts/bench`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use attribution::{Comms, Decode, Function, Functions, Queues, examine};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use model::{Cpu, Interval, IntervalId, Pid, ThreadId, Ticks, Tsc, TscRange};
use perfdata::PerfData;
use pt::{Engine, FlowItem, FlowSink, Libipt, Occupant, Piece, PtConfig, PtStream, Window};
use symbols::{ProcessImages, SearchPath};

fn main() {
    divan::main();
}

/// The unpacked fixture.
fn root() -> &'static PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/captures/noise.tar.zst");
        let tar = Command::new("tar").args(["--zstd", "-xf", archive, "-C"]).arg(&target).status();
        assert!(tar.expect("tar runs").success(), "{archive} cannot be unpacked");
        target.join("noise")
    })
}

fn perf_data() -> &'static PerfData {
    static OPENED: OnceLock<PerfData> = OnceLock::new();
    OPENED.get_or_init(|| PerfData::open(&root().join("perf.data")).expect("the fixture opens"))
}

/// The trace of the CPU on which the program ran.
fn stream() -> PtStream<'static> {
    let perf = perf_data();
    let pieces = perf.aux_buffers().iter().filter(|buffer| buffer.cpu == Some(Cpu(1))).map(|buffer| Piece {
        bytes: perf.aux_bytes(buffer),
        aux_offset: buffer.aux_offset,
        file_offset: buffer.file_offset,
    });
    PtStream::new(Some(Cpu(1)), None, pieces, false).0
}

#[divan::bench]
fn record_walk(bencher: Bencher<'_, '_>) {
    let records = perf_data().records().count();
    bencher
        .counter(ItemsCount::new(records))
        .bench(|| PerfData::open(&root().join("perf.data")).expect("the fixture opens"));
}

#[divan::bench]
fn records_in_order_of_time(bencher: Bencher<'_, '_>) {
    let perf = perf_data();
    bencher.counter(ItemsCount::new(perf.records().count())).bench(|| perf.records().count());
}

#[divan::bench]
fn packet_walk(bencher: Bencher<'_, '_>) {
    let stream = stream();
    bencher.counter(BytesCount::new(stream.len())).bench(|| stream.packets().count());
}

#[divan::bench]
fn sync_point_search(bencher: Bencher<'_, '_>) {
    let stream = stream();
    let span = stream.time_span().expect("the fixture has times");
    let middle = Tsc(span.start.0.midpoint(span.stop.0));
    bencher.bench(|| stream.sync_point_before(divan::black_box(middle)));
}

/// Counts blocks.
struct Blocks(usize);

impl FlowSink for Blocks {
    fn item(&mut self, item: FlowItem) -> std::ops::ControlFlow<()> {
        self.0 += usize::from(matches!(item, FlowItem::Block(_)));
        std::ops::ControlFlow::Continue(())
    }
}

#[divan::bench]
fn block_decode(bencher: Bencher<'_, '_>) {
    let (perf, stream) = (perf_data(), stream());
    let conversion = perf.time_conversion().expect("the fixture joins its clocks");
    let events = perf.map_events().into_iter();
    let events =
        events.map(|(time, event)| (if time.0 == 0 { Tsc(0) } else { conversion.to_tsc(time) }, event));
    let search = SearchPath {
        symfs: Some(root().join("symfs")),
        kcore_dir: perf.kcore_dir().map(PathBuf::from),
        ..SearchPath::default()
    };
    let images = ProcessImages::new(search, events.collect(), Vec::new());
    let runs = perf.schedule().on_cpu(Cpu(1));
    let occupants: Vec<Occupant> =
        runs.map(|run| Occupant { since: conversion.to_tsc(run.start), thread: run.thread }).collect();
    let all = TscRange::new(Tsc(0), Tsc(u64::MAX));
    let mut engine = Libipt::new(PtConfig::default(), pt::Limits::default());
    bencher.counter(BytesCount::new(stream.len())).bench_local(|| {
        let mut blocks = Blocks(0);
        let window = Window { stream: &stream, range: all, occupants: &occupants };
        engine.decode(&window, &images, &mut blocks).expect("libipt has memory");
        blocks.0
    });
}

/// No names and no trace: what is left is records, claims and their partition.
struct Nothing;

impl Functions for Nothing {
    fn function_at(&self, _: Pid, _: u64, _: Tsc) -> Option<Function> {
        None
    }
}

impl Comms for Nothing {
    fn comm(&self, _: ThreadId, _: Tsc) -> String {
        String::new()
    }
}

impl Decode for Nothing {
    fn decode(&mut self, _: Option<Cpu>, _: ThreadId, _: TscRange, _: &mut dyn FlowSink) -> bool {
        false
    }
}

#[divan::bench]
fn partition_by_records(bencher: Bencher<'_, '_>) {
    let perf = perf_data();
    let capture = attribution::Capture {
        perf,
        schedule: perf.schedule(),
        conversion: perf.time_conversion(),
        functions: &Nothing,
        comms: &Nothing,
        queues: &Queues::default(),
        kernel_traced: true,
        stall_threshold: Ticks(u64::MAX),
    };
    let span = stream().time_span().expect("the fixture has times");
    let last = perf.schedule().on_cpu(Cpu(1)).rfind(|run| !run.thread.is_idle()).map(|run| run.thread);
    let interval = Interval::new(IntervalId(0), "all", span, last);
    bencher.bench_local(|| examine(&capture, &interval, &mut Nothing));
}
