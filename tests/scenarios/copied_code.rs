//! Code in no file, of which a recording has copies: slices and bundles have what they ran, unless binaries or names are left out.

use std::fs;
use std::path::Path;

use super::Made;
use super::jitdump_clock::assert_kept;
use crate::captures::tailtrace;

const SCENARIO: &str = "jit_copied-code_added";

/// What is used lies in `perf.data/code` alone.
#[test]
fn without_the_copies_the_code_is_a_gap() {
    let made = Made::named(SCENARIO);
    let losses = |made: &Made| {
        let lost = |outlier: &serde_json::Value| outlier.to_string().contains("trace.loss");
        made.explained().values().filter(|outlier| lost(outlier)).count()
    };
    assert_eq!(losses(&made), 0);
    fs::remove_file(made.folder.path().join("perf.data/code")).expect("removed");
    assert_eq!(losses(&made), 2);
}

#[test]
fn slices_and_bundles_have_the_code() {
    assert_kept(&Made::named(SCENARIO), &["8", "17"]);
}

/// Makes a bundle of the outlier `id` and returns the contents of its file of copies.
fn bundled(made: &Made, id: &str, option: Option<&str>, folder: &Path) -> Option<Vec<u8>> {
    let out = folder.join(format!("{id}{}", option.unwrap_or_default()));
    let at = |name: &str| made.folder.path().join(name);
    let mut process = tailtrace();
    process.arg("bundle").arg("-i").arg(at("perf.data")).arg("--symfs").arg(at("symfs"));
    process.arg("--intervals").arg(at("intervals.csv")).args(["--id", id]).args(option).arg("-o").arg(&out);
    let output = process.output().expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = [out.join("slice.code"), out.join("slice/code")];
    kept.iter().find_map(|path| fs::read(path).ok())
}

#[test]
fn copies_are_left_out_with_binaries_and_names() {
    let made = Made::named(SCENARIO);
    let folder = tempfile::tempdir().expect("a folder");
    let whole = fs::read(made.folder.path().join("perf.data/code")).expect("the copies");
    // Its page, as it was at both times.
    assert_eq!(bundled(&made, "17", None, folder.path()), Some(whole));
    for option in ["--no-binaries", "--redact"] {
        assert_eq!(bundled(&made, "17", Some(option), folder.path()), None, "{option}");
    }
}
