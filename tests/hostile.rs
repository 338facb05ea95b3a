//! Names from strangers, in a capture itself: as thread name, symbol, path, label, key, stage and counter they come out of
//! every format as text, and no figure changes. Raw bytes that are no UTF-8 are among them.
//!
//! `crates/report/tests/hostile.rs` has the same rules for every string of a report, and ten megabytes of them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::captures::{bundled, repository, tailtrace};

/// As long as the names that they replace: a symbol of seven bytes, whose first five name a thread and a file.
const PLAIN: [u8; 7] = *b"_Z3barv";
const FILE: usize = 5;
/// Escapes of a terminal, tags, what is no UTF-8, marks of Markdown, a change of direction, a new line.
const HOSTILE: [&[u8; 7]; 6] =
    [b"\x1b[2J<u>", b"<u>\xff\xfe&'", b"|`*\xc3\x28_[", b"\xe2\x80\xae<u>\x07", b"\n- <u>\x9b", b"](x)<u>"];

/// A copy of a capture of hardware in which `name` stands for its program, threads, a function, and all marks' names.
fn planted(name: [u8; 7], root: &Path) {
    let multicore = bundled("multicore");
    let replaced = |path: &Path, old: &[u8], new: &[u8]| {
        let mut bytes = fs::read(path).expect("the capture");
        let places: Vec<usize> = memchr::memmem::find_iter(&bytes, old).collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
        bytes
    };
    let program = if name == PLAIN { b"m.out" } else { &name[..FILE] };
    fs::write(root.join("perf.data"), replaced(&multicore.perf_data, b"m.out", program)).expect("written");
    fs::create_dir_all(root.join("root/corpus")).expect("a folder");
    let binary = replaced(&multicore.symfs.join("corpus/m.out"), &PLAIN, &name);
    fs::write(root.join("root/corpus").join(OsStr::from_bytes(program)), binary).expect("written");
    fs::write(root.join("intervals.csv"), marks(&name)).expect("written");
}

/// The two intervals that the capture brings along, with names; a row is a line, so no name has one.
fn marks(name: &[u8]) -> Vec<u8> {
    let name: Vec<u8> = name.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect();
    let header =
        [&b"id,label,start,stop,pid,tid,key,\"stage."[..], &name, b"\",\"counter.", &name, b"\"\n"].concat();
    let row = |times: &[u8], rest: &[u8]| {
        [&times[..2], &name, b",", &times[2..], b",", &name, b",", rest, b"\n"].concat()
    };
    [
        b"# tailtrace-intervals 1 clock=perf\n".to_vec(),
        header,
        row(b"0,7002363907157594,7002363907300000,3497234,3497496", b"7002363907157694,1"),
        row(b"1,7002363907220000,7002363907300000,3497234,3497497", b"7002363907220100,2"),
    ]
    .concat()
}

