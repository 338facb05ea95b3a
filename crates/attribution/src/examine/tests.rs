//! Whose time it is, and that for all flows, schedules and records the segments add up.

use model::{Certainty, Segment, Severity, Tsc};
use perfdata::{LeaveReason, Schedule};
use proptest::prelude::*;
use pt::{BlockEnd, EventKind as PtKind};

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{IDLE, Script, Table, WORKER, WRITER, World, interval, record, run};

const KERNEL: &[&str] = &[
    "entry_SYSCALL_64",
    "asm_exc_page_fault",
    "asm_sysvec_apic_timer_interrupt",
    "__do_softirq",
    "net_rx_action",
    "__schedule",
    "vfs_read",
    "__x64_sys_read",
];
const USER: &[&str] = &["work", "other", "third"];

fn table() -> Table {
    Table::new(KERNEL, USER)
}

fn two_threads(table: &Table, records: Vec<SidebandEvent>) -> World<'_> {
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 1000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 200, LeaveReason::Slept(Some('S'))),
        run(IDLE, 1, 200, 500, LeaveReason::Preempted),
        run(WRITER, 1, 500, 1000, LeaveReason::Unknown),
    ]);
    World { table, schedule, records, items: Vec::new(), kernel_traced: true }
}

fn wake(time: u64, waker: model::ThreadId) -> SidebandEvent {
    record(time, 0, waker, Side::Begin, EventKind::Waking { target: WRITER.tid, by_waker: true })
}

/// The segments as (thread, cause, start, stop).
fn owners(segments: &[Segment]) -> Vec<(i32, String, u64, u64)> {
    segments
        .iter()
        .map(|segment| {
            let tid = segment.thread.map_or(-1, |thread| thread.tid.0);
            (tid, segment.cause.to_string(), segment.range.start.0, segment.range.stop.0)
        })
        .collect()
}

#[test]
fn a_publish_mark_hands_over() {
    let table = table();
    let world = two_threads(&table, vec![wake(400, WORKER)]);
    let mut two = interval(100..600);
    (two.stop_thread, two.publish) = (Some(WRITER), Some(Tsc(300)));
    let examined = world.examine_interval(&two);
    let hand_off = examined.hand_off.clone().expect("a mark");
    assert_eq!((hand_off.at, hand_off.certainty), (Tsc(300), Certainty::Measured));
    assert!(examined.remarks().is_empty());
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    assert_eq!(
        owners(attribution.segments()),
        [
            (101, "trace.loss".to_owned(), 100, 300),
            (102, "offcpu.other".to_owned(), 300, 400),
            (102, "offcpu.runnable".to_owned(), 400, 500),
            (102, "trace.loss".to_owned(), 500, 600),
        ]
    );
    assert!(attribution.segments()[1].detail.ends_with("handed over by the publish marker (measured)"));
}

/// Without a mark the last wake-up of the stop thread by the start thread, never by another thread.
#[test]
fn a_wake_up_hands_over_second_best() {
    let table = table();
    let other = model::ThreadId::new(9, 9);
    let world = two_threads(&table, vec![wake(250, WORKER), wake(400, WORKER), wake(450, other)]);
    let mut two = interval(100..600);
    two.stop_thread = Some(WRITER);
    let examined = world.examine_interval(&two);
    let hand_off = examined.hand_off.clone().expect("a wake-up");
    assert_eq!((hand_off.at, hand_off.certainty), (Tsc(400), Certainty::Inferred));
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    let behind = &attribution.segments()[1];
    assert_eq!((behind.range.start, behind.thread), (Tsc(400), Some(WRITER)));
    assert!(
        behind.detail.ends_with("handed over by the wake-up of tid 102 by tid 101 (inferred)"),
        "{}",
        behind.detail
    );
    assert_eq!(examined.remarks().len(), 1);
}

#[test]
fn what_cannot_be_told_about_the_hand_off_is_said() {
    let table = table();
    let world = two_threads(&table, Vec::new());
    let mut two = interval(100..600);
    two.stop_thread = Some(WRITER);
    let remarks = world.examine_interval(&two).remarks();
    assert_eq!(remarks.len(), 1);
    assert!(remarks[0].what.contains("neither a publish marker nor a wake-up"), "{}", remarks[0].what);
    assert_eq!(remarks[0].severity, Severity::Note);
    let mut stop_alone = interval(100..600);
    stop_alone.start_thread = None;
    let remarks = world.examine_interval(&stop_alone).remarks();
    assert!(remarks[0].what.contains("a mark at its stop alone"), "{}", remarks[0].what);
    assert!(world.examine(100..600).remarks().is_empty());
}

