//! Bundles: they explain as their recording does, disclose no name that was to be replaced, and do no harm when opened.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tar::{EntryType, Header};

use crate::captures::{Capture, bundled, decompressed, emulated, repository, tailtrace};
use crate::slices::{assert_done, run, without_capture};

const SLOWEST: [&str; 2] = ["--top", "1"];

/// Makes a bundle of the capture's slowest interval.
fn bundle(capture: &Capture, out: &Path, more: &[&str]) -> Output {
    bundle_of(capture, SLOWEST, out, more)
}

/// Makes a bundle of the `chosen` interval.
fn bundle_of(capture: &Capture, chosen: [&str; 2], out: &Path, more: &[&str]) -> Output {
    let (intervals, out) = (capture.intervals(), out.to_string_lossy());
    let arguments = [&["--intervals", &intervals, "-o", &out], &chosen[..], more].concat();
    let output = run("bundle", &capture.perf_data, &capture.symfs, &arguments);
    assert_done(&output);
    output
}

/// `tailtrace explain BUNDLE`, in a folder where nothing else is.
fn explain(bundle: &Path, more: &[&str]) -> Output {
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let mut process = tailtrace();
    process.current_dir(elsewhere.path()).env("HOME", elsewhere.path());
    process.arg("explain").arg(bundle).args(["--format", "json"]).args(more).output().expect("tailtrace runs")
}

/// The recording's report on its slowest interval.
fn original(capture: &Capture) -> Value {
    original_of(capture, SLOWEST)
}

/// The recording's report on the `chosen` interval.
fn original_of(capture: &Capture, chosen: [&str; 2]) -> Value {
    let intervals = capture.intervals();
    let arguments = [&["--intervals", &intervals, "--format", "json"], &chosen[..]].concat();
    without_capture(&run("explain", &capture.perf_data, &capture.symfs, &arguments))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[test]
fn folders_and_archives_explain_as_the_recording() {
    for name in ["fault", "lock"] {
        let (capture, folder) = (emulated(name), folder());
        for out in ["ticket", "ticket.tar.zst"] {
            let out = folder.path().join(out);
            bundle(&capture, &out, &[]);
            let again = explain(&out, &[]);
            assert_done(&again);
            assert_eq!(without_capture(&again), original(&capture), "{}", out.display());
        }
        let report = fs::read(folder.path().join("ticket/report.json")).expect("the report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        assert_eq!(report["outliers"][0]["segments"], original(&capture)["outliers"][0]["segments"]);
    }
}

/// The parts of the slowest request's wait for the server, and the functions that only this request ran.
fn serving(report: &Value) -> (Value, BTreeSet<String>) {
    let segments = report["outliers"][0]["segments"].as_array().expect("segments");
    let wait = segments.iter().find(|segment| segment["cause"] == "offcpu.socket").expect("a wait");
    let rows = wait["serving"].clone();
    let unusual = rows.as_array().expect("rows").iter().filter_map(|row| row["unusual"].as_str());
    let unusual = unusual.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    (rows, unusual)
}

/// A BLPOP of redis waits for the server's answer: a copy of its bundle in another folder holds the trace and the programs
/// that explain what the server did meanwhile. Where names are replaced, a function without one has the file's new name.
#[test]
fn what_a_server_did_is_explained_from_the_bundle() {
    let (capture, folder) = (emulated("redis"), folder());
    let chosen = ["--id", "36"];
    let original = original_of(&capture, chosen);
    let (rows, unusual) = serving(&original);
    assert!(unusual.contains("updateStatsOnUnblock() below redis-server+0xffec0"), "{unusual:?}");
    for redact in [&[][..], &["--redact"]] {
        let out = folder.path().join(format!("ticket{}.tar.zst", redact.len()));
        bundle_of(&capture, chosen, &out, redact);
        let elsewhere = tempfile::tempdir().expect("a folder");
        let copy = elsewhere.path().join("received.tar.zst");
        fs::rename(&out, &copy).expect("moved");
        let again = explain(&copy, &[]);
        assert_done(&again);
        let again = without_capture(&again);
        assert_eq!(again["outliers"][0]["headline"], original["outliers"][0]["headline"]);
        let (mut found, mut expected) = (serving(&again).0, rows.clone());
        if !redact.is_empty() {
            let unusual = serving(&again).1;
            assert!(unusual.iter().any(|name| name.starts_with("updateStatsOnUnblock() below file-")));
            for rows in [&mut found, &mut expected] {
                for row in rows.as_array_mut().expect("rows") {
                    row.as_object_mut().expect("a row").remove("unusual");
                }
            }
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn without_binaries_they_are_named() {
    let (capture, folder) = (emulated("fault"), folder());
    let out = folder.path().join("ticket.tar.zst");
    bundle(&capture, &out, &["--no-binaries"]);
    let again = explain(&out, &["--symfs", &capture.symfs.to_string_lossy()]);
    assert_done(&again);
    assert_eq!(without_capture(&again), original(&capture));
}

/// All files of a folder with their contents.
pub(crate) fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("readable") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.clone(), fs::read(&path).expect("readable")));
            }
        }
    }
    found
}

