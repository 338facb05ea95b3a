//! Each filter by hand.

use super::*;
use model::{IntervalId, TscRange};

struct Facts;

impl ThreadFacts for Facts {
    fn cpus(&self, interval: &Interval) -> Vec<Cpu> {
        vec![Cpu(u32::try_from(interval.id.0).expect("small"))]
    }

    fn comm(&self, thread: ThreadId, _at: Tsc) -> Option<String> {
        (thread.tid == Tid(2)).then(|| "worker".to_owned())
    }
}

fn members(filters: &Filters) -> Vec<usize> {
    let interval = |id, label, start, stop, thread| {
        Interval::new(IntervalId(id), label, TscRange::new(Tsc(start), Tsc(stop)), thread)
    };
    let mut handed_over = interval(1, "b", 20, 30, Some(ThreadId::new(1, 3)));
    handed_over.stop_thread = Some(ThreadId::new(1, 2));
    let intervals =
        [interval(0, "a", 10, 20, Some(ThreadId::new(1, 1))), handed_over, interval(2, "a", 30, 40, None)];
    filters.members(&intervals, &Facts)
}

#[test]
fn nothing_asked_for_lets_all_pass() {
    assert_eq!(members(&Filters::default()), [0, 1, 2]);
}

#[test]
fn each_filter() {
    let span = |from, to| TimeSpan { from: Some(Tsc(from)), to: Some(Tsc(to)) };
    for (filters, expected) in [
        (Filters { times: vec![span(0, 10), span(35, 36)], ..Filters::default() }, vec![0, 2]),
        (Filters { times: vec![span(0, 9)], ..Filters::default() }, vec![]),
        (
            Filters { times: vec![TimeSpan { from: Some(Tsc(25)), to: None }], ..Filters::default() },
            vec![1, 2],
        ),
        (Filters { cpus: vec![Cpu(1), Cpu(2)], ..Filters::default() }, vec![1, 2]),
        (Filters { pids: vec![Pid(1)], ..Filters::default() }, vec![0, 1]),
        (Filters { tids: vec![Tid(2)], ..Filters::default() }, vec![1]),
        (Filters { comms: vec!["worker".to_owned()], ..Filters::default() }, vec![1]),
        (Filters { labels: vec!["a".to_owned()], ..Filters::default() }, vec![0, 2]),
        (Filters { labels: vec!["a".to_owned()], tids: vec![Tid(1)], ..Filters::default() }, vec![0]),
    ] {
        assert_eq!(members(&filters), expected, "{filters:?}");
    }
}
