//! What a scenario says of an interval is what `tailtrace explain` says of it.

use std::collections::BTreeMap;

use serde_json::Value;
use tracegen::scenario::Interval;

use super::each;

/// How far a cause's time may be off: of the interval's duration, or so many nanoseconds. Most are exact; what is left comes
/// from branches of one packet, whose times are not in the trace, and from blocks that reach over an edge.
const TOLERANCE_PERCENT: u64 = 5;
const TOLERANCE_NS: u64 = 20;

#[test]
fn causes_are_those_of_the_scenario() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    each(|made| {
        let explained = made.explained();
        for interval in made.odd() {
            seen += 1;
            let outlier = explained.get(&interval.id);
            let outlier = outlier.unwrap_or_else(|| panic!("{} {}: not reported", made.name, interval.id));
            let found = differences(interval, outlier);
            if !found.is_empty() {
                wrong.push(format!("{} {}: {}", made.name, interval.id, found.join("; ")));
            }
        }
    });
    assert!(seen >= 35, "only {seen} intervals were looked at");
    assert_eq!(wrong, Vec::<String>::new());
}

/// Where the report differs from the truth.
fn differences(interval: &Interval, outlier: &Value) -> Vec<String> {
    let duration = outlier["duration_ns"].as_u64().expect("duration_ns");
    let tolerance = TOLERANCE_NS.max(duration * TOLERANCE_PERCENT / 100);
    let mut times: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for caused in &interval.causes {
        times.entry(&caused.cause).or_default().0 += caused.ticks * duration / interval.ticks();
    }
    let causes: BTreeMap<&str, &Value> = outlier["causes"]
        .as_array()
        .expect("causes")
        .iter()
        .map(|cause| (cause["cause"].as_str().expect("cause"), cause))
        .collect();
    for (name, cause) in &causes {
        times.entry(name).or_default().1 += cause["duration_ns"].as_u64().expect("duration_ns");
    }
    let mut differences: Vec<String> = times
        .iter()
        .filter(|(_, (truth, found))| truth.abs_diff(*found) > tolerance)
        .map(|(cause, (truth, found))| format!("{cause} is {truth} ns, {found} are found"))
        .collect();
    for caused in &interval.causes {
        let Some(cause) = causes.get(caused.cause.as_str()) else { continue };
        if caused.count.is_some_and(|count| cause["count"] != count) {
            differences.push(format!("{} is counted {}", caused.cause, cause["count"]));
        }
        if caused.certainty.as_ref().is_some_and(|certainty| cause["certainty"] != *certainty) {
            differences.push(format!("{} is {}", caused.cause, cause["certainty"]));
        }
        let detail = cause["detail"].as_str().unwrap_or_default();
        if let Some(says) = caused.says.as_ref().filter(|says| !detail.contains(says.as_str())) {
            differences.push(format!("{} says `{detail}`, not {says}", caused.cause));
        }
    }
    differences
}
