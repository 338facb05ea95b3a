//! Attribution of 100 outliers with 100 baselines each, of 100 us, against the decoding of the same windows.
//!
//! `cargo bench --bench attribution`: one line, `attribution <s> decoding <s>`, medians of five runs on one thread; exit
//! code 1 if attribution takes longer. The windows lie one after the other on the CPU of the program of the emulated
//! capture `noise`. The flows are decoded first and kept; attribution replays them, so that no decoding is in its time,
//! and looks up each name, so that its own share of the symbols is.

mod noise;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use analysis::Capture;
use attribution::{Decode, Examined, Queues, examine, examine_baseline};
use model::{Cpu, Interval, IntervalId, ThreadId, Tsc, TscRange};
use pt::{Engine, Flow, FlowItem, FlowSink, Libipt, PtConfig, PtStream, Window};

const OUTLIERS: usize = 100;
const BASELINES: usize = 100;
const LENGTH_NS: u64 = 100_000;
const RUNS: usize = 5;

fn main() -> ExitCode {
    let bench = Bench::new();
    let intervals = bench.intervals();
    let decoding = median(|| intervals.iter().for_each(|interval| drop(bench.decoded(interval))));
    let flows: Vec<Flow> = intervals.iter().map(|interval| bench.decoded(interval)).collect();
    let attributing = median(|| bench.attribute(&intervals, &flows));
    println!("attribution {:.3} s decoding {:.3} s", attributing.as_secs_f64(), decoding.as_secs_f64());
    if attributing < decoding { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut took: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    took.sort_unstable();
    took[RUNS / 2]
}

/// The capture, opened, with its code and occupants at hand.
struct Bench {
    capture: Capture<'static>,
}

impl Bench {
    fn new() -> Bench {
        let capture = noise::capture();
        // What is gathered at the first call is not measured.
        let (_, _) = (capture.images(), capture.occupants(Cpu(1)));
        Bench { capture }
    }

    fn stream(&self) -> &PtStream<'static> {
        noise::stream(&self.capture)
    }

    /// Windows one after the other from the first fifth of the trace on, of the thread that ran most.
    fn intervals(&self) -> Vec<Interval> {
        let conversion = noise::perf_data().time_conversion().expect("the fixture joins its clocks");
        let (span, length) = (self.stream().time_span().expect("times"), conversion.ns_to_ticks(LENGTH_NS));
        let runs = noise::perf_data().schedule().on_cpu(Cpu(1)).filter(|run| !run.thread.is_idle());
        let thread = runs.max_by_key(|run| run.stop.0 - run.start.0).map(|run| run.thread).expect("a thread");
        let mut at = Tsc(span.start.0 + span.ticks().0 / 5);
        let next = |number| {
            let range = TscRange::new(at, at + length);
            at = range.stop;
            assert!(at <= span.stop, "the trace holds {number} windows only");
            Interval::new(IntervalId(number), "window", range, Some(thread))
        };
        (0..(OUTLIERS + BASELINES) as u64).map(next).collect()
    }

    fn decoded(&self, interval: &Interval) -> Flow {
        let mut engine = Libipt::new(PtConfig::default(), pt::Limits::default());
        let window = Window {
            stream: self.stream(),
            range: interval.range,
            occupants: self.capture.occupants(Cpu(1)),
        };
        let mut flow = Flow::default();
        engine.decode(&window, self.capture.images(), &mut flow).expect("libipt has memory");
        flow
    }

    fn attribute(&self, intervals: &[Interval], flows: &[Flow]) {
        let queues = Queues::default();
        let capture = self.capture.for_attribution(&queues);
        let examined = |(index, interval): (usize, &Interval)| {
            let mut replay = Replay(&flows[index]);
            let examine = if index < OUTLIERS { examine } else { examine_baseline };
            examine(&capture, interval, &mut replay)
        };
        let examined: Vec<Examined> = intervals.iter().enumerate().map(examined).collect();
        let (outliers, baselines) = examined.split_at(OUTLIERS);
        let baselines: Vec<&Examined> = baselines.iter().collect();
        for outlier in outliers {
            let attribution =
                attribution::attribute(outlier, &baselines, &self.capture).expect("a partition");
            divan::black_box(attribution);
        }
    }
}

/// A flow that was decoded before.
struct Replay<'a>(&'a Flow);

impl Decode for Replay<'_> {
    fn decode(&mut self, _: Option<Cpu>, _: ThreadId, range: TscRange, sink: &mut dyn FlowSink) -> bool {
        let time = |item: &FlowItem| match item {
            FlowItem::Block(block) => block.time,
            FlowItem::Event(event) => event.time,
            FlowItem::Gap(gap) => gap.time,
        };
        let within =
            |item: &&FlowItem| time(item).not_after >= range.start && time(item).not_before <= range.stop;
        for item in self.0.items.iter().filter(within) {
            if sink.item(item).is_break() {
                break;
            }
        }
        true
    }
}
