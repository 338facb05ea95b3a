//! `tailtrace.h` in real programs: they compile as C99 and C++, and their interval files hold what they marked.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const COMPILERS: [(&str, &[&str]); 3] = [
    ("cc", &["-std=c99", "-pedantic"]),
    ("c++", &["-x", "c++", "-std=c++11", "-pedantic"]),
    ("c++", &["-x", "c++", "-std=c++20", "-pedantic"]),
];

/// One line of an interval file.
#[derive(Clone, Debug)]
struct Mark {
    kind: String,
    label: String,
    at: u64,
    key: Option<u64>,
    tid: u64,
    name: String,
    value: String,
}

/// An interval file's marks, in the order of their lines, and TSC readings of its clock pairs by clock.
struct IntervalFile {
    marks: Vec<Mark>,
    pairs: BTreeMap<String, Vec<(u64, u64)>>,
    lost: usize,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles `sources` with warnings as errors.
fn compile(compiler: (&str, &[&str]), sources: &[PathBuf], program: &Path) {
    let (name, options) = compiler;
    let mut command = Command::new(name);
    command.args(options).args(["-O2", "-Wall", "-Wextra", "-Werror"]);
    command.arg("-I").arg(root().join("crates/marks/include")).args(sources);
    let output = command.args(["-lpthread", "-lm", "-o"]).arg(program).output().unwrap();
    assert!(output.status.success(), "{name} {options:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/marks").join(name)
}

/// Splits a CSV line; quotes as RFC 4180 has them.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cells.last_mut().unwrap().push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cells.last_mut().unwrap().push(other),
        }
    }
    cells
}

fn read(path: &Path) -> IntervalFile {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "lines are written whole");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("# tailtrace-intervals 1 clock=tsc"));
    assert_eq!(lines.next(), Some("mark,label,at,key,pid,tid,name,value"));
    let mut read = IntervalFile { marks: Vec::new(), pairs: BTreeMap::new(), lost: 0 };
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |text: &str| text.split_once('=').unwrap().1.parse().unwrap();
        match words.as_slice() {
            ["#", "clock-pair", clock, tsc, ns, ..] => {
                read.pairs.entry((*clock).to_owned()).or_default().push((number(tsc), number(ns)));
            }
            ["#", "thread", ..] => {}
            ["#", "lost", count, ..] => read.lost += count.parse::<usize>().unwrap(),
            _ => read.marks.push(mark(line)),
        }
    }
    read
}

fn mark(line: &str) -> Mark {
    let cells = cells(line);
    let [kind, label, at, key, _pid, tid, name, value] = cells.as_slice() else { panic!("{line}") };
    Mark {
        kind: kind.clone(),
        label: label.clone(),
        at: at.parse().unwrap(),
        key: key.parse().ok(),
        tid: tid.parse().unwrap(),
        name: name.clone(),
        value: value.clone(),
    }
}

#[test]
fn the_spsc_exercise_marks_every_packet() {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("fixtures/programs/spsc.c");
    for (number, compiler) in COMPILERS.into_iter().enumerate() {
        let program = folder.path().join(format!("spsc{number}"));
        compile(compiler, std::slice::from_ref(&source), &program);
        let file = folder.path().join("spsc.csv");
        let mut command = Command::new(&program);
        let output = command.args(["3000", "10", "100000"]).env("TAILTRACE_FILE", &file).output().unwrap();
        assert!(output.status.success());
        check_table(&String::from_utf8(output.stdout).unwrap());
        check_packets(&read(&file), 3000);
    }
}

/// The lines of the exercise, word by word.
fn check_table(text: &str) {
    let blanked = text.split([' ', '\n']).map(|word| {
        let number = word.trim_end_matches(',');
        if number.parse::<f64>().is_ok() { word.replace(number, "#") } else { word.to_owned() }
    });
    let expected = "Avg lat = #, Avg lat w/o outliers = #, lowest lat = #, highest lat = #, outliers = # \
                    Stdev = #, stdev w/o outliers = # ";
    assert_eq!(blanked.collect::<Vec<_>>().join(" "), expected);
}

fn check_packets(read: &IntervalFile, packets: u64) {
    assert_eq!(read.lost, 0);
    let mut times: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    let mut last_of: BTreeMap<u64, u64> = BTreeMap::new();
    for mark in &read.marks {
        assert_eq!(mark.label, "packet");
        let twice = times.insert((&mark.kind, mark.key.unwrap()), mark.at);
        assert_eq!(twice, None, "{mark:?}");
        let last = last_of.insert(mark.tid, mark.at).unwrap_or(0);
        assert!(last <= mark.at, "each thread's times rise: {mark:?}");
    }
    assert_eq!(last_of.len(), 2, "producer and consumer");
    assert_eq!(times.len() as u64, 3 * packets);
    for key in 0..packets {
        let [begin, publish, end] = ["begin", "publish", "end"].map(|kind| times[&(kind, key)]);
        assert!(begin < publish && begin < end, "packet {key}: {begin} {publish} {end}");
    }
    let (first, last) = (times.values().min().unwrap(), times.values().max().unwrap());
    for clock in ["monotonic", "monotonic-raw", "realtime"] {
        let pairs = &read.pairs[clock];
        assert!(pairs.first().unwrap().0 < *first && *last < pairs.last().unwrap().0, "{clock}");
        assert!(pairs.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1), "{clock}: {pairs:?}");
    }
}

#[test]
fn files_of_one_program_share_one_interval_file() {
    let folder = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let (program, file) = (folder.path().join("two"), folder.path().join("two.csv"));
        compile(compiler, &[own("first.c"), own("second.c")], &program);
        assert!(Command::new(&program).arg(&file).status().unwrap().success());
        let mut read = read(&file);
        // Each thread writes when it likes; the time says the order.
        read.marks.sort_by_key(|mark| mark.at);
        let fields = |mark: &Mark| {
            let Mark { kind, label, key, name, value, .. } = mark.clone();
            (kind, label, key, name, value)
        };
        let found: Vec<_> = read.marks.iter().map(fields).collect();
        let order = "a, \"quoted\" label";
        let expected = [
            ("begin", order, Some(7), "", ""),
            ("stage", order, Some(7), "parse", ""),
            ("counter", order, Some(7), "bytes", "-512"),
            ("begin", "inner", None, "", ""),
            ("end", "inner", None, "", ""),
            ("publish", order, Some(7), "", ""),
            ("end", order, Some(7), "", ""),
        ];
        let expected = expected.map(|(kind, label, key, name, value)| {
            (kind.to_owned(), label.to_owned(), key, name.to_owned(), value.to_owned())
        });
        assert_eq!(found, expected);
        assert_ne!(read.marks[0].tid, read.marks[6].tid);
    }
}

#[test]
fn a_crash_loses_only_what_was_just_marked() {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("crash"), folder.path().join("crash.csv"));
    compile(COMPILERS[0], &[own("crash.c")], &program);
    assert!(!Command::new(&program).arg(&file).status().unwrap().success());
    let read = read(&file);
    let kept = read.marks.iter().filter(|mark| mark.label == "work").count();
    assert_eq!(kept, 2000);
    assert!(read.pairs.values().all(|pairs| pairs.len() >= 2), "clock pairs stand on both sides");
}
