//! Forms, clocks and bad input of interval files. Expected values are read off the text by hand.

use super::*;
use model::{Counter, Phase, PhaseKind, Severity, Stage, ThreadId, TimeConversion, Tsc, TscRange};

use crate::clock::ClockPair;
use crate::findings::KEPT_PER_KIND;

fn read_with(text: impl AsRef<[u8]>, clocks: &Clocks) -> Result<IntervalSet, Error> {
    read_intervals(Path::new("marks.csv"), text.as_ref(), clocks)
}

fn read(text: impl AsRef<[u8]>) -> IntervalSet {
    read_with(text, &Clocks::default()).expect("a usable header")
}

fn refusal(text: impl AsRef<[u8]>) -> String {
    read_with(text, &Clocks::default()).expect_err("unusable").to_string()
}

fn ids(set: &IntervalSet) -> Vec<u64> {
    set.intervals.iter().map(|interval| interval.id.0).collect()
}

/// Line numbers of the diagnostics, in their order.
fn lines(set: &IntervalSet) -> Vec<u64> {
    set.diagnostics.iter().filter_map(|diagnostic| diagnostic.place.line).collect()
}

fn range(start: u64, stop: u64) -> TscRange {
    TscRange { start: Tsc(start), stop: Tsc(stop) }
}

#[test]
fn vtune_tasks_and_frames() {
    let set = read("name,start_tsc.TSC,end_tsc,pid,tid\nfault,1443401205,1443446385,118,120\nframe,5,9,,\n");
    assert_eq!(set.diagnostics, []);
    assert_eq!(ids(&set), [1, 0]);
    let [frame, task] = set.intervals.as_slice() else { panic!("two intervals") };
    assert_eq!((frame.label.as_str(), frame.start_thread, frame.range), ("frame", None, range(5, 9)));
    assert_eq!(task.label, "fault");
    assert_eq!(task.range, range(1_443_401_205, 1_443_446_385));
    assert_eq!(
        (task.start_thread, task.stop_thread),
        (Some(ThreadId::new(118, 120)), Some(ThreadId::new(118, 120)))
    );
}

#[test]
fn vtune_without_thread_columns_and_with_a_counter() {
    let set = read("name,start_tsc.TSC,end_tsc,bytes\r\na,1,2,512\r\nb,3,4,x\r\n");
    assert_eq!(set.diagnostics, []);
    assert_eq!(set.intervals[0].counters, [Counter { name: "bytes".to_owned(), value: 512.0.into() }]);
    assert_eq!(set.intervals[1].counters, []);
}

#[test]
fn vtune_rows_keep_their_number_when_others_are_refused() {
    let rows = "ok,1,2,,\nnan,NaN,2,,\nnegative,-1,2,,\nhuge,18446744073709551616,2,,\nbackwards,9,8,,\n\
                half,1,2,7,\nquote,\"1,2,,\nshort,1\n\nfraction,1.5,2,,\nlast,18446744073709551614,18446744073709551615,,";
    let set = read(format!("name,start_tsc.TSC,end_tsc,pid,tid\n{rows}"));
    assert_eq!(ids(&set), [0, 9]);
    assert_eq!(set.intervals[1].range.stop, Tsc(u64::MAX));
    assert_eq!(lines(&set), [3, 4, 5, 6, 7, 8, 9, 11]);
    assert!(set.diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Error));
    assert!(set.diagnostics.iter().all(|diagnostic| diagnostic.place.file.as_deref() == Some("marks.csv")));
}

#[test]
fn byte_order_mark_crlf_quotes_and_zero_length() {
    let set = read("\u{feff}name,start_tsc.TSC,end_tsc,pid,tid\r\n\"a, \"\"b\"\"\",5,5,1,2\r\n");
    assert_eq!(set.diagnostics, []);
    assert_eq!(set.intervals[0].label, "a, \"b\"");
    assert!(set.intervals[0].range.is_empty());
}

#[test]
fn header_only_is_an_empty_set() {
    assert_eq!(read("name,start_tsc.TSC,end_tsc,pid,tid\n"), IntervalSet::default());
    assert_eq!(read("name,start_tsc.TSC,end_tsc,pid,tid"), IntervalSet::default());
}

