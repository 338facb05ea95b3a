//! The one sentence that stands above everything else: what happened, for how long, to which object, because of whom, where.

mod clause;
mod foremost;
mod root;

use crate::outlier::OutlierReport;
use crate::report::{PopulationSummary, Report};
use crate::timebase::TimeUnit;
use crate::{escape, units};
use clause::Clause;

/// `209.8 us, typical 8.62 us: waited 135.5 us for a mutex in worker() lock.c:107, held by auditor, which slept in keep() lock.c:38;
/// 35.9 us in 8 page faults of touch()`, safe for a terminal.
///
/// It has the cause with the largest excess, and the next one if that is more than a tenth of all excess.
pub fn headline(outlier: &OutlierReport) -> String {
    escape::for_terminal(&sentence(outlier))
}

/// The headline without its lengths: `waited 135.5 us for a mutex …`, safe for a terminal.
pub fn reasons(outlier: &OutlierReport) -> String {
    escape::for_terminal(&clauses(outlier).join("; "))
}

/// The headline, not yet escaped for any format.
pub(crate) fn sentence(outlier: &OutlierReport) -> String {
    format!("{}: {}", lengths(outlier), clauses(outlier).join("; "))
}

/// `209.8 us, typical 8.62 us`.
pub(crate) fn lengths(outlier: &OutlierReport) -> String {
    let unit = outlier.time_unit;
    let duration = units::length(outlier.duration_ns, unit);
    let typical = match outlier.baseline_mean_ns {
        Some(mean) => format!("typical {}", units::length(mean, unit)),
        None => "nothing to compare with".to_owned(),
    };
    format!("{duration}, {typical}")
}

/// What happened, the foremost first, not yet escaped for any format.
pub(crate) fn clauses(outlier: &OutlierReport) -> Vec<String> {
    let total: u64 =
        outlier.causes.iter().fold(0, |sum, cause| sum.saturating_add(positive(cause.excess_ns)));
    let exceeding = outlier.causes.iter().filter(|cause| cause.excess_ns > 0);
    let named =
        exceeding.enumerate().filter(|(at, cause)| *at == 0 || positive(cause.excess_ns) > total / 10);
    let clauses: Vec<String> =
        named.take(2).map(|(_, cause)| Clause::of(outlier, cause).to_string()).collect();
    if clauses.is_empty() { vec!["no cause took longer than typical".to_owned()] } else { clauses }
}

fn positive(excess: i64) -> u64 {
    u64::try_from(excess).unwrap_or(0)
}

/// The report's population in one line, not escaped; `None` where it is empty.
pub fn population(report: &Report) -> Option<String> {
    figures(&report.population, report.capture.time_unit)
}

/// A population in one line, not escaped; `None` where it is empty.
pub(crate) fn figures(population: &PopulationSummary, unit: TimeUnit) -> Option<String> {
    let length = |ns| units::length(ns, unit);
    let losses = population.losses();
    let separator = if losses.is_empty() { "" } else { "; " };
    (population.count > 0).then(|| {
        format!(
            "{}, p50 {}, p99 {}, longest {}; {}{separator}{losses}",
            intervals(population),
            length(population.percentiles.p50),
            length(population.percentiles.p99),
            length(population.max_ns),
            units::noted(&units::counted(population.outliers, "outlier"), &population.rule),
        )
    })
}

/// `116 of 640, 18 %: longer than 50.0 us`, not escaped; `None` where there is no rule.
pub(crate) fn selected(report: &Report) -> Option<String> {
    let (chosen, count) = (&report.selection, report.population.count);
    let share = units::percentage(chosen.selected, count);
    (!chosen.rule.is_empty()).then(|| format!("{} of {count}, {share}: {}", chosen.selected, chosen.rule))
}

/// `640 intervals`; `640 intervals (612 of 640 lie in the recording)` where not all do.
pub(crate) fn intervals(population: &PopulationSummary) -> String {
    units::noted(&units::counted(population.count, "interval"), &share_in_recording(population))
}

/// `612 of 640 lie in the recording`; empty where all do, and where that is not known.
pub(crate) fn share_in_recording(population: &PopulationSummary) -> String {
    let part = population.in_recording.filter(|&part| part < population.count);
    part.map_or_else(String::new, |part| format!("{part} of {} lie in the recording", population.count))
}

#[cfg(test)]
mod tests;
