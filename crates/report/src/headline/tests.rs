use super::*;
use crate::SegmentReport;

fn cause(name: &str, excess_ns: i64, detail: &str) -> CauseTotal {
    CauseTotal {
        cause: name.to_owned(),
        duration_ns: u64::try_from(excess_ns).unwrap_or(0),
        typical_ns: 0,
        excess_ns,
        count: 1,
        certainty: model::Certainty::Measured,
        detail: detail.to_owned(),
    }
}

fn segment(name: &str, cpu: Option<u32>) -> SegmentReport {
    SegmentReport {
        offset_ns: 0,
        duration_ns: 1,
        cpu,
        tid: None,
        cause: name.to_owned(),
        certainty: model::Certainty::Measured,
        detail: String::new(),
        edge_uncertainty_ns: 0,
        during: Vec::new(),
        evidence: Vec::new(),
    }
}

fn outlier(causes: Vec<CauseTotal>, segments: Vec<SegmentReport>) -> OutlierReport {
    OutlierReport {
        duration_ns: 412_300,
        baseline_mean_ns: Some(16_300),
        causes,
        segments,
        ..OutlierReport::default()
    }
}

#[test]
fn names_the_cause_its_cpu_and_its_particulars() {
    let softirq = "kernel.softirq.net_rx";
    let report = outlier(
        vec![
            cause(softirq, 389_100, "interrupting `consume()` at queue.c:88"),
            cause("kernel.timer", 6_900, ""),
        ],
        vec![segment(softirq, Some(3)), segment("kernel.timer", Some(1)), segment(softirq, Some(3))],
    );
    assert_eq!(
        headline(&report),
        "412.3 us, typical 16.3 us; +389.1 us kernel.softirq.net_rx on CPU 3, interrupting `consume()` at queue.c:88"
    );
}

#[test]
fn names_two_causes_where_the_first_is_not_the_half() {
    let report = outlier(
        vec![
            cause("offcpu.lock", 150_000, ""),
            cause("offcpu.runnable", 140_000, ""),
            cause("kernel.nmi", 106_000, ""),
        ],
        vec![
            segment("offcpu.lock", None),
            segment("offcpu.runnable", Some(1)),
            segment("offcpu.runnable", Some(2)),
        ],
    );
    assert_eq!(
        headline(&report),
        "412.3 us, typical 16.3 us; +150.0 us offcpu.lock; +140.0 us offcpu.runnable"
    );
}

#[test]
fn says_when_there_is_nothing_to_say() {
    let mut report = outlier(vec![cause("user.expected", -5, "")], Vec::new());
    assert_eq!(headline(&report), "412.3 us, typical 16.3 us; no cause took longer than typical");
    report.baseline_mean_ns = None;
    report.causes = vec![cause("trace.loss", 412_300, "")];
    assert_eq!(headline(&report), "412.3 us, nothing to compare with; 412.3 us trace.loss");
}

#[test]
fn is_one_harmless_line() {
    let report = outlier(vec![cause("user.expected", 9, "\u{1b}[2J\nrm")], Vec::new());
    assert!(headline(&report).ends_with(r"user.expected, \u{1b}[2J\nrm"));
}
