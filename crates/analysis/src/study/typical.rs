//! The typical intervals that an outlier is compared with: which of the chosen ones can be, and by which rule they were
//! chosen.

use std::collections::BTreeMap;

use attribution::Examined;
use model::Interval;

use super::same_path::{CANDIDATES, nearest};
use crate::request::Effort;

/// A baseline may lack the trace of this part of its time, a twentieth.
const MOST_UNTRACED: u64 = 20;

/// How many typical intervals are examined for an outlier.
pub(super) fn candidates(effort: Effort) -> usize {
    if effort.same_path { effort.baselines.saturating_mul(CANDIDATES) } else { effort.baselines }
}

/// Whom `outlier` is compared with, of the `baselines` that were examined for it; and by which rule, in words.
pub(super) fn of<'e>(
    outlier: &Examined,
    baselines: &[usize],
    examined: &'e BTreeMap<usize, Examined>,
    effort: Effort,
) -> (Vec<&'e Examined>, String) {
    let traced = with_trace(baselines, examined);
    let left_out = baselines.len() - traced.len();
    let missing = (left_out > 0).then(|| format!("{left_out} left out because their trace is missing"));
    let usual = rule(&outlier.interval, (candidates(effort), baselines.len()), &traced);
    let (typical, path) = if effort.same_path && !traced.is_empty() {
        let (nearest, same) = nearest(outlier, &traced, effort.baselines);
        let count = nearest.len();
        let words = format!(
            "of these {} the {count} nearest to its path: {same} differ in no function that one in eight enters",
            traced.len()
        );
        (nearest, Some(words))
    } else {
        (traced, None)
    };
    let parts: Vec<String> = [Some(usual), missing, path].into_iter().flatten().collect();
    (typical, parts.join(", "))
}

/// The baselines to compare with: a ring that was overwritten, or a loss, leaves of some no trace, and they would say that typical
/// intervals run no code. Where there is no trace of any, what the records show is compared.
fn with_trace<'e>(baselines: &[usize], examined: &'e BTreeMap<usize, Examined>) -> Vec<&'e Examined> {
    let all: Vec<&Examined> = baselines.iter().filter_map(|index| examined.get(index)).collect();
    let traced: Vec<&Examined> = all.iter().filter(|baseline| is_traced(baseline)).copied().collect();
    if traced.is_empty() { all } else { traced }
}

/// Whether its trace is there, but for a little.
pub(super) fn is_traced(examined: &Examined) -> bool {
    examined.untraced().0 <= examined.interval.range.ticks().0 / MOST_UNTRACED
}

/// The rule of `intervals::baselines` as it applied to `outlier`, in words, or why there are none. `wanted` were
/// requested, `chosen` found, and `typical` are those that it is compared with.
fn rule(outlier: &Interval, (wanted, chosen): (usize, usize), typical: &[&Examined]) -> String {
    match (wanted, chosen) {
        (0, _) => return "none: --baselines 0 asks for none".to_owned(),
        (_, 0) => return "none: no other interval of this label is typical".to_owned(),
        _ => {}
    }
    let elsewhere = typical.iter().filter(|other| other.interval.ends() != outlier.ends()).count();
    let parts = [
        "same label, no outliers, none of the explained ones".to_owned(),
        if chosen < wanted { "all there are" } else { "every n-th by duration" }.to_owned(),
        match elsewhere {
            0 if !outlier.phases.is_empty() => "on whatever workers".to_owned(),
            0 => "on the same threads".to_owned(),
            _ => format!("{elsewhere} of them on other threads, for there are too few on the same"),
        },
    ];
    parts.join(", ")
}

#[cfg(test)]
mod tests;