#[test]
fn refuses_what_is_no_interval_file() {
    assert!(refusal("").contains("is empty"));
    assert!(refusal("\n").contains("an empty line"));
    assert!(refusal(b"\x7fELF\x02\x01\x01").contains("\\x7fELF"));
    assert!(refusal("time,value\n1,2\n").contains("start_tsc.CLOCK"));
    assert!(refusal("name,start_tsc,end_tsc\n").contains("names no clock"));
    assert!(refusal("name,start_tsc.TSC\n").contains("column end_tsc is missing"));
    assert!(refusal("name,start_tsc.FOO,end_tsc\n").contains("unknown clock \"FOO\""));
    assert!(refusal("name,start_tsc.QPC,end_tsc\n1").contains("Windows"));
    assert!(refusal("# tailtrace-intervals 2 clock=tsc\n").contains("version 2"));
    assert!(refusal("# tailtrace-intervals 1\nstart,stop\n").contains("names no clock"));
    assert!(refusal("# tailtrace-intervals 1 clock=tsc\nfoo,bar\n").contains("`start` and `stop`"));
    assert!(refusal("# tailtrace-intervals 1 clock=tsc\n# only this\n").contains("missing"));
    assert!(refusal("{\"tailtrace-intervals\": 9, \"clock\": \"tsc\"}\n").contains("version 9"));
    assert!(refusal("{\"clock\": \"tsc\"}\n").contains("line 1"));
    assert!(refusal("name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc\n").contains("0 {tsc, clock} pairs"));
}

#[test]
fn unreadable_file_names_itself() {
    let error =
        read_interval_file(Path::new("/nonexistent/x.csv"), &Clocks::default()).expect_err("no such file");
    assert!(matches!(error, Error::Read { .. }) && error.to_string().contains("/nonexistent/x.csv"));
}

#[test]
fn own_csv_with_everything() {
    let set = read(
        "# tailtrace-intervals 1 clock=tsc\n# a comment\nid,label,start,stop,pid,tid,stop_pid,stop_tid,key,publish,stage.send,stage.parse,counter.bytes,colour\n\
         7,order,100,900,1,2,,3,A7,0x1f4,700,150,-2.5,red\n8,order,1000,1001,,,,,,,,,,\n",
    );
    let [first, second] = set.intervals.as_slice() else { panic!("two intervals: {:?}", set.diagnostics) };
    assert_eq!((first.id.0, first.label.as_str(), first.key.as_deref()), (7, "order", Some("A7")));
    assert_eq!(
        (first.start_thread, first.stop_thread),
        (Some(ThreadId::new(1, 2)), Some(ThreadId::new(1, 3)))
    );
    assert_eq!(first.publish, Some(Tsc(500)));
    let stage = |name: &str, start| Stage { name: name.to_owned(), start: Tsc(start) };
    assert_eq!(first.stages, [stage("parse", 150), stage("send", 700)]);
    assert_eq!(first.counters, [Counter { name: "bytes".to_owned(), value: (-2.5).into() }]);
    assert_eq!((second.start_thread, second.key.as_deref(), second.publish), (None, None, None));
    assert_eq!(set.diagnostics.len(), 1);
    assert!(set.diagnostics[0].what.contains("colour"));
}

