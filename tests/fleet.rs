//! Tables of captures: `DuckDB` reads from the Parquet files what the report says, each capture once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::captures::{Capture, emulated, repository, tailtrace};
use crate::slices::assert_done;

/// Rows by table, in the order in which `DuckDB` gives them.
pub(crate) type Tables = BTreeMap<String, Vec<Value>>;

/// The rows that lines `{"table":…,"row":…}` are.
fn rows_in(output: &Output) -> Tables {
    assert_done(output);
    let mut tables = Tables::new();
    for line in String::from_utf8(output.stdout.clone()).expect("text").lines() {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let table = line["table"].as_str().expect("a name").to_owned();
        tables.entry(table).or_default().push(line["row"].take());
    }
    tables
}

/// The tables in `folder`, read by `DuckDB`.
pub(crate) fn tables(folder: &Path) -> Tables {
    let output = Command::new(repository().join("crates/fleet/python/check"))
        .arg("--run")
        .arg(repository().join("tests/fleet/rows.py"))
        .arg(folder)
        .output()
        .expect("the check runs");
    rows_in(&output)
}

fn text<'v>(row: &'v Value, column: &str) -> &'v str {
    row[column].as_str().unwrap_or_else(|| panic!("{column} of {row}"))
}

fn number(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("{column} of {row}"))
}

/// The sum of a column in the rows of one interval.
fn sum(rows: &[Value], interval: i64, column: &str) -> i64 {
    rows.iter().filter(|row| number(row, "interval") == interval).map(|row| number(row, column)).sum()
}

