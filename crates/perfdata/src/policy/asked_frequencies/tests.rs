//! What is in force when, by hand-made records.

use super::*;

/// (CPU, time, kHz) of each record, which stands at the file offset of its time; then the times of losses.
fn asked(records: &[(u32, u64, u32)], losses: &[u64]) -> AskedFrequencies {
    let mut asked = AskedFrequencies::default();
    for &(cpu, time, khz) in records {
        asked.add(Cpu(cpu), AskedFrequency { since: PerfTime(time), khz, record: FileOffset(time) });
    }
    for &time in losses {
        asked.lost(PerfTime(time), FileOffset(time));
    }
    asked
}

/// (from, to, kHz, offset of the record) of what was in force on CPU 3.
fn in_force(asked: &AskedFrequencies, from: u64, to: u64) -> Vec<(u64, u64, u32, u64)> {
    asked
        .within(Cpu(3), PerfTime(from)..PerfTime(to))
        .map(|(range, asked)| (range.start.0, range.end.0, asked.khz, asked.record.0))
        .collect()
}

#[test]
fn a_frequency_lasts_until_the_next_record_of_its_cpu() {
    let asked = asked(&[(3, 100, 3_000_000), (2, 150, 900_000), (3, 200, 1_000_000)], &[]);
    assert_eq!(in_force(&asked, 120, 180), [(120, 180, 3_000_000, 100)]);
    assert_eq!(in_force(&asked, 120, 300), [(120, 200, 3_000_000, 100), (200, 300, 1_000_000, 200)]);
    assert_eq!(in_force(&asked, 200, 201), [(200, 201, 1_000_000, 200)]);
    assert_eq!(in_force(&asked, 9_000, 9_001), [(9_000, 9_001, 1_000_000, 200)], "however long ago");
}

#[test]
fn nothing_is_known_before_the_first_record_and_of_other_cpus() {
    let asked = asked(&[(3, 100, 3_000_000)], &[]);
    assert_eq!(in_force(&asked, 50, 100), []);
    assert_eq!(in_force(&asked, 50, 130), [(100, 130, 3_000_000, 100)]);
    assert_eq!(asked.within(Cpu(2), PerfTime(0)..PerfTime(900)).count(), 0);
}

#[test]
fn a_loss_ends_what_was_known() {
    let asked = asked(&[(3, 100, 3_000_000), (3, 200, 1_000_000)], &[150, 260]);
    let known = [(100, 150, 3_000_000, 100), (200, 260, 1_000_000, 200)];
    assert_eq!(in_force(&asked, 0, 1_000), known);
    assert_eq!(in_force(&asked, 150, 200), []);
}

#[test]
fn zero_is_no_frequency() {
    let asked = asked(&[(3, 100, 3_000_000), (3, 200, 0)], &[]);
    assert_eq!(in_force(&asked, 0, 1_000), [(100, 200, 3_000_000, 100)]);
}

#[test]
fn a_slice_needs_the_last_record_of_each_cpu_and_the_last_loss() {
    let asked = asked(&[(3, 100, 1), (2, 150, 1), (3, 200, 1), (2, 300, 1)], &[120, 180]);
    let before = |time| asked.records_before(PerfTime(time)).map(|record| record.0).collect::<Vec<_>>();
    assert_eq!(before(99), [0; 0]);
    assert_eq!(before(250), [150, 200, 180]);
}
