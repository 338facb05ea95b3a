//! Each line of a scenario with the segments that it causes: written down for readers, and kept as it is.
//!
//! `TAILTRACE_BLESS=1` writes the files of `fixtures/scenarios/golden` anew; look at each line before it is committed.
//! Causes, times and certainties only: the particulars' wording is free.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use tracegen::scenario::{Happened, Interval};

use super::{Made, each};
use crate::captures::repository;

#[test]
fn segments_follow_from_the_lines() {
    let folder = repository().join("fixtures/scenarios/golden");
    let bless = std::env::var_os("TAILTRACE_BLESS").is_some();
    let mut differ = Vec::new();
    each(|made| {
        let Some(text) = golden(made) else { return };
        let path = folder.join(&made.name).with_extension("txt");
        if bless {
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(&path, text).expect("the golden file is written");
        } else if fs::read_to_string(&path).unwrap_or_default() != text {
            differ.push(format!("{}:\n{text}", path.display()));
        }
    });
    assert!(differ.is_empty(), "these differ (TAILTRACE_BLESS=1 rewrites):\n{}", differ.join("\n"));
}

/// The golden text of a scenario with intervals to explain.
fn golden(made: &Made) -> Option<String> {
    let explained = made.explained();
    let mut out = String::new();
    for line in made.text.lines().take_while(|line| line.starts_with('#')) {
        let _ = writeln!(out, "{line}");
    }
    for interval in made.odd() {
        let outlier = &explained[&interval.id];
        let baselines = outlier["baselines"].as_array().map_or(0, Vec::len);
        let _ = write!(out, "\n{} {}: {} ns", interval.label, interval.id, outlier["duration_ns"]);
        let _ = writeln!(out, ", compared with {baselines}\n");
        put_lines(&mut out, made, interval, outlier["segments"].as_array().expect("segments"));
        let _ = writeln!(out, "\n  truth");
        put_truth(&mut out, interval, outlier);
    }
    (!explained.is_empty()).then_some(out)
}

/// The interval's lines by time, and after each the segments that begin before the next one.
fn put_lines(out: &mut String, made: &Made, interval: &Interval, segments: &[Value]) {
    let lines: Vec<&str> = made.text.lines().collect();
    let happened = around(made, interval);
    let mut rest = segments.iter().peekable();
    // Ticks and nanoseconds: the scenario's clock runs with 2.5 ticks per nanosecond.
    let nanoseconds = |tsc: u64| (i128::from(tsc) - i128::from(interval.start)) * 2 / 5;
    for (index, Happened { tsc, cpu, line }) in happened.iter().enumerate() {
        let text = lines[line - 1].split('#').next().unwrap_or_default().trim();
        let _ = writeln!(out, "  {:>9} cpu {cpu}  {text}", nanoseconds(*tsc));
        let next = happened.get(index + 1).map(|next| nanoseconds(next.tsc));
        while let Some(segment) = rest.next_if(|segment| {
            next.is_none_or(|next| i128::from(segment["offset_ns"].as_u64().unwrap_or(0)) < next)
        }) {
            put_segment(out, segment, 1);
        }
    }
}

/// What happened within the interval, and on each CPU the line that was going on when it began.
fn around(made: &Made, interval: &Interval) -> Vec<Happened> {
    let all = made.executed.happened();
    let stop = interval.stop.unwrap_or(interval.start);
    let within = |happened: &&Happened| (interval.start..stop).contains(&happened.tsc);
    let mut around: Vec<Happened> = all.iter().filter(within).copied().collect();
    for cpu in 0..made.executed.cpus() {
        let earlier = all.iter().rfind(|happened| happened.cpu == cpu && happened.tsc < interval.start);
        around.extend(earlier.filter(|_| around.iter().any(|happened| happened.cpu == cpu)));
    }
    around.sort_by_key(|happened| happened.tsc);
    around
}

fn put_segment(out: &mut String, segment: &Value, depth: usize) {
    let (cause, certainty) = (segment["cause"].as_str(), segment["certainty"].as_str());
    let (cause, certainty) = (cause.unwrap_or_default(), certainty.unwrap_or_default());
    let arrow = if depth == 1 { "→" } else { "during it" };
    let indent = " ".repeat(12 + 4 * depth);
    let _ = writeln!(out, "{indent}{arrow} {} ns {cause}, {certainty}", segment["duration_ns"]);
    for during in segment["during"].as_array().map_or(&[][..], Vec::as_slice) {
        put_segment(out, during, depth + 1);
    }
}

fn put_truth(out: &mut String, interval: &Interval, outlier: &Value) {
    let found = |name: &str| {
        let causes = outlier["causes"].as_array().map_or(&[][..], Vec::as_slice);
        causes
            .iter()
            .find(|cause| cause["cause"] == name)
            .map_or(0, |cause| cause["duration_ns"].as_u64().unwrap_or(0))
    };
    let duration = outlier["duration_ns"].as_u64().unwrap_or(0);
    for caused in &interval.causes {
        let truth = caused.ticks * duration / interval.ticks().max(1);
        let _ = writeln!(out, "  {truth:>9} ns {}: {} ns found", caused.cause, found(&caused.cause));
    }
}