/// `explain --format json --parquet`: the report.
fn explain(capture: &Capture, folder: &Path) -> Value {
    let folder = folder.to_string_lossy();
    let arguments =
        ["--intervals", &capture.intervals(), "--top", "3", "--format", "json", "--parquet", &folder];
    let output = capture.tailtrace("explain", &arguments);
    assert_done(&output);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn tables_say_what_the_report_says() {
    let (capture, root) = (emulated("lock"), tempfile::tempdir().expect("a folder"));
    let folder = root.path().join("made/tables");
    let report = explain(&capture, &folder);
    explain(&capture, &folder);
    let tables = tables(&folder);
    let captures = &tables["captures"];
    assert_eq!(captures.len(), 1, "explained twice, there once");
    let data =
        if capture.perf_data.is_dir() { capture.perf_data.join("data") } else { capture.perf_data.clone() };
    let sum_of_file = Command::new("sha256sum").arg(data).output().expect("sha256sum runs").stdout;
    assert_eq!(text(&captures[0], "capture").as_bytes(), &sum_of_file[..64]);
    assert_eq!(text(&captures[0], "status"), "ok");
    assert_eq!(captures[0]["kernel"], report["capture"]["os_release"]);
    let whole = &tables["populations"][0];
    for column in ["count", "outliers", "max_ns"] {
        assert_eq!(whole[column], report["population"][column], "{column}");
    }
    assert_eq!((text(whole, "label"), number(whole, "explained")), ("", 3));
    assert_eq!(whole["p99_ns"], report["population"]["percentiles"]["p99"]);
    assert_eq!(tables["diagnostics"].len(), report["diagnostics"].as_array().expect("a list").len());
    let is_outlier = |row: &&Value| text(row, "role") == "outlier";
    let outliers: Vec<&Value> = tables["intervals"].iter().filter(is_outlier).collect();
    let reported = report["outliers"].as_array().expect("a list");
    assert_eq!((outliers.len(), reported.len()), (3, 3));
    let rest: f64 = tables["intervals"].iter().filter_map(|row| row["weight"].as_f64()).sum();
    assert!((rest - report["population"]["count"].as_f64().expect("a count")).abs() < 1e-6, "{rest}");
    for outlier in reported {
        let id = number(outlier, "id");
        let row = outliers.iter().find(|row| number(row, "interval") == id).expect("its row");
        let own = |table: &str| tables[table].iter().filter(|row| number(row, "interval") == id).count();
        let (duration, typical) = (number(row, "duration_ns"), number(row, "typical_ns"));
        assert_eq!(Value::from(duration), outlier["duration_ns"]);
        assert_eq!(sum(&tables["causes"], id, "excess_ns"), duration - typical);
        assert_eq!(own("causes"), outlier["causes"].as_array().expect("a list").len());
        assert_eq!(own("segments"), outlier["segments"].as_array().expect("a list").len());
        assert_eq!(sum(&tables["segments"], id, "duration_ns"), duration);
        assert_eq!(sum(&tables["segments"], id, "ticks"), number(row, "ticks"));
        let first = |cause: &&Value| number(cause, "interval") == id && number(cause, "rank") == 0;
        let first = tables["causes"].iter().find(first).expect("a cause");
        assert_eq!(first["cause"], outlier["causes"][0]["cause"]);
        assert_eq!(text(row, "story"), text(first, "story"));
        let chain = "offcpu.lock: waited for mutex lock in run_interval(), held by ";
        assert!(text(first, "chain").starts_with(chain), "{first}");
        let program = capture.symfs.join("bin/lock");
        assert_eq!(
            (text(first, "file"), number(first, "offset")),
            ("lock", symbol(&program, "run_interval"))
        );
        assert_eq!(text(first, "build_id"), build_id(&program));
    }
}

/// Those of the program's own counters, by interval and name.
#[test]
fn the_counters_of_intervals_are_a_table() {
    let (capture, root) = (emulated("tcp"), tempfile::tempdir().expect("a folder"));
    let report = explain(&capture, root.path());
    let tables = tables(root.path());
    for outlier in report["outliers"].as_array().expect("a list") {
        let own = |row: &&Value| number(row, "interval") == number(outlier, "id");
        let rows: Vec<(&str, Option<f64>)> = tables["attributes"]
            .iter()
            .filter(own)
            .map(|row| (text(row, "name"), row["number"].as_f64()))
            .collect();
        let counters = outlier["counters"].as_array().expect("counters");
        let counters: Vec<(&str, Option<f64>)> =
            counters.iter().map(|counter| (text(counter, "name"), counter["value"].as_f64())).collect();
        assert!(!rows.is_empty());
        assert_eq!(rows, counters);
    }
    let intervals = tables["intervals"].len();
    assert!(tables["attributes"].len() >= intervals, "typical intervals have theirs, too");
}

/// What a binutils tool says of a program.
fn binutils(tool: &str, option: &str, program: &Path) -> String {
    let output = Command::new(tool).arg(option).arg(program).output().expect("binutils runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The address of a symbol, by nm.
fn symbol(program: &Path, name: &str) -> i64 {
    let listed = binutils("nm", "--defined-only", program);
    let line = listed.lines().find(|line| line.ends_with(&format!(" {name}"))).expect("the symbol");
    i64::from_str_radix(line.split(' ').next().expect("an address"), 16).expect("a number")
}

/// The build ID of a program, by readelf.
fn build_id(program: &Path) -> String {
    let notes = binutils("readelf", "-n", program);
    notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).expect("a build ID").to_owned()
}

/// The microcode is that of the recording's machine file, or that of a tag.
#[test]
fn the_microcode_comes_from_the_machine_file() {
    let (mut capture, root) = (emulated("lock"), tempfile::tempdir().expect("a folder"));
    let own = root.path().join("perf.data");
    copy(&capture.perf_data, &own);
    let machine = r#"{"schema": "tailtrace-machine/1", "tool": "by hand", "microcode": "0x2b000603"}"#;
    fs::write(own.join("machine.json"), machine).expect("written");
    capture.perf_data = own;
    let path = bundle(&capture, root.path(), "a.tar.zst", &[]);
    let microcode = |more: &[&str]| text(&printed(&path, more)["captures"][0], "microcode").to_owned();
    assert_eq!(microcode(&[]), "0x2b000603");
    assert_eq!(microcode(&["--tag", "microcode=0x2b000590"]), "0x2b000590");
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").args([from, to]).status().expect("cp runs").success());
}

/// A stripped program's functions are called by size and code, and never by where they lie.
#[test]
fn stories_of_stripped_programs_have_no_addresses() {
    let (mut capture, root) = (emulated("rehash"), tempfile::tempdir().expect("a folder"));
    copy(&capture.symfs, &root.path().join("symfs"));
    capture.symfs = root.path().join("symfs");
    let programs = fs::read_dir(capture.symfs.join("bin"))
        .expect("programs")
        .map(|entry| entry.expect("an entry").path());
    for program in programs {
        assert!(Command::new("strip").arg(&program).status().expect("strip runs").success());
    }
    explain(&capture, &root.path().join("tables"));
    let causes = tables(&root.path().join("tables")).remove("causes").expect("causes");
    let unnamed = |row: &&Value| text(row, "what").contains("rehash+0x");
    let unnamed: Vec<&Value> = causes.iter().filter(unnamed).collect();
    assert!(!unnamed.is_empty(), "{causes:?}");
    for row in unnamed {
        let chain = text(row, "chain");
        assert!(chain.contains("rehash[") && chain.contains(" bytes, ") && !chain.contains("+0x"), "{chain}");
        assert_eq!(text(row, "function"), format!("rehash+{:#x}", number(row, "offset")));
    }
}

/// A bundle of the capture's slowest interval in `folder`.
fn bundle(capture: &Capture, folder: &Path, name: &str, more: &[&str]) -> PathBuf {
    let out = folder.join(name);
    let (out_name, intervals) = (out.to_string_lossy(), capture.intervals());
    let arguments = [&["--intervals", &intervals, "--top", "1", "-o", &out_name], more].concat();
    assert_done(&capture.tailtrace("bundle", &arguments));
    out
}

pub(crate) fn fleet(arguments: &[&str]) -> Output {
    tailtrace().arg("fleet").args(arguments).output().expect("tailtrace runs")
}

/// The rows that `fleet rows` prints, by table.
fn printed(path: &Path, more: &[&str]) -> Tables {
    let output = fleet(&[&["rows", &path.to_string_lossy()], more].concat());
    rows_in(&output)
}

/// Without what only the partition's path says, in an order that does not depend on files.
fn comparable(tables: Tables) -> Tables {
    let plain = |(name, mut rows): (String, Vec<Value>)| {
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            row.remove("table");
            if name != "captures" {
                row.remove("day");
                row.remove("service");
            }
        }
        rows.sort_by_key(ToString::to_string);
        (name, rows)
    };
    tables.into_iter().map(plain).collect()
}

/// A folder with two good bundles, one of them twice, a cut one and one that is none.
fn bundles(root: &Path) -> PathBuf {
    let folder = root.join("bundles");
    fs::create_dir_all(folder.join("more")).expect("a folder");
    let tags = ["--tag", "service=shop/front", "--tag", "host=web-7", "--tag", "release=2"];
    let lock = bundle(&emulated("lock"), &folder, "lock.tar.zst", &tags);
    bundle(&emulated("syscall"), &folder, "syscall", &["--redact"]);
    fs::copy(&lock, folder.join("more/again.tar.zst")).expect("copied");
    let whole = fs::read(&lock).expect("read");
    fs::write(folder.join("more/cut.tar.zst"), &whole[..whole.len() / 2]).expect("written");
    fs::write(folder.join("more/none.tar.zst"), b"not an archive").expect("written");
    folder
}

#[test]
fn many_captures_each_once_whatever_is_wrong_with_some() {
    let root = tempfile::tempdir().expect("a folder");
    let (folder, out) = (bundles(root.path()), root.path().join("tables"));
    let (folder_name, out_name) = (folder.to_string_lossy(), out.to_string_lossy());
    let ingest = [
        "ingest",
        &folder_name,
        "-o",
        &out_name,
        "-j",
        "1",
        "--tag",
        "service=other",
        "--tag",
        "day=2026-11-26",
    ];
    for expected in
        ["4 added, 2 of them unreadable or beyond limits, 1 there already", "0 added, 5 there already"]
    {
        let output = fleet(&ingest);
        assert_done(&output);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.ends_with(&format!("tables: {expected}\n")), "{said}");
    }
    let found = tables(&out);
    let by = |column: &str| -> Vec<String> {
        let mut all: Vec<String> =
            found["captures"].iter().map(|row| format!("{} {}", text(row, "status"), row[column])).collect();
        all.sort();
        all
    };
    let (ok, bad) = ("ok", "unreadable");
    assert_eq!(
        by("service"),
        [
            format!("{ok} \"other\""),
            format!("{ok} \"shop/front\""),
            format!("{bad} \"other\""),
            format!("{bad} \"other\"")
        ]
    );
    assert_eq!(
        by("host")[..2],
        [format!("{ok} \"web-7\""), format!("{ok} null")],
        "the recorded name is redacted"
    );
    assert!(out.join("table=causes/day=2026-11-26/service=shop%2Ffront").is_dir());
    let shop = |row: &&Value| text(row, "service") == "shop/front";
    assert_eq!(
        found["causes"].iter().filter(shop).count(),
        found["causes"]
            .iter()
            .filter(|row| row["capture"] == found["captures"].iter().find(shop).expect("its row")["capture"])
            .count()
    );

    // One by one they have the same rows.
    let mut rows = Tables::new();
    for name in ["lock.tar.zst", "syscall", "more/cut.tar.zst", "more/none.tar.zst"] {
        let path = folder.join(name);
        let more = ["--tag", "service=other", "--tag", "day=2026-11-26"];
        for (table, more) in printed(&path, &more) {
            rows.entry(table).or_default().extend(more);
        }
    }
    assert_eq!(comparable(rows), comparable(tables(&out)));

    // And after compaction of parts that came one by one.
    let parts = root.path().join("parts");
    for name in ["syscall", "more/cut.tar.zst", "more/none.tar.zst"] {
        let (path, parts) = (folder.join(name), parts.to_string_lossy());
        let arguments = [
            "ingest",
            &path.to_string_lossy(),
            "-o",
            &parts,
            "--tag",
            "service=s",
            "--tag",
            "day=2026-11-26",
        ];
        assert_done(&fleet(&arguments));
    }
    let before = comparable(tables(&parts));
    let output = fleet(&["compact", &parts.to_string_lossy()]);
    assert!(String::from_utf8_lossy(&output.stderr).ends_with("parts: 3 parts, now 1\n"), "{output:?}");
    assert_eq!(comparable(tables(&parts)), before);
}

