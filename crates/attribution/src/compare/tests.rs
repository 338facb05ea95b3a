//! Outliers against baselines, from end to end.

mod calls;
mod pace;
mod places;

use model::{Cpu, FileOffset};
use perfdata::{LeaveReason, Schedule};
use pt::{BlockEnd, EventKind, FlowItem};

use super::*;
use crate::testing::script::{Script, Table, WORKER, World, conversion, run, told};
use crate::walk::string_instructions::StringTime;

const KERNEL: &[&str] = &["entry_SYSCALL_64"];
const USER: &[&str] = &["work", "rehash", "copy", "insert"];

#[test]
fn a_budget_is_dealt_out_in_order_and_once() {
    let mut budget = Budget { expected: 10, extra: 5, slower_other: 14, ..Budget::default() };
    let parts = |budget: &mut Budget, start: u64, stop: u64| -> Vec<(u64, String)> {
        let range = TscRange::new(model::Tsc(start), model::Tsc(stop));
        deal_out(range, budget)
            .into_iter()
            .map(|(range, cause)| (range.ticks().0, cause.to_string()))
            .collect()
    };
    let named = |ticks, name: &str| (ticks, name.to_owned());
    assert_eq!(parts(&mut budget, 0, 8), [named(8, "user.expected")]);
    assert_eq!(
        parts(&mut budget, 100, 120),
        [named(2, "user.expected"), named(5, "user.extra-work"), named(13, "user.slower.other")]
    );
    assert_eq!(parts(&mut budget, 200, 201), [named(1, "user.slower.other")]);
    assert_eq!(parts(&mut budget, 300, 302), [named(2, "user.expected")]);
}

/// The items of `script`, whose time on CPU 0 lasts until `stop`.
fn world(table: &Table, items: Vec<FlowItem>, stop: u64) -> World<'_> {
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, stop, LeaveReason::Unknown)]);
    World { table, schedule, records: Vec::new(), items, kernel_traced: true }
}

/// Cause, ticks and particulars of the user segments that are not expected.
fn unexpected(attribution: &Attribution) -> Vec<(String, u64, String)> {
    let segments = attribution.segments().iter().filter(|segment| segment.cause != Cause::UserExpected);
    segments
        .map(|segment| (segment.cause.to_string(), segment.range.ticks().0, segment.detail.clone()))
        .collect()
}

/// `insert` runs in the outlier only, `work` takes longer at a lower ratio.
#[test]
fn an_outlier_against_its_baseline() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .event(0, EventKind::CoreBusRatio { ratio: 25 })
        .block(0, "work", 0, BlockEnd::Jump)
        .block(1_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .event(10_000, EventKind::CoreBusRatio { ratio: 20 })
        .block(10_000, "work", 0, BlockEnd::Jump)
        .block(11_250, "insert", 0, BlockEnd::Jump);
    let world = world(&table, script.items.clone(), 20_000);
    let (baseline, outlier) = (world.examine(0..1_000), world.examine(10_000..11_650));
    assert!(outlier.stays.iter().all(|stay| stay.place == crate::Whereabouts::OnCpu(Cpu(0))));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    assert_eq!(told(&attribution)[0], ("user.expected".to_owned(), 1_000));
    let named = |cause: &str| -> u64 {
        unexpected(&attribution).iter().filter(|segment| segment.0 == cause).map(|segment| segment.1).sum()
    };
    assert_eq!((named("user.slower.frequency"), named("user.extra-work")), (250, 400));
    assert_eq!(attribution.ticks().0, 1_650);
}

/// `copy` in one of eight baselines, called by `insert`; in the outlier `rehash` calls it: that is no usual work from elsewhere.
#[test]
fn what_few_baselines_do_elsewhere_is_new() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    for (at, called) in (0..9_u64).map(|index| {
        (
            index * 2_000,
            [None, Some("insert"), Some("rehash")][match index {
                3 => 1,
                8 => 2,
                _ => 0,
            }],
        )
    }) {
        match called {
            None => script.block(at, "work", 0, BlockEnd::Jump),
            Some(called) => script
                .block(at, "work", 0x20, BlockEnd::Call)
                .block(at + 100, called, 0, BlockEnd::Call)
                .block(at + 200, "copy", 0, BlockEnd::Return)
                .block(at + 950, called, Script::AFTER, BlockEnd::Return)
                .block(at + 960, "work", 0x20 + Script::AFTER, BlockEnd::Jump),
        };
        script.block(at + 1_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn);
    }
    let world = world(&table, script.items.clone(), 20_000);
    let examined: Vec<_> =
        (0..9_u64).map(|index| world.examine(index * 2_000..index * 2_000 + 1_000)).collect();
    let baselines: Vec<_> = examined[..8].iter().collect();
    let attribution = attribute(&examined[8], &baselines, &table).expect("a partition");
    let extra: u64 =
        unexpected(&attribution).iter().filter(|one| one.0 == "user.extra-work").map(|one| one.1).sum();
    // 110 ticks of `rehash`, and of the 750 of `copy` what is more than an eighth.
    assert_eq!(extra, 110 + 750 - 750 / 8);
}

/// The end of `insert`, which set the mark, or the beginning of the one that sets the next: the baseline was cut beside it.
#[test]
fn code_that_an_edge_cuts_off_is_no_extra_work() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .block(10_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(20_000, "insert", 0x40, BlockEnd::Return)
        .block(20_400, "work", 0, BlockEnd::Call)
        .block(30_400, "insert", 0, BlockEnd::Jump)
        .block(30_800, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(40_000, "insert", 0x40, BlockEnd::Return)
        .block(44_000, "work", 0, BlockEnd::Jump);
    let world = world(&table, script.items.clone(), 90_000);
    let baseline = world.examine(0..10_000);
    for range in [20_000..30_400, 20_400..30_800] {
        let attribution = attribute(&world.examine(range), &[&baseline], &table).expect("a partition");
        assert_eq!(unexpected(&attribution), []);
    }
    // What is long is not the mark's.
    let attribution = attribute(&world.examine(40_000..54_000), &[&baseline], &table).expect("a partition");
    assert_eq!(unexpected(&attribution)[0].1, 4_000);
}
