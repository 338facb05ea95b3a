//! The typical intervals that an outlier is compared with: which of the chosen ones can be, and by which rule they were
//! chosen.

use std::collections::BTreeMap;

use attribution::Examined;
use model::Interval;

/// A baseline may lack the trace of this part of its time, a twentieth.
const MOST_UNTRACED: u64 = 20;

/// The baselines to compare with: a ring that was overwritten, or a loss, leaves of some no trace, and they would say that typical
/// intervals run no code. Where there is no trace of any, what the records show is compared.
pub(super) fn with_trace<'e>(
    baselines: &[usize],
    examined: &'e BTreeMap<usize, Examined>,
) -> Vec<&'e Examined> {
    let all: Vec<&Examined> = baselines.iter().filter_map(|index| examined.get(index)).collect();
    let is_traced = |baseline: &&&Examined| {
        let most = baseline.interval.range.ticks().0 / MOST_UNTRACED;
        baseline.untraced().0 <= most
    };
    let traced: Vec<&Examined> = all.iter().filter(is_traced).copied().collect();
    if traced.is_empty() { all } else { traced }
}

/// The rule of `intervals::baselines` as it applied to `outlier`, in words, or why there are none. `wanted` were
/// requested, `chosen` found, and `typical` are those that it is compared with.
pub(super) fn rule(outlier: &Interval, (wanted, chosen): (usize, usize), typical: &[&Examined]) -> String {
    match (wanted, chosen) {
        (0, _) => return "none: --baselines 0 asks for none".to_owned(),
        (_, 0) => return "none: no other interval of this label is typical".to_owned(),
        _ => {}
    }
    let elsewhere = typical.iter().filter(|other| other.interval.ends() != outlier.ends()).count();
    let mut parts = vec![
        "same label, no outliers, none of the explained ones".to_owned(),
        if chosen < wanted { "all there are" } else { "every n-th by duration" }.to_owned(),
        match elsewhere {
            0 if !outlier.phases.is_empty() => "on whatever workers".to_owned(),
            0 => "on the same threads".to_owned(),
            _ => format!("{elsewhere} of them on other threads, for there are too few on the same"),
        },
    ];
    if let left_out @ 1.. = chosen - typical.len() {
        parts.push(format!("{left_out} left out because their trace is missing"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests;
