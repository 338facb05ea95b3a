//! The fuzzer's seeds, and whatever it has found since, once each.

use std::path::Path;

use tailtrace_perfdata::{PerfData, fuzz_formats};

/// The files of the fuzzer's folders for a target: seeds are committed, the rest is where it ran.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let folders = ["seeds", "corpus", "artifacts"].map(|folder| fuzz.join(folder).join(target));
    let entries = folders.iter().flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    entries.filter_map(|entry| std::fs::read(entry.path()).ok()).collect()
}

#[test]
fn perfdata_open() {
    let inputs = inputs("perfdata_open");
    assert!(inputs.len() >= 3, "the committed seeds");
    let opened = inputs.into_iter().filter_map(|bytes| PerfData::from_bytes(Path::new("seed"), bytes).ok());
    let mut records = 0;
    for perf_data in opened {
        records += perf_data.records().count();
        let _ = (perf_data.map_events(), perf_data.loss(), perf_data.schedule(), perf_data.thread_names());
    }
    assert!(records >= 10, "the seeds have records");
}

#[test]
fn tracepoint_format() {
    let inputs = inputs("tracepoint_format");
    assert!(!inputs.is_empty(), "the committed seeds");
    for bytes in &inputs {
        fuzz_formats(bytes);
    }
}