/// 100,000 records and 50,000 faults in one interval take about as long as they are many.
#[test]
fn much_is_not_squared() {
    let table = table();
    let mut script = Script::new(&table);
    let mut records = Vec::new();
    for fault in 0..50_000u64 {
        let at = fault * 100;
        let address = EventKind::PageFault { address: at, error_code: None };
        script.block(at, "work", 0, BlockEnd::FallThrough).interrupt(at + 20, "asm_exc_page_fault").block(
            at + 20,
            "asm_exc_page_fault",
            0,
            BlockEnd::FarReturn,
        );
        records.push(record(at + 30, 0, WORKER, Side::Begin, address));
        records.push(wake(at + 50, WORKER));
    }
    let stop = 5_000_000;
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, stop, LeaveReason::Unknown)]);
    let items = script.items.clone();
    let world = World { table: &table, schedule, records, items, kernel_traced: true };
    let began = std::time::Instant::now();
    let attribution = crate::attribute_alone(&world.examine(0..stop)).expect("a partition");
    assert_eq!(attribution.segments().len(), 100_000);
    // Squared it would be 5,000,000,000 steps; the bound leaves room for a busy machine and a debug build.
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

/// One random item of a flow, from two numbers.
fn item(script: &mut Script<'_>, at: u64, what: u64, choice: u64) {
    let ends = [
        BlockEnd::FallThrough,
        BlockEnd::Call,
        BlockEnd::Return,
        BlockEnd::FarCall,
        BlockEnd::FarReturn,
        BlockEnd::Jump,
    ];
    let end = ends[usize::try_from(choice % 6).expect("small")];
    let pick = |names: &[&'static str]| names[usize::try_from(choice / 6).expect("small") % names.len()];
    match what {
        0..=3 => script.block(at, pick(USER), choice % 3 * 16, end),
        4..=8 => script.block(at, pick(KERNEL), choice % 3 * 16, end),
        9 | 10 => script.interrupt(at, pick(&KERNEL[1..3])),
        11 => script.gap(at),
        12 => script.event(at, PtKind::Overflow { ip: None }),
        13 => script.event(at, PtKind::Disabled { ip: None, from: None }),
        14 => script.event(at, PtKind::Enabled { ip: 0x1000, resumed: choice.is_multiple_of(2) }),
        _ => script.event(at, PtKind::CoreBusRatio { ratio: u32::try_from(choice % 3 * 10).expect("small") }),
    };
}

fn random_record(time: u64, what: u64, choice: u64) -> SidebandEvent {
    let thread = [WORKER, WRITER, IDLE][usize::try_from(choice % 3).expect("small")];
    let target = [WORKER.tid, WRITER.tid][usize::try_from(choice % 2).expect("small")];
    let side = if (choice / 2).is_multiple_of(2) { Side::Begin } else { Side::End };
    let cpu = u32::try_from(choice / 4 % 2).expect("small");
    match what {
        0 => record(time, cpu, thread, Side::Begin, EventKind::Waking { target, by_waker: true }),
        1 => record(time, cpu, thread, side, EventKind::Softirq { vector: choice % 11 }),
        2 => record(time, cpu, thread, side, EventKind::Irq { number: choice % 2, name: None }),
        3 => record(time, cpu, thread, side, EventKind::Vector { name: "local_timer".into() }),
        4 => record(
            time,
            cpu,
            thread,
            side,
            EventKind::Syscall { number: choice % 4, arguments: vec![1].into() },
        ),
        5 => {
            record(time, cpu, thread, Side::Begin, EventKind::PageFault { address: choice, error_code: None })
        }
        _ => {
            let state = (side == Side::Begin).then_some(1);
            record(time, cpu, IDLE, side, EventKind::Idle { state })
        }
    }
}

fn random_schedule(lengths: &[(u64, u64)]) -> Schedule {
    let leaves = [
        LeaveReason::Preempted,
        LeaveReason::Slept(Some('S')),
        LeaveReason::Slept(Some('D')),
        LeaveReason::Exited,
        LeaveReason::Unknown,
    ];
    let (mut at, mut runs) = (0, Vec::new());
    for &(length, choice) in lengths {
        let pick = usize::try_from(choice).expect("small");
        let thread = [WORKER, WRITER, WORKER, IDLE][pick % 4];
        runs.push(run(thread, u32::try_from(choice % 2).expect("small"), at, at + length, leaves[pick % 5]));
        at += length;
    }
    Schedule::from_runs(runs)
}

/// Without holes from start to stop, with nothing empty, at every depth.
fn assert_partition(segments: &[Segment], start: u64, stop: u64) {
    let mut edge = Tsc(start);
    for segment in segments {
        assert_eq!(segment.range.start, edge);
        assert!(!segment.range.is_empty());
        edge = segment.range.stop;
        if !segment.during.is_empty() {
            assert_partition(&segment.during, segment.range.start.0, segment.during_stop());
        }
    }
    assert_eq!(edge, Tsc(stop));
}

trait During {
    fn during_stop(&self) -> u64;
}

impl During for Segment {
    fn during_stop(&self) -> u64 {
        self.during.last().map_or(0, |last| last.range.stop.0)
    }
}

/// By cause, the outlier's ticks once for each baseline, minus the baselines' ticks.
fn excesses(
    outlier: &model::Attribution,
    baselines: &[model::Attribution],
) -> std::collections::BTreeMap<String, i128> {
    let mut excesses = std::collections::BTreeMap::new();
    let mut add = |attribution: &model::Attribution, weight: i128| {
        for segment in attribution.segments() {
            *excesses.entry(segment.cause.to_string()).or_default() +=
                weight * i128::from(segment.range.ticks().0);
        }
    };
    add(outlier, i128::try_from(baselines.len()).expect("few"));
    for baseline in baselines {
        add(baseline, -1);
    }
    excesses
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn segments_add_up_whatever_the_capture_says(
        flow in prop::collection::vec((0u64..400, 0u64..16, 0u64..60), 0..80),
        records in prop::collection::vec((0u64..12_000, 0u64..7, 0u64..60), 0..60),
        lengths in prop::collection::vec((1u64..3000, 0u64..20), 0..12),
        start in 0u64..5000, length in 1u64..9000, publish in prop::option::of(0u64..14_000),
        kernel_traced: bool, two: bool
    ) {
        let table = table();
        let mut script = Script::new(&table);
        let mut at = 0;
        for (step, what, choice) in flow {
            at += if step > 390 { 20_000 } else { step };
            item(&mut script, at, what, choice);
        }
        let world = World {
            table: &table,
            schedule: random_schedule(&lengths),
            records: records.iter().map(|&(time, what, choice)| random_record(time, what, choice)).collect(),
            items: script.items.clone(),
            kernel_traced,
        };
        let mut interval = interval(start..start + length);
        if two {
            interval.stop_thread = Some(WRITER);
            interval.publish = publish.map(Tsc);
        }
        let examined = world.examine_interval(&interval);
        let alone = crate::attribute_alone(&examined).expect("a partition");
        assert_partition(alone.segments(), start, start + length);
        prop_assert_eq!(alone.ticks().0, length);
        // Against baselines of the same capture, too.
        let behind = start + length;
        let baselines = [world.examine(behind..behind + 700), world.examine(behind + 700..behind + 1600)];
        let compared = crate::attribute(&examined, &[&baselines[0], &baselines[1]], &table).expect("a partition");
        assert_partition(compared.segments(), start, start + length);
        let typical = baselines.each_ref().map(|one| crate::attribute_alone(one).expect("a partition"));
        // Twice the excess of each cause adds up to twice the length less both baselines' lengths.
        let excess: i128 = excesses(&compared, &typical).values().sum();
        prop_assert_eq!(excess, 2 * i128::from(length) - 1600);
        // A comparison moves user time only.
        let kernel = |attribution: &model::Attribution| -> u64 {
            let segments = attribution.segments().iter();
            let of_kernel = segments.filter(|segment| !segment.cause.to_string().starts_with("user."));
            of_kernel.map(|segment| segment.range.ticks().0).sum()
        };
        prop_assert_eq!(kernel(&alone), kernel(&compared));
    }
}

/// Encodings by hand from the Intel SDM vol. 2: `rep movsb`, instructions of no interest up to the block's end.
const COPIES: &[u8] = &[0xf3, 0xa4, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3];

/// `read()` copies for 12.5 us with one instruction: that is the call's time.
#[test]
fn a_long_copy_is_the_system_calls() {
    let table = table().with_code("vfs_read", COPIES);
    let mut script = Script::new(&table);
    script
        .block(1_000, "work", 0, BlockEnd::FarCall)
        .block(1_500, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .block(1_600, "__x64_sys_read", 0, BlockEnd::Call)
        .block(1_700, "vfs_read", 0, BlockEnd::Return)
        .block(14_200, "__x64_sys_read", Script::AFTER, BlockEnd::FarReturn)
        .block(14_500, "work", 0x20, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 15_000, LeaveReason::Unknown)]);
    let world = World {
        table: &table,
        schedule,
        records: Vec::new(),
        items: script.items.clone(),
        kernel_traced: true,
    };
    let attribution = crate::attribute_alone(&world.examine(1_000..15_000)).expect("a partition");
    let told: Vec<_> = attribution
        .segments()
        .iter()
        .map(|segment| (segment.cause.to_string(), segment.range.ticks().0, segment.detail.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("user.expected".to_owned(), 500, "work"),
            ("kernel.syscall.read".to_owned(), 13_000, "one rep movsb for 12.5 us in vfs_read()"),
            ("user.expected".to_owned(), 500, "work"),
        ]
    );
}

