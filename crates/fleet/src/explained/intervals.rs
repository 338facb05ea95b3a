//! The rows in `populations`, `intervals` and `attributes`.

use std::collections::{BTreeMap, BTreeSet};

use intervals::ranks_evenly_apart;
use model::Interval;
use report::{OutlierReport, headline};

use super::causes::ExplainedOutlier;
use super::facts::Facts;
use crate::hash;
use crate::row::{AttributeRow, IntervalRow, PopulationRow, filled, int};
use crate::rows::Rows;

/// So many of the intervals that are neither chosen nor typical have a row.
const SAMPLED: usize = 20;

/// Adds them.
pub(super) fn add(rows: &mut Rows, facts: &Facts<'_, '_>, outliers: &[ExplainedOutlier<'_>]) {
    populations(rows, facts);
    let study = facts.study;
    let baselines = study.baselines(&study.selected().indices);
    let explained: BTreeMap<u64, &ExplainedOutlier<'_>> =
        outliers.iter().map(|explained| (explained.outlier.id, explained)).collect();
    let chosen: BTreeSet<usize> = study.selected().indices.iter().copied().collect();
    let typical: BTreeSet<usize> =
        baselines.into_values().flatten().filter(|index| !chosen.contains(index)).collect();
    for &index in &chosen {
        let explained = explained.get(&study.intervals()[index].id.0).copied();
        add_interval(rows, facts, index, ("outlier", 1.0), explained);
    }
    for &index in &typical {
        add_interval(rows, facts, index, ("typical", 1.0), None);
    }
    // A slice holds what its outliers need, which is no sample of the rest.
    if study.is_of_slice() {
        return;
    }
    let (sample, weight) = sample(facts, |index| chosen.contains(&index) || typical.contains(&index));
    for index in sample {
        add_interval(rows, facts, index, ("sample", weight), None);
    }
}

fn populations(rows: &mut Rows, facts: &Facts<'_, '_>) {
    for figures in facts.study.labels() {
        let is_of_label =
            |outlier: &&OutlierReport| figures.label.is_empty() || outlier.label == figures.label;
        rows.push(PopulationRow {
            capture: facts.capture.to_owned(),
            count: int(figures.count),
            outliers: int(figures.outliers),
            explained: int(facts.report.outliers.iter().filter(is_of_label).count() as u64),
            rule: facts.report.population.rule.clone(),
            sum_ns: int(figures.sum_ns),
            max_ns: int(figures.max_ns),
            p50_ns: int(figures.p50_ns),
            p99_ns: int(figures.p99_ns),
            sketch: serde_json::to_string(&figures.sketch).unwrap_or_default(),
            label: figures.label,
        });
    }
}

/// Members at equal distances in the order of their durations, without those that have rows, and for how many each stands.
#[allow(clippy::cast_precision_loss)]
fn sample(facts: &Facts<'_, '_>, has_row: impl Fn(usize) -> bool) -> (Vec<usize>, f64) {
    let population = facts.study.population();
    let members = population.durations().iter().zip(population.members());
    let mut rest: Vec<(u64, usize)> =
        members.map(|(&duration, &index)| (duration, index)).filter(|&(_, index)| !has_row(index)).collect();
    rest.sort_unstable();
    let ranks = ranks_evenly_apart(rest.len(), SAMPLED.min(rest.len()));
    let sample: Vec<usize> = ranks.into_iter().map(|rank| rest[rank].1).collect();
    let weight = rest.len() as f64 / sample.len().max(1) as f64;
    (sample, weight)
}

/// An interval, with what its program said of it.
fn add_interval(
    rows: &mut Rows,
    facts: &Facts<'_, '_>,
    index: usize,
    role: (&str, f64),
    explained: Option<&ExplainedOutlier<'_>>,
) {
    rows.push(row(facts, index, role, explained));
    let interval = &facts.study.intervals()[index];
    let of = |name: &str, number: Option<f64>, text: Option<&str>| AttributeRow {
        capture: facts.capture.to_owned(),
        interval: int(interval.id.0),
        name: name.to_owned(),
        number,
        text: text.map(str::to_owned),
    };
    for counter in &interval.counters {
        rows.push(of(&counter.name, Some(counter.value.as_f64()), None));
    }
    for attribute in &interval.attributes {
        rows.push(of(&attribute.name, None, Some(&attribute.value)));
    }
}

fn row(
    facts: &Facts<'_, '_>,
    index: usize,
    (role, weight): (&str, f64),
    explained: Option<&ExplainedOutlier<'_>>,
) -> IntervalRow {
    let capture = facts.study.capture();
    let interval: &Interval = &facts.study.intervals()[index];
    let (trace_id, span_id) = ids(interval);
    let thread = interval.stop_thread.or(interval.start_thread);
    let outlier = explained.map(|explained| explained.outlier);
    let exceeds = outlier.and_then(|outlier| outlier.causes.first()).is_some_and(|cause| cause.excess_ns > 0);
    let foremost = explained.filter(|_| exceeds).and_then(|explained| explained.chains.first());
    let story = foremost.map(|chain| hash::story(&chain.chain));
    IntervalRow {
        capture: facts.capture.to_owned(),
        interval: int(interval.id.0),
        label: interval.label.to_string(),
        key: interval.key.clone(),
        role: role.to_owned(),
        weight,
        begin_ns: facts.clock.at_tsc(capture, interval.range.start),
        begin_tsc: int(interval.range.start.0),
        ticks: int(interval.range.ticks().0),
        duration_ns: int(capture.conversion().map_or(0, |conversion| conversion.duration_ns(interval.range))),
        typical_ns: outlier.and_then(|outlier| outlier.baseline_mean_ns).map(int),
        thread: thread.and_then(|thread| capture.comm(thread, interval.range.stop)).and_then(filled),
        trace_id,
        span_id,
        headline: outlier.map(headline),
        story,
    }
}

/// Trace and span of an interval that came from OTLP: its key is both.
fn ids(interval: &Interval) -> (Option<String>, Option<String>) {
    let is_hex = |text: &str, digits| text.len() == digits && text.bytes().all(|one| one.is_ascii_hexdigit());
    let parts = interval.key.as_deref().and_then(|key| key.split_once('/'));
    match parts.filter(|(trace, span)| is_hex(trace, 32) && is_hex(span, 16)) {
        Some((trace, span)) => (Some(trace.to_owned()), Some(span.to_owned())),
        None => (None, None),
    }
}
