//! Every scenario of `fixtures/scenarios`: its instructions, its causes, and how they follow from its lines.
//!
//! `tracegen` makes the captures and shares nothing with the readers; what a scenario says is what must be found.
//!
//! * here: the decoded instructions are those that ran, code patched at run time included (`text_poke`).
//! * `truth`: each cause takes the time that the scenario says, or is on the list of those that are not distinguished yet.
//! * `golden`: each line with the segments that it causes, in `fixtures/scenarios/golden`, for readers.

mod copied_code;
mod golden;
mod jitdump_clock;
mod jitdump_lines;
mod pebs;
mod truth;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tracegen::scenario::{Executed, Interval, Owner};

use crate::captures::{repository, tailtrace};

/// A scenario whose capture was made.
pub(crate) struct Made {
    pub(crate) name: String,
    /// The scenario's own text.
    text: String,
    pub(crate) folder: tempfile::TempDir,
    executed: Executed,
}

/// Makes each scenario's capture in turn and lets `check` look at it.
pub(crate) fn each(mut check: impl FnMut(&Made)) {
    let folder = repository().join("fixtures/scenarios");
    let entries =
        fs::read_dir(folder).expect("scenarios are there").map(|entry| entry.expect("an entry").path());
    let is_scenario = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "scenario");
    let mut files: Vec<PathBuf> = entries.filter(is_scenario).collect();
    files.sort();
    assert!(files.len() >= 30, "only {} scenarios were found", files.len());
    for file in &files {
        check(&Made::of(file));
    }
}

impl Made {
    /// The scenario of that name.
    pub(crate) fn named(name: &str) -> Made {
        Made::of(&repository().join("fixtures/scenarios").join(name).with_extension("scenario"))
    }

    fn of(file: &Path) -> Made {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let folder = tempfile::tempdir().expect("a folder");
        let made = tracegen::scenario::make(file, folder.path());
        let executed = made.unwrap_or_else(|error| panic!("{name}: {error}"));
        Made { name, text: fs::read_to_string(file).expect("the scenario"), folder, executed }
    }

    /// What `tailtrace COMMAND` with these arguments prints of the capture.
    pub(crate) fn tailtrace(&self, command: &str, arguments: &[&str]) -> String {
        let mut process = tailtrace();
        process.arg(command).arg("-i").arg(self.folder.path().join("perf.data"));
        process.arg("--symfs").arg(self.folder.path().join("symfs")).args(arguments);
        let output = process.output().expect("tailtrace runs");
        assert!(output.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The intervals whose truth is another than that of most intervals of their label.
    fn odd(&self) -> Vec<&Interval> {
        let truth = |interval: &Interval| (interval.label.clone(), format!("{:?}", interval.causes));
        let mut count = BTreeMap::new();
        for interval in self.executed.intervals() {
            *count.entry(truth(interval)).or_insert(0) += 1;
        }
        let most = |interval: &Interval| {
            count.iter().filter(|(key, _)| key.0 == interval.label).map(|(_, n)| *n).max()
        };
        let odd = |interval: &&Interval| {
            count[&truth(interval)] == 1 || Some(count[&truth(interval)]) < most(interval)
        };
        self.executed.intervals().iter().filter(|interval| !interval.causes.is_empty()).filter(odd).collect()
    }

    /// What `tailtrace explain` says of the odd intervals, by id.
    fn explained(&self) -> BTreeMap<u64, Value> {
        let ids: Vec<String> = self.odd().iter().map(|interval| interval.id.to_string()).collect();
        if ids.is_empty() {
            return BTreeMap::new();
        }
        let intervals = self.folder.path().join("intervals.csv");
        let intervals = intervals.to_str().expect("UTF-8");
        let mut arguments = vec!["--intervals", intervals, "--format", "json", "--id"];
        arguments.extend(ids.iter().map(String::as_str));
        let report: Value =
            serde_json::from_str(&self.tailtrace("explain", &arguments)).expect("the report is JSON");
        let outliers = report["outliers"].as_array().expect("outliers");
        outliers.iter().map(|outlier| (outlier["id"].as_u64().expect("id"), outlier.clone())).collect()
    }
}

#[test]
fn instructions_are_those_that_ran() {
    // Of code that no file holds there are only names.
    each(|made| {
        for buffer in (0..made.executed.buffers()).filter(|_| made.name != "jit_perf-map") {
            let (option, whose, number) = match made.executed.owner(buffer).expect("a buffer") {
                Owner::Cpu(cpu) => ("--cpu", "cpu", cpu),
                Owner::Thread(tid) => ("--tid", "thread", tid),
            };
            let truth = made.folder.path().join(format!("instructions.{whose}{number}"));
            let truth = fs::read_to_string(truth).expect("the truth");
            let found = made.tailtrace("dump", &["--insns", option, &number.to_string()]);
            let place = format!("{}, {whose} {number}", made.name);
            assert_eq!(found.lines().count(), truth.lines().count(), "{place}: number of instructions");
            let differ = found.lines().zip(truth.lines()).position(|(ours, theirs)| ours != theirs);
            assert_eq!(differ, None, "{place}: the first instruction that differs");
        }
    });
}
