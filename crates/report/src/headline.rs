//! The one sentence that stands above everything else.

use std::collections::BTreeSet;

use crate::{CauseTotal, OutlierReport, escape, units};

/// `412.3 us, typical 16.3 us; +389.1 us kernel.softirq.net_rx on CPU 3, interrupting …`, safe for a terminal.
///
/// Names the cause with the largest excess; where that is less than half of all excess, the next one too.
pub fn headline(outlier: &OutlierReport) -> String {
    escape::for_terminal(&sentence(outlier))
}

/// The same, not yet escaped for any format.
pub(crate) fn sentence(outlier: &OutlierReport) -> String {
    let unit = outlier.time_unit;
    let duration = units::length(outlier.duration_ns, unit);
    let typical = match outlier.baseline_mean_ns {
        Some(mean) => format!("typical {}", units::length(mean, unit)),
        None => "nothing to compare with".to_owned(),
    };
    let mut sentence = format!("{duration}, {typical}");
    let mut exceeding = outlier.causes.iter().filter(|cause| cause.excess_ns > 0);
    let Some(first) = exceeding.next() else {
        sentence.push_str("; no cause took longer than typical");
        return sentence;
    };
    sentence.push_str(&clause(outlier, first));
    let total: u64 =
        outlier.causes.iter().fold(0, |sum, cause| sum.saturating_add(positive(cause.excess_ns)));
    if positive(first.excess_ns) < total / 2
        && let Some(second) = exceeding.next()
    {
        sentence.push_str(&clause(outlier, second));
    }
    sentence
}

/// `; +389.1 us kernel.softirq.net_rx on CPU 3, interrupting …`; without baselines the time has no sign.
fn clause(outlier: &OutlierReport, cause: &CauseTotal) -> String {
    let time = match outlier.baseline_mean_ns {
        Some(_) => units::signed_length(cause.excess_ns, outlier.time_unit),
        None => units::length(cause.duration_ns, outlier.time_unit),
    };
    format!("; {time} {}{}", cause.cause, place_and_detail(outlier, cause))
}

/// ` on CPU 3, interrupting …`: the CPU where all of the cause passed on one, and the particulars.
fn place_and_detail(outlier: &OutlierReport, cause: &CauseTotal) -> String {
    let cpus: BTreeSet<Option<u32>> = outlier
        .segments
        .iter()
        .filter(|segment| segment.cause == cause.cause)
        .map(|segment| segment.cpu)
        .collect();
    let mut place = match cpus.first() {
        Some(Some(cpu)) if cpus.len() == 1 => format!(" on CPU {cpu}"),
        _ => String::new(),
    };
    if !cause.detail.is_empty() {
        place.push_str(", ");
        place.push_str(&cause.detail);
    }
    place
}

fn positive(excess: i64) -> u64 {
    u64::try_from(excess).unwrap_or(0)
}

#[cfg(test)]
mod tests;