/// The worker's goroutine waits from 100 to 850 for what another thread does, which sleeps from 50 to 700 and then goes on with a
/// goroutine that had parked in `parked`. What that thread did.
fn slept_for(parked: &'static str) -> Vec<(String, String)> {
    let user = ["main.take", "runtime.chanrecv", "runtime.gopark", "runtime.mcall", "runtime.stoplockedm"];
    let more = ["main.keep", "time.Sleep", "runtime.findRunnable", "runtime.execute", "runtime.gogo"];
    let table = Table::new(KERNEL, Box::leak([&user[..], &more].concat().into_boxed_slice()));
    let mut own = Script::new(&table);
    own.block(10, "main.take", 0, BlockEnd::Call)
        .block(20, "runtime.chanrecv", 0, BlockEnd::Call)
        .block(30, "runtime.gopark", 0, BlockEnd::Call)
        .block(40, "runtime.mcall", 0, BlockEnd::Call)
        .block(60, "runtime.stoplockedm", 0, BlockEnd::FarCall)
        .block(900, "runtime.stoplockedm", Script::AFTER, BlockEnd::Jump);
    let mut other = Script::of(&table, WRITER);
    other
        .block(5, "runtime.mcall", 0, BlockEnd::Call)
        .block(45, "runtime.findRunnable", 0, BlockEnd::FarCall)
        .block(700, "runtime.findRunnable", Script::AFTER, BlockEnd::Jump)
        .block(710, "runtime.execute", 0, BlockEnd::Call)
        .block(720, "runtime.gogo", 0, BlockEnd::Jump)
        .block(730, "runtime.gopark", Script::AFTER, BlockEnd::Return)
        .block(740, parked, Script::AFTER, BlockEnd::Return)
        .block(750, "main.keep", Script::AFTER, BlockEnd::Call)
        .block(800, "runtime.chanrecv", 0x80, BlockEnd::FarCall);
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(WORKER, 0, 850, 1000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 50, LeaveReason::Slept(Some('S'))),
        run(WRITER, 1, 700, 1000, LeaveReason::Unknown),
    ]);
    let target = WORKER.tid;
    let records = vec![record(840, 1, WRITER, Side::Begin, EventKind::Waking { target, by_waker: true })];
    let mut items = [own.items, other.items].concat();
    items.sort_by_key(|item| item.time().likely);
    let world = World { table: &table, schedule, records, items, kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(0..1000)).expect("a partition");
    let wait = attribution.segments().iter().find(|segment| !segment.during.is_empty()).expect("a wait");
    assert_eq!((&*wait.story.object, &*wait.story.place), ("a message of a channel", "main.take()"));
    let off = wait.during.iter().take(1);
    off.map(|segment| (segment.cause.to_string(), segment.story.place.clone())).collect()
}