pub(crate) fn contains(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

/// What perf prints, as lines.
fn perf(arguments: &[&str], recording: &Path) -> Vec<String> {
    let output = Command::new("perf").args(arguments).arg("-i").arg(recording).output().expect("perf runs");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// What a bundle must not disclose, as stock perf reads it in the recording: the host, options and paths of the command
/// line, the files that were mapped. What is no file (`//anon`, `[heap]`) may stay.
pub(crate) fn secrets(recording: &Path) -> BTreeSet<String> {
    let header = perf(&["report", "--header-only"], recording);
    let value = |what: &str| header.iter().find_map(|line| Some(line.strip_prefix(what)?.trim().to_owned()));
    let host = value("# hostname : ").expect("a host");
    let command_line = value("# cmdline : ").expect("a command line");
    let words = command_line.split_whitespace().filter(|word| word.len() > 2);
    let words = words.filter(|word| word.starts_with('-') || word.starts_with('/'));
    let mut secrets: BTreeSet<String> = words.map(str::to_owned).chain([host]).collect();
    let maps = perf(&["script", "--show-mmap-events"], recording);
    let paths = maps.iter().filter(|line| line.contains("PERF_RECORD_MMAP"));
    let paths = paths.filter_map(|line| Some(line.rsplit_once(' ')?.1)).filter(|path| path.starts_with('/'));
    secrets.extend(paths.filter(|path| !path.starts_with("//") && path.len() > 2).map(str::to_owned));
    secrets
}

/// The name of an opened file is in the payload of a record, and in the description of the wait for it.
#[test]
fn redaction_knows_the_names_of_opened_files() {
    let folder = folder();
    let scenario = repository().join("fixtures/scenarios/block_io-opened_file.scenario");
    tracegen::scenario::make(&scenario, folder.path()).expect("a capture");
    let place = |name: &str| folder.path().join(name);
    let intervals = place("intervals.csv").to_string_lossy().into_owned();
    for (redact, name) in [(&[][..], "/srv/db/orders.db"), (&["--redact"], "/redacted/file-")] {
        let out = folder.path().join(format!("ticket{}", redact.len()));
        let out_text = out.to_string_lossy().into_owned();
        let arguments = [&["--intervals", &intervals, "--id", "8", "-o", &out_text], redact].concat();
        assert_done(&run("bundle", &place("perf.data"), &place("symfs"), &arguments));
        let telling = files(&out).iter().filter(|(_, bytes)| contains(bytes, "orders")).count();
        assert_eq!(telling == 0, !redact.is_empty(), "{telling} files hold the name");
        let report = explain(&out, &[]);
        assert_done(&report);
        let said = format!("in pread64() on fd 4 ({name}");
        assert!(contains(&report.stdout, &said), "{}", String::from_utf8_lossy(&report.stdout));
    }
}

/// Of emulated captures and of one of hardware: no name that perf finds in the recording, and none of the folders here,
/// is in any file of the bundle, nor in the archive's own headers. The programs themselves may hold them.
#[test]
fn redaction_leaves_no_name() {
    for capture in [emulated("fault"), emulated("lock"), bundled("multicore")] {
        let folder = folder();
        let mut secrets = secrets(&capture.perf_data);
        assert!(secrets.iter().any(|secret| secret.starts_with('/')), "the test is blind: {secrets:?}");
        secrets.insert(capture.root.to_string_lossy().into_owned());
        let out = folder.path().join("ticket");
        let said = bundle(&capture, &out, &["--redact"]).stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains("Still included:") && said.contains("names of threads"), "{said}");
        for (path, bytes) in files(&out).iter().filter(|(path, _)| !path.starts_with(out.join("symfs"))) {
            let inside = path.strip_prefix(&out).expect("a file of the bundle");
            assert_tells_nothing(inside.as_os_str().as_encoded_bytes(), &secrets, "a name");
            assert_tells_nothing(bytes, &secrets, &inside.to_string_lossy());
        }
        let archive = folder.path().join("ticket.tar.zst");
        bundle(&capture, &archive, &["--redact", "--no-binaries"]);
        assert_tells_nothing(&decompressed(&archive), &secrets, "the archive");
        assert_explains_alike(&capture, &out);
    }
}

#[track_caller]
fn assert_tells_nothing(bytes: &[u8], secrets: &BTreeSet<String>, place: &str) {
    let found: Vec<&String> = secrets.iter().filter(|secret| contains(bytes, secret)).collect();
    assert_eq!(found, Vec::<&String>::new(), "{place}");
}

/// Names apart, it explains as the recording does: the program was found under its new name.
#[track_caller]
fn assert_explains_alike(capture: &Capture, bundle: &Path) {
    let again = explain(bundle, &[]);
    assert_done(&again);
    let (mut again, mut original) = (without_capture(&again), original(capture));
    for report in [&mut again, &mut original] {
        report.as_object_mut().expect("an object").remove("diagnostics");
    }
    assert_eq!(again, original);
}

#[test]
fn a_changed_file_is_noticed() {
    let (capture, folder) = (emulated("fault"), folder());
    let out = folder.path().join("ticket");
    bundle(&capture, &out, &["--no-binaries"]);
    let report = out.join("report.md");
    fs::write(&report, fs::read(&report).expect("read").split_last().expect("text").1).expect("written");
    refused(&out, "report.md is not as it was");
    fs::remove_file(&report).expect("removed");
    refused(&out, "report.md cannot be read");
}

/// Opening fails in one line that says `why`.
#[track_caller]
fn refused(bundle: &Path, why: &str) {
    let output = explain(bundle, &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(why) && said.lines().count() == 1, "{said}");
}

/// Kind, name, link or contents.
type Entry<'a> = (EntryType, &'a str, &'a [u8]);

/// An archive of these entries.
fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for &(kind, name, bytes) in entries {
        let mut header = Header::new_ustar();
        // Not by `set_path`, which refuses what must be tested.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        if is_link {
            header.as_mut_bytes()[157..157 + bytes.len()].copy_from_slice(bytes);
        }
        let contents = if is_link { &[][..] } else { bytes };
        header.set_size(contents.len() as u64);
        header.set_cksum();
        tar.append(&header, contents).expect("in memory");
    }
    zstd::encode_all(&tar.into_inner().expect("in memory")[..], 3).expect("in memory")
}

