//! A made-up interval that waits for the answer of a server, which waits for one of its own.

use model::Part;
use report::{OutlierReport, SegmentReport, ServingRow};

use super::sample::{HOSTILE, SERVED, calls, cause, segment};
use crate::tui::pages::explained::Explained;
use crate::tui::pages::lanes::lanes;

/// 88 us, of which 75 wait for `store`, which worked for a client of a hostile name first, and then waited for `disk`.
pub(in crate::tui) fn served() -> Explained {
    let of = |tid, part, mut segment: SegmentReport| {
        (segment.tid, segment.story.part) = (Some(tid), Some(part));
        segment
    };
    let mut first = of(310, Part::OthersFirst, segment(5_000, 10_000, "user.expected", "list < main"));
    "list() list.c:9".clone_into(&mut first.story.place);
    HOSTILE.clone_into(&mut first.story.by);
    "fd 9: 30 bytes in".clone_into(&mut first.story.object);
    let mut asks = of(310, Part::Waits, segment(17_000, 40_000, "offcpu.socket", "in recvfrom() on fd 4"));
    "data from a socket".clone_into(&mut asks.story.object);
    "disk".clone_into(&mut asks.story.by);
    asks.during = vec![
        of(311, Part::NotRun, segment(17_000, 4_000, "offcpu.runnable", "woken by store (tid 310)")),
        of(311, Part::OwnWork, segment(21_000, 2_000, "kernel.syscall.read", "")),
        of(311, Part::OwnWork, segment(23_000, 34_000, "user.expected", "seek < main")),
    ];
    let mut wait = segment(5_000, 75_000, "offcpu.socket", "in recvfrom() on fd 5, woken by store (tid 310)");
    "store".clone_into(&mut wait.story.by);
    wait.story.role = model::Role::Waker;
    wait.during = vec![
        first,
        of(310, Part::OwnWork, segment(15_000, 2_000, "kernel.syscall.read", "")),
        asks,
        of(310, Part::OwnWork, segment(57_000, 18_000, "user.expected", "get < main")),
        of(310, Part::OwnWork, segment(75_000, 5_000, "kernel.syscall.write", "")),
    ];
    let row = |part, kind: &str, duration_ns, typical_ns| ServingRow {
        part: Some(part),
        kind: kind.to_owned(),
        unusual: String::new(),
        duration_ns,
        typical_ns,
    };
    wait.serving = vec![
        row(Part::Waits, "offcpu.socket", 40_000, 0),
        row(Part::OthersFirst, "user", 10_000, 0),
        row(Part::OwnWork, "user", 18_000, 19_000),
        row(Part::OwnWork, "kernel.syscall.write", 5_000, 6_000),
        row(Part::OwnWork, "kernel.syscall.read", 2_000, 3_000),
    ];
    let segments = vec![
        segment(0, 5_000, "kernel.syscall.recvfrom", ""),
        wait,
        segment(80_000, 8_000, "user.expected", "worker"),
    ];
    let names = [(124, "worker"), (310, "store"), (311, "disk")];
    let outlier = OutlierReport {
        id: SERVED as u64,
        label: "order".to_owned(),
        start_ns: Some(500_000_000),
        duration_ns: 88_000,
        threads: names.map(|(tid, name)| (tid, name.to_owned())).into(),
        baselines: vec![10],
        baseline_mean_ns: Some(40_000),
        causes: vec![cause("offcpu.socket", 75_000, 28_000, ""), cause("user.expected", 8_000, 12_000, "")],
        segments,
        calls: calls(),
        ..OutlierReport::default()
    };
    let lanes = lanes(&outlier, Vec::new(), &|tid| outlier.thread_words(Some(tid)));
    Explained { outlier, lanes, ..Explained::default() }
}
