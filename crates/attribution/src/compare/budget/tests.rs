//! Budgets by hand: how the ticks of one node are split.

use super::*;
use crate::compare::pace::Pace;

fn used(ticks: u64, instructions: u64) -> Use {
    Use { ticks, instructions, calls: 1, ..Use::default() }
}

fn at_ratio(ticks: u64, instructions: u64, ratio: u32) -> Use {
    Use { ratio: pace(&[(ticks, ratio)]), ..used(ticks, instructions) }
}

/// (ticks, ratio or kHz) of each part.
fn pace(parts: &[(u64, u32)]) -> Pace {
    let mut pace = Pace::default();
    for &(ticks, rate) in parts {
        pace.add(ticks, rate);
    }
    pace
}

/// 1000 instructions in these parts, (ticks, requested kHz), without a CBR packet.
fn at_asked(parts: &[(u64, u32)]) -> Use {
    let ticks = parts.iter().map(|part| part.0).sum();
    Use { asked: pace(parts), ..used(ticks, 1000) }
}

fn against(mean: Use, most_ticks: u64) -> Typical {
    Typical { mean, most_ticks, most_calls: mean.calls }
}

#[test]
fn what_a_baseline_took_too_is_expected() {
    let typical = against(used(10_000, 1000), 13_000);
    assert_eq!(
        budget(&used(13_000, 2000), Some(&typical), 1000),
        Budget { expected: 13_000, ..Budget::default() }
    );
}

/// 30,000 ticks for 2000 instructions, typical 10,000 for 1000: the second thousand costs half of 30,000, the rest is
/// slower.
#[test]
fn more_instructions_cost_what_they_cost_here() {
    let typical = against(used(10_000, 1000), 10_000);
    let split = budget(&used(30_000, 2000), Some(&typical), 1000);
    assert_eq!(split, Budget { expected: 10_000, extra: 15_000, slower_other: 5_000, ..Budget::default() });
}

/// 900 instructions in 18,000 ticks at half the ratio, typical 1000 in 10,000: half of the time is the ratio's, though the excess is less.
#[test]
fn what_a_slower_core_costs_does_not_depend_on_what_others_took() {
    let typical = against(at_ratio(10_000, 1000, 26), 10_000);
    let split = budget(&at_ratio(18_000, 900, 13), Some(&typical), 0);
    assert_eq!(split, Budget { expected: 9_000, slower_frequency: 9_000, ..Budget::default() });
}

/// A tenth more iterations is an item of another size, not other work.
#[test]
fn a_few_more_iterations_are_no_extra_work() {
    let typical = against(used(10_000, 10_000), 10_000);
    assert_eq!(budget(&used(20_000, 11_000), Some(&typical), 1000).extra, 0);
}

#[test]
fn a_call_that_no_baseline_makes_is_extra_work() {
    assert_eq!(budget(&used(300, 50), None, 50), Budget { extra: 300, ..Budget::default() });
}

/// The same work at ratio 20 instead of 25: of 12,500 ticks a fifth is due to the ratio.
#[test]
fn a_lower_ratio_costs_its_share_and_no_more_than_the_excess() {
    let typical = against(at_ratio(10_000, 1000, 25), 10_000);
    let split = |own| {
        let split = budget(&own, Some(&typical), 0);
        (split.expected, split.slower_frequency, split.slower_other)
    };
    assert_eq!(split(at_ratio(12_500, 1000, 20)), (10_000, 2_500, 0));
    assert_eq!(split(at_ratio(20_000, 1000, 20)), (10_000, 4_000, 6_000));
}

#[test]
fn an_unknown_or_equal_or_higher_ratio_explains_nothing() {
    let slower = |own: Use, usual: Use| budget(&own, Some(&against(usual, 100)), 0).slower_frequency;
    assert_eq!(slower(used(200, 1000), at_ratio(100, 1000, 25)), 0);
    assert_eq!(slower(at_ratio(200, 1000, 20), used(100, 1000)), 0);
    assert_eq!(slower(at_ratio(200, 1000, 25), at_ratio(100, 1000, 25)), 0);
    assert_eq!(slower(at_ratio(200, 1000, 30), at_ratio(100, 1000, 25)), 0);
}

/// The ratio was known for half of the time only: the other half is unknown.
#[test]
fn a_ratio_speaks_for_the_time_it_was_known_in() {
    let own = Use { ticks: 20_000, ..at_ratio(10_000, 1000, 20) };
    let typical = against(at_ratio(10_000, 1000, 25), 10_000);
    assert_eq!(budget(&own, Some(&typical), 0).slower_frequency, 2_000);
}

