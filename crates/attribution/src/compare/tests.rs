//! Budgets by hand: how the ticks of one function are split.

use model::{Cpu, TscRange};
use perfdata::{LeaveReason, Schedule};
use pt::{BlockEnd, EventKind};

use super::*;
use crate::script::{Script, Table, WORKER, World, expected, run, told};

fn used(ticks: u64, instructions: u64) -> Use {
    Use { ticks, instructions, calls: 1, ticks_with_ratio: 0, ratio_ticks: 0 }
}

fn at_ratio(ticks: u64, instructions: u64, ratio: u64) -> Use {
    let ratio_ticks = u128::from(ticks) * u128::from(ratio);
    Use { ticks_with_ratio: ticks, ratio_ticks, ..used(ticks, instructions) }
}

fn against(mean: Use, most_ticks: u64) -> Typical {
    Typical { mean, most_ticks }
}

#[test]
fn what_a_baseline_took_too_is_expected() {
    let typical = against(used(100, 1000), 130);
    assert_eq!(
        budget(used(130, 2000), Some(&typical)),
        Budget { expected: 130, extra: 0, slower_frequency: 0 }
    );
}

/// 300 ticks for 2000 instructions, typical 100 for 1000: the second thousand costs half of 300, the rest is slower.
#[test]
fn more_instructions_cost_what_they_cost_here() {
    let typical = against(used(100, 1000), 100);
    let split = budget(used(300, 2000), Some(&typical));
    assert_eq!(split, Budget { expected: 100, extra: 150, slower_frequency: 0 });
}

#[test]
fn a_function_that_no_baseline_runs_is_extra_work() {
    assert_eq!(budget(used(300, 50), None), Budget { expected: 0, extra: 300, slower_frequency: 0 });
}

/// The same work at ratio 20 instead of 25: of 125 ticks a fifth is owed to the ratio.
#[test]
fn a_lower_ratio_costs_its_share_and_no_more_than_the_excess() {
    let typical = against(at_ratio(100, 1000, 25), 100);
    let split = budget(at_ratio(125, 1000, 20), Some(&typical));
    assert_eq!(split, Budget { expected: 100, extra: 0, slower_frequency: 25 });
    let memory_too = budget(at_ratio(200, 1000, 20), Some(&typical));
    assert_eq!(memory_too, Budget { expected: 100, extra: 0, slower_frequency: 40 });
}

#[test]
fn an_unknown_or_equal_or_higher_ratio_explains_nothing() {
    let slower = |own: Use, usual: Use| budget(own, Some(&against(usual, 100))).slower_frequency;
    assert_eq!(slower(used(200, 1000), at_ratio(100, 1000, 25)), 0);
    assert_eq!(slower(at_ratio(200, 1000, 20), used(100, 1000)), 0);
    assert_eq!(slower(at_ratio(200, 1000, 25), at_ratio(100, 1000, 25)), 0);
    assert_eq!(slower(at_ratio(200, 1000, 30), at_ratio(100, 1000, 25)), 0);
}

/// The ratio was known for half of the time only: of the other half nothing is said.
#[test]
fn a_ratio_speaks_for_the_time_it_was_known_in() {
    let mut own = at_ratio(100, 1000, 20);
    own.ticks = 200;
    let typical = against(at_ratio(100, 1000, 25), 100);
    assert_eq!(budget(own, Some(&typical)).slower_frequency, 20);
}

#[test]
fn a_budget_is_dealt_out_in_order_and_once() {
    let mut budget = Budget { expected: 10, extra: 5, slower_frequency: 0 };
    let parts = |budget: &mut Budget, start: u64, stop: u64| -> Vec<(u64, String)> {
        deal_out(TscRange::new(model::Tsc(start), model::Tsc(stop)), budget)
            .into_iter()
            .filter(|(range, _)| !range.is_empty())
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
}

/// From end to end: `other` runs in the outlier only, `work` takes longer at a lower ratio.
#[test]
fn an_outlier_against_its_baseline() {
    let table = Table::new(&["entry_SYSCALL_64"], &["work", "other"]);
    let mut script = Script::new(&table);
    script
        .event(0, EventKind::CoreBusRatio { ratio: 25 })
        .block(0, "work", 0, BlockEnd::Jump)
        .block(100, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(1000, "work", 0, BlockEnd::Jump)
        .event(1000, EventKind::CoreBusRatio { ratio: 20 })
        .block(1000, "work", 0, BlockEnd::Jump)
        .block(1125, "other", 0, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 2000, LeaveReason::Unknown)]);
    let items = script.items.clone();
    let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
    let baseline = world.examine(0..100);
    let outlier = world.examine(1000..1165);
    assert!(outlier.stays.iter().all(|stay| stay.place == crate::Whereabouts::OnCpu(Cpu(0))));
    let attribution = attribute(&outlier, &[&baseline]).expect("a partition");
    let story = told(&attribution);
    assert_eq!(story.first(), expected(&[("user.expected", 100)]).first());
    assert_eq!(story.last(), expected(&[("user.extra-work", 40)]).last());
    assert_eq!(attribution.ticks().0, 165);
}
