//! Records of PEBS in the trace. That perf finds the same ones in the scenario's packets is a test of `tracegen`.

use serde_json::{Value, json};

use super::Made;

/// By hand, of the scenario's lines: three records at `work`, one at `idle`; each of the four typical intervals has one, at `work`.
#[test]
fn records_of_pebs_are_those_of_the_interval() {
    let made = Made::named("pebs_in_trace");
    let intervals = made.folder.path().join("intervals.csv");
    let asked = ["--intervals", intervals.to_str().expect("UTF-8"), "--id", "4"];
    let document = made.tailtrace("explain", &[&asked[..], &["--format", "json"]].concat());
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let memory = json!({"accesses": 3, "mean_cycles": 224, "most_cycles": 360, "address": "0x7f0000002000"});
    let expected = json!({
        "events": ["mem_load_retired.l3_miss:pp"],
        "records": 4,
        "typical_records": 4,
        "typical_intervals": 4,
        "functions": [
            {"function": "work", "records": 3, "typical_records": 4, "memory": memory},
            {"function": "idle", "records": 1, "typical_records": 0, "memory": null},
        ],
        "more_functions": 0,
    });
    assert_eq!(document["outliers"][0]["pebs"], expected);
    let text = made.tailtrace("explain", &asked);
    let words: Vec<&str> = text.split_whitespace().collect();
    let told = "PEBS 4 records of mem_load_retired.l3_miss:pp in the trace, typical 1: work() 3, typical 1, memory latency \
                360 cycles at most, at 0x7f0000002000, 224 in the mean of 3; idle() 1, typical 0";
    assert!(words.join(" ").contains(told), "{text}");
}
