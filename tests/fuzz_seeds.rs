//! Runs every fuzz target over the committed seeds, and over what the fuzzer has found since.

use std::path::Path;

// The targets are compiled as they are: this is the crate from which they import the macro.
extern crate self as libfuzzer_sys;

/// Makes a function of what libFuzzer would call, reading structured input as `libfuzzer-sys` does.
macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:expr) => {
        pub(crate) fn run(bytes: &[u8]) {
            let unstructured = arbitrary::Unstructured::new(bytes);
            let Ok($input) = <$kind as arbitrary::Arbitrary>::arbitrary_take_rest(unstructured) else {
                return;
            };
            $body
        }
    };
}
pub(crate) use fuzz_target;

/// A module and a test for each target.
macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        /// The targets as the fuzzer compiles them.
        #[allow(unused_attributes, unused_imports, reason = "`no_main` and the macro are for the fuzzer's build")]
        #[path = "../fuzz/fuzz_targets"]
        mod targets {
            $(pub(super) mod $name;)*
        }
        $(#[test] fn $name() { replay(stringify!($name), targets::$name::run); })*

        #[test]
        fn every_target_is_listed() {
            let listed = [$(stringify!($name)),*];
            for entry in fuzz().join("fuzz_targets").read_dir().expect("the targets") {
                let path = entry.expect("a target").path();
                let name = path.file_stem().expect("a name").to_string_lossy();
                assert!(listed.contains(&&*name), "{name} is not replayed");
            }
        }
    };
}

targets!(
    bundle_explain,
    bundle_open,
    code_copies,
    ctf_trace,
    event_pairs,
    event_pattern,
    function_calls,
    go_trace,
    interval_csv,
    interval_file,
    interval_records,
    jitdump,
    machine_file,
    pairing,
    perfdata_open,
    program_file,
    pt_packets,
    pt_window,
    ptwrite_spec,
    server_requests,
    span_file,
    tracepoint_format,
);

fn fuzz() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz"))
}

/// Runs a target over the files of its folders: seeds are committed, the rest is where the fuzzer ran.
fn replay(target: &str, run: fn(&[u8])) {
    let folders = ["seeds", "corpus", "artifacts"].map(|folder| fuzz().join(folder).join(target));
    let entries = folders.iter().flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    let inputs: Vec<Vec<u8>> = entries.filter_map(|entry| std::fs::read(entry.path()).ok()).collect();
    assert!(!inputs.is_empty(), "no committed seeds of {target}");
    for bytes in &inputs {
        run(bytes);
    }
}
