//! Counters of 64 bits: whole numbers keep their digits from the interval file to every output, a slice included.

use std::fmt::Write as _;

use super::interval_files::over;
use crate::captures::emulated;
use crate::slices;

/// What floating point would round, or not.
const VALUES: [&str; 6] = [
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "2.5",
    "-0.125",
];

/// One interval of the capture `fault` with all of them, in each form that interval files have.
fn files() -> [(&'static str, String); 3] {
    let (mut columns, mut rows, mut members) = (String::new(), String::new(), String::new());
    let mut marks = String::from("begin,m,1443401205,k,118,120,,\n");
    for (index, value) in VALUES.iter().enumerate() {
        write!(columns, ",counter.c{index}").expect("a string");
        write!(rows, ",{value}").expect("a string");
        write!(members, "{}\"c{index}\": {value}", if index == 0 { "" } else { ", " }).expect("a string");
        writeln!(marks, "counter,m,,k,118,120,c{index},{value}").expect("a string");
    }
    let header = "# tailtrace-intervals 1 clock=tsc\n";
    [
        ("columns", format!("{header}start,stop,pid,tid{columns}\n1443401205,1443446385,118,120{rows}\n")),
        (
            "marks",
            format!("{header}mark,label,at,key,pid,tid,name,value\n{marks}end,m,1443446385,k,118,120,,\n"),
        ),
        (
            "objects",
            format!(
                "{{\"tailtrace-intervals\": 1, \"clock\": \"tsc\"}}\n{{\"start\": 1443401205, \"end\": 1443446385, \"pid\": 118, \
                 \"tid\": 120, \"counters\": {{{members}}}}}\n"
            ),
        ),
    ]
}

#[test]
fn whole_numbers_keep_their_digits() {
    let capture = emulated("fault");
    for (form, content) in files() {
        let json = over(&capture, "explain --top 1 --format json", &content).ends_with(0, "");
        let text = over(&capture, "explain --top 1", &content).ends_with(0, "");
        let one_line = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for (index, value) in VALUES.iter().enumerate() {
            let named = format!("\"name\": \"c{index}\",\n          \"value\": {value}\n");
            assert!(json.stdout.contains(&named), "{form}: no {named:?} in {}", json.stdout);
            assert!(one_line.contains(&format!("c{index} {value}")), "{form}: {value}: {one_line}");
        }
    }
}

/// A slice carries the interval with its counters.
#[test]
fn a_slice_keeps_them() {
    let (capture, folder) = (emulated("fault"), tempfile::tempdir().expect("a folder"));
    let [(_, content), ..] = files();
    let (intervals, slice) = (folder.path().join("intervals.csv"), folder.path().join("slice"));
    std::fs::write(&intervals, content).expect("written");
    let (intervals, out) = (intervals.to_string_lossy(), slice.to_string_lossy());
    let words = ["--intervals", &*intervals, "--top", "1", "-o", &*out];
    slices::assert_done(&slices::run("slice", &capture.perf_data, &capture.symfs, &words));
    let report = slices::run("explain", &slice, &capture.symfs, &["--format", "json"]);
    slices::assert_done(&report);
    let report = String::from_utf8(report.stdout).expect("UTF-8");
    for value in VALUES {
        assert!(report.contains(&format!("\"value\": {value}\n")), "{value}: {report}");
    }
}
