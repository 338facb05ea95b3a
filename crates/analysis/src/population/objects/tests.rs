use model::{Certainty, Pid, Story, ThreadId, Tid, TscRange};
use report::SegmentReport;

use super::*;

const CLIENT: ThreadId = ThreadId { pid: Pid(10), tid: Tid(11) };

/// Perf's clock and the TSC are the same.
fn conversion() -> TimeConversion {
    TimeConversion::new(0, 1, 0).expect("a conversion")
}

fn wait(start: u64, stop: u64, kind: OffCpu, number: u32) -> (bool, ObjectWait) {
    let wait = ObjectWait {
        object: WaitObject::Descriptor { pid: Pid(10), number, of: None },
        kind,
        certainty: Certainty::Measured,
        thread: CLIENT,
        range: TscRange::new(Tsc(start), Tsc(stop)),
        cpu: None,
        ended_on: None,
        ended_by: None,
    };
    (true, wait)
}

/// An outlier from 1000 on whose client waits from 1010 to 1050.
fn explained_as(cause: &str) -> OutlierReport {
    let waited = SegmentReport {
        ticks: 0,
        offset_ns: 10,
        duration_ns: 40,
        tid: Some(CLIENT.tid.0),
        cause: cause.to_owned(),
        cpu: None,
        certainty: Certainty::Decoded,
        detail: String::new(),
        story: Story::default(),
        edge_uncertainty_ns: 0,
        during: Vec::new(),
        serving: Vec::new(),
        evidence: Vec::new(),
    };
    OutlierReport { start_ns: Some(1000), segments: vec![waited], ..OutlierReport::default() }
}

fn kinds(outlier: OutlierReport) -> Vec<OffCpu> {
    let mut waits = [
        wait(1010, 1050, OffCpu::Other, 7),
        // Of an interval that was not explained; by another descriptor; known by records; outside of the explained wait.
        wait(5000, 5100, OffCpu::Other, 7),
        wait(6000, 6100, OffCpu::Other, 8),
        wait(7000, 7100, OffCpu::Poll, 7),
        wait(1060, 1090, OffCpu::Other, 9),
    ];
    settle_kinds(&mut waits, &[outlier], conversion());
    waits.into_iter().map(|(_, wait)| wait.kind).collect()
}

#[test]
fn a_descriptor_has_one_kind_in_the_view_and_in_the_verdicts() {
    use OffCpu::{Other, Poll, Socket};
    assert_eq!(kinds(explained_as("offcpu.socket")), [Socket, Socket, Other, Poll, Other]);
    assert_eq!(kinds(explained_as("offcpu.lock")), [Other, Other, Other, Poll, Other]);
    assert_eq!(kinds(explained_as("offcpu.other")), [Other, Other, Other, Poll, Other]);
    assert_eq!(kinds(OutlierReport::default()), [Other, Other, Other, Poll, Other]);
}

/// A number is used again for something else; and what its path showed stays.
#[test]
fn a_descriptor_whose_explained_waits_differ_keeps_its_waits() {
    let mut waits = [
        wait(1010, 1050, OffCpu::Other, 7),
        wait(1060, 1090, OffCpu::Other, 7),
        wait(5000, 5100, OffCpu::Other, 7),
    ];
    let mut outlier = explained_as("offcpu.socket");
    let mut second = outlier.segments[0].clone();
    (second.offset_ns, second.duration_ns, second.cause) = (60, 30, "offcpu.poll".to_owned());
    outlier.segments.push(second);
    settle_kinds(&mut waits, &[outlier], conversion());
    assert!(waits.iter().all(|(_, wait)| wait.kind == OffCpu::Other));

    let mut by_path = [wait(1010, 1050, OffCpu::Other, 7)];
    by_path[0].1.certainty = Certainty::Decoded;
    settle_kinds(&mut by_path, &[explained_as("offcpu.socket")], conversion());
    assert_eq!(by_path[0].1.kind, OffCpu::Other);
}
