//! Pairing by hand, and that no mark is lost.

mod phases;

use super::*;
use model::Stage;
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

/// 600,000 begins without an end take as many steps: a displaced one moves no other.
#[test]
fn a_displaced_begin_moves_no_other() {
    let mut pairing = Pairing::default();
    for at in 0..DEEPEST_NESTING as u64 {
        pairing.take(begin(None, at, 1));
    }
    let lane = Lane::of(&begin(None, 0, 1));
    let places = |pairing: &Pairing| -> HashMap<Tsc, *const Open> {
        pairing.open[&lane].iter().map(|open| (open.begin.at, std::ptr::from_ref(open))).collect()
    };
    let before = places(&pairing);
    pairing.take(begin(None, DEEPEST_NESTING as u64, 1));
    let after = places(&pairing);
    assert_eq!(after.len(), DEEPEST_NESTING);
    let moved = before.iter().filter(|(at, place)| after.get(at).is_some_and(|now| now != *place)).count();
    assert_eq!(moved, 0);
}

fn loss(thread: Option<i32>, first: u64, last: u64) -> Loss {
    Loss { thread: thread.map(|tid| ThreadId::new(1, tid)), first: Tsc(first), last: Tsc(last) }
}

fn around(marks: &[Mark], losses: &[Loss]) -> IntervalSet {
    pair_around(marks.to_vec(), losses.to_vec(), Findings::new())
}

/// The program made 1 begin, 2 end, 3 begin, 4 end; 2 and 3 were lost.
#[test]
fn a_loss_closes_what_its_thread_has_open_without_a_key() {
    let marks = [begin(None, 1, 1), end(None, 4, 1), begin(None, 5, 1), end(None, 6, 1)];
    let set = around(&marks, &[loss(Some(1), 2, 3)]);
    assert_eq!(ranges(&set), [(5, 6)]);
    assert_eq!(
        said(&set),
        [
            "begin of \"x\" at 1 is open where markers of its thread were lost: it is left out",
            "end of \"x\" at 4 has no begin: it is left out",
        ]
    );
    assert_eq!(ranges(&around(&marks, &[loss(Some(2), 2, 3)])), [(1, 4), (5, 6)], "another thread's loss");
    assert_eq!(ranges(&around(&marks, &[loss(None, 2, 3)])), [(5, 6)], "a loss of any thread");
    assert_eq!(ranges(&around(&marks, &[loss(Some(1), 4, 5)])), [(1, 4), (5, 6)], "a loss between the two");
}

#[test]
fn a_loss_that_lasts_lets_nothing_begin() {
    let marks = [begin(None, 2, 1), end(None, 8, 1), begin(None, 9, 1), end(None, 10, 1)];
    assert_eq!(ranges(&around(&marks, &[loss(Some(1), 1, 9)])), [(9, 10)]);
    let last = [begin(None, 2, 1)];
    assert!(
        said(&around(&last, &[loss(Some(1), 3, 4)]))[0].contains("were lost"),
        "a loss after the last marker"
    );
}

/// A key that is used once pairs its two ends, whatever was lost between them. One that is used again may have lost an
/// end and a begin.
#[test]
fn a_loss_makes_keys_doubtful_that_are_used_again() {
    let one = |key, start, stop| [begin(Some(key), start, 1), end(Some(key), stop, 2)];
    let unique = [one("a", 1, 9), one("b", 20, 29)].concat();
    assert_eq!(ranges(&around(&unique, &[loss(Some(3), 4, 5)])), [(1, 9), (20, 29)]);
    let again = [one("a", 1, 9), one("b", 20, 29), one("b", 30, 39)].concat();
    let set = around(&again, &[loss(Some(3), 4, 5)]);
    assert_eq!(ranges(&set), [(20, 29), (30, 39)]);
    assert!(said(&set)[0].contains("from 1 to 9 spans lost markers"), "{:?}", set.diagnostics);
    assert_eq!(ranges(&around(&again, &[loss(Some(3), 9, 20)])).len(), 3, "between the intervals");
    assert_eq!(ranges(&around(&again, &[loss(Some(3), 0, 40)])).len(), 0, "all through");
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

    /// The survivors of nested pairs: an interval that comes of them is one that the program marked.
    #[test]
    fn losses_never_make_an_interval(depths in prop::collection::vec(0u8..3, 1..40), lost in 0usize..60, many in 1usize..20) {
        let (mut marks, mut open, mut made) = (Vec::new(), Vec::new(), HashSet::new());
        for depth in depths {
            while open.len() > usize::from(depth) {
                let (start, stop): (u64, u64) = (open.pop().expect("is open"), marks.len() as u64);
                made.insert((start, stop));
                marks.push(end(None, stop, 1));
            }
            open.push(marks.len() as u64);
            marks.push(begin(None, marks.len() as u64, 1));
        }
        let lost = lost.min(marks.len() - 1)..(lost + many).min(marks.len());
        let gap = loss(Some(1), lost.start as u64, lost.end.max(lost.start + 1) as u64 - 1);
        let gone: Vec<Mark> = marks.drain(lost).collect();
        let losses = if gone.is_empty() { Vec::new() } else { vec![gap] };
        let set = pair_around(marks, losses, Findings::new());
        prop_assert!(ranges(&set).iter().all(|range| made.contains(range)), "{:?} of {made:?}", ranges(&set));
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
