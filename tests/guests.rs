//! Recordings without Intel PT that are no emulation: `fixtures/no-pt`, made by `scripts/record-guest`. What their program wrote down before
//! it injected it is the first cause, and no name of another machine than the guest is in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::bundles::contains;
use crate::captures::{decompressed, repository};
use crate::no_pt::{first, key};
use crate::snapshots::{explained, files};

fn folder() -> PathBuf {
    repository().join("fixtures/no-pt")
}

/// The bundles.
fn guests() -> Vec<PathBuf> {
    let guests = files(&folder(), "guest-", ".tar.zst");
    assert!(guests.len() >= 3, "{guests:?}");
    guests
}

/// Kind and cause by key, of the program's own list.
fn injected(bundle: &std::path::Path) -> BTreeMap<u64, (String, String)> {
    let name = bundle.to_string_lossy().replace(".tar.zst", ".csv");
    let text = fs::read_to_string(&name).expect("what was injected");
    let lines = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].parse().expect("a key"), (cells[1].to_owned(), cells[2].to_owned()))
    });
    lines.collect()
}

/// At least 99 % of those off the CPU. Page faults are time on a CPU without a flow, and timer interrupts may take more of it.
#[test]
fn the_injected_cause_ranks_first() {
    let (mut off_cpu, mut right, mut wrong) = (0, 0, Vec::new());
    let (mut faults, mut named) = (0, 0);
    for bundle in guests() {
        let injected = injected(&bundle);
        let report = explained(&bundle, &[]);
        let outliers = report["outliers"].as_array().expect("outliers");
        assert_eq!(outliers.len(), injected.len(), "{}", bundle.display());
        for outlier in outliers {
            let (kind, cause) = &injected[&key(outlier)];
            let is_right = first(outlier)["cause"] == cause.as_str();
            if kind == "faults" {
                faults += 1;
                named += usize::from(is_right);
                continue;
            }
            off_cpu += 1;
            right += usize::from(is_right);
            if !is_right {
                wrong.push(format!("{}: {kind}: {}", bundle.display(), outlier["headline"]));
            }
        }
    }
    eprintln!("{right} of {off_cpu} causes off the CPU rank first, {named} of {faults} page faults");
    assert!(off_cpu >= 100 && right * 100 >= off_cpu * 99, "{right} of {off_cpu}: {wrong:#?}");
    assert!(faults >= 10 && named * 100 >= faults * 95, "{named} of {faults}");
}

/// A bundle keeps of the kernel's symbols those that its samples name: functions of page faults have names.
#[test]
fn functions_of_the_kernel_have_names() {
    let mut named = BTreeMap::new();
    for bundle in guests() {
        let report = explained(&bundle, &[]);
        let outliers = report["outliers"].as_array().expect("outliers").clone();
        let segments = outliers.iter().flat_map(|outlier| outlier["segments"].as_array().expect("segments"));
        for sampled in segments.filter_map(|segment| segment["sampled"].as_array()).flatten() {
            let function = sampled["function"].as_str().expect("a name").to_owned();
            *named.entry(function).or_insert(0) += sampled["samples"].as_u64().expect("a count");
        }
    }
    // The kernel's functions, by its sources, and the program's own.
    for function in ["do_user_addr_fault()", "clear_page_erms()", "touch()"] {
        assert!(named.contains_key(function), "{function} is none of {named:?}");
    }
    let nameless: u64 =
        named.iter().filter(|(name, _)| name.starts_with("0x")).map(|(_, samples)| samples).sum();
    let all: u64 = named.values().sum();
    assert!(nameless * 50 <= all, "{nameless} of {all} samples have no name: {named:?}");
}

/// Where files of the guest lie, of Debian's C library in the program, and of the kernel.
const OWN: [&str; 13] = [
    "/bin/",
    "/lib/",
    "/lib64/",
    "/guest",
    "/proc",
    "/sys",
    "/dev",
    "/usr/include",
    "/usr/lib",
    "/usr/share",
    "/etc/",
    "/tailtrace/",
    "/var/",
];

/// Words that look like a path of several folders: from a quote, a space or the beginning of a text on.
fn paths(bytes: &[u8]) -> Vec<String> {
    let is_text = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(byte);
    let words = bytes.split(|byte| !is_text(byte)).filter(|word| word.len() >= 6 && word[0] == b'/');
    let is_path = |word: &&[u8]| {
        let folders: Vec<&[u8]> = word[1..].split(|&byte| byte == b'/').collect();
        folders.len() >= 2
            && folders[..2].iter().all(|name| name.len() >= 2 && name.iter().all(u8::is_ascii_lowercase))
    };
    words.filter(is_path).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[test]
fn no_name_of_another_machine_is_in_them() {
    for bundle in guests() {
        let report: Value = explained(&bundle, &[]);
        assert_eq!(report["capture"]["hostname"], "guest", "{}", report["capture"]);
        let files = tar_files(&bundle);
        assert!(files.iter().any(|(name, _)| name.ends_with("/slice")));
        for (name, bytes) in &files {
            // Pages of reports name addresses of the format and of the web.
            if name.ends_with("report.html") {
                continue;
            }
            let foreign: Vec<String> = paths(bytes)
                .into_iter()
                .filter(|path| !OWN.iter().any(|own| path.starts_with(own)))
                .collect();
            assert!(foreign.is_empty(), "{name}: {foreign:?}");
        }
        for secret in of_this_machine() {
            let holder = files.iter().find(|(_, bytes)| contains(bytes, &secret));
            assert!(holder.is_none(), "{secret} is in {}", holder.expect("a file").0);
        }
    }
}

/// Names of the machine that runs the test, which may be the one that made the recordings: its host, home and working folder.
fn of_this_machine() -> Vec<String> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let names = [host.trim().to_owned(), repository().to_string_lossy().into_owned()];
    let user = ["HOME", "USER"].into_iter().filter_map(|name| std::env::var(name).ok());
    let is_own = |name: &String| {
        name.len() >= 6 && !["localhost", "/root", "guest", "debian"].contains(&name.as_str())
    };
    names.into_iter().chain(user).filter(is_own).collect()
}

/// Names and contents of an archive's files.
fn tar_files(bundle: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let bytes = decompressed(bundle);
    let mut archive = tar::Archive::new(&bytes[..]);
    let entries = archive.entries().expect("an archive").map(|entry| {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a name").to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).expect("read");
        (name, bytes)
    });
    entries.collect()
}
