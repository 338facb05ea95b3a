//! Edges, reasons and holes by hand-made records; no overlap for any records.

use model::{Cpu, FileOffset, PerfTime, ThreadId};
use proptest::prelude::*;

use super::cpu_track::{At, SchedSwitch};
use super::switches::Tracks;
use super::{LeaveReason, Priority, Schedule};
use crate::record::Record;

const A: ThreadId = thread(10);
const B: ThreadId = thread(11);
const IDLE: ThreadId = thread(0);

const fn thread(tid: i32) -> ThreadId {
    ThreadId { pid: model::Pid(tid), tid: model::Tid(tid) }
}

/// On CPU 0; the record's offset is its time.
fn at(time: u64) -> At {
    on_cpu(0, time)
}

fn on_cpu(cpu: u32, time: u64) -> At {
    At { cpu: Cpu(cpu), time: PerfTime(time), record: FileOffset(time) }
}

fn switch(time: u64, prev: ThreadId, next: ThreadId, leave: LeaveReason) -> SchedSwitch {
    SchedSwitch { prev, next, leave, priorities: [Some(Priority(120)), Some(Priority(49))], at: at(time) }
}

/// (tid, start, stop, leave, record of the start, record of the stop) of each run on CPU 0.
type Row = (i32, u64, u64, LeaveReason, Option<u64>, Option<u64>);

fn rows(schedule: &Schedule, cpu: u32) -> Vec<Row> {
    let record = |offset: Option<FileOffset>| offset.map(|offset| offset.0);
    schedule
        .on_cpu(Cpu(cpu))
        .map(|run| {
            let (start, stop) = (run.start.0, run.stop.0);
            (run.thread.tid.0, start, stop, run.leave, record(run.start_record), record(run.stop_record))
        })
        .collect()
}

#[test]
fn sched_switch_is_the_edge_and_the_reason() {
    let mut tracks = Tracks::default();
    tracks.present(at(100), Some(A));
    tracks.sched_switch(switch(200, A, B, LeaveReason::Slept(Some('D'))));
    tracks.out(at(202), Some(A), Some(B), false);
    tracks.switched_in(at(203), Some(B), Some(A));
    tracks.sched_switch(switch(300, B, IDLE, LeaveReason::Preempted));
    tracks.out(at(301), Some(B), Some(IDLE), true);
    let schedule = tracks.finish(PerfTime(400));
    assert_eq!(
        rows(&schedule, 0),
        [
            (10, 100, 200, LeaveReason::Slept(Some('D')), None, Some(200)),
            (11, 200, 300, LeaveReason::Preempted, Some(203), Some(300)),
            (0, 300, 400, LeaveReason::Unknown, Some(300), None),
        ]
    );
    assert_eq!(schedule.of_thread(B.tid).len(), 1);
    assert_eq!(schedule.of_thread(IDLE.tid).len(), 0, "the idle task is on every CPU");
}

/// A leaves with priority 120 and B comes with 49; B's SWITCH out says nothing of it. Numbers: `include/linux/sched/prio.h`.
#[test]
fn sched_switch_shows_the_priorities() {
    let mut tracks = Tracks::default();
    tracks.present(at(100), Some(A));
    tracks.sched_switch(switch(200, A, B, LeaveReason::Preempted));
    tracks.out(at(202), Some(A), Some(B), true);
    tracks.out(at(300), Some(B), Some(IDLE), false);
    let schedule = tracks.finish(PerfTime(400));
    let found: Vec<_> = schedule.on_cpu(Cpu(0)).map(|run| run.priority).collect();
    assert_eq!(found, [Some(Priority(120)), Some(Priority(49)), None]);
    let told = [-1, 0, 98, 100, 120, 139].map(|prio| Priority(prio).to_string());
    let expected =
        ["SCHED_DEADLINE", "real-time priority 99", "real-time priority 1", "nice -20", "nice 0", "nice 19"];
    assert_eq!(told, expected);
}

/// A's EXIT record at 190: at 200 A does not go to sleep. A thread that comes back, or whose number another one gets, has
/// not ended there.
#[test]
fn who_leaves_after_its_exit_record_has_ended() {
    let exit = Record::Exit { thread: A, parent: A, time: 190 };
    let fork = Record::Fork { thread: A, parent: B, time: 250 };
    let how = |exits: bool, comes_back: bool, forks: bool| {
        let mut tracks = Tracks::default();
        tracks.present(at(100), Some(A));
        if exits {
            tracks.learn_lives(&exit, PerfTime(190));
        }
        tracks.out(at(200), Some(A), Some(IDLE), false);
        if forks {
            tracks.learn_lives(&fork, PerfTime(250));
        }
        if comes_back {
            tracks.out(at(300), Some(IDLE), Some(A), false);
        }
        rows(&tracks.finish(PerfTime(400)), 0)[0].3
    };
    assert_eq!(how(true, false, false), LeaveReason::Exited);
    assert_eq!(how(false, false, false), LeaveReason::Slept(None));
    assert_eq!(how(true, true, false), LeaveReason::Slept(None));
    assert_eq!(how(true, true, true), LeaveReason::Exited);
}

