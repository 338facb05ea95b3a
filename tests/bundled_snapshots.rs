//! `tailtrace record --snapshot-over … --bundle-to DIR`, here and now with the real perf and kernel: each bundle explains itself, says
//! whose it is and for how many slow requests it stands, and discloses nothing. It needs what `no_pt` needs, and fails as that does.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::bundles::{contains, files as contents, secrets};
use crate::fleet::{fleet, tables};
use crate::no_pt::{compile_source, first, key, planted, record, run};
use crate::slices::assert_done;
use crate::snapshots::{explained, files, make_readable, recorded, recorder_of};

/// So many requests of 0.1 ms, one in so many slow.
const REQUESTS: [&str; 3] = ["3", "8000", "400"];
const TAGS: [&str; 6] = ["--tag", "service=shop", "--tag", "host=web-7", "--tag", "release=2026.44"];

/// A name that is no part of another word.
const HOST: &str = "planted-host-7";

/// The same on a machine of that name.
fn on_host(command: &Command) -> Command {
    apart(command, &["--uts"], &format!("echo {HOST} >/proc/sys/kernel/hostname; exec \"$@\""))
}

/// The same in `namespaces` of its own, in which a shell runs `script` with the command's words.
pub(crate) fn apart(command: &Command, namespaces: &[&str], script: &str) -> Command {
    let words: Vec<&OsStr> = [command.get_program()].into_iter().chain(command.get_args()).collect();
    let sudo =
        words.iter().position(|word| *word == "--").filter(|_| words[0] == "sudo").map_or(0, |end| end + 1);
    let unshare = [&["unshare"], namespaces, &["sh", "-c", script, "sh"]].concat();
    let unshare: Vec<&OsStr> = unshare.into_iter().map(OsStr::new).collect();
    let words = [&words[..sudo], &unshare, &words[sudo..]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

/// A recording with bundles that has ended.
struct Made {
    folder: TempDir,
    account: Value,
    printed: String,
}

impl Made {
    fn new(more: &[&str]) -> Made {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let (out, to) = (folder.path().join("slow"), folder.path().join("bundles"));
        let to = to.to_string_lossy();
        let options = [&["--a-minute", "120", "--bundle-to", &to], &TAGS[..], more].concat();
        let mut command = on_host(&recorder_of(REQUESTS, &folder, &out, "1ms,request", &options));
        let (output, account) = recorded(&mut command, &out);
        let printed = format!("{account}\n{}", String::from_utf8_lossy(&output.stderr));
        Made { folder, account, printed }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("slow")
    }

    fn to(&self) -> PathBuf {
        self.folder.path().join("bundles")
    }

    /// All that was delivered or waits, which is all that lies there.
    fn bundles(&self) -> Vec<PathBuf> {
        let bundles = files(&self.to(), "slow-", ".tar.zst");
        assert_eq!(bundles.len(), files(&self.to(), "", "").len(), "a draft is left: {}", self.printed);
        bundles
    }
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

pub(crate) fn skipped(account: &Value) -> u64 {
    account["skipped"].as_object().expect("reasons").values().map(number).sum()
}

/// Slow, kept and skipped intervals of the bundles add up: what came after the last one is missing.
#[test]
fn each_bundle_stands_for_what_was_skipped_since_the_last() {
    let made = Made::new(&[]);
    assert!(files(&made.out(), "slow-", "").is_empty(), "slices go: {}", made.printed);
    let injected = planted(&made.out());
    let (mut kept, mut slow, mut found, mut right) = (0, 0, BTreeSet::new(), [0; 2]);
    for bundle in made.bundles() {
        let report = explained(&bundle, &[]);
        let account = &report["population"]["snapshots"];
        assert_eq!((&account["is_complete"], &account["is_part"]), (&Value::from(true), &Value::from(true)));
        assert_eq!(number(&account["slow"]), number(&account["kept"]) + skipped(account), "{account}");
        slow += number(&account["slow"]);
        kept += number(&account["kept"]);
        for outlier in report["outliers"].as_array().expect("outliers") {
            assert!(found.insert(key(outlier)), "{} is in two bundles", key(outlier));
            let Some((_, cause)) = injected.get(&key(outlier)) else { continue };
            if cause.starts_with("offcpu.") {
                right[0] += 1;
                right[1] += usize::from(first(outlier)["cause"] == cause.as_str());
            }
        }
    }
    assert_eq!(kept, number(&made.account["kept"]), "{}", made.printed);
    assert_eq!(kept, found.len() as u64);
    assert!(kept > 0 && slow <= number(&made.account["slow"]), "{slow} of {}", made.printed);
    assert!(right[0] > 0 && right[1] + 1 >= right[0], "{right:?} {}", made.printed);

    // The tables have the same, with the tags and what was injected.
    let out = made.folder.path().join("tables");
    assert_done(&fleet(&["ingest", &made.to().to_string_lossy(), "-o", &out.to_string_lossy()]));
    let tables = tables(&out);
    let captures = &tables["captures"];
    assert_eq!(captures.len(), made.bundles().len());
    let mut stands_for = 0.0;
    for row in captures {
        let of_row = [&row["status"], &row["service"], &row["host"], &row["release"], &row["trigger"]];
        assert_eq!(
            of_row,
            ["ok", "shop", "web-7", "2026.44", "request over 1.00 ms"].map(Value::from).each_ref()
        );
        let own = |other: &&Value| other["capture"] == row["capture"] && other["role"] == "outlier";
        let kept = u32::try_from(tables["intervals"].iter().filter(own).count()).expect("few");
        stands_for += row["weight"].as_f64().expect("a weight") * f64::from(kept);
    }
    #[allow(clippy::cast_precision_loss)]
    let slow = slow as f64;
    assert!((stands_for - slow).abs() < 1e-6, "{stands_for} of {slow}");
    let causes: BTreeSet<&str> = injected.values().map(|(_, cause)| &**cause).collect();
    let in_tables =
        |cause: &&&str| tables["causes"].iter().any(|row| row["rank"] == 0 && row["cause"] == ***cause);
    assert!(causes.iter().filter(in_tables).count() >= 2, "{causes:?}");
}

/// "fd 4" has its name in a bundle that was made while the recording went on: a connection from before each ring, whose records have its
/// number alone.
#[test]
fn descriptors_of_a_snapshot_have_names_in_its_bundle() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    compile_source("connected.c", &folder.path().join("connected"));
    let mut command = record();
    command.args(["record", "--no-pt", "--snapshot-over", "1ms,get", "--a-minute", "120", "--no-redact"]);
    command.args(["-o", &place("slow"), "--bundle-to", &place("bundles"), "--", "sh", "-c"]);
    let script = "cd \"$0\" && { sleep 2; : >stop; } & cd \"$0\" && exec ./connected";
    command.arg(script).arg(folder.path());
    let (output, account) = recorded(&mut command, &folder.path().join("slow"));
    let printed = format!("{account}\n{}", String::from_utf8_lossy(&output.stderr));
    make_readable_of(&command, &folder.path().join("bundles"));
    let port = std::fs::read_to_string(place("port")).expect("written by the program");
    let name = format!("to 127.0.0.1:{})", port.trim());
    let bundles = files(&folder.path().join("bundles"), "slow-", ".tar.zst");
    assert!(bundles.len() >= 4, "{printed}");
    let has_name = |bundle: &&PathBuf| {
        let report = explained(bundle, &[]).to_string();
        report.contains("read() on fd ") && report.contains(&name)
    };
    let named = bundles.iter().filter(has_name).count();
    assert_eq!(named, bundles.len(), "{name}: {printed}");
}

/// What a recorder that ran by `sudo` wrote.
fn make_readable_of(command: &Command, folder: &Path) {
    if command.get_program() == "sudo" {
        make_readable(folder);
    }
}

/// The bundle's files, the programs apart, hold no name that stock perf reads in the slice; the archive has none in its own names either.
fn assert_discloses_nothing(bundle: &Path, secrets: &BTreeSet<String>) {
    let unpacked = tempfile::tempdir().expect("a folder");
    run(
        Command::new("tar").arg("-I").arg("zstd").arg("-xf").arg(bundle).arg("-C").arg(unpacked.path()),
        "tar and zstd",
    );
    for (path, bytes) in contents(unpacked.path()) {
        let inside = path.strip_prefix(unpacked.path()).expect("a file of the bundle");
        let disclosed =
            |bytes: &[u8]| secrets.iter().filter(|secret| contains(bytes, secret)).cloned().collect();
        let mut found: Vec<String> = disclosed(inside.as_os_str().as_encoded_bytes());
        if !inside.components().any(|part| part.as_os_str() == "symfs") {
            found.extend(disclosed(&bytes));
        }
        assert_eq!(found, Vec::<String>::new(), "{}", inside.display());
    }
}

/// `--keep` leaves the slices, whose names are then known.
#[test]
fn bundles_disclose_no_name() {
    let made = Made::new(&["--keep"]);
    let slices = files(&made.out(), "slow-", ".data");
    assert!(!slices.is_empty() && slices.len() == made.bundles().len(), "{}", made.printed);
    let mut secrets: BTreeSet<String> = slices.iter().flat_map(|slice| secrets(slice)).collect();
    let program = made.folder.path().join("recorded").to_string_lossy().into_owned();
    assert!(secrets.contains(&program) && secrets.contains(HOST), "the test is blind: {secrets:?}");
    secrets.insert(made.folder.path().to_string_lossy().into_owned());
    for bundle in made.bundles() {
        assert_discloses_nothing(&bundle, &secrets);
    }
}

/// As `bundle` without `--redact`.
#[test]
fn names_stay_where_they_are_wanted() {
    let made = Made::new(&["--no-redact"]);
    let program = made.folder.path().join("recorded").to_string_lossy().into_owned();
    let mut packed = 0;
    for bundle in made.bundles() {
        let report = explained(&bundle, &[]).to_string();
        assert!(report.contains(&program) && report.contains(HOST), "{report}");
        let mut tar = Command::new("tar");
        let files = run(tar.arg("-I").arg("zstd").arg("-tf").arg(&bundle), "tar and zstd").stdout;
        packed += usize::from(String::from_utf8_lossy(&files).contains("/recorded\n"));
    }
    // Where samples met its code.
    assert!(packed > 0, "no bundle brings the program along");
}
