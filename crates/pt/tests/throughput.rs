//! How fast a whole capture decodes. Run with `cargo test --release --test throughput -- --ignored --nocapture`.

mod support;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use model::{ThreadId, Tsc, TscRange};
use support::{Capture, FileCode, emulated};
use tailtrace_pt::{
    Decoder, Engine as _, EngineKind, FlowItem, FlowSink, Grain, Libipt, Limits, Packets, Window,
    decode_chunks,
};

#[derive(Default)]
struct Count {
    blocks: u64,
    events: u64,
    gaps: u64,
}

impl FlowSink for Count {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        match item {
            FlowItem::Block(_) => self.blocks += 1,
            FlowItem::Event(_) => self.events += 1,
            FlowItem::Gap(_) => self.gaps += 1,
        }
        ControlFlow::Continue(())
    }
}

#[test]
#[ignore = "a measurement"]
fn megabytes_per_second() {
    let name = std::env::var("CAPTURE").unwrap_or("spsc_k8_150ms".into());
    let Some(folder) = emulated(&name) else { return };
    let capture = Capture::open(&folder.join("perf.data"));
    let code =
        FileCode::new(&capture, &folder.join("symfs"), Some(&folder.join("perf.data/kcore_dir/kcore")));
    let mut engine = Libipt::new(capture.config.clone(), Limits::default());
    for round in 0..3 {
        for (stream, _) in capture.streams() {
            let occupants = capture.occupants(&stream);
            let range = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };
            let window = Window { stream: &stream, range, occupants: &occupants };
            let mut sink = Count::default();
            let start = Instant::now();
            let stats = engine.decode(&window, &code, &mut sink).expect("memory");
            let seconds = start.elapsed().as_secs_f64();
            #[allow(clippy::cast_precision_loss)]
            let rate = |count: u64| count as f64 / 1e6 / seconds;
            println!(
                "round {round}, CPU {:?}: {} bytes, {:.1} MB/s, {:.1} M blocks/s, {:.1} M instructions/s; {} blocks {} events {} gaps {} switches",
                stream.cpu(),
                stream.len(),
                rate(stream.len()),
                rate(sink.blocks),
                rate(stats.instructions),
                sink.blocks,
                sink.events,
                sink.gaps,
                occupants.len()
            );
        }
    }
    let none = FileCode::new(&capture, std::path::Path::new("/nowhere"), None);
    for (stream, _) in capture.streams() {
        let range = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };
        let window = Window { stream: &stream, range, occupants: &capture.occupants(&stream) };
        let mut sink = Count::default();
        let start = Instant::now();
        // Images are kept by epoch: another image wants another engine.
        let mut engine = Libipt::new(capture.config.clone(), Limits::default());
        engine.decode(&window, &none, &mut sink).expect("memory");
        println!("no code at all: {} gaps in {:?}", sink.gaps, start.elapsed());
        for threads in [1, 2] {
            let start = Instant::now();
            let sinks = decode_chunks(
                EngineKind::Libipt,
                &capture.config,
                &Limits::default(),
                &window,
                &code,
                threads,
                Count::default,
            );
            println!("{threads} threads: {} chunks in {:?}", sinks.expect("memory").len(), start.elapsed());
        }
    }
    for (stream, _) in capture.streams() {
        let start = Instant::now();
        let packets = stream.index().points().len();
        println!("index: {packets} sync points in {:?}", start.elapsed());
    }
    let bytes = std::fs::read(folder.join("perf.data/data")).expect("the file");
    let from = memchr::memmem::find(&bytes, b"\x02\x82\x02\x82\x02\x82\x02\x82").expect("a PSB");
    let piece = &bytes[from..from + (1 << 17)];
    let start = Instant::now();
    let count: usize = (0..100).map(|_| Packets::new(piece).count()).sum();
    println!("walk: {count} packets, {:.0} MB/s", 100.0 * 0.131 / start.elapsed().as_secs_f64());
}

/// Instructions, as sums.
#[derive(Default)]
struct Sums(u64);

impl FlowSink for Sums {
    fn item(&mut self, _: &FlowItem) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn grain(&self) -> Grain {
        Grain::Sums
    }

    fn sum(&mut self, _: Option<ThreadId>, instructions: u64) {
        self.0 += instructions;
    }
}

/// `CAPTURE` is the folder of a capture: `CAPTURE/perf.data`, `CAPTURE/symfs`.
#[test]
#[ignore = "a measurement"]
fn engines() {
    let folder = PathBuf::from(std::env::var("CAPTURE").expect("a folder"));
    let capture = Capture::open(&folder.join("perf.data"));
    let code =
        FileCode::new(&capture, &folder.join("symfs"), Some(&folder.join("perf.data/kcore_dir/kcore")));
    let runs = [("blocks", EngineKind::Libipt), ("blocks", EngineKind::Native), ("sums", EngineKind::Native)];
    for (grain, kind) in runs {
        if std::env::var("ONLY").is_ok_and(|only| format!("{kind:?} {grain}") != only) {
            continue;
        }
        let mut engine = Decoder::new(kind, capture.config.clone(), Limits::default());
        for (stream, _) in capture.streams() {
            let occupants = capture.occupants(&stream);
            let range = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };
            let window = Window { stream: &stream, range, occupants: &occupants };
            let (mut count, mut sums) = (Count::default(), Sums::default());
            let sink: &mut dyn FlowSink = if grain == "sums" { &mut sums } else { &mut count };
            let start = cpu_seconds();
            let stats = engine.decode(&window, &code, sink).expect("memory");
            let seconds = cpu_seconds() - start;
            #[allow(clippy::cast_precision_loss)]
            let rate = stream.len() as f64 / 1e6 / seconds;
            println!(
                "{kind:?}, {grain}, CPU {:?}: {rate:.1} MB/s, {seconds:.3} s, {} instructions ({} in sums), {} blocks, {} events, {} gaps",
                stream.cpu(),
                stats.instructions,
                sums.0,
                count.blocks,
                count.events,
                count.gaps
            );
        }
    }
}

/// What this thread has run so far.
#[allow(clippy::cast_precision_loss)]
fn cpu_seconds() -> f64 {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds: u64 = line.split(' ').next().expect("a field").parse().expect("a number");
    nanoseconds as f64 / 1e9
}
