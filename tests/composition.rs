//! `stat --causes` against the causes of all intervals that the emulator's log and records show.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::captures::emulated;

/// Causes by interval, in nanoseconds. All user code is one: what divides it is a comparison.
type Truth = Vec<(u64, BTreeMap<String, u64>)>;

const CAPTURES: [&str; 3] = ["lock", "page_faults", "block"];
/// Where a block ends is known to some packets, and each cause has several edges.
const SLACK_NS: f64 = 400.0;

fn one_user(cause: &str) -> String {
    if cause.starts_with("user") { "user".to_owned() } else { cause.to_owned() }
}

/// The causes of all intervals of a truth, the shortest interval first.
fn causes(truth: &Value) -> Truth {
    let mut found: Truth = Vec::new();
    let explained = truth["explained"].as_array().expect("intervals").iter();
    let explained = explained.map(|entry| {
        let causes = entry["causes"].as_array().expect("causes").iter();
        causes
            .map(|one| (one["cause"].as_str().expect("a cause"), one["ns"].as_u64().expect("ns")))
            .collect::<Vec<_>>()
    });
    let quiet = truth["quiet"].as_object().expect("intervals").values();
    let quiet = quiet.map(|causes| {
        let causes = causes.as_object().expect("causes").iter();
        causes.map(|(cause, ns)| (cause.as_str(), ns.as_u64().expect("ns"))).collect::<Vec<_>>()
    });
    for causes in explained.chain(quiet) {
        let mut sums = BTreeMap::new();
        for (cause, ns) in causes {
            *sums.entry(one_user(cause)).or_insert(0) += ns;
        }
        found.push((sums.values().sum(), sums));
    }
    found.sort();
    found
}