/// 10,000 ticks at 3 GHz are 30,000 at 1 GHz: 20,000 are due to it, and of 34,000 two thirds.
#[test]
fn a_lower_frequency_that_was_asked_for_costs_its_share() {
    let typical = against(at_asked(&[(10_000, 3_000_000)]), 10_000);
    let split = |own| {
        let split = budget(&own, Some(&typical), 0);
        (split.expected, split.slower_frequency, split.slower_other)
    };
    assert_eq!(split(at_asked(&[(30_000, 1_000_000)])), (10_000, 20_000, 0));
    assert_eq!(split(at_asked(&[(34_000, 1_000_000)])), (10_000, 22_667, 1_333));
    assert_eq!(split(at_asked(&[(34_000, 3_000_000)])), (10_000, 0, 24_000));
}

/// Half of the cycles at 3 GHz, 5,000 ticks, the other half at 1 GHz, 15,000: 20,000 ticks at 1.5 GHz on average, of
/// which half are due to it. 1 kHz less than typical costs the one tick to which it is rounded up.
#[test]
fn a_frequency_that_changes_meanwhile_counts_by_its_time() {
    let typical = against(at_asked(&[(10_000, 3_000_000)]), 10_000);
    let slower = |own| budget(&own, Some(&typical), 0).slower_frequency;
    let own = at_asked(&[(5_000, 3_000_000), (15_000, 1_000_000)]);
    assert_eq!(own.asked.below(&typical.mean.asked), Some((1_500_000_000, 3_000_000_000)));
    assert_eq!(slower(own), 10_000);
    assert_eq!(slower(at_asked(&[(20_000, 2_999_999)])), 1);
}

/// 2.6 GHz is a ratio of 26 on a bus of 100 MHz, and of 25 on one of 101 MHz: the two are never converted.
#[test]
fn a_ratio_and_a_frequency_are_not_held_against_each_other() {
    let slower = |own: Use, usual: Use| budget(&own, Some(&against(usual, 10_000)), 0).slower_frequency;
    let (ratio, asked) = (at_ratio(20_000, 1000, 25), at_asked(&[(20_000, 2_600_000)]));
    assert_eq!(slower(ratio, at_asked(&[(10_000, 2_600_000)])), 0);
    assert_eq!(slower(asked, at_ratio(10_000, 1000, 26)), 0);
    // Each of two parts in its own unit: half as fast, and a quarter.
    let own =
        Use { ticks: 60_000, ratio: pace(&[(20_000, 10)]), asked: pace(&[(40_000, 1_000_000)]), ..asked };
    let usual = Use {
        ratio: pace(&[(10_000, 20)]),
        asked: pace(&[(10_000, 4_000_000)]),
        ..at_ratio(20_000, 1000, 20)
    };
    assert_eq!(budget(&own, Some(&against(usual, 20_000)), 0).slower_frequency, 10_000 + 30_000);
}

fn compared(own: &[Use], typical: &[Use]) -> Vec<Budget> {
    compared_where(FrontEnd::NotKnown, own, typical)
}

/// With what is known about the front end.
fn compared_where(front_end: FrontEnd, own: &[Use], typical: &[Use]) -> Vec<Budget> {
    compared_with(front_end, own, typical, |_| ())
}

/// With baselines that `change` alters.
fn compared_with(
    front_end: FrontEnd,
    own: &[Use],
    typical: &[Use],
    change: impl FnOnce(&mut Baselines),
) -> Vec<Budget> {
    let mut code = UserCode::default();
    let nodes: Vec<NodeKey> = (0..own.len())
        .map(|index| {
            let start = 0x1000 * (index as u64 + 1);
            let name = format!("f{index}").into();
            code.node(
                NodeKey::default(),
                Some(&crate::Function {
                    start,
                    range: start..start + 16,
                    name,
                    library: false,
                    collector: None,
                }),
            )
        })
        .collect();
    let mut baselines = Baselines::default();
    for (node, used) in nodes.iter().zip(typical) {
        baselines.nodes.insert(*node, against(*used, used.ticks));
    }
    baselines.whole = against(whole(&nodes.iter().copied().zip(typical.iter().copied()).collect()), 0);
    change(&mut baselines);
    let own: Profile = nodes.iter().copied().zip(own.iter().copied()).collect();
    let budgets = budgets(&own, &baselines, &ByAddress::default(), &ByAddress::default(), (front_end, 0));
    nodes.iter().map(|node| budgets[node]).collect()
}

/// 5,000 ticks moved between adjacent functions: the time packet between them came late.
#[test]
fn what_only_moved_is_not_slower() {
    let split = compared(&[used(15_000, 100), used(5_000, 100)], &[used(10_000, 100), used(10_000, 100)]);
    assert_eq!(
        split,
        [Budget { expected: 15_000, ..Budget::default() }, Budget { expected: 5_000, ..Budget::default() }]
    );
}

/// 30 % more than typical occurs without a reason; 100 % does not.
#[test]
fn jitter_is_expected() {
    assert_eq!(
        compared(&[used(13_000, 100)], &[used(10_000, 100)]),
        [Budget { expected: 13_000, ..Budget::default() }]
    );
    let slower = Budget { expected: 10_000, slower_other: 10_000, ..Budget::default() };
    assert_eq!(compared(&[used(20_000, 100)], &[used(10_000, 100)]), [slower]);
}