#[test]
fn own_csv_refuses_single_lines_only() {
    let set = read(
        "# tailtrace-intervals 1 clock=tsc\nid,start,stop,counter.n,publish\n1,1,2,x,\n1,3,4,,\n2,9,8,,\n3,1,,,\n4,1,2,NaN,\n5,1,2,,soon\n-6,1,2,,\n7,5,6,1,\n",
    );
    assert_eq!(ids(&set), [1, 4, 7]);
    assert_eq!(lines(&set), [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(set.intervals[1].counters, []);
}

#[test]
fn marks_across_threads_in_any_order_of_lines() {
    let set = read(
        "# tailtrace-intervals 1 clock=tsc\nmark,label,at,key,pid,tid,name,value\n\
         e,order,900,7,1,3,,\nbegin,order,100,7,1,2,,\nstage,order,150,7,1,2,parse,\ncounter,order,,7,1,2,bytes,512\n\
         publish,order,500,7,1,2,,\nbegin,tick,120,,1,9,,\nend,tick,130,,1,9,,\n",
    );
    assert_eq!(set.diagnostics, []);
    let [order, tick] = set.intervals.as_slice() else { panic!("two intervals") };
    assert_eq!(
        (order.range, order.key.as_deref(), order.publish),
        (range(100, 900), Some("7"), Some(Tsc(500)))
    );
    assert_eq!(
        (order.start_thread, order.stop_thread),
        (Some(ThreadId::new(1, 2)), Some(ThreadId::new(1, 3)))
    );
    assert_eq!(order.stages, [Stage { name: "parse".to_owned(), start: Tsc(150) }]);
    assert_eq!(order.counters, [Counter { name: "bytes".to_owned(), value: 512.0.into() }]);
    assert_eq!((tick.range, tick.start_thread), (range(120, 130), Some(ThreadId::new(1, 9))));
}

/// The tables of docs/interval-file.md, "Tasks". A pair of clocks shows that the times are converted.
#[test]
fn phases_of_a_task_in_csv_and_json() {
    let csv = read(
        "# tailtrace-intervals 1 clock=monotonic-raw\nmark,label,at,key,pid,tid\n\
         begin,order,100,7,1,9\nready,order,110,7,1,9\nrun,order,120,7,1,2\nawait,order,130,7,1,2\n\
         ready,order,150,7,1,4\nrun,order,160,7,1,3\nend,order,190,7,1,3\n\
         # clock-pair monotonic-raw tsc=1000 ns=100\n# clock-pair monotonic-raw tsc=3000 ns=200\n",
    );
    let json = read(
        r#"{"tailtrace-intervals": 1, "clock": "tsc"}
{"mark": "begin", "label": "order", "at": 1000, "key": 7, "pid": 1, "tid": 9}
{"mark": "ready", "label": "order", "at": 1200, "key": 7, "pid": 1, "tid": 9}
{"mark": "run", "label": "order", "at": 1400, "key": 7, "pid": 1, "tid": 2}
{"mark": "await", "label": "order", "at": 1600, "key": 7, "pid": 1, "tid": 2}
{"mark": "ready", "label": "order", "at": 2000, "key": 7, "pid": 1, "tid": 4}
{"mark": "run", "label": "order", "at": 2200, "key": 7, "pid": 1, "tid": 3}
{"mark": "end", "label": "order", "at": 2800, "key": 7, "pid": 1, "tid": 3}
"#,
    );
    let phase = |kind, tid, start, stop| Phase {
        kind,
        thread: Some(ThreadId::new(1, tid)),
        range: range(start, stop),
    };
    let expected = [
        phase(PhaseKind::Run, 9, 1000, 1200),
        phase(PhaseKind::Ready, 9, 1200, 1400),
        phase(PhaseKind::Run, 2, 1400, 1600),
        phase(PhaseKind::Await, 2, 1600, 2000),
        phase(PhaseKind::Ready, 4, 2000, 2200),
        phase(PhaseKind::Run, 3, 2200, 2800),
    ];
    for set in [csv, json] {
        assert_eq!(set.intervals[0].phases, expected, "{:?}", set.diagnostics);
    }
}

/// `r` and `a` are no abbreviations, and a phase needs a key.
#[test]
fn wrong_phases() {
    let set = read(
        "# tailtrace-intervals 1 clock=tsc\nmark,label,at,key,pid,tid\nbegin,a,1,k,1,1\nr,a,2,k,1,1\na,a,3,k,1,1\n\
         run,a,4,,1,1\nready,b,5,k,1,1\nend,a,9,k,1,1\n",
    );
    assert_eq!((set.intervals.len(), set.intervals[0].phases.len()), (1, 0));
    assert_eq!(lines(&set), [4, 5, 6, 7]);
    assert!(set.diagnostics[0].what.contains("await"), "{:?}", set.diagnostics);
    assert!(set.diagnostics[2].what.contains("only a key"), "{:?}", set.diagnostics);
}

#[test]
fn wrong_mark_lines() {
    let set = read(
        "# tailtrace-intervals 1 clock=tsc\nmark,label,at,key,pid,tid\nstart,a,1,,1,1\nbegin,a,,,1,1\nbegin,a,1,,,\nend,a,5,k,,\nbegin,a,9,k,,\n",
    );
    assert_eq!(set.intervals, []);
    assert_eq!(lines(&set), [3, 4, 5, 7]);
    assert!(set.diagnostics[3].what.contains("ends 4 ticks before it begins"));
}

#[test]
fn json_lines_of_each_kind() {
    let set = read(
        r#"{"tailtrace-intervals": 1, "clock": "TSC", "program": "x"}
{"label": "order", "id": "18446744073709551615", "start": "100", "end": 900, "pid": 1, "tid": 2, "stop_tid": 3, "key": 7, "publish": 500, "stages": {"b": 300, "a": 200}, "counters": {"bytes": 512, "x": "1.5", "bad": [1]}}
{"mark": "begin", "label": "m", "at": 10, "key": "k", "pid": 1, "tid": 2}
{"mark": "end", "label": "m", "at": 20, "key": "k", "pid": 1, "tid": 3, "counters": {"n": 2}}
{"thread": {"pid": 1, "tid": 2, "comm": "w"}}

{"start": 1}
{"start": -1, "stop": 2}
not json
{"colour": "red"}
"#,
    );
    let [mark, order] = set.intervals.as_slice() else { panic!("two intervals: {:?}", set.diagnostics) };
    assert_eq!((mark.range, mark.id.0, mark.stop_thread), (range(10, 20), 0, Some(ThreadId::new(1, 3))));
    assert_eq!(mark.counters, [Counter { name: "n".to_owned(), value: 2.0.into() }]);
    assert_eq!((order.id.0, order.range, order.key.as_deref()), (u64::MAX, range(100, 900), Some("7")));
    assert_eq!(order.stages[0].name, "a");
    assert_eq!(order.counters.len(), 2);
    assert_eq!(lines(&set), [2, 7, 8, 9, 10]);
}

#[test]
fn perf_times_go_through_the_kernels_conversion() {
    let conversion = TimeConversion::new(31, 825_959_061, 18_446_744_073_673_297_304);
    let clocks = Clocks { conversion, ..Clocks::default() };
    let text = "# tailtrace-intervals 1 clock=perf\nstart,stop\n518902559,518902600\n";
    let set = read_with(text, &clocks).expect("joined");
    // 555156871 ns since the counter's zero: the first reading with that time, found by hand in model's test.
    assert_eq!(conversion.expect("usable").to_perf_time(set.intervals[0].range.start).0, 518_902_559);
    assert!(
        read_with(text, &Clocks::default()).expect_err("no conversion").to_string().contains("TIME_CONV")
    );
}

#[test]
fn pairs_in_the_file_may_stand_behind_the_marks() {
    let set = read(
        "# tailtrace-intervals 1 clock=monotonic-raw\nstart,stop\n150,199\n# clock-pair monotonic-raw tsc=1000 ns=100\n\
         # clock-pair CLOCK_MONOTONIC_RAW tsc=3000 ns=200 error=3\n# clock-pair monotonic-raw tsc=5\n150,201\n",
    );
    // 20 ticks per ns.
    assert_eq!(set.intervals[0].range, range(2000, 2980));
    assert_eq!(set.intervals.len(), 1);
    assert_eq!(lines(&set), [6, 7]);
    assert!(set.diagnostics.iter().any(|diagnostic| diagnostic.what.contains("up to 3 ns")));
}

#[test]
fn pairs_from_a_sidecar_and_utc_dates() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.csv");
    // 2013-08-28 01:02:03 UTC is 1377651723 s since 1970 (date -u -d … +%s).
    std::fs::write(&path, "name,start_tsc.UTC,end_tsc\na,2013-08-28 01:02:03.0004,1377651723000500000\nb,2013-13-01 00:00:00,5\n")
        .expect("written");
    let pairs = "# clock-pair realtime tsc=1000000 ns=1377651723000000000\n\n{\"clock-pair\": {\"clock\": \"UTC\", \"tsc\": \"4000000\", \"ns\": 1377651723001000000}}\nrubbish\n";
    std::fs::write(folder.path().join("x.csv.clocks"), pairs).expect("written");
    let set = read_interval_file(&path, &Clocks::default()).expect("joined");
    assert_eq!(set.intervals.len(), 1);
    assert_eq!(set.intervals[0].range, range(2_200_000, 2_500_000));
    assert_eq!(lines(&set), [3, 4]);
}

#[test]
fn many_broken_lines_are_a_bounded_number_of_diagnostics() {
    let text = format!("name,start_tsc.TSC,end_tsc\n{}", "x,y,z\n".repeat(100_000));
    let set = read(text);
    assert_eq!(set.diagnostics.len() as u64, KEPT_PER_KIND + 1);
    assert!(set.diagnostics.last().expect("a count").what.starts_with("99980 more"));
}

#[test]
fn long_lines_are_skipped_and_the_next_is_read() {
    let text = format!("name,start_tsc.TSC,end_tsc\n{},1,2\na,3,4\n", "x".repeat(1 << 20));
    let set = read(text);
    assert_eq!((ids(&set), lines(&set)), (vec![1], vec![2]));
}

#[test]
fn clocks_of_the_caller_are_added_to_those_of_the_file() {
    let pair = |tsc, ns| ClockPair { clock: Clock::Monotonic, tsc: Tsc(tsc), ns, error_ns: 0 };
    let clocks = Clocks { pairs: vec![pair(0, 0), pair(2_000, 1_000)], ..Clocks::default() };
    let text = "# tailtrace-intervals 1 clock=monotonic\nstart,stop\n10,20\n";
    assert_eq!(read_with(text, &clocks).expect("joined").intervals[0].range, range(20, 40));
}

/// The pairs are known from elsewhere, and the file beside says only which clock it is.
#[test]
fn a_line_beside_the_file_names_its_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.json");
    let events = r#"[{"name":"a","ph":"X","ts":1,"dur":1,"pid":1,"tid":2}]"#;
    std::fs::write(&path, events).expect("written");
    std::fs::write(clocks_beside(&path), "# clock boottime\n").expect("written");
    let pair = |clock, tsc, ns| ClockPair { clock, tsc: Tsc(tsc), ns, error_ns: 0 };
    let pairs = [(Clock::Monotonic, 5), (Clock::Boottime, 2)]
        .into_iter()
        .flat_map(|(clock, rate)| [pair(clock, 0, 0), pair(clock, 10_000 * rate, 10_000)])
        .collect();
    let set = read_interval_file(&path, &Clocks { pairs, ..Clocks::default() }).expect("named");
    assert_eq!(set.intervals[0].range, range(2_000, 4_000));
}
