//! What becomes of the bundles of `tailtrace record --bundle-to DIR`, here and now with the real perf and kernel: they are delivered, they
//! are too many for the disk, the disk is full, the recorder is killed. It needs what `no_pt` needs, and fails as that does.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::bundled_snapshots::{apart, number, skipped};
use crate::fleet::{fleet, tables};
use crate::slices::assert_done;
use crate::snapshots::{Recorder, WITHOUT_END, explained, files, recorded, recorder_of, wait_for};

/// So many requests of 0.1 ms, one in so many slow.
const FEW: [&str; 3] = ["3", "8000", "400"];
const OVER: &str = "1ms,request";

/// Where recordings write, and where their bundles are brought.
struct Places {
    folder: TempDir,
}

impl Places {
    fn new() -> Places {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        for name in ["bundles", "bucket"] {
            fs::create_dir(folder.path().join(name)).expect("made");
        }
        Places { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bundles(&self) -> BTreeSet<String> {
        names(&self.at("bundles"))
    }

    fn bucket(&self) -> BTreeSet<String> {
        names(&self.at("bucket"))
    }

    /// A recording into the folder `out` that makes bundles.
    fn recorder(&self, requests: [&str; 3], out: &str, more: &[&str]) -> Command {
        let to = self.at("bundles");
        let to = to.to_string_lossy();
        let options = [&["--a-minute", "20", "--bundle-to", &to], more].concat();
        recorder_of(requests, &self.folder, &self.at(out), OVER, &options)
    }

    /// A recording without an end. The program and then the recorder have to be ended.
    fn underway(&self, out: &str, more: &[&str]) -> Recorder {
        Recorder::run(self.recorder(WITHOUT_END, out, more))
    }

    /// Ends the program and so the recording; its account.
    fn account_of(&self, mut recorder: Recorder, out: &str) -> Value {
        recorder.kill(&recorder.process("recorded"));
        let out = self.at(out);
        recorder.ends(&out);
        serde_json::from_slice(&fs::read(out.join("snapshots.json")).expect("an account")).expect("JSON")
    }
}

/// The names of whole bundles in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let name = |path: PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    files(folder, "slow-", ".tar.zst").into_iter().map(name).collect()
}

/// All of them explain themselves: so many.
fn assert_open(folder: &Path) -> usize {
    let bundles = files(folder, "slow-", ".tar.zst");
    for bundle in &bundles {
        let report = explained(bundle, &[]);
        assert!(!report["outliers"].as_array().expect("outliers").is_empty(), "{}", bundle.display());
    }
    bundles.len()
}

fn counts(account: &Value, names: &[&str]) -> Vec<u64> {
    names.iter().map(|name| number(&account["bundles"][name])).collect()
}

/// The first recording's command fails. The next one delivers what waits, and what failed there again.
#[test]
fn what_was_not_delivered_is_delivered_later() {
    let places = Places::new();
    let (_, account) =
        recorded(&mut places.recorder(FEW, "first", &["--on-bundle", "exit 3"]), &places.at("first"));
    let waiting = places.bundles();
    let found = counts(&account, &["written", "delivered", "waiting"]);
    assert_eq!(found, [waiting.len() as u64, 0, waiting.len() as u64], "{account}");
    assert!(!waiting.is_empty() && number(&account["bundles"]["failures"]) > 0, "{account}");

    // The first attempt of all fails; a copy gets its name when it is whole.
    let place = places.folder.path().display();
    let command = format!(
        "cd '{place}'; mkdir tried && exit 3; n=${{TAILTRACE_BUNDLE##*/}}; cp \"$TAILTRACE_BUNDLE\" copy && mv copy bucket/$n"
    );
    let recorder = places.underway("second", &["--on-bundle", &command]);
    // All of the first recording, and one of this.
    wait_for("all bundles", || {
        places.bucket().is_superset(&waiting) && places.bucket().len() > waiting.len()
    });
    let account = places.account_of(recorder, "second");
    let (there, left) = (places.bucket(), places.bundles());
    let found = counts(&account, &["written", "delivered", "failures", "waiting"]);
    assert_eq!(found[1..], [there.len() as u64, 1, left.len() as u64], "{account}");
    assert_eq!(found[0], found[1] + found[3] - waiting.len() as u64, "{account}");
    assert!(there.is_disjoint(&left), "what was delivered goes");
    assert_eq!(assert_open(&places.at("bucket")), there.len());
}

/// What went is counted: in the bundle that is next, and in the account of all.
#[test]
fn bundles_beyond_the_budget_are_counted() {
    let places = Places::new();
    // Younger than any, and all that the disk may hold: what comes beside it goes.
    let other = places.at("bundles").join("slow-9999999999999-0a.tar.zst");
    File::create(&other).and_then(|file| file.set_len(64 << 20)).expect("made");
    let mut command = places.recorder(WITHOUT_END, "slow", &["--bundle-disk", "64"]);
    command.stderr(File::create(places.at("said")).expect("made"));
    let recorder = Recorder::run(command);
    let said = || fs::read_to_string(places.at("said")).expect("notes");
    wait_for("three that went", || said().matches("is removed: --bundle-disk is used up").count() >= 3);
    fs::remove_file(&other).expect("there");
    wait_for("one that stays", || !places.bundles().is_empty());
    let account = places.account_of(recorder, "slow");
    let printed = format!("{account}\n{}", said());
    let lost = number(&account["skipped"]["no_bundle"]);
    assert_eq!(number(&account["slow"]), number(&account["kept"]) + skipped(&account), "{printed}");
    assert!(number(&account["bundles"]["removed"]) >= 3 && lost >= 3, "{printed}");
    let (mut kept, mut of_removed) = (0, 0);
    for bundle in files(&places.at("bundles"), "slow-", ".tar.zst") {
        let part = &explained(&bundle, &[])["population"]["snapshots"];
        kept += number(&part["kept"]);
        of_removed += number(&part["skipped"]["no_bundle"]);
    }
    assert_eq!(kept, number(&account["kept"]), "{printed}");
    // What a removed one stood for, whatever it was skipped for, is no_bundle in the next.
    assert!((lost..=skipped(&account)).contains(&of_removed), "{of_removed} of {printed}");
}

/// No bundle fits: each is counted, no draft stays, and the recording goes on to its end.
#[test]
fn a_full_disk_ends_no_recording() {
    let places = Places::new();
    let recorder = places.recorder(FEW, "slow", &[]);
    // The disk goes with its namespace: what lies on it is listed before.
    let small = format!(
        "cd '{}' && mount -t tmpfs -o size=16k small bundles && \"$@\" && ls -A bundles >left",
        places.folder.path().display()
    );
    let (output, account) = recorded(&mut apart(&recorder, &["--mount"], &small), &places.at("slow"));
    let printed = format!("{account}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(places.at("left")).expect("a list"), "", "{printed}");
    assert_eq!(number(&account["intervals"]).to_string(), FEW[1], "{printed}");
    assert_eq!(counts(&account, &["written", "waiting"]), [0, 0], "{printed}");
    let (unwritten, lost) =
        (number(&account["bundles"]["unwritten"]), number(&account["skipped"]["no_bundle"]));
    assert!(unwritten > 0 && lost >= unwritten, "{printed}");
    assert_eq!((number(&account["kept"]), number(&account["slow"])), (0, skipped(&account)), "{printed}");
    assert!(printed.contains("No space left on device"), "{printed}");
}

/// Killed while it writes a bundle: what has its name is whole, what has none is not delivered, and the next recording goes on.
#[test]
fn a_recorder_that_was_killed_leaves_whole_bundles() {
    let places = Places::new();
    let mut recorder = places.underway("first", &["--on-bundle", "exit 3"]);
    let to = places.at("bundles");
    wait_for("a bundle", || !places.bundles().is_empty());
    let [tailtrace, program] = ["tailtrace", "recorded"].map(|name| recorder.process(name));
    // It is there for some milliseconds.
    wait_for("a draft", || !files(&to, ".slow-", "").is_empty());
    recorder.kill(&tailtrace);
    recorder.kill(&program);
    recorder.ends(&places.at("first"));
    let left = places.bundles();
    assert_eq!(assert_open(&to), left.len());
    for slice in files(&places.at("first"), "slow-", ".data") {
        explained(&slice, &[]);
    }
    // It may have been renamed just before the kill.
    if files(&to, ".slow-", "").is_empty() {
        let bundle = fs::read(&files(&to, "slow-", "")[0]).expect("a bundle");
        let draft = to.join(".slow-0000000000001-0a.tar.zst.tailtrace-abcdef");
        fs::write(draft, &bundle[..bundle.len() / 2]).expect("written");
    }
    let of_bundles = places.at("tables");
    assert_done(&fleet(&["ingest", &to.to_string_lossy(), "-o", &of_bundles.to_string_lossy()]));
    let captures = &tables(&of_bundles)["captures"];
    assert!(captures.len() == left.len() && captures.iter().all(|row| row["status"] == "ok"), "{captures:?}");

    let command = format!("cp \"$TAILTRACE_BUNDLE\" '{}'", places.at("bucket").display());
    let (_, account) =
        recorded(&mut places.recorder(FEW, "second", &["--on-bundle", &command]), &places.at("second"));
    let there = places.bucket();
    assert_eq!(there.len(), files(&places.at("bucket"), "", "").len(), "a draft was delivered");
    assert!(there.is_superset(&left) && places.bundles().is_empty(), "{account}");
    assert_eq!(
        counts(&account, &["delivered", "failures", "waiting"]),
        [there.len() as u64, 0, 0],
        "{account}"
    );
}
