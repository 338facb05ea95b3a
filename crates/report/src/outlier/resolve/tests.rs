use model::{Cause, Certainty, Counter, Cpu, FileOffset, IntervalId, OffCpu, Stage, Ticks, TimeConversion};
use proptest::prelude::*;

use super::*;

fn segment(start: u64, stop: u64, cause: Cause) -> Segment {
    Segment {
        range: TscRange { start: Tsc(start), stop: Tsc(stop) },
        cpu: Some(Cpu(3)),
        thread: Some(ThreadId::new(7, 8)),
        cause,
        occurrence: 0,
        certainty: Certainty::Measured,
        detail: String::new(),
        story: model::Story::default(),
        edge_uncertainty: Ticks(0),
        during: Vec::new(),
        evidence: vec![Evidence::record(FileOffset(0x10), None, "SWITCH")],
    }
}

fn resolve(interval: Interval, segments: Vec<Segment>, timebase: Timebase) -> OutlierReport {
    let attribution = Attribution::new(interval, segments).expect("a partition");
    OutlierReport::new::<Attribution>(&attribution, &[], timebase, |thread, _| {
        Some(format!("t{}", thread.tid))
    })
}

fn interval(start: u64, stop: u64) -> Interval {
    Interval::new(IntervalId(9), "order", TscRange::new(Tsc(start), Tsc(stop)), Some(ThreadId::new(7, 8)))
}

#[test]
fn names_times_and_places() {
    let conversion = TimeConversion::new(31, 1 << 30, 1_000).expect("two ticks a nanosecond");
    let report = resolve(
        interval(200, 400),
        vec![segment(200, 300, Cause::UserExpected), segment(300, 400, Cause::Timer)],
        Timebase::Perf(conversion),
    );
    assert_eq!((report.start_tsc, report.stop_tsc, report.start_ns), (200, 400, Some(1_100)));
    assert_eq!(report.duration_ns, 100);
    assert_eq!(report.start_thread.as_ref().map(|thread| thread.comm.as_str()), Some("t8"));
    assert_eq!((report.segments[1].offset_ns, report.segments[1].duration_ns), (50, 50));
    assert_eq!((report.segments[1].cpu, report.segments[1].tid), (Some(3), Some(8)));
    assert_eq!(report.segments[0].evidence[0].file_offset, Some(0x10));
}

#[test]
fn what_is_compared_with_nothing_is_not_known_to_be_expected() {
    let segments = vec![segment(0, 10, Cause::UserExpected), segment(10, 30, Cause::Timer)];
    let report = resolve(interval(0, 30), segments, Timebase::Ticks).uncompared();
    let of = |name: &str| report.causes.iter().find(|total| total.cause == name).map(|total| total.certainty);
    assert_eq!(of("user.expected"), Some(Certainty::Unknown));
    assert_eq!(of("kernel.timer"), Some(Certainty::Measured), "the records tell it all the same");
    let certainties: Vec<Certainty> = report.segments.iter().map(|segment| segment.certainty).collect();
    assert_eq!(certainties, [Certainty::Unknown, Certainty::Measured]);
}

#[test]
fn without_a_clock_lengths_are_ticks_and_no_perf_time_is_told() {
    let report = resolve(interval(10, 30), vec![segment(10, 30, Cause::Unexplained)], Timebase::Ticks);
    assert_eq!((report.start_ns, report.duration_ns, report.time_unit), (None, 20, crate::TimeUnit::Ticks));
}

/// The wait lasts from 100 to 200; what its waker did from 50 to 120 counts from 100 only, and what lies outside not.
#[test]
fn clips_during_to_its_wait() {
    let mut wait = segment(100, 200, Cause::OffCpu(OffCpu::Lock));
    wait.during =
        vec![segment(0, 50, Cause::Timer), segment(50, 120, Cause::Timer), segment(190, 260, Cause::Nmi)];
    let report =
        resolve(interval(90, 200), vec![segment(90, 100, Cause::UserExpected), wait], Timebase::Ticks);
    let during: Vec<(u64, u64)> =
        report.segments[1].during.iter().map(|piece| (piece.offset_ns, piece.duration_ns)).collect();
    assert_eq!(during, [(10, 20), (100, 10)]);
}

/// The interval's own code was compared, the waker's was not.
#[test]
fn what_happens_meanwhile_is_not_known_to_be_expected() {
    let mut wait = segment(0, 20, Cause::OffCpu(OffCpu::Lock));
    wait.during = vec![segment(0, 10, Cause::UserExpected), segment(10, 20, Cause::Timer)];
    let segments = vec![wait, segment(20, 30, Cause::UserExpected)];
    let report = resolve(interval(0, 30), segments, Timebase::Ticks);
    let during: Vec<Certainty> = report.segments[0].during.iter().map(|piece| piece.certainty).collect();
    assert_eq!(during, [Certainty::Unknown, Certainty::Measured]);
    assert_eq!(report.segments[1].certainty, Certainty::Measured);
}

#[test]
fn bounds_the_depth_of_during() {
    let mut wait = segment(0, 100, Cause::OffCpu(OffCpu::Lock));
    for _ in 0..50 {
        wait = Segment { during: vec![wait], ..segment(0, 100, Cause::OffCpu(OffCpu::Lock)) };
    }
    let report = resolve(interval(0, 100), vec![wait], Timebase::Ticks);
    let mut depth = 0;
    let mut level = &report.segments;
    while let Some(segment) = level.first() {
        level = &segment.during;
        depth += 1;
    }
    assert_eq!(depth, 1 + DURING_DEPTH);
}

/// Stages 0..40, 40..60 and one that a wrong mark puts after the end.
#[test]
fn stages_end_where_the_next_begins() {
    let mut with_stages = interval(100, 160);
    with_stages.stages = [("parse", 90), ("match", 140), ("send", 170)]
        .map(|(name, start)| Stage { name: name.to_owned(), start: Tsc(start) })
        .into();
    with_stages.counters = vec![Counter { name: "bytes".to_owned(), value: 12.5.into() }];
    let report = resolve(with_stages, vec![segment(100, 160, Cause::UserExpected)], Timebase::Ticks);
    let stages: Vec<(&str, u64, u64)> =
        report.stages.iter().map(|stage| (stage.name.as_str(), stage.offset_ns, stage.duration_ns)).collect();
    assert_eq!(stages, [("parse", 0, 40), ("match", 40, 20), ("send", 60, 0)]);
    assert_eq!(report.counters[0].value.to_string(), "12.5");
}

proptest! {
    #[test]
    fn segments_touch_and_add_up(
        start in 0u64..1 << 50,
        lengths in proptest::collection::vec(1u64..1_000_000, 1..40),
        mult in 100_000_000u32..4_000_000_000,
    ) {
        let mut edge = start;
        let segments: Vec<Segment> = lengths
            .iter()
            .map(|length| {
                edge += length;
                segment(edge - length, edge, Cause::Unexplained)
            })
            .collect();
        let conversion = TimeConversion::new(31, mult, u64::MAX - 5).expect("usable");
        let report = resolve(interval(start, edge), segments, Timebase::Perf(conversion));
        let mut offset = 0;
        for segment in &report.segments {
            prop_assert_eq!(segment.offset_ns, offset);
            offset += segment.duration_ns;
        }
        prop_assert_eq!(offset, report.duration_ns);
    }
}
