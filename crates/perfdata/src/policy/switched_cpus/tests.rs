use crate::bytes;
use crate::test_file::{SAMPLE_ID_ALL, TestFile, attr};

const ID_INDEX: u32 = 69;
/// The flag `context_switch` of an attribute.
const SWITCHES: u64 = 1 << 26;
const ALL_ONES: u64 = u64::MAX;

/// Entries as perf writes them: id, ring, CPU, thread.
fn recorded(entries: &[(u64, u64, u64)]) -> Option<Vec<u32>> {
    let mut body = bytes![entries.len() as u64];
    for &(id, cpu, tid) in entries {
        body.extend(bytes![id, 0u64, cpu, tid]);
    }
    let file = TestFile::default()
        .attr(attr(8, 0, 0x1_0087, SAMPLE_ID_ALL), &[1])
        .attr(attr(1, 9, 0x1_0087, SAMPLE_ID_ALL | SWITCHES), &[2, 3])
        .record(ID_INDEX, 0, &body);
    let cpus = file.open().switched_cpus()?;
    Some(cpus.into_iter().map(|cpu| cpu.0).collect())
}

#[test]
fn the_cpus_are_those_of_the_event_that_shows_switches() {
    // `perf record -C 2,3`: another event covers all.
    let cpu_wide = [(1, 7, ALL_ONES), (2, 2, ALL_ONES), (3, 3, ALL_ONES)];
    assert_eq!(recorded(&cpu_wide), Some(vec![2, 3]));
}

#[test]
fn events_of_threads_follow_them_to_any_cpu() {
    assert_eq!(recorded(&[(1, 7, 50), (2, 2, 50), (3, 3, 50)]), None);
    assert_eq!(recorded(&[(1, ALL_ONES, 50), (2, ALL_ONES, 50), (3, ALL_ONES, 50)]), None);
}

#[test]
fn without_the_entries_nothing_is_known() {
    assert_eq!(recorded(&[]), None);
    assert_eq!(recorded(&[(2, 2, ALL_ONES)]), None);
}
