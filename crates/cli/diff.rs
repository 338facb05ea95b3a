//! `tailtrace diff`: the intervals of two captures side by side.
//!
//! Each capture is studied for itself, with the same options but for those of B; then only durations, causes and calls
//! meet. Typical intervals are the baselines of each side.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use attribution::Examined;
use intervals::Change;
use report::{Contrast, Difference, DurationChange, OutlierReport, QuantileShift, Side, TimeUnit};

use crate::args::{AnalysisArgs, DiffArgs, DiffFormat, InputArgs};
use crate::output::{self, Outcome};
use crate::study::{self, Study};

/// What is known of one capture.
struct Studied {
    side: Side,
    durations: Vec<u64>,
    typical: Vec<OutlierReport>,
    outliers: Vec<OutlierReport>,
    diagnostics: Vec<model::Diagnostic>,
}

/// Runs the command.
pub(crate) fn run(args: &DiffArgs) -> Result<Outcome> {
    let (a, b) = analyses(args);
    let (a, b) = (study::with(&a, studied)?, study::with(&b, studied)?);
    let difference = difference(a, b)?;
    if args.format != DiffFormat::Text || !output::is_terminal() {
        output::print_diagnostics(&difference.diagnostics);
    }
    output::print_result(&match args.format {
        DiffFormat::Text => report::render_difference_text(&difference, &output::style()),
        DiffFormat::Markdown => report::render_difference_markdown(&difference),
        DiffFormat::Json => report::render_difference_json(&difference),
        DiffFormat::Html => report::render_difference_html(&difference),
    })?;
    Ok(if difference.change.is_some() { Outcome::Reported } else { Outcome::NothingSelected })
}

/// The arguments as they count for A and for B.
fn analyses(args: &DiffArgs) -> (AnalysisArgs, AnalysisArgs) {
    let analysis = |input: &std::path::Path| AnalysisArgs {
        input: InputArgs { input: input.to_owned(), code: args.code.clone() },
        source: args.source.clone(),
        selection: args.selection.clone(),
        effort: args.effort.clone(),
    };
    let (a, mut b) = (analysis(&args.a), analysis(&args.b));
    let stand_ins = [
        (&mut b.input.code.symfs, &args.symfs_b),
        (&mut b.input.code.vmlinux, &args.vmlinux_b),
        (&mut b.input.code.kallsyms, &args.kallsyms_b),
        (&mut b.source.intervals, &args.intervals_b),
    ];
    for (of_both, of_b) in stand_ins {
        if of_b.is_some() {
            of_both.clone_from(of_b);
        }
    }
    // The threads are made once, for A.
    b.effort.jobs = None;
    (a, b)
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

fn difference(a: Studied, b: Studied) -> Result<Difference> {
    let (unit, other) = (a.side.capture.time_unit, b.side.capture.time_unit);
    if unit != other {
        let ticks = if unit == TimeUnit::Ticks { "A" } else { "B" };
        anyhow::bail!(
            "the lengths of {ticks} are ticks, those of the other capture nanoseconds: they cannot be compared; \
             record {ticks} without -k, so that the TSC's frequency is known"
        );
    }
    let mut diagnostics = a.diagnostics;
    diagnostics
        .extend(b.diagnostics.into_iter().filter(|found| !diagnostics.contains(found)).collect::<Vec<_>>());
    Ok(Difference {
        change: Change::between(&a.durations, &b.durations).map(change),
        typical: Contrast::between(&a.typical, &b.typical),
        outliers: Contrast::between(&a.outliers, &b.outliers),
        time_unit: unit,
        diagnostics,
        a: a.side,
        b: b.side,
    })
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