fn run(root: &Path, command: &str, more: &[&str]) -> Output {
    let mut process = tailtrace();
    process.arg(command).arg("-i").arg(root.join("perf.data")).arg("--symfs").arg(root.join("root"));
    process.arg("--intervals").arg(root.join("intervals.csv")).args(["--top", "2"]).args(more);
    let output = process.output().expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn diff(root: &Path, format: &str) -> Vec<u8> {
    let mut process = tailtrace();
    let capture = root.join("perf.data");
    process.arg("diff").args([&capture, &capture]).arg("--symfs").arg(root.join("root"));
    process.arg("--intervals").arg(root.join("intervals.csv")).args(["--top", "1", "--format", format]);
    process.output().expect("tailtrace runs").stdout
}

/// What every format says, each with its name.
fn outputs(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut outputs = Vec::new();
    for format in ["text", "markdown", "json"] {
        outputs.push((format!("explain {format}"), run(root, "explain", &["--format", format]).stdout));
        outputs.push((format!("diff {format}"), diff(root, format)));
    }
    outputs.push(("diff html".to_owned(), diff(root, "html")));
    outputs.push(("diagnostics".to_owned(), run(root, "explain", &[]).stderr));
    let file: PathBuf = root.join("out");
    let path = file.to_string_lossy().into_owned();
    run(root, "explain", &["--html", &path]);
    outputs.push(("explain html".to_owned(), fs::read(&file).expect("the page")));
    for format in ["folded", "flamegraph", "flamegraph-difference", "csv", "firefox"] {
        fs::remove_file(&file).expect("removed");
        run(root, "export", &["--to", format, "-o", &path]);
        outputs.push((format!("export {format}"), fs::read(&file).expect("the export")));
    }
    outputs
}

/// Perfetto's format is no text: of a name that is no harmless text nothing may stand in it as it came.
fn assert_tame_trace(root: &Path, name: [u8; 7]) {
    let path = root.join("trace");
    run(root, "export", &["--to", "perfetto", "-o", &path.to_string_lossy()]);
    let trace = fs::read(&path).expect("the export");
    let harmless = std::str::from_utf8(&name).is_ok_and(|text| !text.chars().any(is_wild));
    let stands_there = memchr::memmem::find(&trace, &name).is_some();
    assert!(!trace.is_empty() && (harmless || !stands_there), "{}", name.escape_ascii());
}

/// Commands of a terminal, and changes of direction.
fn is_wild(c: char) -> bool {
    (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c)
}

/// UTF-8 without a control character or change of direction; no tag of a stranger where tags mean anything.
fn assert_tame(format: &str, output: &[u8]) {
    let text = std::str::from_utf8(output).unwrap_or_else(|error| panic!("{format}: {error}"));
    assert!(!text.is_empty() || format == "diagnostics", "{format}");
    // The lines of a CSV end as RFC 4180 has it.
    assert_eq!(text.replace("\r\n", "\n").chars().find(|&c| is_wild(c)), None, "{format}");
    if format.ends_with("html") || format.ends_with("markdown") {
        assert!(!text.contains("<u>"), "{format}");
    }
}

/// A report with all its strings empty: its form and its figures.
fn figures(report: &Value) -> Value {
    match report {
        Value::String(_) => Value::String(String::new()),
        Value::Array(items) => items.iter().map(figures).collect(),
        Value::Object(fields) => fields.iter().map(|(name, item)| (name.clone(), figures(item))).collect(),
        other => other.clone(),
    }
}

fn report(output: &[u8]) -> Value {
    serde_json::from_slice(output).expect("JSON")
}

#[test]
fn names_change_nothing_but_themselves() {
    let plain = tempfile::tempdir().expect("a folder");
    planted(PLAIN, plain.path());
    let expected = figures(&report(&run(plain.path(), "explain", &["--format", "json"]).stdout));
    for name in HOSTILE {
        println!("{}", name.escape_ascii());
        let folder = tempfile::tempdir().expect("a folder");
        planted(*name, folder.path());
        for (format, output) in outputs(folder.path()) {
            assert_tame(&format, &output);
            if format == "explain json" {
                assert_eq!(figures(&report(&output)), expected);
            }
        }
        assert_tame_trace(folder.path(), *name);
        assert_bundles(folder.path());
    }
}

/// A file that the probe on `getname_flags` names, in the scenario `block_io-opened_file`.
const OPENED: &[u8; 17] = b"/srv/db/orders.db";

/// A copy of that capture in which the file's name is `name`, twice, with a bracket more than it needs.
fn planted_file(name: [u8; 7], root: &Path) {
    let scenario = repository().join("fixtures/scenarios/block_io-opened_file.scenario");
    tracegen::scenario::make(&scenario, root).expect("a capture");
    fs::rename(root.join("symfs"), root.join("root")).expect("renamed");
    let data = root.join("perf.data/data");
    let mut bytes = fs::read(&data).expect("the capture");
    let places: Vec<usize> = memchr::memmem::find_iter(&bytes, OPENED).collect();
    assert_eq!(places.len(), 1);
    bytes[places[0]..places[0] + OPENED.len()].copy_from_slice(&[&name[..], &name, b"()/"].concat());
    fs::write(data, bytes).expect("written");
}

#[test]
fn names_of_opened_files_are_text() {
    for name in HOSTILE {
        println!("{}", name.escape_ascii());
        let folder = tempfile::tempdir().expect("a folder");
        planted_file(*name, folder.path());
        for (format, output) in outputs(folder.path()) {
            assert_tame(&format, &output);
            if format == "explain json" {
                let detail = &report(&output)["outliers"][0]["causes"][0]["detail"];
                assert!(detail.as_str().expect("text").starts_with("in pread64() on fd 4 ("), "{detail}");
            }
        }
        assert_tame_trace(folder.path(), *name);
        assert_bundles(folder.path());
    }
}

/// A bundle of it explains to the same figures, whatever the program's file is called.
fn assert_bundles(root: &Path) {
    for more in [&[][..], &["--redact"]] {
        let bundle = root.join("bundle.tar.zst");
        run(root, "bundle", &[&["-o", &bundle.to_string_lossy()], more].concat());
        let opened =
            tailtrace().arg("explain").arg(&bundle).args(["--format", "json"]).output().expect("runs");
        let (again, original) =
            (report(&opened.stdout), report(&run(root, "explain", &["--format", "json"]).stdout));
        assert_eq!(figures(&again["outliers"]), figures(&original["outliers"]));
        fs::remove_file(bundle).expect("removed");
    }
}