/// All code took 11,000 and now 15,500, and one baseline 13,000: within jitter. But the second function, which took 1000, took 5000.
#[test]
fn a_function_that_is_slow_on_its_own_is_no_jitter() {
    let usual = [used(10_000, 100), used(1000, 100)];
    let split = |own: &[Use], most: u64| {
        compared_with(FrontEnd::NotKnown, own, &usual, |baselines| {
            baselines.whole.most_ticks = 13_000;
            baselines.nodes.values_mut().for_each(|node| node.most_ticks += node.mean.ticks * most / 100);
        })
    };
    let slow = split(&[used(10_500, 100), used(5000, 100)], 10);
    assert_eq!(slow[1], Budget { expected: 1000, slower_other: 4000, ..Budget::default() });
    assert_eq!(slow[0], Budget { expected: 10_500, ..Budget::default() });
    // One baseline took 2400 in it, which is 1400 above the mean: 5000 is within three times that.
    let expected = Budget { expected: 5000, ..Budget::default() };
    assert_eq!(split(&[used(10_500, 100), used(5000, 100)], 140)[1], expected);
    // 3000 more are less than the steadiest code may take, and so are 4500 in the function that takes 10,000.
    assert_eq!(split(&[used(10_500, 100), used(4000, 100)], 10)[1].slower_other, 0);
    assert_eq!(split(&[used(14_500, 100), used(1000, 100)], 10)[0].slower_other, 0);
}

/// One baseline took 12,000 where their mean is 10,000: three times this excess, 16,000, is normal; 18,000 is not.
#[test]
fn jitter_is_as_large_as_the_baselines_show() {
    let whole = |most_ticks| Typical { most_ticks, ..against(used(10_000, 100), 0) };
    assert_eq!(with_jitter(&whole(12_000)), 16_000);
    // At least 30 %, at most 70 %.
    assert_eq!((with_jitter(&whole(10_100)), with_jitter(&whole(14_000))), (13_000, 17_000));
}

/// 10,000 ticks more, 9,000 of them where lines are touched for the first time.
#[test]
fn time_lost_at_new_lines_is_the_front_ends() {
    let cold = |ticks, cold_ticks| Use { cold_ticks, ..used(ticks, 100) };
    let split = compared(&[cold(20_000, 11_000)], &[cold(10_000, 2_000)]);
    let front_end =
        Budget { expected: 10_000, slower_front_end: 9_000, slower_other: 1_000, ..Budget::default() };
    assert_eq!(split, [front_end]);
    // As much of it where code ran again: fetching was not the reason.
    let split = compared(&[cold(20_000, 7_000)], &[cold(10_000, 2_000)]);
    assert_eq!(split[0].slower_front_end, 0);
    // Nothing runs again: cold data would look the same, unless the code does not fit.
    let (slow, usual) = ([cold(20_000, 20_000)], [cold(10_000, 10_000)]);
    assert_eq!(compared(&slow, &usual)[0].slower_front_end, 0);
    assert_eq!(compared_where(FrontEnd::Outgrown, &slow, &usual)[0].slower_front_end, 10_000);
    // Samples show it, whatever ran again.
    let starved = compared_where(FrontEnd::Starved, &[used(20_000, 100)], &[used(10_000, 100)]);
    assert_eq!(starved[0].slower_front_end, 10_000);
}

/// 10,000 ticks more, all of it where lines are touched for the first time: records take precedence.
#[test]
fn what_counters_tell_is_not_inferred() {
    let cold = |ticks, cold_ticks, stalled| Use { cold_ticks, stalled, ..used(ticks, 100) };
    let split = |front_end, stalled| {
        let slow = [cold(20_000, 12_000, stalled), cold(5_000, 0, 0)];
        let split = compared_where(front_end, &slow, &[cold(10_000, 2_000, 500), cold(5_000, 0, 0)]);
        assert_eq!(split[1], Budget { expected: 5_000, ..Budget::default() });
        (split[0].slower_front_end, split[0].slower_other)
    };
    assert_eq!(split(FrontEnd::NotKnown, 0), (10_000, 0));
    assert_eq!(split(FrontEnd::Counted { lost: 0, longer: 10_000 }, 0), (0, 10_000));
    assert_eq!(split(FrontEnd::Counted { lost: 2_500, longer: 10_000 }, 0), (2_500, 7_500));
    // More than the excess: the rest was faster.
    assert_eq!(split(FrontEnd::Counted { lost: 12_000, longer: 10_000 }, 0), (10_000, 0));
    // 4,500 by retire latencies, of which 500 are typical.
    assert_eq!(split(FrontEnd::Stalled, 4_500), (4_000, 6_000));
}
