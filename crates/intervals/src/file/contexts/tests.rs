//! Spans by hand, and who worked for them when.

use model::{IntervalId, Pid, Tid};

use super::*;
use PhaseKind::{Await, Run};

const A: ThreadId = ThreadId { pid: Pid(1), tid: Tid(10) };
const B: ThreadId = ThreadId { pid: Pid(1), tid: Tid(11) };

/// Names, ids, parents and times; none has a thread.
fn given(
    spans: &[(&str, u64, Option<u64>, u64, u64)],
    contexts: &[(u64, ThreadId, u64)],
    bound: u64,
) -> (Vec<Interval>, Vec<String>) {
    let interval = |(number, (label, _, _, start, stop)): (u64, &(&str, u64, Option<u64>, u64, u64))| {
        Interval::new(IntervalId(number), *label, TscRange::new(Tsc(*start), Tsc(*stop)), None)
    };
    let mut intervals: Vec<Interval> = (0..).zip(spans).map(interval).collect();
    let links: Vec<Link> =
        spans.iter().map(|&(_, span, parent, ..)| Link::Ids { trace: 7, span, parent }).collect();
    let lacking: Vec<(usize, Origin)> =
        (0..spans.len()).zip(1..).map(|(index, line)| (index, Origin::Line(line))).collect();
    let contexts: Vec<SpanContext> =
        contexts.iter().map(|&(at, thread, span)| SpanContext { at: Tsc(at), thread, span }).collect();
    let mut findings = Findings::new();
    give_threads(&mut intervals, &links, &lacking, (&contexts, Ticks(bound)), &mut findings);
    let said =
        findings.into_diagnostics().into_iter().map(|found| format!("{}: {}", found.place, found.what));
    (intervals, said.collect())
}

fn phases(interval: &Interval) -> Vec<(PhaseKind, i32, u64, u64)> {
    let phase = |phase: &Phase| {
        (phase.kind, phase.thread.expect("known").tid.0, phase.range.start.0, phase.range.stop.0)
    };
    interval.phases.iter().map(phase).collect()
}

/// The record is made after the span has begun; the span ends after the thread has put it away.
#[test]
fn a_span_has_the_thread_that_worked_for_it() {
    let (found, said) = given(&[("a", 5, None, 100, 200)], &[(110, A, 5), (190, A, 0), (195, A, 9)], 0);
    assert_eq!((found[0].start_thread, found[0].stop_thread), (Some(A), Some(A)));
    assert!(found[0].phases.is_empty() && said.is_empty(), "{said:?}");
}

/// As W3C's bytes lie in memory, a processor with its least byte first reads the id reversed.
#[test]
fn either_order_of_bytes_is_understood() {
    let id = 0x0102_0304_0506_0708;
    let (found, _) = given(&[("a", id, None, 100, 200)], &[(110, A, 0x0807_0605_0403_0201)], 0);
    assert_eq!(found[0].start_thread, Some(A));
}

#[test]
fn a_span_that_goes_to_another_thread_has_phases() {
    let contexts = [(100, A, 5), (130, A, 0), (160, B, 5), (190, B, 0)];
    let (found, _) = given(&[("a", 5, None, 90, 200)], &contexts, 0);
    assert_eq!((found[0].start_thread, found[0].stop_thread), (Some(A), Some(B)));
    assert_eq!(
        phases(&found[0]),
        [(Run, 10, 90, 130), (Await, 10, 130, 160), (Run, 11, 160, 190), (Await, 11, 190, 200)]
    );
}

/// A loop of events: one thread works for several spans in turn.
#[test]
fn spans_of_one_thread_are_laid_aside_for_one_another() {
    let spans = [("a", 5, None, 100, 200), ("b", 6, None, 100, 200)];
    let contexts = [(100, A, 5), (120, A, 6), (150, A, 5), (180, A, 6), (200, A, 0)];
    let (found, _) = given(&spans, &contexts, 0);
    assert_eq!(
        phases(&found[0]),
        [(Run, 10, 100, 120), (Await, 10, 120, 150), (Run, 10, 150, 180), (Await, 10, 180, 200)]
    );
    // Before the first record its thread is taken to be the same.
    assert_eq!(phases(&found[1]), [(Run, 10, 100, 150), (Await, 10, 150, 180), (Run, 10, 180, 200)]);
}

/// A thread that works for a child works for its parent: no wait of the parent.
#[test]
fn work_for_a_child_is_work_for_its_parent() {
    let spans = [("a", 5, None, 100, 200), ("b", 6, Some(5), 120, 150), ("c", 7, Some(6), 130, 140)];
    let contexts = [(105, A, 5), (121, A, 6), (131, A, 7), (139, A, 6), (149, A, 5), (195, A, 0)];
    let (found, said) = given(&spans, &contexts, 0);
    assert!(found.iter().all(|one| one.start_thread == Some(A) && one.phases.is_empty()), "{found:?}");
    assert!(said.is_empty(), "{said:?}");
}

/// Two threads at once: the first one, and after it the other.
#[test]
fn of_two_threads_at_once_the_first_counts() {
    let contexts = [(100, A, 5), (110, B, 5), (150, A, 0), (180, B, 0)];
    let (found, _) = given(&[("a", 5, None, 100, 180)], &contexts, 0);
    assert_eq!(phases(&found[0]), [(Run, 10, 100, 150), (Run, 11, 150, 180)]);
}

#[test]
fn a_span_that_no_record_names_has_its_place_and_a_remedy() {
    let spans = [("a", 5, None, 100, 200), ("b", 6, None, 300, 400)];
    let (found, said) = given(&spans, &[(250, A, 6)], 10);
    assert!(found.iter().all(|one| one.start_thread.is_none()));
    assert!(said[0].starts_with("line 1") && said[0].contains("thread.id"), "{said:?}");
    assert!(said[1].starts_with("line 2") && said[1].contains("40 ticks outside"), "{said:?}");
    assert!(said[1].contains("clock pairs"), "{said:?}");
    // Within the bound of the clocks it is right.
    let (found, said) = given(&spans, &[(250, A, 6), (105, A, 5)], 50);
    assert!(found.iter().all(|one| one.start_thread == Some(A)) && said.is_empty(), "{said:?}");
}

/// Of equal ids the one counts in whose time the record lies.
#[test]
fn an_id_may_be_used_again() {
    let spans = [("a", 5, None, 100, 200), ("a", 5, None, 300, 400)];
    let (found, _) = given(&spans, &[(110, A, 5), (190, A, 0), (310, B, 5)], 0);
    assert_eq!(found.iter().map(|one| one.start_thread).collect::<Vec<_>>(), [Some(A), Some(B)]);
}

/// Parents in a ring, and a thousand turns.
#[test]
fn rings_and_many_turns_are_bounded() {
    let spans = [("a", 5, Some(6), 0, 100_000), ("b", 6, Some(5), 0, 100_000)];
    let contexts: Vec<(u64, ThreadId, u64)> =
        (0..10_000).map(|at| (at, if at % 2 == 0 { A } else { B }, if at % 4 < 2 { 5 } else { 0 })).collect();
    let (found, said) = given(&spans, &contexts, 0);
    assert_eq!(found[0].phases.len(), MOST_PHASES);
    assert_eq!(found[0].phases.last().expect("one").range.stop, Tsc(100_000));
    assert!(said.iter().any(|what| what.contains("4096 are kept")), "{said:?}");
}
