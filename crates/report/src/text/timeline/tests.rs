use model::Certainty;
use proptest::prelude::*;

use super::*;

const STYLE: Style = Style { width: 80, color: false, unicode: false };

/// An interval cut into the given lengths and causes.
fn outlier(pieces: &[(u64, &str)]) -> OutlierReport {
    let mut offset_ns = 0;
    let segments: Vec<SegmentReport> = pieces
        .iter()
        .map(|&(duration_ns, cause)| {
            offset_ns += duration_ns;
            SegmentReport {
                ticks: 0,
                offset_ns: offset_ns - duration_ns,
                duration_ns,
                cpu: None,
                tid: None,
                cause: cause.to_owned(),
                certainty: Certainty::Decoded,
                detail: String::new(),
                story: model::Story::default(),
                edge_uncertainty_ns: 0,
                during: Vec::new(),
                serving: Vec::new(),
                evidence: Vec::new(),
            }
        })
        .collect();
    OutlierReport { duration_ns: offset_ns, segments, ..OutlierReport::default() }
}

#[test]
fn a_cell_shows_the_family_with_most_of_its_time() {
    let report =
        outlier(&[(40, "user.expected"), (4, "kernel.timer"), (6, "user.expected"), (50, "offcpu.lock")]);
    assert_eq!(strip(&report, 10, STYLE), ".....WWWWW");
    assert_eq!(strip(&report, 100, STYLE), ".".repeat(40) + "IIII" + "......" + &"W".repeat(50));
}

/// Three nanoseconds on twelve columns.
#[test]
fn short_intervals_are_stretched() {
    let report = outlier(&[(1, "user.expected"), (1, "kernel.nmi"), (1, "trace.loss")]);
    assert_eq!(strip(&report, 12, STYLE), "....IIIILLLL");
}

#[test]
fn what_is_too_short_for_a_cell_still_stands_in_the_legend() {
    let report = outlier(&[(500_000, "user.expected"), (10, "kernel.nmi"), (499_990, "user.expected")]);
    let lines = lines(&report, 40, STYLE);
    assert_eq!(lines[1], ".".repeat(40));
    assert_eq!(lines[2..], [". user, as expected 1.00 ms >99 %", "I interrupt 10 ns <1 %"]);
}

#[test]
fn every_dotted_name_has_its_family() {
    for (cause, letter) in [
        ("user.expected", "·"),
        ("user.slower.front-end", "S"),
        ("user.spin", "B"),
        ("kernel.page-fault.major", "F"),
        ("kernel.softirq.net_rx", "I"),
        ("kernel.syscall.read", "K"),
        ("kernel.schedule", "K"),
        ("offcpu.runnable", "P"),
        ("offcpu.block-io", "W"),
        ("power.c-state-exit.C6", "C"),
        ("runtime.gc.jvm", "G"),
        ("runtime.idle.go", "W"),
        ("queue.behind", "Q"),
        ("hardware.gap", "H"),
        ("trace.filtered", "L"),
        ("unexplained", "?"),
        ("", "?"),
    ] {
        assert_eq!(GROUPS[group_of(cause)].letter, letter, "{cause}");
    }
}

#[test]
fn an_interval_without_time_has_no_strip() {
    assert_eq!(lines(&outlier(&[]), 40, STYLE), Vec::<String>::new());
}

proptest! {
    #[test]
    fn the_strip_is_full(
        pieces in proptest::collection::vec((1u64..1_000_000, 0usize..4), 1..60),
        columns in 1usize..200,
    ) {
        let names = ["user.expected", "kernel.nmi", "offcpu.lock", "x"];
        let pieces: Vec<(u64, &str)> = pieces.into_iter().map(|(length, cause)| (length, names[cause])).collect();
        let strip = strip(&outlier(&pieces), columns, STYLE);
        prop_assert_eq!(strip.len(), columns);
        prop_assert!(!strip.contains(' '));
    }
}
