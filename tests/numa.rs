//! NUMA nodes of threads, devices and memory, and names of devices, in scenarios whose figures are worked out by hand.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::captures::{repository, tailtrace};

/// The capture that the scenario `name` makes, in `folder`.
fn made(name: &str, folder: &Path) -> PathBuf {
    let file = repository().join("fixtures/scenarios").join(name).with_extension("scenario");
    tracegen::scenario::make(&file, folder).unwrap_or_else(|error| panic!("{error}"));
    folder.join("perf.data")
}

fn run(command: &str, capture: &Path, more: &[&str]) -> Vec<u8> {
    let folder = capture.parent().expect("a folder");
    let mut process = tailtrace();
    process.arg(command).arg("-i").arg(capture).arg("--symfs").arg(folder.join("symfs"));
    let output = process.args(more).output().expect("tailtrace runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The report on interval 8 of `capture`.
fn explained(capture: &Path) -> Value {
    let intervals = capture.with_file_name("intervals.csv");
    let arguments = ["--intervals", &intervals.to_string_lossy(), "--id", "8", "--format", "json"];
    serde_json::from_slice(&run("explain", capture, &arguments)).expect("JSON")
}

/// The interval lasts 94050 ns; its thread is off CPU 0 from the switch at 2450 to the one at 93650.
#[test]
fn a_disk_has_its_name_and_its_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = explained(&made("block_io-named_disk", folder.path()));
    let device = json!({
        "device": "259:1 (nvme0n1)", "node": 1, "waits": 1, "remote": 1, "unknown": 0, "remote_ends": 1, "unknown_ends": 0,
    });
    let expected = json!({
        "threads": [{"node": 0, "duration_ns": 94_050 - (93_650 - 2450)}], "devices": [device], "memory": null, "pages": null,
    });
    assert_eq!(report["outliers"][0]["numa"], expected);
    assert_eq!(report["view"]["numa"]["slow"]["devices"], json!([device]));
    assert_eq!(report["view"]["numa"]["fast"]["devices"], json!([]));
    assert_eq!(report["view"]["devices"][0]["device"], "259:1 (nvme0n1)");
    assert_eq!(report["view"]["waits"][0]["object"], "device 259:1 (nvme0n1)");
}

/// The client waits for a socket; its server waits for the disk for 51550 ns of the 119650 ns that all intervals last.
#[test]
fn a_server_s_wait_for_a_disk_stands_beside_the_client_s_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = explained(&made("block_io-server", folder.path()));
    let io = json!({"share": 0.0, "slow_share": 0.0, "fast_share": 0.0, "others_share": 0.430_840});
    assert_eq!(report["view"]["block_io"], io);
}

/// Without a machine file: the number, and a word that the node is not known.
#[test]
fn without_a_machine_file_a_node_is_not_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = explained(&made("block_io-other_node", folder.path()));
    let device = json!({
        "device": "259:1", "node": null, "waits": 1, "remote": 0, "unknown": 1, "remote_ends": 1, "unknown_ends": 0,
    });
    assert_eq!(report["outliers"][0]["numa"]["devices"], json!([device]));
    let nodes: Vec<&str> =
        report["view"]["nodes"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(
        nodes.iter().any(|told| told.contains("device 259:1: its node is unknown, 1 of 1 waits ended")),
        "{nodes:?}"
    );
    assert!(nodes.contains(&"the NUMA node of the memory is unknown: no sampled access"), "{nodes:?}");
}

