//! Hand-made records of osnoise: with a flow, without one, beside pairs of records, and of threads.

use model::{Attribution, Certainty, Tid};
use perfdata::{LeaveReason, Schedule};
use pt::BlockEnd;

use crate::records::event::{EventKind, Noise, Side, SidebandEvent};
use crate::testing::script::{Script, Table, WORKER, WRITER, World, expected, record, run, told};

const KERNEL: &[&str] = &["asm_common_interrupt", "asm_exc_nmi", "__do_softirq"];

fn noise(time: u64, of: Noise, ns: u64) -> SidebandEvent {
    record(time, 0, WORKER, Side::Begin, EventKind::Noise { of, ns })
}

fn irq() -> Noise {
    Noise::Irq { name: "nvme0q1".into() }
}

fn on_cpu() -> Schedule {
    Schedule::from_runs(vec![run(WORKER, 0, 0, 10_000, LeaveReason::Unknown)])
}

fn without_trace(records: Vec<SidebandEvent>) -> Attribution {
    let table = Table::new(KERNEL, &["work"]);
    let world = World { table: &table, schedule: on_cpu(), records, items: Vec::new(), kernel_traced: true };
    crate::attribute_alone(&world.examine_without_trace(0..10_000, &[])).expect("a partition")
}

/// By the kernel's rule: an NMI of 400 ns in an interrupt whose own time is 1,100 ns; a softirq of 2,000 ns follows, of whose 2,500 ns
/// an interrupt of 500 takes its part. The tick is called as its vector is.
#[test]
fn a_measured_duration_lacks_what_interrupted_it() {
    let attribution = without_trace(vec![
        noise(3_000, Noise::Nmi, 400),
        noise(4_000, irq(), 1_100),
        noise(5_500, Noise::Irq { name: "local_timer".into() }, 500),
        noise(7_000, Noise::Softirq { vector: 3 }, 2_000),
        // A sum, or what osnoise did not measure, is no record of this kind.
        noise(9_000, Noise::Hardware, 100),
    ]);
    assert_eq!(
        told(&attribution),
        expected(&[
            ("trace.filtered", 2_500),
            ("kernel.irq.nvme0q1", 100),
            ("kernel.nmi", 400),
            ("kernel.irq.nvme0q1", 1_000),
            ("trace.filtered", 500),
            ("kernel.softirq.net_rx", 500),
            ("kernel.timer", 500),
            ("kernel.softirq.net_rx", 1_500),
            ("trace.filtered", 1_900),
            ("hardware.gap", 100),
            ("trace.filtered", 1_000),
        ])
    );
    let segments = attribution.segments();
    assert_eq!(segments[1].detail, "osnoise measured 1.1 us");
    assert_eq!(segments[1].certainty, Certainty::Measured);
    assert_eq!(segments[1].occurrence, segments[3].occurrence);
    assert_ne!(segments[1].occurrence, segments[5].occurrence);
}

/// The flow shows the interrupt from its entry to its return, osnoise the action's part of it.
#[test]
fn work_of_the_flow_is_not_counted_again() {
    let table = Table::new(KERNEL, &["work"]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FallThrough)
        .interrupt(100, "asm_common_interrupt")
        .block(100, "asm_common_interrupt", 0, BlockEnd::FarReturn)
        .block(1_000, "work", 0x20, BlockEnd::Jump);
    let records = vec![noise(900, irq(), 700)];
    let world = World {
        table: &table,
        schedule: on_cpu(),
        records,
        items: script.items.clone(),
        kernel_traced: true,
    };
    let attribution = crate::attribute_alone(&world.examine(0..1_200)).expect("a partition");
    let flow = expected(&[("user.expected", 100), ("kernel.irq.nvme0q1", 900), ("user.expected", 200)]);
    assert_eq!(told(&attribution), flow);
    let segment = &attribution.segments()[1];
    assert_eq!((segment.certainty, &*segment.detail), (Certainty::Decoded, "osnoise measured 0.7 us"));
}

/// `irq_handler_entry` and `_exit` were recorded, too: one interrupt, with both in evidence.
#[test]
fn work_of_a_pair_of_records_is_not_counted_again() {
    let pair = |time, side| {
        let name = Some("nvme0q1".to_owned());
        record(time, 0, WORKER, side, EventKind::Irq { number: 24, name })
    };
    let records = vec![pair(2_000, Side::Begin), pair(2_900, Side::End), noise(2_950, irq(), 920)];
    let attribution = without_trace(records);
    let once = [("trace.filtered", 2_000), ("kernel.irq.nvme0q1", 900), ("trace.filtered", 7_100)];
    assert_eq!(told(&attribution), expected(&once));
    let segment = &attribution.segments()[1];
    assert_eq!(segment.detail, "osnoise measured 0.9 us");
    assert_eq!(segment.evidence.len(), 3);
}

/// The records' own delay: the second interrupt seems to begin before the first ended.
#[test]
fn two_interrupts_in_a_row_are_two() {
    let attribution = without_trace(vec![noise(3_000, irq(), 500), noise(3_600, irq(), 700)]);
    let of_irq =
        attribution.segments().iter().filter(|segment| segment.cause.to_string() == "kernel.irq.nvme0q1");
    let (lengths, details): (Vec<u64>, Vec<&str>) =
        of_irq.map(|segment| (segment.range.ticks().0, &*segment.detail)).unzip();
    assert_eq!(lengths.iter().sum::<u64>(), 1_100);
    assert_eq!(details, ["osnoise measured 0.5 us", "osnoise measured 0.7 us"]);
}

/// The worker is off CPU 0 from 100 to 2,000; the switches of others are not recorded. Without a thread to watch, osnoise
/// measures the worker itself, too.
#[test]
fn a_measured_thread_preempted_the_one_that_could_run() {
    let table = Table::new(KERNEL, &["work"]);
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Preempted),
        run(WORKER, 0, 2_000, 3_000, LeaveReason::Unknown),
    ]);
    let thread = |time: u64, tid: i32, comm: &str, ns| {
        let of = Noise::Thread { tid: Tid(tid), comm: comm.into() };
        record(time, 0, WRITER, Side::Begin, EventKind::Noise { of, ns })
    };
    let records = vec![
        thread(99, 101, "worker", 90),
        thread(900, 77, "kworker/0:1", 500),
        noise(1_500, irq(), 300),
        thread(1_990, 122, "comp-cfs", 700),
    ];
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..2_000)).expect("a partition");
    assert_eq!(told(&attribution), expected(&[("offcpu.preempted", 1_900)]));
    let segment = &attribution.segments()[0];
    assert_eq!(
        segment.detail,
        "by comp-cfs (tid 122) for 0.7 us, kworker/0:1 (tid 77) for 0.5 us on CPU 0, as osnoise measured"
    );
    assert_eq!(segment.story.by, "comp-cfs");
}

/// A time that no duration of a file may have: all that is known is that it ended.
#[test]
fn a_duration_from_before_the_clock_began_is_cut() {
    let attribution = without_trace(vec![noise(500, irq(), u64::MAX), noise(600, Noise::Nmi, u64::MAX)]);
    assert_eq!(attribution.segments().iter().map(|segment| segment.range.ticks().0).sum::<u64>(), 10_000);
}
