use model::{Cause, Certainty, Interval, IntervalId, OffCpu, Story, Ticks, Tsc, TscRange};

use super::*;
use crate::OutlierReport;
use crate::headline::headline;

fn segment(start: u64, stop: u64, cause: Cause, part: Option<Part>) -> Segment {
    let mut story = Story::default();
    story.part = part;
    Segment {
        range: TscRange::new(Tsc(start), Tsc(stop)),
        cpu: None,
        thread: None,
        cause,
        occurrence: start,
        certainty: Certainty::Measured,
        detail: String::new(),
        story,
        edge_uncertainty: Ticks(0),
        during: Vec::new(),
        evidence: Vec::new(),
    }
}

/// An interval that is one wait for `server`, who did `during`.
fn answered(server: &str, during: Vec<Segment>) -> Attribution {
    let stop = during.last().map_or(1, |segment| segment.range.stop.0);
    let mut wait = segment(0, stop, Cause::OffCpu(OffCpu::Socket), None);
    wait.story.by = server.to_owned();
    wait.story.role = model::Role::Waker;
    wait.during = during;
    let interval = Interval::new(IntervalId(0), "", wait.range, None);
    Attribution::new(interval, vec![wait]).expect("a partition")
}

fn report(outlier: &Attribution, baselines: &[Attribution]) -> OutlierReport {
    OutlierReport::new(outlier, baselines, Timebase::Ticks, |_, _| None)
}

fn work(start: u64, stop: u64, part: Part, place: &str, unusual: bool) -> Segment {
    let mut segment = segment(start, stop, Cause::UserExpected, Some(part));
    segment.story.place = place.to_owned();
    segment.story.unusual = unusual;
    segment
}

fn typical() -> [Attribution; 2] {
    let usual = |stop| {
        vec![work(0, 40, Part::Between, "poll()", false), work(40, stop, Part::OwnWork, "get()", false)]
    };
    [answered("server", usual(100)), answered("server", usual(120))]
}

/// The rows add up to the wait; what takes longest of all may be usual.
#[test]
fn the_part_that_took_more_than_typical_comes_first() {
    let mut others = work(0, 60, Part::OthersFirst, "list()", true);
    others.story.object = "fd 9: 30 bytes in".to_owned();
    let outlier = answered(
        "server",
        vec![
            others,
            work(60, 100, Part::Between, "poll()", false),
            work(100, 180, Part::OwnWork, "get()", false),
        ],
    );
    let report = report(&outlier, &typical());
    let row = |part, unusual: &str, duration_ns, typical_ns| ServingRow {
        part: Some(part),
        kind: "user".to_owned(),
        unusual: unusual.to_owned(),
        duration_ns,
        typical_ns,
    };
    let rows = &report.segments[0].serving;
    let expected = [
        row(Part::OthersFirst, "list()", 60, 0),
        row(Part::OwnWork, "", 80, 70),
        row(Part::Between, "", 40, 40),
    ];
    assert_eq!(*rows, expected);
    assert_eq!(rows.iter().map(|row| row.duration_ns).sum::<u64>(), 180);
    let said = headline(&report);
    assert!(
        said.ends_with("woken by server, which first served another client (fd 9: 30 bytes in) for 60 ticks and ran list()"),
        "{said}"
    );
}

/// A job of its pool is at the request, and it serves others in that time: what the request waits for is named, with all of the time.
#[test]
fn what_is_done_beside_a_wait_is_part_of_it() {
    let mut poll = segment(60, 90, Cause::OffCpu(OffCpu::Poll), Some(Part::Waits));
    poll.story.object = "a job of its thread pool, queued after others".to_owned();
    let others = work(0, 60, Part::Waits, "reply()", true);
    let during = vec![others, poll, work(90, 160, Part::OwnWork, "get()", false)];
    let said = headline(&report(&answered("server", during), &typical()));
    let expected = "woken by server, which waited 90 ticks for a job of its thread pool, queued after others";
    assert!(said.ends_with(expected), "{said}");
}

/// A lock's holder answers no request.
#[test]
fn waits_without_parts_have_no_rows() {
    let outlier = answered("holder", vec![segment(0, 90, Cause::UserExpected, None)]);
    assert_eq!(report(&outlier, &typical()).segments[0].serving, []);
}

/// By hand: 60 for others in one piece; 80 of its own beside 70 typical; 40 between, as typical.
#[test]
fn parts_add_up_and_without_comparison_have_no_typical_time() {
    let pieces = || {
        vec![
            work(0, 60, Part::OthersFirst, "list()", true),
            work(60, 100, Part::Between, "poll()", false),
            work(100, 150, Part::OwnWork, "get()", true),
            work(150, 180, Part::OwnWork, "get()", false),
        ]
    };
    let mut wait = report(&answered("server", pieces()), &typical()).segments.remove(0);
    let sums = |wait: &SegmentReport| -> Vec<(Option<Part>, u64, Option<u64>)> {
        part_sums(wait).iter().map(|sum| (sum.part, sum.duration_ns, sum.typical_ns)).collect()
    };
    let mut compared = sums(&wait);
    compared.sort_unstable();
    let expected = [
        (Some(Part::OthersFirst), 60, Some(0)),
        (Some(Part::OwnWork), 80, Some(70)),
        (Some(Part::Between), 40, Some(40)),
    ];
    assert_eq!(compared, expected);
    wait.serving.clear();
    let expected = [
        (Some(Part::OthersFirst), 60, None),
        (Some(Part::Between), 40, None),
        (Some(Part::OwnWork), 80, None),
    ];
    assert_eq!(sums(&wait), expected);
    wait.during.clear();
    assert_eq!(sums(&wait), []);
}
