//! A recording of records and samples alone: the worker reads (100 to 300), computes, and is away from 600 to 900.

use model::Cpu;
use perfdata::{LeaveReason, Schedule};

use super::*;
use crate::records::event::Side;
use crate::testing::script::{IDLE, Table, WORKER, WRITER, World, expected, record, run, told};

fn sample(table: &Table, thread: model::ThreadId, time: u64, function: &str) -> SampledAddress {
    SampledAddress {
        time: Tsc(time),
        cpu: Some(Cpu(0)),
        thread,
        address: table.start(function) + 5,
        by_timer: false,
        offset: model::FileOffset(time),
    }
}

#[test]
fn time_on_a_cpu_without_flow_is_measured_and_its_functions_are_those_of_samples() {
    let table = Table::new(&["vfs_read"], &["parse", "work"]);
    let call = |time, side| {
        record(time, 0, WORKER, side, EventKind::Syscall { number: 0, arguments: vec![].into() })
    };
    let fault = |time| {
        record(time, 0, WORKER, Side::Begin, EventKind::PageFault { address: 0x1000, error_code: None })
    };
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 600, LeaveReason::Slept(Some('S'))),
        run(IDLE, 0, 600, 900, LeaveReason::Unknown),
        run(WORKER, 0, 900, 1_000, LeaveReason::Unknown),
    ]);
    // The fault at 150 is within the call.
    let records = vec![call(100, Side::Begin), fault(150), call(300, Side::End), fault(400), fault(420)];
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let sampled = [
        sample(&table, WORKER, 50, "work"),
        sample(&table, WORKER, 200, "vfs_read"),
        sample(&table, WORKER, 350, "parse"),
        sample(&table, WORKER, 450, "work"),
        sample(&table, WRITER, 460, "parse"),
        sample(&table, WORKER, 950, "parse"),
    ];
    let attribution =
        crate::attribute_alone(&world.examine_without_trace(0..1_000, &sampled)).expect("a partition");
    assert_eq!(
        told(&attribution),
        expected(&[
            ("trace.filtered", 100),
            ("kernel.syscall.read", 200),
            ("trace.filtered", 300),
            ("offcpu.other", 300),
            ("trace.filtered", 100),
        ])
    );
    let segments = attribution.segments();
    let first = "on its CPU, no flow was recorded, 2 page faults, inferred by 3 samples: work() 2, parse() 1";
    assert_eq!((segments[0].detail.as_str(), segments[0].certainty), (first, Certainty::Measured));
    assert_eq!(segments[2].detail, first);
    let sampled = |segment: usize| {
        let sampled = segments[segment].story.sampled.iter();
        sampled.map(|of| (of.function.as_str(), of.samples)).collect::<Vec<_>>()
    };
    assert_eq!(sampled(0), [("work()", 2), ("parse()", 1)]);
    assert_eq!((sampled(1), sampled(4)), (Vec::new(), vec![("parse()", 1)]));
    assert_eq!(segments[4].detail, "on its CPU, no flow was recorded, inferred by 1 sample: parse()");
    assert_eq!(segments[4].evidence[0].file_offset.map(|offset| offset.0), Some(950));
    assert_ne!(segments[0].occurrence, segments[4].occurrence);
}

/// With a trace, the same time is one that the trace lacks.
#[test]
fn a_capture_with_a_trace_lacks_it_there() {
    let table = Table::new(&[], &["work"]);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 1_000, LeaveReason::Unknown)]);
    let world =
        World { table: &table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true };
    assert_eq!(world.story(0..1_000), expected(&[("trace.loss", 1_000)]));
    let attribution =
        crate::attribute_alone(&world.examine_without_trace(0..1_000, &[])).expect("a partition");
    assert_eq!(told(&attribution), expected(&[("trace.filtered", 1_000)]));
    assert_eq!(attribution.segments()[0].detail, "on its CPU, no flow was recorded");
}

/// The timer's interrupt from 400 to 450: its own sample is of what it interrupted, one of the cycle counter is the interrupt's.
#[test]
fn a_timers_sample_is_of_the_code_that_it_interrupted() {
    let table = Table::new(&["hrtimer_interrupt"], &["work"]);
    let timer = |time, side| record(time, 0, WORKER, side, EventKind::Vector { name: "local_timer".into() });
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 1_000, LeaveReason::Unknown)]);
    let records = vec![timer(400, Side::Begin), timer(450, Side::End)];
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let sampled = [
        SampledAddress { by_timer: true, ..sample(&table, WORKER, 420, "work") },
        sample(&table, WORKER, 430, "hrtimer_interrupt"),
    ];
    let attribution =
        crate::attribute_alone(&world.examine_without_trace(0..1_000, &sampled)).expect("a partition");
    assert_eq!(
        told(&attribution),
        expected(&[("trace.filtered", 400), ("kernel.timer", 50), ("trace.filtered", 550)])
    );
    assert_eq!(
        attribution.segments()[0].detail,
        "on its CPU, no flow was recorded, inferred by 1 sample: work()"
    );
}
