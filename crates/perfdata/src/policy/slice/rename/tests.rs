//! Each place of a capture that names a machine, a command line or a path is filled, redacted and searched.

use std::path::Path;

use super::*;
use crate::SlicePlan;
use crate::bytes;
use crate::test_file::{TestFile, feature_string, name};
use crate::traced::Traced;

/// A path that is no UTF-8.
const RAW: &[u8] = b"/home/alice/\xff\xfe/secret";

/// An entry of the section of build ids, its path padded as perf does.
fn build_id(path: &[u8]) -> Vec<u8> {
    let mut body = bytes![-1i32];
    body.extend([0x5a; 20]);
    body.resize(28, 0);
    body.extend(path);
    body.resize(28 + (path.len() + 1).next_multiple_of(64), 0);
    let size = u16::try_from(8 + body.len()).expect("short");
    [bytes![67u32, 1u16, size], body].concat()
}

/// `AUXTRACE_INFO` of Intel PT: 17 words, the last one the filters' length; the filters; then whether there is Event
/// Trace. As perf writes them: a NUL after the filters, in whole words.
fn auxtrace_info(filter: &str) -> Vec<u8> {
    let mut body = bytes![1u32, 0u32];
    body.resize(8 + 16 * 8, 0);
    body.extend(bytes![filter.len() as u64]);
    if !filter.is_empty() {
        body.extend(name(filter));
    }
    [body, bytes![1u64]].concat()
}

fn mmap(fields: usize, path: &[u8]) -> Vec<u8> {
    let mut body = bytes![10i32, 11i32];
    body.resize(fields, 0);
    body.extend(path);
    body.resize(fields + (path.len() + 1).next_multiple_of(8), 0);
    body
}

fn redacted(file: TestFile) -> (PerfData, Vec<u8>) {
    let perf = file.open();
    let paths = perf.recorded_paths();
    let names = (1..).map(|number| format!("/redacted/file-{number}").into_bytes());
    let renames = Renames {
        hostname: "host-1".to_owned(),
        command_line: vec!["perf".to_owned()],
        paths: paths.into_iter().zip(names).collect(),
    };
    let bytes = perf.slice(&SlicePlan { renames: Some(renames), ..SlicePlan::default() });
    (PerfData::from_bytes(Path::new("slice"), bytes.clone()).expect("a sound header"), bytes)
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

#[test]
fn no_planted_name_stays() {
    let command_line = [bytes![2u32], feature_string("perf"), feature_string("--secret-argument")].concat();
    // HEADER_FEATURE: the number of the section, then what it holds.
    let feature = [bytes![3u64], feature_string("secret-host")].concat();
    let file = TestFile::new()
        .record(kinds::AUXTRACE_INFO, 0, &auxtrace_info("filter main @ /home/alice/secret"))
        .record(kinds::HEADER_FEATURE, 0, &feature)
        .record(kinds::HEADER_BUILD_ID, 0, &build_id(b"/home/alice/secret-record")[8..])
        .timed(kinds::MMAP, 0, &mmap(32, b"/home/alice/secret-mmap"), 1)
        .timed(kinds::MMAP2, 0, &mmap(64, RAW), 2)
        .timed(kinds::CGROUP, 0, &[bytes![7u64], name("/user.slice/secret-user")].concat(), 3)
        .feature(BUILD_ID_SECTION, [build_id(b"/home/alice/secret-listed"), build_id(RAW)].concat())
        .feature(HOSTNAME_SECTION, feature_string("secret-host"))
        .feature(COMMAND_LINE_SECTION, command_line);
    let (slice, bytes) = redacted(file);
    for word in [&b"secret"[..], b"alice", RAW] {
        assert!(!contains(&bytes, word), "{}", String::from_utf8_lossy(word));
    }
    assert_eq!(slice.features().hostname.as_deref(), Some("host-1"));
    assert_eq!(slice.recorded_paths().len(), 5);
    assert!(slice.recorded_paths().iter().all(|path| path.starts_with(b"/redacted/file-")));
}

/// Names of every length, shorter and longer than what stands for them, and what is no UTF-8.
#[test]
fn names_of_opened_files_are_replaced_in_their_samples() {
    let names: Vec<Vec<u8>> = (1..40).map(|length| vec![b'Q'; length]).chain([RAW.to_vec()]).collect();
    let traced = names.iter().zip(0..).fold(Traced::new(), |traced, (name, number)| {
        let time = number * 10;
        traced.name(time + 1, 5, name).exit(time + 2, 5, 257, number.cast_signed())
    });
    let perf = traced.0.open();
    assert_eq!(perf.opened_names().len(), names.len());
    let new = (1..).map(|number| format!("/redacted/file-{number}").into_bytes());
    let renames = Renames { paths: names.iter().cloned().zip(new).collect(), ..Renames::default() };
    let bytes = perf.slice(&SlicePlan { renames: Some(renames), ..SlicePlan::default() });
    assert!(!contains(&bytes, b"QQ") && !contains(&bytes, RAW));
    let slice = PerfData::from_bytes(Path::new("slice"), bytes).expect("a sound header");
    assert_eq!(slice.records().count(), perf.records().count());
    assert!(slice.opened_names().iter().all(|name| name.starts_with(b"/redacted/file-")));
    for number in 0..40 {
        let told = slice.opened_file(model::Pid(5), number, model::PerfTime(1000));
        assert_eq!(told.as_deref(), Some(&*format!("/redacted/file-{}", number + 1)));
    }
}

/// Of every length modulo eight: where the filters fill their last word, a whole one of zeros follows.
#[test]
fn what_stands_behind_filters_stays_in_its_place() {
    for length in 0..=17 {
        let filter = "f".repeat(length);
        let file = || TestFile::new().record(kinds::AUXTRACE_INFO, 0, &auxtrace_info(&filter));
        let original = file().open();
        let original = original.intel_pt().expect("Intel PT");
        assert_eq!((original.filter.len(), original.cap_event_trace), (length, true));
        let (slice, _) = redacted(file());
        let slice = slice.intel_pt().expect("Intel PT");
        assert_eq!((&slice.filter[..], slice.cap_event_trace), ("", true), "{length}");
    }
}
