//! Captures that were written to a pipe: `perf record -o -`.
//!
//! Expected values: what the same recording says as a file, and perf's counts. Debian's perf reads no tracepoint formats from a
//! stream, so that it is asked about captures without any.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::captures::{Capture, bundled, emulated, left_out, tailtrace};
use crate::records::{counts_by_perf, counts_by_tailtrace, counts_of};
use crate::variants::encodings;

/// The capture as a stream in `folder`.
fn as_stream(capture: &Capture, folder: &Path) -> Capture {
    let perf_data = encodings::stream(&capture.perf_data, &folder.join("perf.data"));
    Capture { root: capture.root.clone(), perf_data, symfs: capture.symfs.clone() }
}

fn json(capture: &Capture, arguments: &[&str]) -> Value {
    let intervals = capture.intervals();
    let output =
        capture.tailtrace("explain", &[arguments, &["--intervals", &intervals, "--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Takes out what depends on where the capture and its records lie.
fn forget_places(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for place in ["file_offset", "path", "perf_script"] {
                fields.remove(place);
            }
            fields.values_mut().for_each(forget_places);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_places),
        _ => {}
    }
}

/// Attributes, names of events, formats of tracepoints, features and build ids are all needed for it.
#[test]
fn a_stream_is_explained_as_its_file_is() {
    for name in ["fault", "lock"] {
        let capture = emulated(name);
        let folder = tempfile::tempdir().expect("a folder");
        let stream = as_stream(&capture, folder.path());
        let [file, stream] = [&capture, &stream].map(|capture| {
            let mut report = json(capture, &["--top", "3"]);
            forget_places(&mut report);
            report
        });
        let parts = file.as_object().expect("an object");
        assert!(parts["outliers"].as_array().expect("a list").len() == 3);
        // Part by part: a whole report is too long to be read where it differs.
        for (part, expected) in parts {
            assert!(stream[part] == *expected, "{name}: {part} differs");
        }
    }
}

/// `perf record -o - | tailtrace explain -`; commands in the report name the capture as the command line does.
#[test]
fn a_stream_comes_through_a_pipe() {
    let capture = emulated("fault");
    let folder = tempfile::tempdir().expect("a folder");
    let stream = as_stream(&capture, folder.path());
    let data = stream.perf_data.join("data");
    let single =
        Capture { root: capture.root.clone(), perf_data: data.clone(), symfs: capture.symfs.clone() };
    let expected = json(&single, &["--top", "2"]);
    let mut cat = Command::new("cat").arg(&data).stdout(Stdio::piped()).spawn().expect("cat runs");
    let output = tailtrace()
        .args(["explain", "-", "--top", "2", "--format", "json", "--symfs"])
        .arg(&capture.symfs)
        .args(["--intervals", &capture.intervals()])
        .stdin(cat.stdout.take().expect("a pipe"))
        .output()
        .expect("tailtrace runs");
    cat.wait().expect("cat ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("perf script -i - --time") && !text.contains("/proc/self"), "{text}");
    let mut found: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(found["capture"]["path"], "-");
    let mut expected = expected;
    forget_places(&mut found);
    forget_places(&mut expected);
    assert!(found["outliers"] == expected["outliers"]);
}

/// A slice of a stream is a file, of which perf finds the same instructions.
#[test]
fn a_slice_of_a_stream_is_a_file() {
    let capture = emulated("fault");
    let folder = tempfile::tempdir().expect("a folder");
    let stream = as_stream(&capture, folder.path());
    let slices = [&capture, &stream].map(|capture| {
        let out = folder.path().join(format!("{}.slice", usize::from(capture.perf_data == stream.perf_data)));
        let out_text = out.to_string_lossy().into_owned();
        let intervals = capture.intervals();
        let output = capture.tailtrace("slice", &["--intervals", &intervals, "--top", "2", "-o", &out_text]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        out
    });
    let [file, stream] = slices.map(|slice| (counts_by_tailtrace(&slice), counts_by_perf(&slice)));
    assert_eq!(file.0, file.1, "perf counts other records in a slice of the file");
    assert_eq!(stream.0, stream.1, "perf counts other records in a slice of the stream");
    assert_eq!(file.0, stream.0);
}

/// perf loses its place in a file that holds a stream with a trace: it steps over the bytes of a pipe.
fn counts_by_perf_through_a_pipe(stream: &Path) -> BTreeMap<String, u64> {
    let mut cat = Command::new("cat").arg(stream).stdout(Stdio::piped()).spawn().expect("cat runs");
    let pipe = cat.stdout.take().expect("a pipe");
    let counts = counts_of(Command::new("perf").args(["report", "--stats", "-i", "-"]).stdin(pipe));
    cat.wait().expect("cat ends");
    counts
}

#[test]
fn perf_finds_the_same_records_in_a_stream() {
    for name in ["single", "multicore"] {
        let capture = bundled(name);
        let folder = tempfile::tempdir().expect("a folder");
        let stream = as_stream(&capture, folder.path()).perf_data.join("data");
        assert_eq!(counts_by_tailtrace(&stream), counts_by_perf_through_a_pipe(&stream), "{name}");
    }
}

/// What the perf of this machine writes to a pipe.
#[test]
fn a_stream_of_perf_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let stream = folder.path().join("stream");
    let output = Command::new("perf")
        .args(["record", "-e", "cpu-clock:u", "-e", "task-clock:u", "-o", "-", "--", "true"])
        .stdout(std::fs::File::create(&stream).expect("a file"))
        .output()
        .expect("perf runs");
    if !output.status.success() {
        left_out(&format!("perf record: {}", String::from_utf8_lossy(&output.stderr)));
        return;
    }
    let counts: BTreeMap<String, u64> = counts_by_tailtrace(&stream);
    assert_eq!(counts, counts_by_perf_through_a_pipe(&stream));
    assert_eq!(counts["ATTR"], 2);
}
