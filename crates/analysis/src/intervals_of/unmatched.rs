//! Values of filters that no interval has, with the ones that there are: most often a name is mistyped.
//!
//! Input: the filters, all intervals and the capture that knows the threads' names. Output: a warning for each such value.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::{Diagnostic, Interval};

use crate::capture::Capture;
use crate::nearest::nearest;
use crate::request::Filters;

/// Names that are listed, those of the most intervals first.
const LISTED: usize = 8;

/// By name: how many intervals have it.
type Names = BTreeMap<String, u64>;

/// What to say of labels and thread names that no interval has.
pub(crate) fn unmatched(filters: &Filters, intervals: &[Interval], capture: &Capture<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if !filters.labels.is_empty() {
        let labels = counted(intervals, |interval| vec![interval.label.to_string()]);
        found.extend(warnings("--label", &filters.labels, &labels, "no interval has this label"));
    }
    if !filters.comms.is_empty() {
        let comms = counted(intervals, |interval| comms(interval, capture));
        let what = "no interval is of a thread of this name";
        found.extend(warnings("--comm", &filters.comms, &comms, what));
    }
    found
}

/// The names of the interval's threads, each once.
fn comms(interval: &Interval, capture: &Capture<'_>) -> Vec<String> {
    let threads = [interval.start_thread, interval.stop_thread].into_iter().flatten();
    let mut names: Vec<String> =
        threads.filter_map(|thread| capture.comm(thread, interval.range.start)).collect();
    names.dedup();
    names
}

fn counted(intervals: &[Interval], names_of: impl Fn(&Interval) -> Vec<String>) -> Names {
    let mut names = Names::new();
    for name in intervals.iter().flat_map(names_of) {
        *names.entry(name).or_default() += 1;
    }
    names
}

fn warnings(option: &str, wanted: &[String], names: &Names, what: &str) -> Vec<Diagnostic> {
    let missing = wanted.iter().filter(|name| !names.contains_key(*name));
    missing
        .map(|name| {
            let near = nearest(name, names.keys().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Diagnostic::warning(format!("{option} {name}: {what}{near}{}", listed(names, !near.is_empty())))
        })
        .collect()
}

/// `; there are worker (640) and auditor (3)`, or a sentence of its own.
fn listed(names: &Names, is_sentence: bool) -> String {
    let mut order: Vec<(&String, u64)> = names.iter().map(|(name, &count)| (name, count)).collect();
    order.sort_by_key(|&(name, count)| (Reverse(count), name));
    let mut shown: Vec<String> =
        order.iter().take(LISTED).map(|(name, count)| format!("{name} ({count})")).collect();
    if order.len() > LISTED {
        shown.push(format!("{} more", order.len() - LISTED));
    }
    let begin = if is_sentence { " There" } else { "; there" };
    match shown.split_last() {
        None => String::new(),
        Some((only, [])) => format!("{begin} is {only}"),
        Some((last, others)) => format!("{begin} are {} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(given: &[(&str, u64)]) -> Names {
        given.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
    }

    #[test]
    fn a_mistyped_name_is_offered() {
        let names = names(&[("worker", 640), ("auditor", 3)]);
        let said = |wanted: &str| {
            let found = warnings("--comm", &[wanted.to_owned()], &names, "no such thread");
            found.into_iter().map(|found| found.what).collect::<Vec<_>>()
        };
        assert_eq!(said("worker"), Vec::<String>::new());
        assert_eq!(
            said("wroker"),
            ["--comm wroker: no such thread; did you mean worker? There are worker (640) and auditor (3)"]
        );
        assert_eq!(said("nginx"), ["--comm nginx: no such thread; there are worker (640) and auditor (3)"]);
    }

    #[test]
    fn a_long_list_is_cut() {
        let many: Names = (0..20).map(|number| (format!("thread-{number:02}"), 20 - number)).collect();
        let shown = listed(&many, false);
        assert!(shown.starts_with("; there are thread-00 (20), thread-01 (19), "), "{shown}");
        assert!(shown.ends_with(", thread-07 (13) and 12 more"), "{shown}");
        assert_eq!(listed(&Names::new(), false), "");
        assert_eq!(listed(&names(&[("order", 5)]), true), " There is order (5)");
    }
}
