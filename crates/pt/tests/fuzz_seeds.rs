//! Runs the fuzz targets of this crate over the committed seeds, and over what the fuzzer has found since.

use std::path::Path;

// The targets are compiled as they are: these are the names they import.
extern crate self as libfuzzer_sys;
extern crate tailtrace_pt as pt;

/// Makes a function of what libFuzzer would call, reading structured input as `libfuzzer-sys` does.
macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:expr) => {
        pub(super) fn run(bytes: &[u8]) {
            let unstructured = arbitrary::Unstructured::new(bytes);
            let Ok($input) = <$kind as arbitrary::Arbitrary>::arbitrary_take_rest(unstructured) else {
                return;
            };
            $body
        }
    };
}
pub(crate) use fuzz_target;

#[path = "../../../fuzz/fuzz_targets/pt_packets.rs"]
#[allow(unused_attributes, unused_imports, reason = "`no_main` and the macro are for the fuzzer's build")]
mod pt_packets;
#[path = "../../../fuzz/fuzz_targets/pt_window.rs"]
#[allow(unused_attributes, unused_imports, reason = "`no_main` and the macro are for the fuzzer's build")]
mod pt_window;

/// The files of the fuzzer's folders for a target: seeds are committed, the rest is where it ran.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let folders = ["seeds", "corpus", "artifacts"].map(|folder| fuzz.join(folder).join(target));
    let entries = folders.iter().flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    entries.filter_map(|entry| std::fs::read(entry.path()).ok()).collect()
}

#[track_caller]
fn replay(target: &str, run: fn(&[u8])) {
    let inputs = inputs(target);
    assert!(inputs.len() >= 18, "the committed seeds");
    for bytes in &inputs {
        run(bytes);
    }
}

#[test]
fn packets() {
    replay("pt_packets", pt_packets::run);
}

#[test]
fn window() {
    replay("pt_window", pt_window::run);
}
