//! Sums and shares by hand.

use model::{Role, Story};

use super::*;
use crate::{CauseTotal, SegmentReport};

/// An outlier whose causes are `(cause, excess, object, holder)`; a segment each.
fn outlier(causes: &[(&str, i64, &str, &str)]) -> OutlierReport {
    let total = |&(cause, excess_ns, ..): &(&str, i64, &str, &str)| CauseTotal {
        cause: cause.to_owned(),
        duration_ns: excess_ns.unsigned_abs(),
        typical_ns: 0,
        excess_ns,
        count: 1,
        certainty: model::Certainty::Measured,
        detail: String::new(),
    };
    let segment = |&(cause, excess_ns, object, by): &(&str, i64, &str, &str)| {
        let mut story = Story::default();
        object.clone_into(&mut story.object);
        by.clone_into(&mut story.by);
        story.role = Role::Holder;
        SegmentReport {
            ticks: 0,
            offset_ns: 0,
            duration_ns: excess_ns.unsigned_abs(),
            cpu: None,
            tid: None,
            cause: cause.to_owned(),
            certainty: model::Certainty::Measured,
            detail: String::new(),
            story,
            edge_uncertainty_ns: 0,
            during: Vec::new(),
            serving: Vec::new(),
            evidence: Vec::new(),
        }
    };
    OutlierReport {
        causes: causes.iter().map(total).collect(),
        segments: causes.iter().map(segment).collect(),
        baseline_mean_ns: Some(0),
        ..OutlierReport::default()
    }
}

/// 600 + 200 of the mutex, 150 + 40 of faults, 10 smaller: 1000 in all. 10 is less than 2 % of 760, 40 is more than 2 % of 240.
#[test]
fn reasons_by_hand() {
    let first = outlier(&[
        ("offcpu.lock", 600, "mutex", "auditor"),
        ("kernel.page-fault.minor", 150, "", ""),
        ("kernel.timer", 10, "", ""),
        ("user.expected", -90, "", ""),
    ]);
    let second = outlier(&[("offcpu.lock", 200, "mutex", "ledger"), ("kernel.page-fault.minor", 40, "", "")]);
    let reasons = Reasons::of(&[first, second].map(|outlier| OutlierReasons::of(&outlier)), 7);
    assert_eq!((reasons.explained, reasons.outliers, reasons.smaller_ns), (2, 7, 10));
    let told: Vec<(&str, u64, u64, u64)> = reasons
        .all
        .iter()
        .map(|reason| (&*reason.what, reason.first, reason.outliers, reason.excess_ns))
        .collect();
    assert_eq!(told, [("waited for mutex", 2, 2, 800), ("page faults", 0, 2, 190)]);
    let blamed: Vec<(&str, u64, u64)> =
        reasons.all[0].blamed.iter().map(|blame| (&*blame.who, blame.first, blame.excess_ns)).collect();
    assert_eq!(blamed, [("held by auditor", 1, 600), ("held by ledger", 1, 200)]);
    assert!(reasons.all[1].blamed.is_empty());
    let shares: Vec<f64> = reasons.all.iter().map(|reason| reason.share).collect();
    assert_eq!((shares, reasons.smaller_share), (vec![0.8, 0.19], 0.01));
}

#[test]
fn nothing_has_no_reason() {
    assert_eq!(Reasons::of(&[], 0), Reasons::default());
    let usual = OutlierReasons::of(&outlier(&[("user.expected", -5, "", "")]));
    assert_eq!(Reasons::of(&[usual], 1).all, []);
}
