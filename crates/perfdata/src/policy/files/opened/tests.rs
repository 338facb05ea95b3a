//! Opens and closes by hand-made records: which name a descriptor has when.

use std::path::Path;

use model::{PerfTime, Pid};

use crate::PerfData;
use crate::bytes;
use crate::policy::slice::{CpuTimes, SlicePlan};
use crate::test_file::{TestFile, name};
use crate::traced::Traced;

const LOST: u32 = 2;
const COMM: u32 = 3;
const FORK: u32 = 7;
/// `PERF_RECORD_MISC_COMM_EXEC`.
const EXEC: u16 = 1 << 13;

/// A descriptor and its name: process, number, time.
fn told(perf: &PerfData, questions: &[(i32, u32, u64)]) -> Vec<String> {
    let tell = |&(pid, number, time): &(i32, u32, u64)| {
        let found = perf.opened_file(Pid(pid), number, PerfTime(time));
        found.map_or_else(|| "-".to_owned(), |name| name.to_string())
    };
    questions.iter().map(tell).collect()
}

fn with_record(traced: Traced, record: impl FnOnce(TestFile) -> TestFile) -> Traced {
    Traced(record(traced.0))
}

#[test]
fn a_name_lasts_from_the_end_of_the_open_to_the_begin_of_the_close() {
    let traced =
        Traced::new().open(10, 5, "/srv/db", 7).open(20, 5, "wal", 8).close(30, 5, 7).open(40, 5, "/b", 7);
    let questions =
        [(5, 7, 11), (5, 7, 12), (5, 8, 22), (5, 7, 29), (5, 7, 30), (5, 8, 30), (5, 7, 42), (6, 7, 42)];
    let expected = ["-", "/srv/db", "wal", "/srv/db", "-", "wal", "/b", "-"];
    assert_eq!(told(&traced.0.open(), &questions), expected);
}

/// A name that the kernel could not read; a call that failed; a name of another call (`stat`, 4) before; another thread's.
#[test]
fn only_the_name_of_its_own_call_counts() {
    let traced = Traced::new()
        .open(10, 5, "(fault)", 7)
        .open(20, 5, "/absent", -2)
        .enter(30, 5, 4, &[0])
        .name(31, 5, b"/looked-at")
        .exit(32, 5, 4, 0)
        .enter(33, 5, 257, &[0])
        .name(34, 6, b"/of-another")
        .exit(35, 5, 257, 8);
    assert_eq!(told(&traced.0.open(), &[(5, 7, 50), (5, 8, 50)]), ["-", "-"]);
}

/// `dup2(3, 7)` (33), `close_range(8, 20, 0)` (436), the same with `CLOSE_RANGE_CLOEXEC`, `socket` (41) returning 30.
#[test]
fn other_calls_end_names_too() {
    let traced = Traced::new()
        .open(10, 5, "/a", 7)
        .open(20, 5, "/b", 8)
        .open(30, 5, "/c", 21)
        .open(40, 5, "/d", 30)
        .enter(50, 5, 33, &[3, 7])
        .exit(51, 5, 33, 7)
        .enter(60, 5, 436, &[8, 20, 0])
        .enter(70, 5, 436, &[8, 30, 4])
        .exit(80, 5, 41, 30)
        .open(90, 5, "/e", 9);
    let perf = traced.0.open();
    assert_eq!(told(&perf, &[(5, 7, 50), (5, 7, 51), (5, 8, 59), (5, 8, 60)]), ["/a", "-", "/b", "-"]);
    assert_eq!(told(&perf, &[(5, 21, 75), (5, 30, 75), (5, 30, 80), (5, 9, 95)]), ["/c", "/d", "-", "/e"]);
}

#[test]
fn a_child_has_its_parents_files_until_it_runs_another_program() {
    let fork = bytes![9i32, 5i32, 9i32, 5i32, 20u64];
    let exec = [bytes![9i32, 9i32], name("other")].concat();
    let traced = with_record(Traced::new().open(10, 5, "/a", 7), |file| file.timed(FORK, 0, &fork, 20));
    let traced = traced.close(30, 5, 7).close(40, 9, 7).open(50, 9, "/b", 7);
    let traced = with_record(traced, |file| file.timed(COMM, EXEC, &exec, 60));
    let questions = [(9, 7, 19), (9, 7, 35), (5, 7, 35), (9, 7, 45), (9, 7, 55), (9, 7, 60)];
    assert_eq!(told(&traced.0.open(), &questions), ["-", "/a", "-", "-", "/b", "-"]);
}

/// What was closed while records were lost is not known.
#[test]
fn behind_lost_records_no_older_name_is_told() {
    let lost = bytes![7u64, 3u64];
    let traced = with_record(Traced::new().open(10, 5, "/a", 7), |file| file.timed(LOST, 0, &lost, 20));
    let perf = traced.open(30, 5, "/b", 8).0.open();
    assert_eq!(told(&perf, &[(5, 7, 19), (5, 7, 20), (5, 8, 40)]), ["/a", "-", "/b"]);
}

#[test]
fn without_records_of_closes_nothing_is_told() {
    let traced = Traced::without_begins().name(10, 5, b"/a").exit(11, 5, 257, 7);
    assert_eq!(told(&traced.0.open(), &[(5, 7, 20)]), ["-"]);
}

/// A slice of the records that answers rest on gives the same answers, though it lacks most others.
#[test]
fn slices_answer_the_same() {
    let traced = (0..50).fold(Traced::new(), |traced, round| {
        traced.open(round * 10, 5, &format!("/f{round}"), 7).close(round * 10 + 5, 5, 7)
    });
    let perf = traced.open(500, 5, "/last", 7).0.open();
    let questions = [(5, 7, 103), (5, 7, 207), (5, 7, 600), (5, 8, 600)];
    perf.note_reads();
    let expected = told(&perf, &questions);
    assert_eq!(expected, ["/f10", "-", "/last", "-"]);
    let times = perf.take_reads().into_iter().map(|range| CpuTimes { cpu: None, range });
    let plan = SlicePlan { times: Some(times.collect()), ..SlicePlan::default() };
    let slice = PerfData::from_bytes(Path::new("slice"), perf.slice(&plan)).expect("a sound header");
    assert!(slice.records().count() < perf.records().count() / 10);
    assert_eq!(told(&slice, &questions), expected);
}