/// Four loads of the slow interval: three from node 1, where 0x80000000 is the first byte; eight of the others, all local.
#[test]
fn sampled_loads_tell_the_memorys_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = made("memory-other_node", folder.path());
    let report = explained(&capture);
    let nodes = json!([{"node": 0, "count": 1}, {"node": 1, "count": 3}]);
    let slow = json!({"count": 4, "remote": 3, "unknown": 0, "nodes": nodes});
    let outlier = &report["outliers"][0];
    assert_eq!(outlier["numa"]["memory"], slow);
    assert_eq!(outlier["numa"]["threads"], json!([{"node": 0, "duration_ns": 8000}]));
    assert_eq!(report["view"]["numa"]["slow"]["memory"], slow);
    // Page 0x80200 begins at 0x80200000; of order 9 are 2^9 pages.
    let pages = json!({"count": 512, "remote": 512, "unknown": 0, "nodes": [{"node": 1, "count": 512}]});
    assert_eq!(
        (&outlier["numa"]["pages"], &report["view"]["numa"]["fast"]["pages"]["count"]),
        (&pages, &json!(0))
    );
    let fast = json!({"count": 8, "remote": 0, "unknown": 0, "nodes": [{"node": 0, "count": 8}]});
    assert_eq!(report["view"]["numa"]["fast"]["memory"], fast);
    let segments = outlier["segments"].as_array().expect("a list");
    let slower =
        segments.iter().find(|segment| segment["cause"] == "user.slower.other").expect("it is slower");
    let told = "sampled accesses went to another NUMA node (node 1), typical 0 of 8";
    assert!(slower["detail"].as_str().is_some_and(|detail| detail.contains(told)), "{slower}");
    let evidence = slower["evidence"].as_array().expect("a list");
    let records: Vec<&str> = evidence.iter().filter_map(|one| one["text"].as_str()).collect();
    assert!(records.contains(&"data from RAM of another node, memory of node 1"), "{records:?}");
    for (format, heading) in [("text", "NUMA"), ("markdown", "; ran on node 0 (100 %); 4 sampled accesses")] {
        let intervals = capture.with_file_name("intervals.csv");
        let shown = run(
            "explain",
            &capture,
            &["--intervals", &intervals.to_string_lossy(), "--id", "8", "--format", format],
        );
        assert!(String::from_utf8_lossy(&shown).contains(heading), "{format}");
    }
}

/// A machine with one node, or a capture without nodes: the report has none.
#[test]
fn one_node_is_not_worth_a_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = explained(&made("lock_wait-waker", folder.path()));
    assert_eq!((&report["outliers"][0]["numa"], &report["view"]["numa"]), (&Value::Null, &Value::Null));
    assert_eq!(report["view"]["nodes"], json!([]));
}

/// Slices and bundles bring the machine file along, and report the same; a redacted one, too.
#[test]
fn the_machine_file_goes_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = made("block_io-named_disk", folder.path());
    let machine = capture.join("machine.json");
    let text = fs::read_to_string(&machine).expect("the machine file");
    fs::write(&machine, text.replacen('{', "{\"host\": \"scenario\",", 1)).expect("written");
    let original = explained(&capture);
    let intervals = capture.with_file_name("intervals.csv");
    let chosen = ["--intervals", &intervals.to_string_lossy(), "--id", "8", "-o"];
    let [slice, bundle, redacted] = ["slice.data", "ticket", "redacted"].map(|name| folder.path().join(name));
    run("slice", &capture, &[&chosen[..], &[&slice.to_string_lossy()]].concat());
    run("bundle", &capture, &[&chosen[..], &[&bundle.to_string_lossy()]].concat());
    run("bundle", &capture, &[&chosen[..], &[&redacted.to_string_lossy(), "--redact"]].concat());
    assert!(slice.join("machine.json").exists() && bundle.join("slice/machine.json").exists());
    let host = |file: &Path| -> Value {
        serde_json::from_slice::<Value>(&fs::read(file).expect("a machine file")).expect("JSON")["host"]
            .clone()
    };
    assert_eq!(host(&bundle.join("slice/machine.json")), "scenario");
    assert_eq!(host(&redacted.join("slice/machine.json")), "host-1");
    let of_slice: Value =
        serde_json::from_slice(&run("explain", &slice, &["--format", "json"])).expect("JSON");
    let mut opened = vec![of_slice];
    for ticket in [bundle, redacted] {
        let output = tailtrace()
            .arg("explain")
            .arg(ticket)
            .args(["--format", "json"])
            .output()
            .expect("tailtrace runs");
        opened.push(serde_json::from_slice(&output.stdout).expect("JSON"));
    }
    for again in opened {
        assert_eq!(again["outliers"][0]["numa"], original["outliers"][0]["numa"]);
        assert_eq!(again["outliers"][0]["segments"], original["outliers"][0]["segments"]);
        assert_eq!(again["view"], original["view"]);
    }
}

/// A stranger's machine file costs a diagnostic, not the report.
#[test]
fn a_damaged_machine_file_costs_names_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = made("block_io-named_disk", folder.path());
    for text in ["{\"schema\"", "{\"schema\": \"tailtrace-machine/1\", \"block_devices\": [{\"name\": 3}]}"] {
        fs::write(capture.join("machine.json"), text).expect("written");
        let report = explained(&capture);
        assert_eq!(report["outliers"][0]["numa"]["devices"][0]["device"], "259:1");
        let diagnostics = report["diagnostics"].as_array().expect("a list");
        let of_file = |one: &&Value| one["where"].as_str().is_some_and(|file| file.ends_with("machine.json"));
        assert_eq!(diagnostics.iter().filter(of_file).count(), 1, "{diagnostics:?}");
    }
}