#[test]
fn sched_switch_alone_is_the_edge() {
    let mut tracks = Tracks::default();
    tracks.present(at(100), None);
    tracks.sched_switch(switch(200, A, B, LeaveReason::Slept(Some('S'))));
    // Still A's side of the switch, then B.
    tracks.present(at(201), Some(A));
    tracks.present(at(205), Some(B));
    let schedule = tracks.finish(PerfTime(300));
    assert_eq!(
        rows(&schedule, 0),
        [
            (10, 100, 200, LeaveReason::Slept(Some('S')), None, Some(200)),
            (11, 200, 300, LeaveReason::Unknown, Some(200), None),
        ]
    );
}

/// An AUX record of the next thread before the SWITCH records of the same switch.
#[test]
fn a_record_between_those_of_one_switch_moves_no_edge() {
    let mut tracks = Tracks::default();
    tracks.present(at(100), Some(A));
    tracks.sched_switch(switch(200, A, B, LeaveReason::Slept(Some('S'))));
    tracks.present(at(201), Some(B));
    tracks.out(at(202), Some(A), Some(B), false);
    tracks.switched_in(at(203), Some(B), Some(A));
    // A SWITCH out of its own: nothing decided it before.
    tracks.out(at(300), Some(B), Some(IDLE), true);
    assert_eq!(
        rows(&tracks.finish(PerfTime(400)), 0),
        [
            (10, 100, 200, LeaveReason::Slept(Some('S')), None, Some(200)),
            (11, 200, 300, LeaveReason::Preempted, Some(200), Some(300)),
            (0, 300, 400, LeaveReason::Unknown, Some(300), None),
        ]
    );
}

#[test]
fn records_of_single_threads_leave_the_rest_unknown() {
    let mut tracks = Tracks::default();
    tracks.switched_in(at(100), Some(A), None);
    tracks.out(at(200), Some(A), None, false);
    tracks.switched_in(at(300), Some(A), None);
    let schedule = tracks.finish(PerfTime(350));
    assert_eq!(
        rows(&schedule, 0),
        [
            (10, 100, 200, LeaveReason::Slept(None), Some(100), Some(200)),
            (10, 300, 350, LeaveReason::Unknown, Some(300), None),
        ]
    );
}

/// Where no `sched_switch` gives the edge, the decision lies between the record before and the SWITCH record, and not
/// longer before than usual: 10 us for SWITCH out, 50 us for SWITCH in.
#[test]
fn switch_records_say_how_late_they_may_be() {
    let mut tracks = Tracks::default();
    tracks.switched_in(at(1_000), Some(A), None);
    tracks.present(at(200_000), Some(A));
    tracks.out(at(203_000), Some(A), None, false);
    tracks.switched_in(at(900_000), Some(A), None);
    tracks.out(at(990_000), Some(A), Some(IDLE), false);
    tracks.sched_switch(switch(1_000_000, IDLE, A, LeaveReason::Preempted));
    tracks.out(at(1_000_900), Some(IDLE), Some(A), true);
    let schedule = tracks.finish(PerfTime(2_000_000));
    let late: Vec<_> = schedule.of_thread(A.tid).map(|run| (run.start_late_ns, run.stop_late_ns)).collect();
    assert_eq!(late, [(0, 3_000), (50_000, 10_000), (0, 0)]);
    assert!(schedule.tells_switches());
}

#[test]
fn an_ended_thread_has_no_number_any_more() {
    let mut tracks = Tracks::default();
    tracks.switched_in(at(100), Some(A), Some(IDLE));
    tracks.out(at(200), None, Some(IDLE), false);
    tracks.switched_in(at(201), Some(IDLE), Some(thread(-1)));
    let schedule = tracks.finish(PerfTime(300));
    assert_eq!(
        rows(&schedule, 0),
        [
            (10, 100, 200, LeaveReason::Exited, Some(100), Some(200)),
            (0, 200, 300, LeaveReason::Unknown, Some(201), None),
        ]
    );
}

