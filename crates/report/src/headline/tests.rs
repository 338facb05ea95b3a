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
    detailed(name, cpu, 1, "")
}

fn detailed(name: &str, cpu: Option<u32>, duration_ns: u64, detail: &str) -> SegmentReport {
    SegmentReport {
        offset_ns: 0,
        duration_ns,
        cpu,
        tid: None,
        cause: name.to_owned(),
        certainty: model::Certainty::Measured,
        detail: detail.to_owned(),
        story: model::Story::default(),
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
        vec![
            detailed(softirq, Some(3), 389_000, "interrupting `consume()` at queue.c:88"),
            segment("kernel.timer", Some(1)),
            detailed(softirq, Some(3), 100, "interrupting `other()`"),
        ],
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

/// Three faults of equal length: no address stands for most of the time.
#[test]
fn counts_instead_of_naming_one_of_many() {
    let fault = "kernel.page-fault.minor";
    let mut total = cause(fault, 300_000, "address 0x1000 (and 2 others)");
    total.count = 3;
    let pieces = ["address 0x1000", "address 0x2000", "address 0x3000"];
    let report = outlier(vec![total], pieces.map(|detail| detailed(fault, Some(1), 100_000, detail)).into());
    assert_eq!(
        headline(&report),
        "412.3 us, typical 16.3 us; +300.0 us kernel.page-fault.minor (3 times) on CPU 1"
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
    let evil = detailed("user.expected", None, 9, "\u{1b}[2J\nrm");
    let report = outlier(vec![cause("user.expected", 9, "")], vec![evil]);
    assert!(headline(&report).ends_with(r"user.expected, \u{1b}[2J\nrm"));
}
