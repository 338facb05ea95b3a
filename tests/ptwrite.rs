//! PTWRITE emulated by branches, as `tailtrace.h` does on CPUs without it: perf reads the same payloads, and what they mean lies
//! beside the capture.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::captures::{repository, tailtrace};

/// What the header says of its payloads; `recording` has that `record` finds it there.
pub(crate) const SPEC: &str = "begin=0xb,end=0xe,tag=60..63,label=40..59,id=0..39";

/// The begin of the second interval, and the same with an interrupt after four bits.
const WHOLE: &str = "  run to .end branches TNTTN58TN for 50ns\n";
const CUT: &str = "  run to .middle branches TNTT for 5ns\n  interrupt asm_sysvec_apic_timer_interrupt vector 236\n  \
                   run to .middle branches TTTN for 500ns\n  run to .end branches N58TN for 50ns\n";

/// The capture of the scenario with three intervals.
fn made(folder: &Path) {
    made_with(folder, WHOLE);
}

fn made_with(folder: &Path, second_begin: &str) {
    let file = repository().join("fixtures/scenarios/ptwrite_emulated.scenario");
    let text = fs::read_to_string(file).expect("the scenario");
    assert_eq!(text.matches(WHOLE).count(), 1);
    let own = folder.join("own.scenario");
    fs::write(&own, text.replace(WHOLE, second_begin)).expect("written");
    tracegen::scenario::make(&own, folder).expect("a capture");
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Id, key, label and length of each interval.
fn intervals(folder: &Path, arguments: &[&str]) -> Vec<(String, Value, Value, u64)> {
    let mut command = tailtrace();
    command.args(["explain", "--over", "0ns", "--top", "9", "--format", "json", "-i"]);
    command.arg(folder.join("perf.data")).arg("--symfs").arg(folder.join("symfs")).args(arguments);
    let report: Value =
        serde_json::from_str(&succeeded(&command.output().expect("tailtrace runs"))).expect("JSON");
    let outliers = report["outliers"].as_array().expect("outliers").iter();
    let mut found: Vec<_> = outliers
        .map(|one| {
            let length = one["duration_ns"].as_u64().expect("a length");
            (one["id"].to_string(), one["key"].clone(), one["label"].clone(), length)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// The payloads that perf reads.
fn payloads_by_perf(folder: &Path) -> Vec<u64> {
    let mut perf = Command::new("perf");
    perf.args(["script", "--itrace=ew", "-i"]).arg(folder.join("perf.data"));
    let printed = succeeded(&perf.arg("--symfs").arg(folder.join("symfs")).output().expect("perf"));
    let payload = |line: &str| {
        let payload = line.split("payload: 0x").nth(1)?.split(' ').next()?;
        u64::from_str_radix(payload, 16).ok()
    };
    printed.lines().filter_map(payload).collect()
}

/// perf gives up the payload that an interrupt cuts; here it is whole.
#[test]
fn perf_reads_the_same_payloads() {
    let (begin, end) = (0xb << 60, 0xe << 60);
    let all = [begin | 1, end | 1, begin | 2, end | 2, begin | 3, end | 3];
    for (second_begin, given_up) in [(WHOLE, None), (CUT, Some(begin | 2))] {
        let folder = tempfile::tempdir().expect("a folder");
        made_with(folder.path(), second_begin);
        let expected: Vec<u64> = all.into_iter().filter(|&payload| Some(payload) != given_up).collect();
        assert_eq!(payloads_by_perf(folder.path()), expected);
        let found = intervals(folder.path(), &["--ptwrite", "begin=0xb,end=0xe,tag=60..63,id=0..39"]);
        // From the last branch of the begin's payload to the last one of the end's, which takes 50 ns.
        let found: Vec<(&str, u64)> = found.iter().map(|(id, .., length)| (id.as_str(), *length)).collect();
        assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["1", "2", "3"]);
        assert!(found.iter().all(|(_, length)| (1010..=1070).contains(length)), "{found:?}");
    }
}

#[test]
fn what_payloads_mean_lies_beside_the_capture() {
    let folder = tempfile::tempdir().expect("a folder");
    made(folder.path());
    fs::remove_file(folder.path().join("intervals.csv")).expect("an interval file goes first");
    fs::write(folder.path().join("perf.data/ptwrite"), format!("{SPEC}\n")).expect("written");
    let found = intervals(folder.path(), &[]);
    let keys: Vec<&str> = found.iter().filter_map(|(_, key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["1", "2", "3"]);
    assert!(found.iter().all(|(_, _, label, _)| label == "ptwrite 0x0"), "no text is there: {found:?}");
    fs::write(folder.path().join("perf.data/ptwrite"), "id=9..1\n").expect("written");
    let output = tailtrace().arg("stat").arg("-i").arg(folder.path().join("perf.data")).output();
    let output = output.expect("tailtrace runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("id=9..1"), "{output:?}");
}
