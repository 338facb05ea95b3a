//! The steps from perf.data to segments, one by one, on the emulated capture `noise` of the fixtures.
//!
//! `cargo bench`; throughput where a step goes over bytes or records. Ratios against perf: `scripts/bench`.

mod noise;

use attribution::{Comms, Decode, Function, Functions, Queues, RecentRecords, examine};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use model::{Cpu, Interval, IntervalId, Pid, ThreadId, Ticks, Tsc, TscRange};
use noise::{capture, perf_data, root, stream};
use perfdata::PerfData;
use pt::{Engine, FlowItem, FlowSink, Libipt, PtConfig, Window};

fn main() {
    divan::main();
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
    let capture = capture();
    let stream = stream(&capture);
    bencher.counter(BytesCount::new(stream.len())).bench(|| stream.packets().count());
}

#[divan::bench]
fn sync_point_search(bencher: Bencher<'_, '_>) {
    let capture = capture();
    let stream = stream(&capture);
    let span = stream.time_span().expect("the fixture has times");
    let middle = Tsc(span.start.0.midpoint(span.stop.0));
    bencher.bench(|| stream.sync_point_before(divan::black_box(middle)));
}

/// Counts blocks.
struct Blocks(usize);

impl FlowSink for Blocks {
    fn item(&mut self, item: &FlowItem) -> std::ops::ControlFlow<()> {
        self.0 += usize::from(matches!(item, FlowItem::Block(_)));
        std::ops::ControlFlow::Continue(())
    }
}

#[divan::bench]
fn block_decode(bencher: Bencher<'_, '_>) {
    let capture = capture();
    let stream = stream(&capture);
    let (images, occupants) = (capture.images(), capture.occupants(Cpu(1)));
    let all = TscRange::new(Tsc(0), Tsc(u64::MAX));
    let mut engine = Libipt::new(PtConfig::default(), pt::Limits::default());
    bencher.counter(BytesCount::new(stream.len())).bench_local(|| {
        let mut blocks = Blocks(0);
        let window = Window { stream, range: all, occupants };
        engine.decode(&window, images, &mut blocks).expect("libipt has memory");
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
    let span = stream(&capture()).time_span().expect("the fixture has times");
    let last = perf.schedule().on_cpu(Cpu(1)).rfind(|run| !run.thread.is_idle()).map(|run| run.thread);
    let interval = Interval::new(IntervalId(0), "all", span, last);
    bencher.bench_local(|| {
        let capture = attribution::Capture {
            perf,
            recent: &RecentRecords::default(),
            schedule: perf.schedule(),
            conversion: perf.time_conversion(),
            functions: &Nothing,
            comms: &Nothing,
            queues: &Queues::default(),
            kernel_traced: true,
            threads_traced: false,
            sees_all_cpus: true,
            stall_threshold: Ticks(u64::MAX),
        };
        examine(&capture, &interval, &mut Nothing)
    });
}