/// A thread of Go's scheduler sleeps for its next goroutine's sleep, and else because it has none to run.
#[test]
fn a_thread_of_the_scheduler_is_idle_or_sleeps_for_its_next_goroutine() {
    assert_eq!(slept_for("time.Sleep"), [("offcpu.sleep".to_owned(), "main.keep()".to_owned())]);
    assert_eq!(slept_for("runtime.chanrecv"), [("runtime.idle.go".to_owned(), String::new())]);
}

/// The worker is off its CPU from 200 to 800, while the writer runs `third`, which calls `other`; `busy` of the 600 ticks are user code.
fn preempted_by_writer(busy: u64) -> (String, String) {
    let table = table();
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 200, LeaveReason::Preempted),
        run(WRITER, 0, 200, 800, LeaveReason::Slept(Some('S'))),
        run(WORKER, 0, 800, 1000, LeaveReason::Unknown),
    ]);
    let mut script = Script::new(&table);
    script.block(0, "work", 0, BlockEnd::Jump);
    let mut writers = Script::of(&table, WRITER);
    writers.block(200, "third", 0, BlockEnd::Call).block(210, "other", 0, BlockEnd::FarCall).block(
        200 + busy,
        "entry_SYSCALL_64",
        0,
        BlockEnd::FallThrough,
    );
    script.items.extend(writers.items);
    script.block(800, "work", 0x20, BlockEnd::Jump);
    let world =
        World { table: &table, schedule, records: Vec::new(), items: script.items, kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..900)).expect("a partition");
    let preempted = &attribution.segments()[1];
    assert_eq!(preempted.cause.to_string(), "offcpu.preempted");
    assert!(preempted.during.is_empty());
    (preempted.story.by.clone(), preempted.story.by_place.clone())
}

#[test]
fn what_ran_in_a_thread_s_place_is_named() {
    assert_eq!(preempted_by_writer(500), ("writer".to_owned(), "other() called by third()".to_owned()));
    // It was in the kernel for most of the time.
    assert_eq!(preempted_by_writer(100), ("writer".to_owned(), String::new()));
}
