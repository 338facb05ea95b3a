//! Items of a queue that wait.

use model::{Interval, IntervalId, Ticks, Tsc, TscRange};
use perfdata::{LeaveReason, Schedule};

use super::claims_of_queue;
use crate::inputs::queues::Queues;
use crate::testing::script::{Table, WORKER, WRITER, World, expected, told};
use crate::walk::activity::{Activity, Spin};

/// An item that the writer gives the worker.
fn item(id: u64, start: u64, stop: u64) -> Interval {
    let range = TscRange::new(Tsc(start), Tsc(stop));
    let mut item = Interval::new(IntervalId(id), "item", range, Some(WORKER));
    item.start_thread = Some(WRITER);
    item
}

/// Item 3 came at 100; items 1 and 2 were done at 300 and 500, item 3 at 600.
#[test]
fn each_item_before_has_its_own_time() {
    let table = Table::new(&[], &["work"]);
    let schedule =
        Schedule::from_runs(vec![crate::testing::script::run(WORKER, 0, 0, 1000, LeaveReason::Unknown)]);
    let world =
        World { table: &table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true };
    let items = [item(1, 50, 300), item(2, 90, 500), item(3, 100, 600)];
    let attribution = crate::attribute_alone(&world.examine_among(&items[2], &items)).expect("a partition");
    assert_eq!(
        told(&attribution),
        expected(&[("queue.behind", 200), ("queue.behind", 200), ("trace.loss", 100)])
    );
    assert_eq!(attribution.segments()[0].detail, "queued behind item 1");
    assert_eq!(attribution.segments()[1].detail, "queued behind item 2");
    // What the worker did for the first of the longest: here nothing is traced.
    let during: Vec<_> = attribution.segments().iter().map(|segment| segment.during.len()).collect();
    assert_eq!(during.iter().sum::<usize>(), 1);
}

/// The worker slept until 250: it was not busy until then.
#[test]
fn a_thread_that_sleeps_is_not_busy_yet() {
    let table = Table::new(&[], &["work"]);
    let schedule = Schedule::from_runs(vec![
        crate::testing::script::run(WORKER, 0, 0, 50, LeaveReason::Slept(Some('S'))),
        crate::testing::script::run(WORKER, 0, 250, 1000, LeaveReason::Unknown),
    ]);
    let world =
        World { table: &table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true };
    let items = [item(1, 90, 400), item(2, 100, 600)];
    let attribution = crate::attribute_alone(&world.examine_among(&items[1], &items)).expect("a partition");
    assert_eq!(
        told(&attribution),
        expected(&[("offcpu.other", 150), ("queue.behind", 150), ("trace.loss", 200)])
    );
}

/// By the flow the thread left the loop at 450, with an uncertainty of 400; by the mark the item was done at 300.
#[test]
fn a_mark_tells_more_than_a_loop_whose_end_is_not_known() {
    let item = item(2, 100, 600);
    let spin = Spin {
        caller: None,
        range: TscRange::new(Tsc(90), Tsc(450)),
        packet: Tsc(90),
        function: None,
        address: 0,
        rounds: 9,
        dozes: false,
        left: true,
        uncertainty: Ticks(400),
    };
    let activity = Activity { spins: vec![spin], ..Activity::default() };
    let behind = |stop: u64| claims_of_queue(&item, Tsc(100), &[(Tsc(stop), IntervalId(1))], &[], &activity);
    assert_eq!(behind(300)[0].range(), TscRange::new(Tsc(100), Tsc(300)));
    assert_eq!(behind(500)[0].range(), TscRange::new(Tsc(450), Tsc(500)));
}

/// Only what another thread hands over can queue; only items of the same kind are in the same queue.
#[test]
fn a_thread_does_not_queue_behind_itself() {
    let mut own = [item(1, 50, 300), item(2, 100, 600)];
    for item in &mut own {
        item.start_thread = Some(WORKER);
    }
    assert!(Queues::new(&own).before(&own[1]).is_empty());
    let mut other_label = [item(1, 50, 300), item(2, 100, 600)];
    other_label[0].label = "other".into();
    assert!(Queues::new(&other_label).before(&other_label[1]).is_empty());
}
