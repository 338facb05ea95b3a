//! Tasks by hand: one tick is one nanosecond. The worker and the writer are two workers of a runtime.

use model::{Cause, Details, Interval, IntervalId, OffCpu, Phase, PhaseKind, ThreadId, Tsc, TscRange};
use perfdata::{LeaveReason, Schedule};
use proptest::prelude::*;
use pt::BlockEnd;

use crate::inputs::queues::Queues;
use crate::testing::script::{Script, Table, WORKER, WRITER, World, expected, run, told};

/// A task with these phases: kind, thread, and begin; each lasts to the next one, or to `stop`.
fn task(id: u64, label: &str, phases: &[(PhaseKind, ThreadId, u64)], stop: u64) -> Interval {
    let range = TscRange::new(Tsc(phases[0].2), Tsc(stop));
    let stops = phases.iter().map(|phase| phase.2).skip(1).chain([stop]);
    let phases = phases.iter().zip(stops).map(|(&(kind, thread, start), stop)| Phase {
        kind,
        thread: Some(thread),
        range: TscRange::new(Tsc(start), Tsc(stop)),
    });
    let details = Details { phases: phases.collect(), ..Details::default() };
    Interval::new(IntervalId(id), label, range, Some(WORKER)).with(details)
}

/// Both workers run until 100,000; the second one sleeps from 40,000 to 60,000.
fn world(table: &Table) -> World<'_> {
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100_000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 40_000, LeaveReason::Slept(Some('S'))),
        run(WRITER, 1, 60_000, 100_000, LeaveReason::Unknown),
    ]);
    World { table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true }
}

/// Ready from 10,000 on, polled by the second worker at 80,000: that one polled another task before, in which it slept.
#[test]
fn a_ready_task_waits_for_its_worker() {
    use PhaseKind::{Ready, Run};
    let table = Table::new(&[], &["work"]);
    let request = task(1, "request", &[(Ready, WORKER, 10_000), (Run, WRITER, 80_000)], 90_000);
    let audit = task(7, "audit", &[(Run, WRITER, 20_000)], 75_000);
    let examined = world(&table).examine_among(&request, &[request.clone(), audit]);
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    assert_eq!(told(&attribution), expected(&[("queue.runtime", 70_000), ("trace.loss", 10_000)]));
    let ready = &attribution.segments()[0];
    assert_eq!(ready.detail, "ready while worker writer (tid 102) polled audit 7 for 55.0 us");
    assert_eq!((&*ready.story.by, &*ready.story.object), ("writer", "audit 7"));
    // Below it the worker's own time, of which it slept 20 us.
    let slept = ready.during.iter().filter(|part| part.cause == Cause::OffCpu(OffCpu::Other));
    assert_eq!(slept.map(|part| part.range.ticks().0).sum::<u64>(), 20_000);
    assert_eq!(ready.during.iter().map(|part| part.range.ticks().0).sum::<u64>(), 70_000);
}

/// It awaits from 20,000 on; a task wakes it at 70,000 in its own poll, after a wait in which no thread ran it.
#[test]
fn the_task_that_wakes_is_named_and_examined() {
    use PhaseKind::{Await, Ready, Run};
    let table = Table::new(&[], &["work"]);
    let phases =
        [(Run, WORKER, 10_000), (Await, WORKER, 20_000), (Ready, WRITER, 70_000), (Run, WORKER, 75_000)];
    let request = task(1, "request", &phases, 90_000);
    let phases =
        [(Run, WRITER, 5_000), (Await, WRITER, 30_000), (Ready, WORKER, 62_000), (Run, WRITER, 65_000)];
    let mut audit = task(7, "audit", &phases, 80_000);
    audit.key = Some("nightly".to_owned());
    let examined = world(&table).examine_among(&request, &[audit, request.clone()]);
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    assert_eq!(
        told(&attribution),
        expected(&[
            ("trace.loss", 10_000),
            ("offcpu.other", 50_000),
            ("queue.runtime", 5_000),
            ("trace.loss", 15_000)
        ])
    );
    let waited = &attribution.segments()[1];
    assert_eq!(waited.detail, "woken by audit nightly on writer (tid 102)");
    // Of audit's time from 20,000 to 70,000: 10 us on a worker, 32 us of waiting, 3 us ready, 5 us on a worker.
    let below: Vec<(String, u64)> =
        waited.during.iter().map(|part| (part.cause.to_string(), part.range.ticks().0)).collect();
    let below_expected =
        [("trace.loss", 10_000), ("offcpu.other", 32_000), ("queue.runtime", 3_000), ("trace.loss", 5_000)];
    assert_eq!(below, expected(&below_expected));
    assert_eq!(attribution.segments()[2].detail, "ready until worker worker (tid 101) polled it");
}

