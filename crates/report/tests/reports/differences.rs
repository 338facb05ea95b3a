//! Two captures side by side: A waits for a lock, B touches fresh pages.

use tailtrace_report::{Contrast, Difference, DurationChange, QuantileShift, SharedBin, Side};

use super::*;

/// Explained: A's lock wait of 1.2 ms against B's 80 us with 60 us of page faults and functions of its own. Typical: one
/// interval each, of which B's has functions.
pub fn difference() -> Difference {
    let (a, b) = (lock_wait(), with_calls());
    let typical = |name: &str, time| {
        let node = |parent, name: &str, self_ns| tailtrace_report::CallReport {
            parent,
            name: name.to_owned(),
            self_ns,
            ..tailtrace_report::CallReport::default()
        };
        let mut report = page_faults().outliers.remove(0);
        report.causes.truncate(1);
        report.causes[0].duration_ns = time;
        report.calls.nodes = vec![node(None, "main", 3_000), node(Some(0), name, time - 3_000)];
        report
    };
    Difference {
        bins: [(12_000, 40, 300), (14_000, 301, 161), (16_333, 159, 23), (19_056, 0, 16)]
            .map(|(from_ns, a, b)| SharedBin { from_ns, to_ns: from_ns * 7 / 6, a, b })
            .into(),
        change: Some(DurationChange {
            u: 812_340.5,
            b_longer: 0.25,
            z: -11.5,
            p: 1.2e-30,
            quantiles: vec![
                QuantileShift {
                    percent: 50.0,
                    a_ns: 16_300,
                    b_ns: 12_100,
                    confidence_ns: Some((-4_400, -4_000)),
                },
                QuantileShift { percent: 99.9, a_ns: 398_000, b_ns: 80_000, confidence_ns: None },
            ],
        }),
        typical: Contrast::between(&[typical("idle", 16_000)], &[typical("consume", 12_000)]),
        outliers: Contrast::between(&a.outliers, &b.outliers),
        diagnostics: a.diagnostics.clone(),
        a: Side { capture: a.capture, population: a.population, selection: a.selection },
        b: Side { capture: b.capture, population: b.population, selection: b.selection },
        ..Difference::default()
    }
}

/// The same of [`hostile_with_calls`].
pub fn hostile_difference() -> Difference {
    let (a, b) = (hostile(), hostile_with_calls());
    Difference {
        typical: Contrast::between(&a.outliers, &b.outliers),
        outliers: Contrast::between(&b.outliers, &a.outliers),
        diagnostics: a.diagnostics.clone(),
        a: Side { capture: a.capture, population: a.population, selection: a.selection },
        b: Side { capture: b.capture, population: b.population, selection: b.selection },
        ..difference()
    }
}
