use model::{IntervalId, ThreadId, Tsc, TscRange};

use super::*;

fn of_thread(tid: i32) -> Interval {
    Interval::new(IntervalId(1), "order", TscRange::new(Tsc(1), Tsc(2)), Some(ThreadId::new(7, tid)))
}

#[test]
fn says_why_there_are_none() {
    assert_eq!(rule(&of_thread(8), (0, 0), &[]), "none: --baselines 0 asks for none");
    assert_eq!(rule(&of_thread(8), (16, 0), &[]), "none: no other interval of this label is typical");
}
