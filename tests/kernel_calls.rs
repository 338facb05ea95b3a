//! The kernel's functions below each cause of kernel work: they add up to it, and nothing is a cause that has none.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::captures::{Capture, emulated};

const CAPTURES: [&str; 5] = ["lock", "tcp", "syscall", "page_faults", "block"];

/// The explained intervals of a capture.
fn outliers(capture: &Capture, top: &str) -> Vec<Value> {
    let arguments = ["--intervals", &capture.intervals(), "--top", top, "--format", "json"];
    let output = capture.tailtrace("explain", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["outliers"].as_array().expect("outliers").clone()
}

/// The place of the row that names the cause of a row of kernel work.
fn cause_row(calls: &[Value], mut at: usize) -> usize {
    while let Some(caller) = calls[at]["caller"].as_u64() {
        let caller = usize::try_from(caller).expect("an index");
        if calls[caller]["layer"] != "kernel" {
            break;
        }
        at = caller;
    }
    at
}

#[test]
fn kernel_functions_add_up_to_their_causes() {
    for name in CAPTURES {
        let (mut causes, mut without_function, mut whole) = (0, 0, 0);
        for outlier in outliers(&emulated(name), "60") {
            let calls = outlier["calls"].as_array().expect("calls");
            let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
            for (at, row) in calls.iter().enumerate().filter(|(_, row)| row["layer"] == "kernel") {
                let of = cause_row(calls, at);
                let own = row["self_ns"].as_u64().expect("a length");
                *sums.entry(calls[of]["function"].as_str().expect("a name")).or_default() += own;
                whole += own;
                without_function += if of == at { own } else { 0 };
            }
            sums.retain(|_, sum| *sum > 0);
            let of_causes = outlier["causes"].as_array().expect("causes").iter();
            let expected: BTreeMap<&str, u64> = of_causes
                .map(|row| {
                    (row["cause"].as_str().expect("a cause"), row["duration_ns"].as_u64().expect("a length"))
                })
                .filter(|(cause, length)| cause.starts_with("kernel.") && *length > 0)
                .collect();
            assert_eq!(sums, expected, "{name}, interval {}", outlier["id"]);
            causes += expected.len();
        }
        assert!(causes >= 60, "{name}: {causes} causes");
        assert!(
            without_function * 1000 <= whole,
            "{name}: {without_function} ns of {whole} ns in no function"
        );
    }
}
