//! The calls that `--function` found are kept for the next run, for this user alone, and none of a bundle.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, SystemTime};

use crate::captures::{Capture, emulated, tailtrace};

const FUNCTION: [&str; 4] = ["--function", "exc_page_fault", "--format", "json"];

/// `stat` of a capture or `explain` of a bundle, with calls kept in `caches`.
fn run(command: &[&str], caches: &Path) -> Output {
    let output = tailtrace().args(command).env("XDG_CACHE_HOME", caches).output().expect("tailtrace runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn stat(capture: &Capture, caches: &Path) -> Output {
    let (data, symfs) = (capture.perf_data.to_string_lossy(), capture.symfs.to_string_lossy());
    run(&[&["stat", "-i", &data, "--symfs", &symfs][..], &FUNCTION].concat(), caches)
}

fn kept(caches: &Path) -> Vec<PathBuf> {
    let folder = fs::read_dir(caches.join("tailtrace")).into_iter().flatten();
    folder.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn a_second_run_reads_what_the_first_one_kept() {
    let (capture, caches) = (emulated("fault"), tempfile::tempdir().expect("a folder"));
    let first = stat(&capture, caches.path());
    let [file] = &kept(caches.path())[..] else { panic!("one file") };
    let mode = caches.path().join("tailtrace").metadata().expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // A run that has to look for them again writes the file anew.
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let set = |file: &Path| {
        let opened = File::options().write(true).open(file).expect("opened");
        opened.set_times(FileTimes::new().set_modified(old)).expect("set");
    };
    let written = |file: &Path| file.metadata().expect("a file").modified().expect("a time");
    set(file);
    assert_eq!(stat(&capture, caches.path()).stdout, first.stdout);
    assert_eq!(written(file), old);
    fs::write(file, "damaged").expect("written");
    set(file);
    assert_eq!(stat(&capture, caches.path()).stdout, first.stdout);
    assert!(written(file) > old);
}

#[test]
fn nothing_is_kept_of_a_bundle() {
    let (capture, folder) = (emulated("fault"), tempfile::tempdir().expect("a folder"));
    let (data, symfs) = (capture.perf_data.to_string_lossy(), capture.symfs.to_string_lossy());
    let (intervals, bundle) = (capture.intervals(), folder.path().join("ticket.tar.zst"));
    let bundle = bundle.to_string_lossy();
    let chosen = ["--intervals", &intervals, "--top", "1", "--baselines", "1", "-o", &bundle];
    run(&[&["bundle", "-i", &data, "--symfs", &symfs][..], &chosen].concat(), folder.path());
    run(&[&["explain", &bundle, "--top", "1"][..], &FUNCTION].concat(), folder.path());
    assert_eq!(kept(folder.path()), Vec::<PathBuf>::new());
}