/// The waking thread releases an async mutex: the path to the marker says so.
#[test]
fn the_wakers_path_says_what_was_awaited() {
    use PhaseKind::{Await, Ready, Run};
    let table = Table::new(&[], &["post", "drop_in_place<tokio::sync::mutex::MutexGuard<u64>>", "mark"]);
    let phases =
        [(Run, WORKER, 10_000), (Await, WORKER, 20_000), (Ready, WRITER, 70_000), (Run, WORKER, 75_000)];
    let request = task(1, "request", &phases, 90_000);
    let audit = task(7, "audit", &[(Run, WRITER, 60_000)], 80_000);
    let mut script = Script::of(&table, WRITER);
    script
        .block(61_000, "post", 0, BlockEnd::Call)
        .block(69_000, "drop_in_place<tokio::sync::mutex::MutexGuard<u64>>", 0, BlockEnd::Call)
        .block(69_900, "mark", 0, BlockEnd::Jump);
    let world = World { items: script.items, ..world(&table) };
    let examined = world.examine_among(&request, &[request.clone(), audit]);
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    let waited = attribution.segments().iter().find(|segment| segment.cause == Cause::OffCpu(OffCpu::Lock));
    let waited = waited.expect("a wait for a lock");
    assert_eq!(waited.range, TscRange::new(Tsc(20_000), Tsc(70_000)));
    assert_eq!((&*waited.story.object, waited.story.role), ("an async mutex", model::Role::Holder));
    assert!(
        waited.detail.starts_with("awaited an async mutex, woken by audit 7 on writer"),
        "{}",
        waited.detail
    );
}

/// Where the waker's path says no more than that a semaphore was released, the task's own last poll says of what, and which function awaits it.
#[test]
fn the_last_poll_says_what_was_awaited_and_where() {
    use PhaseKind::{Await, Ready, Run};
    const ADD: &str =
        "<tokio::sync::mpsc::bounded::Semaphore as tokio::sync::mpsc::chan::Semaphore>::add_permits";
    const RELEASE: &str = "tokio::sync::batch_semaphore::Semaphore::add_permits_locked";
    const MARK: &str = "<tailtrace_marks::task::Marker as alloc::task::Wake>::wake";
    const LOCK: &str = "tokio::sync::mutex::Mutex<T>::lock::{{closure}}";
    let table = Table::new(
        &[],
        &["shop::post::{{closure}}", LOCK, "tokio::time::sleep::Sleep::poll", ADD, RELEASE, MARK],
    );
    let phases =
        [(Run, WORKER, 10_000), (Await, WORKER, 20_000), (Ready, WRITER, 70_000), (Run, WORKER, 75_000)];
    let request = task(1, "request", &phases, 90_000);
    // The poll before its wait took place before the request began.
    let phases =
        [(Run, WRITER, 2_000), (Await, WRITER, 6_000), (Ready, WORKER, 62_000), (Run, WRITER, 65_000)];
    let audit = task(7, "audit", &phases, 80_000);
    let mut script = Script::of(&table, WRITER);
    script
        .block(3_000, "shop::post::{{closure}}", 0, BlockEnd::Call)
        .block(4_000, "tokio::time::sleep::Sleep::poll", 0, BlockEnd::Return)
        .block(5_000, "shop::post::{{closure}}", 5, BlockEnd::Jump);
    let mut items = script.items;
    let mut script = Script::of(&table, WORKER);
    script
        .block(11_000, "shop::post::{{closure}}", 0, BlockEnd::Call)
        .block(15_000, LOCK, 0, BlockEnd::Return)
        .block(19_000, "shop::post::{{closure}}", 5, BlockEnd::Jump);
    items.extend(script.items);
    let mut script = Script::of(&table, WRITER);
    script.block(66_000, ADD, 0, BlockEnd::Call).block(69_000, RELEASE, 0, BlockEnd::Call).block(
        69_500,
        MARK,
        0,
        BlockEnd::Jump,
    );
    items.extend(script.items);
    let world = World { items, ..world(&table) };
    let examined = world.examine_among(&request, &[request.clone(), audit]);
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    let waited = attribution.segments().iter().find(|segment| segment.cause == Cause::OffCpu(OffCpu::Lock));
    let waited = waited.expect("a wait for a lock");
    assert_eq!((&*waited.story.object, &*waited.story.place), ("an async mutex", "shop::post()"));
    let awaited = "awaited an async mutex in shop::post(), woken by audit 7 on writer (tid 102)";
    assert!(waited.detail.starts_with(awaited), "{}", waited.detail);
    assert!(waited.detail.contains(&format!("called by {RELEASE}() < ")), "{}", waited.detail);
    assert_eq!((&*waited.story.by, waited.story.is_not_run), ("audit 7 on writer", true));
    let slept = waited.during.iter().find(|part| part.cause == Cause::OffCpu(OffCpu::Sleep));
    let slept = slept.expect("the holder slept");
    assert_eq!((slept.range.ticks().0, &*slept.story.place), (42_000, "shop::post()"));
    // What a thread ran of the task has that worker.
    let ran = attribution.segments().iter().find(|segment| segment.cause == Cause::UserExpected);
    assert_eq!(ran.expect("user code").story.worker, "worker");
}

