//! Pairing by hand, and that no mark is lost.

use super::*;
use proptest::prelude::*;

fn mark(kind: MarkKind, key: Option<&str>, at: u64, tid: i32) -> Mark {
    Mark {
        kind,
        label: "x".into(),
        key: key.map(Box::from),
        at: Tsc(at),
        thread: Some(ThreadId::new(1, tid)),
        cpu: None,
        id: None,
        counters: Vec::new(),
        origin: Origin::Line(at),
    }
}

fn begin(key: Option<&str>, at: u64, tid: i32) -> Mark {
    mark(MarkKind::Begin, key, at, tid)
}

fn end(key: Option<&str>, at: u64, tid: i32) -> Mark {
    mark(MarkKind::End, key, at, tid)
}

fn ranges(set: &IntervalSet) -> Vec<(u64, u64)> {
    set.intervals.iter().map(|interval| (interval.range.start.0, interval.range.stop.0)).collect()
}

fn said(set: &IntervalSet) -> Vec<&str> {
    set.diagnostics.iter().map(|diagnostic| diagnostic.what.as_str()).collect()
}

#[test]
fn by_key_across_threads() {
    let set = pair(
        vec![end(Some("a"), 50, 2), begin(Some("b"), 20, 1), begin(Some("a"), 10, 1), end(Some("b"), 30, 3)],
        Findings::new(),
    );
    assert_eq!((ranges(&set), said(&set).len()), (vec![(10, 50), (20, 30)], 0));
    assert_eq!(set.intervals[0].stop_thread, Some(ThreadId::new(1, 2)));
    assert_eq!(set.intervals.iter().map(|interval| interval.id.0).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_key_may_be_used_again() {
    let marks = [begin(Some("a"), 1, 1), end(Some("a"), 2, 1), begin(Some("a"), 2, 1), end(Some("a"), 4, 1)];
    assert_eq!(ranges(&pair(marks.to_vec(), Findings::new())), [(1, 2), (2, 4)]);
}

#[test]
fn nesting_on_each_thread() {
    let set = pair(
        vec![
            begin(None, 1, 1),
            begin(None, 2, 1),
            begin(None, 3, 2),
            end(None, 4, 1),
            end(None, 5, 2),
            end(None, 6, 1),
        ],
        Findings::new(),
    );
    assert_eq!((ranges(&set), said(&set).len()), (vec![(1, 6), (2, 4), (3, 5)], 0));
}

#[test]
fn the_idle_tasks_of_two_cpus_are_two() {
    let idle = |mark: Mark, cpu| Mark { thread: Some(ThreadId::new(0, 0)), cpu: Some(Cpu(cpu)), ..mark };
    let set = pair(
        vec![
            idle(begin(None, 1, 0), 0),
            idle(begin(None, 2, 0), 1),
            idle(end(None, 3, 0), 0),
            idle(end(None, 5, 0), 1),
        ],
        Findings::new(),
    );
    assert_eq!(ranges(&set), [(1, 3), (2, 5)]);
}

#[test]
fn left_overs_are_named() {
    let set = pair(
        vec![
            begin(Some("twice"), 1, 1),
            begin(Some("twice"), 2, 1),
            end(Some("twice"), 3, 1),
            begin(Some("open"), 4, 1),
            end(Some("alone"), 5, 1),
            end(Some("back"), 6, 1),
            begin(Some("back"), 9, 2),
            end(None, 10, 1),
            mark(MarkKind::Publish, Some("nothing"), 11, 1),
        ],
        Findings::new(),
    );
    assert_eq!(ranges(&set), [(2, 3)]);
    assert_eq!(
        said(&set),
        [
            "begin of \"x\" with key \"twice\" at 1 begins again before it ended: it is left out",
            "end of \"x\" at 10 has no begin: it is left out",
            "publish of \"x\" with key \"nothing\" at 11 lies in no open interval: it is left out",
            "begin of \"x\" with key \"open\" at 4 has no end: it is left out",
            "\"x\" with key \"back\" ends 3 ticks before it begins: it is left out",
            "end of \"x\" with key \"alone\" at 5 has no begin: it is left out",
        ]
    );
    assert!(set.diagnostics.iter().all(|diagnostic| diagnostic.place.line.is_some()));
}

#[test]
fn an_early_end_does_not_spoil_the_next_use_of_its_key() {
    let set = pair(vec![end(Some("a"), 1, 1), begin(Some("a"), 5, 1), end(Some("a"), 8, 1)], Findings::new());
    assert_eq!(ranges(&set), [(5, 8)]);
    assert_eq!(said(&set), ["end of \"x\" with key \"a\" at 1 has no begin: it is left out"]);
}

#[test]
fn both_marks_at_one_tick_are_an_empty_interval() {
    let set = pair(vec![end(Some("a"), 7, 1), begin(Some("a"), 7, 2)], Findings::new());
    assert_eq!((ranges(&set), said(&set).len()), (vec![(7, 7)], 0));
}

#[test]
fn stages_counters_and_publish_go_to_the_innermost() {
    let mut stage = mark(MarkKind::Stage("parse".into()), None, 3, 1);
    stage.counters.push(Counter { name: "n".to_owned(), value: 1.0.into() });
    let set = pair(
        vec![begin(None, 1, 1), begin(None, 2, 1), stage, end(None, 4, 1), end(None, 5, 1)],
        Findings::new(),
    );
    assert_eq!(set.intervals[1].stages, [Stage { name: "parse".to_owned(), start: Tsc(3) }]);
    assert_eq!(set.intervals[1].counters.len(), 1);
    assert_eq!(set.intervals[0].stages, []);
}

#[test]
fn stated_ids_win_and_twice_is_once() {
    let with_id = |at, id| Mark { id: Some(id), ..begin(None, at, 1) };
    let set = pair(
        vec![
            with_id(1, 1),
            end(None, 2, 1),
            begin(None, 3, 1),
            end(None, 4, 1),
            with_id(5, 1),
            end(None, 6, 1),
            begin(None, 7, 1),
            end(None, 8, 1),
        ],
        Findings::new(),
    );
    let ids: Vec<u64> = set.intervals.iter().map(|interval| interval.id.0).collect();
    assert_eq!((ids, ranges(&set)), (vec![1, 0, 2], vec![(1, 2), (3, 4), (7, 8)]));
    assert_eq!(said(&set), ["id 1 occurs twice: the interval that starts at 5 is left out"]);
}

#[test]
fn an_interval_holds_a_bounded_number_of_stages() {
    let mut marks = vec![begin(None, 0, 1)];
    marks.extend((1..200).map(|at| mark(MarkKind::Stage("s".into()), None, at, 1)));
    marks.push(end(None, 200, 1));
    let set = pair(marks, Findings::new());
    assert_eq!(set.intervals[0].stages.len(), MOST_STAGES);
    assert!(set.diagnostics.last().expect("a count").what.contains("more markers beyond the limits"));
}

fn any_mark() -> impl Strategy<Value = Mark> {
    (any::<bool>(), prop::option::of(0u8..4), 0u64..40, 0i32..3).prop_map(|(is_begin, key, at, tid)| {
        let key = key.map(|key| key.to_string());
        if is_begin { begin(key.as_deref(), at, tid) } else { end(key.as_deref(), at, tid) }
    })
}

proptest! {
    /// Each begin and end is in one interval or in one diagnostic; a negative interval's diagnostic stands for both.
    #[test]
    fn conserves_marks(marks in prop::collection::vec(any_mark(), 0..15)) {
        let count = marks.len();
        let set = pair(marks, Findings::new());
        let negative = said(&set).iter().filter(|what| what.contains("before it begins")).count();
        prop_assert_eq!(2 * set.intervals.len() + set.diagnostics.len() + negative, count);
        prop_assert!(set.intervals.iter().all(|interval| interval.range.start <= interval.range.stop));
    }

    #[test]
    fn does_not_depend_on_the_order_of_lines(
        (marks, shuffled) in prop::collection::vec(any_mark(), 0..20).prop_map(|mut marks| {
            marks.sort_by_key(|mark| mark.at);
            marks.dedup_by_key(|mark| mark.at);
            marks
        }).prop_flat_map(|marks| (Just(marks.clone()), Just(marks).prop_shuffle()))
    ) {
        prop_assert_eq!(pair(marks, Findings::new()), pair(shuffled, Findings::new()));
    }
}
