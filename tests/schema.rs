//! What the binary prints in JSON, held against its own schemas by a validator that is not ours.

use jsonschema::Validator;
use serde_json::Value;

use crate::captures::{Capture, bundled, emulated, repository, tailtrace};

/// The schema that the binary writes, as a validator; the repository holds the same.
pub(crate) fn validator(document: &str) -> Validator {
    let output = tailtrace().args(["generate", "schema", document]).output().expect("tailtrace runs");
    let owner = match document {
        "machine" => "perfdata",
        "doctor" => "cli",
        _ => "report",
    };
    let file = repository().join(format!("crates/{owner}/schema/tailtrace-{document}-1.json"));
    if std::env::var_os("TAILTRACE_BLESS").is_some() {
        std::fs::write(&file, &output.stdout).expect("written");
    }
    assert_eq!(output.stdout, std::fs::read(file).expect("the stored schema"));
    let schema = serde_json::from_slice(&output.stdout).expect("JSON");
    jsonschema::validator_for(&schema).expect("a sound schema")
}

#[track_caller]
pub(crate) fn assert_follows(validator: &Validator, document: &[u8]) {
    let document: Value = serde_json::from_slice(document).expect("JSON");
    let broken = validator.iter_errors(&document).map(|error| error.to_string()).next();
    assert_eq!(broken, None);
}

/// Counters and two modes, devices, queues, waits and what happened during the waits; a trace of hardware; user code alone.
#[test]
fn reports_on_captures_follow_the_schema() {
    let validator = validator("report");
    let lock = emulated("lock");
    let user = lock.root.join("user/perf.data");
    let captures = [
        emulated("tcp"),
        emulated("block"),
        emulated("queue"),
        emulated("preempt"),
        bundled("multicore"),
        Capture { perf_data: user, symfs: lock.symfs.clone(), root: lock.root.clone() },
    ];
    for capture in captures {
        println!("{}", capture.perf_data.display());
        let intervals = capture.intervals();
        for (command, more) in [("explain", &["--top", "2"][..]), ("stat", &[])] {
            let arguments = [&["--intervals", &intervals, "--format", "json"], more].concat();
            assert_follows(&validator, &capture.tailtrace(command, &arguments).stdout);
        }
    }
}

#[test]
fn differences_of_captures_follow_the_schema() {
    let (a, b) = (emulated("wakeup"), emulated("lock"));
    let mut process = tailtrace();
    process.arg("diff").args([&a.perf_data, &b.perf_data]).arg("--symfs").arg(&a.symfs);
    process.arg("--symfs-b").arg(&b.symfs).args(["--intervals", &a.intervals()]);
    process.args(["--intervals-b", &b.intervals(), "--format", "json"]);
    assert_follows(&validator("diff"), &process.output().expect("tailtrace runs").stdout);
}

/// The machine file, as `docs/machine-file.md` describes it.
#[track_caller]
pub(crate) fn assert_machine_follows(name: &std::path::Path, document: &[u8]) {
    let validator = validator("machine");
    println!("{}", name.display());
    assert_follows(&validator, document);
    assert!(!validator.is_valid(&serde_json::json!({"schema": "tailtrace-machine/1"})), "it can refuse");
}