fn composition(capture: &crate::captures::Capture) -> Value {
    let arguments = ["--intervals", &capture.intervals(), "--causes", "--format", "json"];
    let output = capture.tailtrace("stat", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["composition"].clone()
}

#[expect(clippy::cast_precision_loss, reason = "lengths of seconds at most")]
fn float(ns: u64) -> f64 {
    ns as f64
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= SLACK_NS + expected / 50.0
}

/// The middle of each window is the percentile by nearest rank: of ranks from 0, ⌈p · n⌉ - 1.
#[test]
fn each_percentile_is_made_of_what_the_log_shows() {
    for name in CAPTURES {
        let capture = emulated(name);
        let known = causes(&capture.truth());
        let found = composition(&capture);
        assert_eq!(found["explained"].as_u64(), Some(known.len() as u64), "{name}");
        for (point, per_mille) in
            found["points"].as_array().expect("points").iter().zip([500, 900, 990, 999, 1000])
        {
            let rank = (known.len() * per_mille).div_ceil(1000) - 1;
            let side = usize::try_from(point["intervals"].as_u64().expect("a count")).expect("a count") / 2;
            let around = &known[rank - side..=rank + side];
            let mut told: BTreeMap<String, f64> = BTreeMap::new();
            for part in point["causes"].as_array().expect("causes") {
                *told.entry(one_user(part["cause"].as_str().expect("a cause"))).or_default() +=
                    part["mean_ns"].as_f64().expect("a mean");
            }
            let all: std::collections::BTreeSet<&String> =
                told.keys().chain(around.iter().flat_map(|(_, causes)| causes.keys())).collect();
            for cause in all {
                let sum: u64 = around.iter().filter_map(|(_, causes)| causes.get(cause)).sum();
                let expected = float(sum) / float(around.len() as u64);
                let found = told.get(cause).copied().unwrap_or(0.0);
                assert!(
                    near(found, expected),
                    "{name} p{per_mille}: {cause} {found} ns, by the log {expected} ns"
                );
            }
        }
    }
}

/// Each interval less its time in the cause, in order again.
#[test]
fn percentiles_without_a_cause_are_those_of_what_is_left() {
    for (name, cause) in
        [("lock", "offcpu.lock"), ("page_faults", "kernel.page-fault.minor"), ("block", "offcpu.block-io")]
    {
        let capture = emulated(name);
        let known = causes(&capture.truth());
        let mut rest: Vec<u64> =
            known.iter().map(|(ns, causes)| ns - causes.get(cause).unwrap_or(&0)).collect();
        rest.sort_unstable();
        let found = composition(&capture);
        let without = found["without"].as_array().expect("causes").iter();
        let mut of_cause = without.filter(|one| one["cause"] == cause && one["what"].is_null());
        let told = of_cause.next().unwrap_or_else(|| panic!("{name}: nothing without {cause}"));
        for (ns, per_mille) in
            told["percentiles_ns"].as_array().expect("percentiles").iter().zip([500, 900, 990, 999, 1000])
        {
            let expected = rest[(rest.len() * per_mille).div_ceil(1000) - 1];
            let ns = ns.as_u64().expect("a length");
            assert!(
                near(float(ns), float(expected)),
                "{name} p{per_mille} without {cause}: {ns} ns, by the log {expected} ns"
            );
        }
    }
}

/// The mean of the fast half and of the slowest hundredth, by the log; how much of the difference is due to the injected cause.
#[test]
fn the_slowest_have_more_of_what_the_log_shows() {
    for (name, cause) in
        [("lock", "offcpu.lock"), ("page_faults", "kernel.page-fault.minor"), ("block", "offcpu.block-io")]
    {
        let capture = emulated(name);
        let known = causes(&capture.truth());
        let tail = &composition(&capture)["tail"];
        let (fast, slow) = (known.len().div_ceil(2), known.len().div_ceil(100));
        assert_eq!((tail["fast"].as_u64(), tail["slow"].as_u64()), (Some(fast as u64), Some(slow as u64)));
        let of_cause = |one: &(u64, BTreeMap<String, u64>)| *one.1.get(cause).unwrap_or(&0);
        let mean = |some: &[(u64, BTreeMap<String, u64>)]| {
            float(some.iter().map(of_cause).sum()) / float(some.len() as u64)
        };
        let found = tail["causes"].as_array().expect("causes").iter().find(|one| one["cause"] == cause);
        let found = found.unwrap_or_else(|| panic!("{name}: no {cause} in {tail}"));
        for (field, expected) in
            [("fast_ns", mean(&known[..fast])), ("slow_ns", mean(&known[known.len() - slow..]))]
        {
            let ns = found[field].as_f64().expect("a mean");
            assert!(near(ns, expected), "{name}: {cause} {field} {ns}, by the log {expected}");
        }
    }
}

/// By the interval file alone: how many intervals began in each part of the time, and the longest of them.
#[test]
fn periods_are_those_of_the_interval_file() {
    let capture = emulated("lock");
    let truth = capture.truth();
    let conversion = |key: &str| u128::from(truth["time_conv"][key].as_u64().expect("a factor"));
    let file = std::fs::read_to_string(capture.intervals()).expect("intervals");
    let at = |line: &str| line.split(',').nth(2).and_then(|tsc| tsc.parse::<u128>().ok()).expect("a time");
    let ns = |tsc: u128| (tsc * conversion("mult")) >> conversion("shift");
    // One thread marks all: ends follow their begins.
    let of = |mark: &str| -> Vec<u128> {
        file.lines().filter(|line| line.starts_with(mark)).map(|line| ns(at(line))).collect()
    };
    let spans: Vec<(u128, u128)> =
        of("begin,").into_iter().zip(of("end,")).map(|(start, stop)| (start, stop - start)).collect();
    let first = spans.iter().map(|(start, _)| *start).min().expect("intervals");
    let periods = composition(&capture)["periods"].clone();
    let periods = periods.as_array().expect("periods");
    assert_eq!(periods.len(), 24);
    for period in periods {
        let bound = |key: &str| u128::from(period[key].as_u64().expect("a time"));
        let within = bound("from_ns")..bound("to_ns");
        let members: Vec<u128> = spans
            .iter()
            .filter(|(start, _)| within.contains(&(start - first)))
            .map(|(_, took)| *took)
            .collect();
        let shown = |key: &str| u128::from(period["lengths"][key].as_u64().expect("a figure"));
        assert_eq!(shown("count"), members.len() as u128, "{period}");
        let longest = members.iter().max().copied().unwrap_or(0);
        assert!(longest.abs_diff(shown("max_ns")) <= 1, "{period}: {longest}");
    }
}

/// The log counts the calls of each injected interval: those that entered a function of the injected work are on paths that name it.
#[test]
fn paths_name_the_functions_that_the_log_shows() {
    let capture = emulated("lock");
    let truth = capture.truth();
    let entered = |entry: &&Value| {
        let calls = entry["calls"].as_array().into_iter().flatten();
        calls.filter_map(|call| call[0].as_str()).any(|name| name.starts_with("planted_recount"))
    };
    let expected = truth["explained"].as_array().expect("intervals").iter().filter(entered).count() as u64;
    assert!(expected > 20, "{expected}");
    let paths = composition(&capture)["paths"].clone();
    let names = |path: &Value| {
        let also = path["also"].as_array().expect("names").iter();
        also.filter_map(Value::as_str).any(|name| name.starts_with("planted_recount"))
    };
    let paths = paths.as_array().expect("paths").iter();
    let found: u64 = paths
        .filter(|path| names(path))
        .map(|path| path["lengths"]["count"].as_u64().expect("a count"))
        .sum();
    assert_eq!(found, expected);
}
