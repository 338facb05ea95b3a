//! Trees of spans. Expected times are calculated by hand.

use super::*;
use model::{IntervalId, Tsc};

fn interval(label: &str, start: u64, stop: u64) -> Interval {
    Interval::new(IntervalId(0), label, TscRange { start: Tsc(start), stop: Tsc(stop) }, None)
}

fn divided(mut intervals: Vec<Interval>, links: &[Link]) -> Vec<Vec<(String, u64, u64)>> {
    divide(&mut intervals, links);
    let plain = |child: &Child| (child.label.clone(), child.spans, child.time.0);
    intervals.iter().map(|interval| interval.children.iter().map(plain).collect()).collect()
}

fn ids(span: u64, parent: Option<u64>) -> Link {
    Link::Ids { trace: 1, span, parent }
}

#[test]
fn a_parent_of_another_trace_or_none_is_no_parent() {
    let intervals = vec![interval("a", 0, 10), interval("b", 1, 2), interval("c", 1, 3)];
    let other = Link::Ids { trace: 2, span: 6, parent: Some(5) };
    assert!(divided(intervals, &[ids(5, Some(5)), ids(6, Some(9)), other]).iter().all(Vec::is_empty));
}

#[test]
fn children_that_leave_their_parent_count_within_it() {
    let intervals =
        vec![interval("a", 10, 20), interval("b", 0, 12), interval("b", 19, 30), interval("c", 25, 30)];
    let links = [ids(1, None), ids(2, Some(1)), ids(3, Some(1)), ids(4, Some(1))];
    let children = divided(intervals, &links);
    assert_eq!(children[0], [("b".to_owned(), 2, 3), ("c".to_owned(), 1, 0)]);
}

#[test]
fn lanes_nest_by_time_and_overlaps_do_not() {
    let intervals = vec![
        interval("a", 0, 10),
        interval("b", 5, 15),
        interval("c", 6, 9),
        interval("d", 15, 16),
        interval("e", 1, 2),
    ];
    let lane = Link::Lane(0);
    let children = divided(intervals, &[lane, lane, lane, lane, Link::Lane(1)]);
    let of_b = [("c".to_owned(), 1, 3)];
    assert_eq!(children, [&[][..], &of_b, &[], &[], &[]]);
}

#[test]
fn labels_beyond_the_limit_are_one() {
    let mut intervals = vec![interval("a", 0, 1000)];
    let mut links = vec![ids(1, None)];
    for number in 0..100 {
        intervals.push(interval(&format!("c{number:03}"), number * 10, number * 10 + 5));
        links.push(ids(number + 2, Some(1)));
    }
    let children = divided(intervals, &links);
    assert_eq!(children[0].len(), 32);
    // 31 of 5 ticks each are kept apart.
    assert_eq!(children[0][31], ("(others)".to_owned(), 69, 345));
}