#[test]
fn hostile_archives_are_refused() {
    use EntryType::{Block, Char, Directory, Fifo, GNULongName, Link, Regular, Symlink, XHeader};
    let zeros = vec![0; 400 << 20];
    let many: Vec<String> = (0..10_001).map(|number| format!("b/{number}")).collect();
    let many: Vec<_> = many.iter().map(|name| (Regular, name.as_str(), &b""[..])).collect();
    let cases: [(&str, Vec<Entry<'_>>, &str); 12] = [
        ("a path upwards", vec![(Regular, "b/../../evil", b"x")], "lies outside"),
        ("a folder upwards", vec![(Directory, "../evil/", b"")], "lies outside"),
        ("an absolute path", vec![(Regular, "/tmp/tailtrace-evil", b"x")], "lies outside"),
        (
            "a symlink",
            vec![(Symlink, "b/l", b"/etc"), (Regular, "b/l/evil", b"x")],
            "neither a file nor a folder",
        ),
        ("a hard link", vec![(Link, "b/l", b"/etc/passwd")], "neither a file nor a folder"),
        ("a device", vec![(Char, "b/null", b"")], "neither a file nor a folder"),
        ("a disk", vec![(Block, "b/sda", b"")], "neither a file nor a folder"),
        ("a pipe", vec![(Fifo, "b/pipe", b"")], "neither a file nor a folder"),
        ("a long name", vec![(GNULongName, "././@LongLink", b"b/x"), (Regular, "b", b"")], ""),
        ("an extension", vec![(XHeader, "b/pax", b"20 path=../../evil\n")], "neither a file nor a folder"),
        ("the same file twice", vec![(Regular, "b/x", b"1"), (Regular, "b/x", b"2")], "twice"),
        ("zeros without end", vec![(Regular, "b/z", &zeros)], "bytes come out of each of its bytes"),
    ];
    let folder = folder();
    let path = folder.path().join("hostile.tar.zst");
    for (what, entries, why) in cases {
        println!("{what}");
        fs::write(&path, archive(&entries)).expect("written");
        refused(&path, why);
    }
    fs::write(&path, archive(&many)).expect("written");
    refused(&path, "more than 10000 files");
    assert!(!Path::new("/tmp/tailtrace-evil").exists());
}

/// A size that the header only claims, a stream that ends, and what is no archive at all.
#[test]
fn broken_archives_are_refused() {
    let whole = archive(&[(EntryType::Regular, "b/x", &[7; 4096])]);
    let mut tar = Vec::new();
    zstd::Decoder::new(&whole[..]).expect("zstd").read_to_end(&mut tar).expect("in memory");
    let claims = |size: &[u8; 12]| {
        let mut lying = tar.clone();
        lying[124..136].copy_from_slice(size);
        let header = Header::from_byte_slice(&lying[..512]);
        let mut header = header.clone();
        header.set_cksum();
        lying[..512].copy_from_slice(header.as_bytes());
        zstd::encode_all(&lying[..], 3).expect("in memory")
    };
    let folder = folder();
    let path = folder.path().join("broken.tar.zst");
    for (bytes, why) in [
        (claims(b"77777777777\0"), ""),
        (claims(b"00777777777\0"), ""),
        (whole[..whole.len() / 2].to_vec(), "cannot be unpacked"),
        (b"no archive".to_vec(), "cannot be unpacked"),
        (Vec::new(), ""),
        (whole, "manifest.json cannot be read"),
    ] {
        fs::write(&path, bytes).expect("written");
        refused(&path, why);
    }
}

#[test]
fn folders_with_links_are_refused() {
    let (capture, folder) = (emulated("fault"), folder());
    let out = folder.path().join("ticket");
    bundle(&capture, &out, &["--no-binaries"]);
    fs::create_dir(out.join("symfs")).expect("a folder");
    std::os::unix::fs::symlink("/etc/passwd", out.join("symfs/fault")).expect("a link");
    refused(&out, "neither a file nor a folder");
}

/// A manifest that names files elsewhere.
#[test]
fn manifests_stay_inside() {
    let folder = folder();
    for (what, why) in [
        (r#""slice":"../x","files":[]"#, "lies outside"),
        (r#""slice":"/etc/passwd","files":[]"#, "lies outside"),
        (r#""slice":"s","files":[{"path":"../x","bytes":1,"sha256":""}]"#, "lies outside"),
        (r#""slice":"s","files":[{"path":"x","bytes":18446744073709551615,"sha256":""}]"#, "cannot be read"),
        (r#""slice":7"#, "is damaged"),
    ] {
        let text = format!(
            r#"{{"format":"tailtrace-bundle/1","tool":"","recorded_with":[],"symfs":null,"redacted":false,{what}}}"#
        );
        fs::write(folder.path().join("manifest.json"), text).expect("written");
        refused(folder.path(), why);
    }
    let later = r#"{"format":"tailtrace-bundle/2","tool":"","recorded_with":[],"symfs":null,"redacted":false,"slice":"s","files":[]}"#;
    fs::write(folder.path().join("manifest.json"), later).expect("written");
    refused(folder.path(), "this tailtrace knows tailtrace-bundle/1");
}