#[test]
fn nothing_is_known_across_lost_records() {
    let mut tracks = Tracks::default();
    tracks.switched_in(at(100), Some(A), Some(IDLE));
    tracks.present(at(150), Some(A));
    tracks.lost(at(500));
    tracks.out(at(510), Some(B), Some(IDLE), false);
    let schedule = tracks.finish(PerfTime(600));
    assert_eq!(
        rows(&schedule, 0),
        [
            (10, 100, 150, LeaveReason::Unknown, Some(100), None),
            (11, 500, 510, LeaveReason::Slept(None), None, Some(510)),
            (0, 510, 600, LeaveReason::Unknown, Some(510), None),
        ]
    );
}

#[test]
fn a_thread_is_on_one_cpu_at_a_time() {
    let mut tracks = Tracks::default();
    tracks.switched_in(on_cpu(0, 100), Some(A), Some(IDLE));
    tracks.present(on_cpu(0, 150), Some(A));
    tracks.out(on_cpu(1, 200), Some(IDLE), Some(A), false);
    let schedule = tracks.finish(PerfTime(300));
    assert_eq!(rows(&schedule, 0), [(10, 100, 150, LeaveReason::Unknown, Some(100), None)]);
    assert_eq!(rows(&schedule, 1), [(10, 200, 300, LeaveReason::Unknown, Some(200), None)]);
}

/// Any record a hostile or lossy capture may have at one moment.
#[derive(Clone, Debug)]
enum Step {
    Out(i32, Option<i32>, bool),
    In(i32, Option<i32>),
    SchedSwitch(i32, i32),
    Present(i32),
    Lost,
}

fn any_step() -> impl Strategy<Value = Step> {
    let tid = -1..4i32;
    prop_oneof![
        (tid.clone(), proptest::option::of(tid.clone()), any::<bool>())
            .prop_map(|(prev, next, preempt)| Step::Out(prev, next, preempt)),
        (tid.clone(), proptest::option::of(tid.clone())).prop_map(|(next, prev)| Step::In(next, prev)),
        (0..4i32, 0..4i32).prop_map(|(prev, next)| Step::SchedSwitch(prev, next)),
        tid.prop_map(Step::Present),
        Just(Step::Lost),
    ]
}

fn take(tracks: &mut Tracks, at: At, step: &Step) {
    let alive = |tid: i32| (tid >= 0).then(|| thread(tid));
    match *step {
        Step::Out(prev, next, preempt) => tracks.out(at, alive(prev), next.map(thread), preempt),
        Step::In(next, prev) => tracks.switched_in(at, alive(next), prev.map(thread)),
        Step::SchedSwitch(prev, next) => {
            let (prev, next) = (thread(prev), thread(next));
            let (leave, priorities) = (LeaveReason::Preempted, [None; 2]);
            tracks.sched_switch(SchedSwitch { prev, next, leave, priorities, at });
        }
        Step::Present(tid) => tracks.present(at, alive(tid)),
        Step::Lost => tracks.lost(at),
    }
}

proptest! {
    #[test]
    fn runs_never_overlap(steps in proptest::collection::vec((0u32..3, 0u64..5, any_step()), 0..200)) {
        let mut tracks = Tracks::default();
        let mut time = 1;
        for (cpu, wait, step) in &steps {
            time += wait;
            take(&mut tracks, on_cpu(*cpu, time), step);
        }
        let schedule = tracks.finish(PerfTime(time + 1));
        for cpu in schedule.cpus() {
            let runs: Vec<_> = schedule.on_cpu(cpu).collect();
            prop_assert!(runs.iter().all(|run| run.start < run.stop));
            prop_assert!(runs.windows(2).all(|pair| pair[0].stop <= pair[1].start));
        }
        for tid in 1..4 {
            let runs: Vec<_> = schedule.of_thread(model::Tid(tid)).collect();
            prop_assert!(runs.windows(2).all(|pair| pair[0].stop <= pair[1].start), "{:?}", runs);
        }
    }
}

/// The idle task never sleeps, so a kernel that knows the flag sets it whenever that leaves a CPU. `sched_switch` gives
/// the reason in any case.
#[test]
fn the_idle_task_tells_whether_preemptions_are_marked() {
    let hidden = |preempt: bool, decided: bool| {
        let mut tracks = Tracks::default();
        tracks.present(at(100), Some(IDLE));
        if decided {
            tracks.sched_switch(switch(200, IDLE, A, LeaveReason::Preempted));
        }
        tracks.out(at(202), Some(IDLE), Some(A), preempt);
        tracks.switched_in(at(203), Some(A), Some(IDLE));
        tracks.finish(PerfTime(300)).hides_preemptions()
    };
    assert_eq!([hidden(false, false), hidden(true, false), hidden(false, true)], [true, false, false]);
}
