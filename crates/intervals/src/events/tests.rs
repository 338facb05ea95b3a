//! Pairing of occurrences by hand. Real records: tests/captures.rs.

use super::*;

fn occurrence(kind: MarkKind, time: u64, tid: i32, key: Option<&str>) -> EventOccurrence {
    EventOccurrence {
        kind,
        time: Tsc(time),
        thread: Some(ThreadId::new(1, tid)),
        cpu: Some(Cpu(0)),
        key: key.map(Box::from),
        counters: vec![Counter { name: "n".to_owned(), value: f64::from(tid).into() }],
        offset: FileOffset(time),
    }
}

fn pair(begin: &str, end: &str) -> EventPair {
    EventPair { begin: begin.into(), end: end.into(), key: None, phases: Vec::new() }
}

fn ranges(set: &IntervalSet) -> Vec<(u64, u64)> {
    set.intervals.iter().map(|interval| (interval.range.start.0, interval.range.stop.0)).collect()
}

#[test]
fn different_events_by_key_with_counters_of_both() {
    let set = pair_events(
        &pair("probe:a", "probe:b"),
        [
            occurrence(MarkKind::Begin, 10, 1, Some("7")),
            occurrence(MarkKind::Begin, 11, 1, Some("8")),
            occurrence(MarkKind::End, 20, 2, Some("7")),
        ],
        Findings::new(),
    );
    assert_eq!(ranges(&set), [(10, 20)]);
    let only = &set.intervals[0];
    assert_eq!(
        (only.label.as_str(), only.key.as_deref(), only.record),
        ("probe:a", Some("7"), Some(FileOffset(20)))
    );
    let counters: Vec<_> =
        only.counters.iter().map(|counter| (counter.name.as_str(), counter.value.as_f64())).collect();
    assert_eq!(counters, [("n", 1.0), ("end.n", 2.0)]);
    assert_eq!(set.diagnostics[0].place.file_offset, Some(FileOffset(11)));
}

#[test]
fn the_same_event_is_a_chain_on_each_thread() {
    let set = pair_events(
        &pair("probe:frame", "probe:frame"),
        [10, 12, 20, 21, 30].map(|time| occurrence(MarkKind::Begin, time, (time % 2) as i32, None)),
        Findings::new(),
    );
    assert_eq!(ranges(&set), [(10, 12), (12, 20), (20, 30)]);
    assert_eq!(set.intervals.iter().map(|interval| interval.id.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(set.diagnostics, []);
}

#[test]
fn phases_of_a_task_by_its_key() {
    use MarkKind::{Begin, End, Phase};
    use PhaseKind::{Await, Ready, Run};
    let set = pair_events(
        &pair("probe:born", "probe:done"),
        [
            // Of a task that is no interval: its type has no probe where it is made.
            occurrence(Phase(Run), 5, 1, Some("9")),
            occurrence(Begin, 10, 1, Some("7")),
            occurrence(Phase(Run), 15, 2, Some("7")),
            occurrence(Phase(Await), 20, 2, Some("7")),
            occurrence(Phase(Run), 21, 2, Some("9")),
            occurrence(Phase(Ready), 30, 3, Some("7")),
            occurrence(Phase(Run), 34, 1, Some("7")),
            occurrence(End, 40, 1, Some("7")),
        ],
        Findings::new(),
    );
    let phases: Vec<_> = set.intervals[0]
        .phases
        .iter()
        .map(|phase| {
            (phase.kind, phase.thread.map(|thread| thread.tid.0), phase.range.start.0, phase.range.stop.0)
        })
        .collect();
    let expected = [
        (Run, Some(1), 10, 15),
        (Run, Some(2), 15, 20),
        (Await, Some(2), 20, 30),
        (Ready, Some(3), 30, 34),
        (Run, Some(1), 34, 40),
    ];
    assert_eq!(phases, expected);
    assert_eq!(set.diagnostics, []);
}
