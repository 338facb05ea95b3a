//! Phases by hand, and that they cover their interval.

use super::*;

fn run(at: u64, tid: i32) -> Mark {
    mark(MarkKind::Phase(PhaseKind::Run), Some("a"), at, tid)
}

fn ready(at: u64, tid: i32) -> Mark {
    mark(MarkKind::Phase(PhaseKind::Ready), Some("a"), at, tid)
}

fn awaits(at: u64, tid: i32) -> Mark {
    mark(MarkKind::Phase(PhaseKind::Await), Some("a"), at, tid)
}

/// The phases of the first interval: kind, thread, begin, end.
fn phases(set: &IntervalSet) -> Vec<(PhaseKind, i32, u64, u64)> {
    let phases = &set.intervals[0].phases;
    let of = |phase: &model::Phase| {
        let tid = phase.thread.map_or(0, |thread| thread.tid.0);
        (phase.kind, tid, phase.range.start.0, phase.range.stop.0)
    };
    phases.iter().map(of).collect()
}

#[test]
fn a_task_that_moves_between_two_workers() {
    use PhaseKind::{Await, Ready, Run};
    // Thread 9 begins it, 1 and 2 are workers; 3 wakes it.
    let marks = vec![
        begin(Some("a"), 10, 9),
        ready(12, 9),
        run(20, 1),
        awaits(30, 1),
        ready(50, 3),
        run(55, 2),
        end(Some("a"), 70, 2),
    ];
    let set = pair(marks, Findings::new());
    assert_eq!(set.diagnostics, []);
    assert_eq!(
        phases(&set),
        [
            (Run, 9, 10, 12),
            (Ready, 9, 12, 20),
            (Run, 1, 20, 30),
            (Await, 1, 30, 50),
            (Ready, 3, 50, 55),
            (Run, 2, 55, 70)
        ]
    );
}

#[test]
fn a_task_woken_while_it_runs_is_ready_after_its_poll() {
    use PhaseKind::{Ready, Run};
    let marks = vec![
        begin(Some("a"), 10, 1),
        run(10, 1),
        ready(15, 3),
        ready(17, 4),
        awaits(20, 1),
        ready(21, 4),
        run(30, 1),
        awaits(40, 1),
        end(Some("a"), 40, 1),
    ];
    let set = pair(marks, Findings::new());
    assert_eq!(phases(&set), [(Run, 1, 10, 20), (Ready, 3, 20, 30), (Run, 1, 30, 40)]);
}

#[test]
fn a_task_without_a_marker_of_its_waker_awaits_until_it_runs() {
    use PhaseKind::{Await, Run};
    let marks =
        vec![begin(Some("a"), 10, 1), awaits(20, 1), awaits(25, 1), run(30, 2), run(35, 2), run(40, 3)];
    let set = pair([marks, vec![end(Some("a"), 50, 3)]].concat(), Findings::new());
    assert_eq!(phases(&set), [(Run, 1, 10, 20), (Await, 1, 20, 30), (Run, 2, 30, 40), (Run, 3, 40, 50)]);
}

#[test]
fn who_wakes_a_task_is_known_though_it_runs_at_once() {
    use PhaseKind::{Await, Ready, Run};
    let marks = [begin(Some("a"), 10, 1), run(10, 1), awaits(20, 1), ready(30, 3), run(30, 2)];
    let set = pair([&marks[..], &[end(Some("a"), 50, 2)]].concat(), Findings::new());
    assert_eq!(phases(&set), [(Run, 1, 10, 20), (Await, 1, 20, 30), (Ready, 3, 30, 30), (Run, 2, 30, 50)]);
}

#[test]
fn phases_beside_a_loss_are_left_out() {
    let marks = [begin(Some("a"), 10, 1), awaits(20, 1), run(30, 2), end(Some("a"), 50, 2)];
    assert_eq!(around(&marks, &[loss(Some(7), 60, 61)]).intervals[0].phases.len(), 3);
    let set = around(&marks, &[loss(Some(7), 22, 23)]);
    assert_eq!((ranges(&set), phases(&set)), (vec![(10, 50)], Vec::new()));
    assert_eq!(
        said(&set),
        [
            "\"x\" with key \"a\" from 10 to 50 lost markers, and a phase may be among them: its phases are left out"
        ]
    );
}

#[test]
fn an_interval_holds_a_bounded_number_of_phases() {
    let polls = |count: u64| (0..count).flat_map(|at| [awaits(2 * at + 1, 1), run(2 * at + 2, 1)]);
    let most = MOST_PHASES as u64 / 2;
    let marks = [begin(Some("a"), 0, 1)].into_iter().chain(polls(most + 1));
    let set = pair(marks.chain([end(Some("a"), 100_000, 1)]).collect(), Findings::new());
    // The first is that of the begin.
    assert_eq!(phases(&set).len(), MOST_PHASES + 1);
    assert_eq!(phases(&set).last(), Some(&(PhaseKind::Run, 1, 2 * most, 100_000)));
    // The `await` has no room, and a `run` of the thread that runs changes nothing.
    assert_eq!(said(&set).len(), 1, "{:?}", said(&set));
}

fn any_phase() -> impl Strategy<Value = Mark> {
    let kind = prop_oneof![Just(PhaseKind::Run), Just(PhaseKind::Ready), Just(PhaseKind::Await)];
    (kind, 0u64..60, 0i32..4).prop_map(|(kind, at, tid)| mark(MarkKind::Phase(kind), Some("a"), at, tid))
}

proptest! {
    /// Phases cover their interval without holes, and no two that follow each other are the same.
    #[test]
    fn phases_partition_their_interval(marks in prop::collection::vec(any_phase(), 1..30)) {
        let ends = [begin(Some("a"), 5, 9), end(Some("a"), 50, 9)];
        let has_phases = marks.iter().any(|mark| (5..50).contains(&mark.at.0));
        let set = pair([&ends[..1], &marks[..], &ends[1..]].concat(), Findings::new());
        let phases = phases(&set);
        prop_assert!(!has_phases || !phases.is_empty());
        if let (Some(first), Some(last)) = (phases.first(), phases.last()) {
            prop_assert_eq!((first.2, last.3), (5, 50));
        }
        for pair in phases.windows(2) {
            prop_assert_eq!(pair[0].3, pair[1].2);
            prop_assert!(pair[0].2 < pair[0].3 || pair[0].0 == PhaseKind::Ready);
            prop_assert!((pair[0].0, pair[0].1) != (pair[1].0, pair[1].1));
        }
    }
}