/// A copy has another time, and the same rows: no clock of this recording is UTC, and it has no tag `day`.
#[test]
fn the_rows_do_not_depend_on_when_the_file_was_written() {
    let root = tempfile::tempdir().expect("a folder");
    let path = bundle(&emulated("lock"), root.path(), "lock.tar.zst", &[]);
    let rows = printed(&path, &[]);
    assert_eq!(text(&rows["captures"][0], "day"), "unknown");
    assert!(Command::new("touch").args(["-d", "2020-02-02"]).arg(&path).status().expect("touch").success());
    assert_eq!(printed(&path, &[]), rows);
}

#[test]
fn limits_make_rows_and_no_failures() {
    let root = tempfile::tempdir().expect("a folder");
    let path = bundle(&emulated("lock"), root.path(), "lock.tar.zst", &[]);
    let status = |more: &[&str]| text(&printed(&path, more)["captures"][0], "status").to_owned();
    assert_eq!(status(&["--limit-memory", "8"]), "too-large");
    assert_eq!(status(&["--limit-memory", "1024", "--engine", "native"]), "ok");
    let nothing = printed(Path::new("/dev/zero"), &[]);
    assert_eq!(text(&nothing["captures"][0], "error"), "neither a perf.data nor a bundle");
}

/// A disk that takes no more is one error; what was written stays valid, and the next run adds the rest. `EFBIG` of a limit stands for `ENOSPC`.
#[test]
fn a_full_disk_is_one_error() {
    let root = tempfile::tempdir().expect("a folder");
    let out = root.path().join("tables");
    // Nothing is unpacked of a bundle that is a folder, so that the limit meets the tables alone.
    let path = bundle(&emulated("lock"), root.path(), "lock", &[]);
    let ingest = |limit: &str| {
        let script = format!("{limit} exec \"$0\" fleet ingest \"$1\" -o \"$2\"");
        let arguments = [Path::new(env!("CARGO_BIN_EXE_tailtrace")), &path, &out];
        Command::new("bash").arg("-c").arg(script).args(arguments).output().expect("bash runs")
    };
    let output = ingest("trap '' XFSZ; ulimit -f 4;");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("cannot be written: File too large"), "{said}");
    assert_eq!(tables(&out).values().map(Vec::len).sum::<usize>(), 0);
    assert_done(&ingest(""));
    assert_eq!(tables(&out)["captures"].len(), 1);
}
