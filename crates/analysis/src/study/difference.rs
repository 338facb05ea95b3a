//! The intervals of two captures side by side.
//!
//! Each capture is studied for itself; then only durations, causes and calls meet. Typical intervals are the baselines of
//! each side.

use std::collections::{BTreeMap, BTreeSet};

use attribution::Examined;
use intervals::{Change, Histogram};
use report::{
    Contrast, Difference, DurationChange, Expected, OutlierReport, QuantileShift, SharedBin, Side, TimeUnit,
};

use super::expected::Measured;
use super::opened::{Study, with};
use crate::capture::Meter;
use crate::error::{Error, Result};
use crate::expectation::{Expectation, Limit};
use crate::request::Request;

/// What is known of one capture.
struct Studied {
    side: Side,
    durations: Vec<u64>,
    typical: Vec<OutlierReport>,
    outliers: Vec<OutlierReport>,
    diagnostics: Vec<model::Diagnostic>,
}

/// Studies both captures and compares them.
///
/// # Errors
/// Where a capture or its intervals cannot be used, or their lengths have different units.
pub fn difference(a: &Request, b: &Request, meter: &dyn Meter) -> Result<Difference> {
    let (a, b) = (with(a, meter, studied)?, with(b, meter, studied)?);
    compared(a, b)
}

/// As [`difference`]; also what was measured of each of `expectations`: of B, and beside A where the limit is a ratio.
///
/// # Errors
/// As [`difference`] and [`Study::expect`].
pub fn difference_expecting(
    a: &Request,
    b: &Request,
    expectations: &[Expectation],
    meter: &dyn Meter,
) -> Result<(Difference, Vec<Expected>)> {
    let (a, of_a) = with(a, meter, |study| Ok::<_, Error>((studied(study)?, beside(study, expectations)?)))?;
    let (b, of_b) =
        with(b, meter, |study| Ok::<_, Error>((studied(study)?, Measured::of(study, expectations)?)))?;
    let found = expectations.iter().map(|expectation| of_b.check(expectation, Some(&of_a))).collect();
    Ok((compared(a, b)?, found))
}

/// What is measured of A: only what ratios need, and nothing of a cause has one.
fn beside(study: &Study<'_>, expectations: &[Expectation]) -> Result<Measured> {
    let is_ratio = |expectation: &&Expectation| matches!(expectation.limit, Limit::Ratio(_));
    let ratios: Vec<Expectation> = expectations.iter().filter(is_ratio).cloned().collect();
    Measured::of(study, &ratios)
}

/// Looks at the chosen and at the typical intervals of one capture.
fn studied(study: &Study<'_>) -> Result<Studied> {
    let chosen = &study.selected().indices;
    let mut baselines = study.baselines(chosen);
    if chosen.is_empty() {
        // Typical ones are there although none is slow.
        baselines = study.median().map(|index| study.baselines(&[index])).unwrap_or_default();
    }
    let typical: BTreeSet<usize> = baselines.values().flatten().copied().collect();
    let examined: BTreeMap<usize, Examined> = study.examine_shown(&baselines);
    let report = |index: usize| study.outlier_report(index, &[], &examined);
    let mut overview = study.overview();
    let outliers = chosen.iter().map(|&index| report(index)).collect::<Result<_>>()?;
    let typical = typical.into_iter().map(report).collect::<Result<_>>()?;
    overview.diagnostics.extend(study.late_diagnostics());
    Ok(Studied {
        side: Side {
            capture: overview.capture,
            population: overview.population,
            selection: overview.selection,
        },
        durations: study.durations().to_vec(),
        typical,
        outliers,
        diagnostics: overview.diagnostics,
    })
}

fn compared(a: Studied, b: Studied) -> Result<Difference> {
    let (unit, other) = (a.side.capture.time_unit, b.side.capture.time_unit);
    if unit != other {
        return Err(Error::DifferentUnits(if unit == TimeUnit::Ticks { 'A' } else { 'B' }));
    }
    let mut diagnostics = a.diagnostics;
    diagnostics
        .extend(b.diagnostics.into_iter().filter(|found| !diagnostics.contains(found)).collect::<Vec<_>>());
    Ok(Difference {
        bins: bins(a.durations.clone(), b.durations.clone()),
        change: Change::between(&a.durations, &b.durations).map(change),
        typical: Contrast::between(&a.typical, &b.typical),
        outliers: Contrast::between(&a.outliers, &b.outliers),
        time_unit: unit,
        diagnostics,
        a: a.side,
        b: b.side,
    })
}

/// Both in the same bins.
fn bins(mut a: Vec<u64>, mut b: Vec<u64>) -> Vec<SharedBin> {
    a.sort_unstable();
    b.sort_unstable();
    let [a, b] = Histogram::of_both(&a, &b);
    let both = a.bins.iter().zip(&b.bins);
    both.map(|(a, b)| SharedBin { from_ns: a.from, to_ns: a.to, a: a.count, b: b.count }).collect()
}

fn change(found: Change) -> DurationChange {
    let shift = |one: intervals::QuantileChange| QuantileShift {
        percent: one.percent,
        a_ns: one.a,
        b_ns: one.b,
        confidence_ns: one.confidence,
    };
    DurationChange {
        u: found.u,
        b_longer: found.b_longer,
        z: found.z,
        p: found.p,
        quantiles: found.quantiles.into_iter().map(shift).collect(),
    }
}
