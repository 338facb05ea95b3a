//! `tailtrace explain`: selected intervals, each cut into causes and compared with typical ones.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use attribution::{Examined, Queues, examine, examine_baseline};
use intervals::{IntervalSet, Population, Selected};
use model::{Attribution, Calls, Diagnostic, Interval};
use rayon::prelude::*;
use report::{OutlierReport, Report, Timebase};

use crate::args::{AnalysisArgs, ExplainArgs, ExplainFormat, InputArgs};
use crate::capture::{self, Capture};
use crate::checks;
use crate::decoding::Decoders;
use crate::output::{self, Outcome};
use crate::{source, stat, view};

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let (report, outcome) = analyse(&args.analysis)?;
    if args.format == ExplainFormat::Json || !output::is_terminal() {
        output::print_diagnostics(&report.diagnostics);
    }
    if let Some(path) = &args.html {
        output::write_file(path, report::render_html(&report).as_bytes())?;
    }
    output::print_result(&match args.format {
        ExplainFormat::Text => report::render_text(&report, &output::style()),
        ExplainFormat::Markdown => report::render_markdown(&report),
        ExplainFormat::Json => report::render_json(&report),
    })?;
    Ok(outcome)
}

/// The report on the intervals that the arguments choose, and how well that went.
pub(crate) fn analyse(args: &AnalysisArgs) -> Result<(Report, Outcome)> {
    if let Some(jobs) = args.jobs {
        rayon::ThreadPoolBuilder::new().num_threads(usize::from(jobs)).build_global()?;
    }
    let perf = capture::open(&args.input)?;
    let capture = Capture::new(&perf, &args.input);
    let set = source::read(&args.source, &capture)?;
    let members = source::members(&args.selection, &set.intervals, &capture)?;
    let population = Population::of(&set.intervals, members, capture.conversion());
    let selected = source::select(&args.selection, &population)?;
    let report = build(args, &capture, &set, &population, &selected)?;
    let outcome = match (selected.indices.len(), report.outliers.len()) {
        (0, _) => Outcome::NothingSelected,
        (wanted, given) if wanted == given => Outcome::Reported,
        _ => Outcome::Failed,
    };
    Ok((report, outcome))
}

fn build(
    args: &AnalysisArgs,
    capture: &Capture<'_>,
    set: &IntervalSet,
    population: &Population<'_>,
    selected: &Selected,
) -> Result<Report> {
    let rule = source::selection(&args.selection)?.outlier_rule();
    let judgement = population.judge(rule);
    let chosen: BTreeSet<usize> = selected.indices.iter().copied().collect();
    let typical =
        intervals::baselines_of_all(population, &judgement.is_outlier, &selected.indices, args.baselines);
    let not_chosen =
        |typical: Vec<usize>| typical.into_iter().filter(|index| !chosen.contains(index)).collect();
    let baselines: BTreeMap<usize, Vec<usize>> =
        selected.indices.iter().copied().zip(typical.into_iter().map(not_chosen)).collect();
    let examined = examine_all(capture, &set.intervals, &baselines);
    let mut diagnostics = capture.diagnostics();
    diagnostics.extend(set.diagnostics.iter().cloned());
    diagnostics.extend(source::findings(selected, population, true));
    let mut outliers = Vec::new();
    for &index in &selected.indices {
        diagnostics.extend(examined[&index].remarks());
        match outlier_report(capture, index, &baselines[&index], &examined) {
            Ok(outlier) => outliers.push(with_command(outlier, &args.input)),
            Err(error) => diagnostics.push(no_report(&set.intervals[index], &error)),
        }
    }
    diagnostics.extend(capture.late_diagnostics());
    Ok(Report {
        capture: capture.facts(),
        population: stat::population_summary(&population.statistics(rule), view::counters(population)),
        selection: stat::selection_summary(selected),
        view: view::of(capture, population, rule, &outliers),
        outliers,
        diagnostics,
    })
}

/// Examines every outlier and every baseline once, in parallel.
fn examine_all(
    capture: &Capture<'_>,
    intervals: &[Interval],
    baselines: &BTreeMap<usize, Vec<usize>>,
) -> BTreeMap<usize, Examined> {
    let queues = Queues::new(intervals);
    let context = capture.for_attribution(&queues);
    let mut wanted: Vec<usize> =
        baselines.iter().flat_map(|(&outlier, typical)| typical.iter().copied().chain([outlier])).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let decoders = Decoders::new(capture);
    wanted
        .par_iter()
        .map(|&index| {
            let examine = if baselines.contains_key(&index) { examine } else { examine_baseline };
            (index, decoders.with(|decoding| examine(&context, &intervals[index], decoding)))
        })
        .collect()
}

fn outlier_report(
    capture: &Capture<'_>,
    outlier: usize,
    baselines: &[usize],
    examined: &BTreeMap<usize, Examined>,
) -> Result<OutlierReport> {
    let typical: Vec<&Examined> = baselines.iter().filter_map(|index| examined.get(index)).collect();
    let own = &examined[&outlier];
    let attribution = attribution::attribute(own, &typical, capture)?;
    let baselines: Vec<Attribution> =
        typical.iter().map(|baseline| attribution::attribute_alone(baseline)).collect::<Result<_, _>>()?;
    let timebase = Timebase::new(capture.conversion(), None);
    let mut report =
        OutlierReport::new(&attribution, &baselines, timebase, |thread, at| capture.comm(thread, at));
    report.checks = checks::of(capture, own, &attribution);
    let calls: Vec<Calls> = typical.iter().map(|baseline| attribution::calls(baseline)).collect();
    Ok(report.with_calls(&attribution::calls(own), &calls, own.interval.range, timebase))
}

/// Adds the command that shows the outlier with stock perf, with the options that perf needs as well.
fn with_command(outlier: OutlierReport, input: &InputArgs) -> OutlierReport {
    let mut outlier = outlier.with_perf_script(&input.input.to_string_lossy());
    let options = [("--symfs", &input.symfs), ("--vmlinux", &input.vmlinux), ("--kallsyms", &input.kallsyms)];
    for (name, value) in options {
        if let Some(value) = value {
            outlier = outlier.with_perf_option(name, &value.to_string_lossy());
        }
    }
    outlier
}

fn no_report(interval: &Interval, error: &anyhow::Error) -> Diagnostic {
    Diagnostic::error(format!("interval {} has no report: {error:#}", interval.id))
}
