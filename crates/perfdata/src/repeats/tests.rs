//! Records that a ring buffer wrote twice.

use crate::test_file::{SAMPLE_ID_ALL, TestFile, USUAL_SAMPLE_TYPE, attr};

fn file() -> TestFile {
    TestFile::new().attr(attr(1, 9, USUAL_SAMPLE_TYPE, SAMPLE_ID_ALL), &[7])
}

/// COMM records (type 3), each of a thread at a time: the times of those that are kept, and how many are not.
fn kept(records: &[(u32, u64)]) -> (Vec<u64>, usize) {
    let comm = |tid: u32| [&10u32.to_le_bytes()[..], &tid.to_le_bytes()[..], b"abcdefg\0"].concat();
    let file = records.iter().fold(file(), |file, &(tid, time)| file.timed(3, 0, &comm(tid), time));
    let perf_data = file.open();
    assert_eq!(perf_data.record_counts(), [("COMM".to_owned(), records.len() as u64)]);
    let times: Vec<u64> = perf_data.records().map(|record| record.time.map_or(0, |time| time.0)).collect();
    assert_eq!(perf_data.records.of_maps().count(), times.len());
    (times, perf_data.repeats().len())
}

#[test]
fn what_stands_there_twice_counts_once() {
    // The ring is written again from its second record on.
    assert_eq!(kept(&[(1, 50), (1, 60), (2, 70), (1, 60), (2, 70), (1, 80)]), (vec![50, 60, 70, 80], 2));
    assert_eq!(kept(&[(1, 50), (1, 50), (1, 50)]), (vec![50], 2), "three times");
}

#[test]
fn what_differs_is_no_repeat() {
    assert_eq!(kept(&[(1, 50), (2, 50)]), (vec![50, 50], 0), "another thread");
    assert_eq!(kept(&[(1, 50), (1, 51)]), (vec![50, 51], 0), "another time");
}

/// The one copy of many is found after seven others of its time, and no further.
#[test]
fn few_records_of_a_time_are_compared() {
    let others = |count: u32| {
        let between = (2..2 + count).map(|tid| (tid, 50));
        let all: Vec<(u32, u64)> = [(1, 50)].into_iter().chain(between).chain([(1, 50)]).collect();
        kept(&all).1
    };
    assert_eq!((others(7), others(8)), (1, 0));
}

/// `FINISHED_ROUND` (type 68) has no time of its own: it may be said again, and stands between no two copies.
#[test]
fn records_without_a_time_stay() {
    let comm = [0; 16];
    let first = file().timed(3, 0, &comm, 50);
    let file = (0..9).fold(first, |file, _| file.record(68, 0, &[])).timed(3, 0, &comm, 50);
    let perf_data = file.open();
    assert_eq!((perf_data.records().count(), perf_data.repeats().len()), (10, 1));
}

/// Four milliseconds back, but only to what was written before.
#[test]
fn a_ring_that_is_written_again_is_no_step_of_its_clock() {
    let steps = |times: &[u64]| {
        let file = times.iter().fold(file(), |file, &time| file.timed(3, 0, &[0; 16], time));
        file.open().clock_steps().len()
    };
    assert_eq!(
        (steps(&[5_000_000, 9_000_000, 5_000_000]), steps(&[5_000_000, 9_000_000, 4_000_000])),
        (0, 1)
    );
}