#[test]
fn workers_of_one_name_have_their_numbers() {
    use PhaseKind::{Await, Ready, Run};
    let table = Table::named(&[], &["work"], "worker");
    let phases =
        [(Run, WORKER, 10_000), (Await, WORKER, 20_000), (Ready, WRITER, 70_000), (Run, WRITER, 75_000)];
    let request = task(1, "request", &phases, 90_000);
    let examined = world(&table).examine_among(&request, std::slice::from_ref(&request));
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    let by: Vec<&str> = attribution.segments().iter().map(|segment| &*segment.story.by).collect();
    assert_eq!(by, ["", "worker (tid 102)", "worker (tid 102)", ""]);
    let on: Vec<&str> = attribution.segments().iter().map(|segment| &*segment.story.worker).collect();
    assert_eq!(on, ["worker (tid 101)", "", "", "worker (tid 102)"]);
}

/// What a slice carries of it: the task that was polled first, the one that woke it, and the one that woke that.
#[test]
fn tasks_with_a_part_in_its_time_are_found() {
    use PhaseKind::{Await, Ready, Run};
    let request = task(
        1,
        "request",
        &[(Ready, WORKER, 10_000), (Run, WRITER, 20_000), (Await, WRITER, 30_000), (Ready, WORKER, 60_000)],
        70_000,
    );
    let first = task(2, "first", &[(Run, WRITER, 12_000)], 19_000);
    let waker =
        task(3, "waker", &[(Await, WORKER, 25_000), (Ready, WRITER, 40_000), (Run, WORKER, 45_000)], 65_000);
    let root = task(4, "root", &[(Run, WRITER, 39_000)], 41_000);
    let apart = task(5, "apart", &[(Run, WORKER, 0)], 1_000);
    let queues = Queues::new(&[request.clone(), first, waker, root, apart]);
    let ids: Vec<u64> = queues.beside(&request).into_iter().map(|(_, id)| id.0).collect();
    assert_eq!(ids, [2, 3, 4]);
    assert!(queues.before(&request).is_empty());
}

fn any_phases() -> impl Strategy<Value = Vec<(PhaseKind, ThreadId, u64)>> {
    let kind = prop_oneof![Just(PhaseKind::Run), Just(PhaseKind::Ready), Just(PhaseKind::Await)];
    let thread = prop_oneof![Just(WORKER), Just(WRITER)];
    prop::collection::vec((kind, thread, 0u64..95_000), 1..12).prop_map(|mut phases| {
        phases.sort_by_key(|phase| phase.2);
        phases
    })
}

proptest! {
    /// Whatever the phases, the segments' sum is the interval, and no thread is given time in which none ran the task.
    #[test]
    fn segments_partition_a_task(one in any_phases(), other in any_phases()) {
        let table = Table::new(&[], &["work"]);
        let (one, other) = (task(1, "one", &one, 95_000), task(2, "other", &other, 99_000));
        let examined = world(&table).examine_among(&one, &[one.clone(), other]);
        let attribution = crate::attribute_alone(&examined).expect("a partition");
        let sum: u64 = attribution.segments().iter().map(|segment| segment.range.ticks().0).sum();
        prop_assert_eq!(sum, one.range.ticks().0);
        let queued = |segments: &[model::Segment]| -> u64 {
            let of_queue = segments.iter().filter(|segment| segment.cause == Cause::QueueRuntime);
            of_queue.map(|segment| segment.range.ticks().0).sum()
        };
        let ready = one.phases.iter().filter(|phase| phase.kind == PhaseKind::Ready);
        prop_assert_eq!(queued(attribution.segments()), ready.map(|phase| phase.range.ticks().0).sum::<u64>());
    }
}
