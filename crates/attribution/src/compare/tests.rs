//! Outliers against baselines, from end to end.

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

/// Without a CBR packet: `work` takes 1,000 ticks at 2.5 GHz, then 2,000: half of them at 2.5 GHz, half at 1.25. So a
/// quarter, 500, is due to that, and 500 more to an unknown reason.
#[test]
fn what_a_governor_asked_for_explains_its_part() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .block(1_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(10_000, "work", 0, BlockEnd::Jump)
        .block(12_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn);
    let world = world(&table, script.items.clone(), 20_000);
    let (mut baseline, mut outlier) = (world.examine(0..1_000), world.examine(10_000..12_000));
    let asked = |start: u64, stop: u64, khz: u32| RequestedFrequency {
        range: TscRange::new(model::Tsc(start), model::Tsc(stop)),
        cpu: Cpu(0),
        khz,
        record: FileOffset(start),
    };
    baseline.asked = vec![asked(0, 1_000, 2_500_000)];
    outlier.asked = vec![asked(10_000, 11_000, 2_500_000), asked(11_000, 12_000, 1_250_000)];
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let story: Vec<(String, u64)> = told(&attribution);
    let named = |cause: &str, ticks| (cause.to_owned(), ticks);
    assert_eq!(
        story,
        [named("user.expected", 1_000), named("user.slower.frequency", 500), named("user.slower.other", 500)]
    );
    let slower = &attribution.segments()[1];
    let said = "1.875 GHz requested by the governor (cpu_frequency), typical 2.500 GHz";
    assert_eq!(slower.detail.split("; ").last(), Some(said));
    assert_eq!(slower.certainty, Certainty::Inferred);
    let record = slower.evidence.iter().find_map(|evidence| evidence.file_offset);
    assert_eq!(record, Some(FileOffset(11_000)), "{:?}", slower.evidence);
    let of_other = &attribution.segments()[2].evidence;
    assert!(of_other.iter().all(|evidence| evidence.file_offset.is_none()), "{of_other:?}");
    // The ratio of a CBR packet is not overruled: the baseline's is unknown.
    for run in &mut outlier.runs {
        run.ratio = 25;
    }
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    assert_eq!(told(&attribution), [named("user.expected", 1_000), named("user.slower.other", 1_000)]);
}

/// Of three baselines one ran at half the ratio of 26, and it alone has time in `copy`. An interval at a ratio of 10 loses 16 of 26
/// parts of its 2,600 ticks, and of the 260 in `copy`, also beside those baselines alone in which no time packet came in `copy`.
#[test]
fn one_baseline_on_a_slow_core_does_not_change_how_fast_it_usually_is() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    for (at, ratio, work, copy) in
        [(0, 26, 1_000, 0), (5_000, 26, 1_000, 0), (10_000, 13, 2_000, 100), (15_000, 10, 2_600, 260)]
    {
        script
            .event(at, EventKind::CoreBusRatio { ratio })
            .block(at, "work", 0x20, BlockEnd::Call)
            .block(at + work / 2, "copy", 0, BlockEnd::Return)
            .block(at + work / 2 + copy, "work", 0x20 + Script::AFTER, BlockEnd::Jump)
            .block(at + work + copy, "entry_SYSCALL_64", 0, BlockEnd::FarReturn);
    }
    let world = world(&table, script.items.clone(), 20_000);
    let baselines = [world.examine(0..1_000), world.examine(5_000..6_000), world.examine(10_000..12_100)];
    let outlier = world.examine(15_000..17_860);
    for baselines in [&baselines[..], &baselines[..2]] {
        let attribution =
            attribute(&outlier, &baselines.iter().collect::<Vec<_>>(), &table).expect("a partition");
        let unexpected = unexpected(&attribution);
        let of_frequency = unexpected.iter().filter(|one| one.0 == "user.slower.frequency");
        assert_eq!(of_frequency.map(|one| one.1).sum::<u64>(), 1_600 + 160, "{unexpected:?}");
    }
}

/// `work` calls `copy`; `count` times it calls `rehash`, which calls `copy` too. From `start` on, a step per block.
fn insertion(script: &mut Script<'_>, start: u64, step: u64, rehashes: u64) -> u64 {
    let mut at = start;
    let mut block = |function: &str, from: u64, end: BlockEnd| {
        script.block(at, function, from, end);
        at += step;
    };
    block("work", 0x20, BlockEnd::Call);
    block("copy", 0, BlockEnd::Return);
    block("work", 0x20 + Script::AFTER, BlockEnd::Jump);
    for _ in 0..rehashes {
        block("work", 0x40, BlockEnd::Call);
        block("rehash", 0, BlockEnd::Call);
        block("copy", 0, BlockEnd::Return);
        block("rehash", Script::AFTER, BlockEnd::Return);
        block("work", 0x40 + Script::AFTER, BlockEnd::Jump);
    }
    at
}

/// The call is named with what it called, whatever its place in the interval; what the baselines also do is expected.
#[test]
fn a_call_that_the_baseline_lacks_is_named_with_all_that_it_called() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    let quiet = insertion(&mut script, 0, 1_000, 0);
    let slow = insertion(&mut script, 10_000, 1_000, 1);
    let world = world(&table, script.items.clone(), 50_000);
    let (baseline, outlier) = (world.examine(0..quiet), world.examine(10_000..slow));
    assert_eq!(outlier.conversion, Some(conversion()));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    // Five blocks more of 1,000 ticks, which are nanoseconds here: two in `work`, two in `rehash`, one in its `copy`.
    let rehash = "rehash() called 1 time by work(), 3.0 us; typical 0".to_owned();
    let of_rehash: u64 =
        unexpected(&attribution).iter().filter(|(_, _, detail)| *detail == rehash).map(|part| part.1).sum();
    assert_eq!(of_rehash, 3_000, "{:?}", unexpected(&attribution));
    assert!(unexpected(&attribution).iter().all(|(cause, ..)| cause == "user.extra-work"));
    let total: u64 = unexpected(&attribution).iter().map(|part| part.1).sum();
    assert_eq!(total, 5_000, "{:?}", unexpected(&attribution));
}

/// Four new functions that `insert` calls, of which none has half of the time: the place of all is `insert`.
#[test]
fn extra_work_that_is_spread_is_placed_where_it_meets() {
    let table = Table::new(KERNEL, &["work", "insert", "hash", "compare", "shift", "copy"]);
    let place = |step: &dyn Fn(&str) -> u64| {
        let mut script = Script::new(&table);
        script.block(0, "work", 0, BlockEnd::Call).block(500, "insert", 0, BlockEnd::Return);
        script.block(1_000, "work", Script::AFTER, BlockEnd::FarCall).block(
            1_500,
            "entry_SYSCALL_64",
            0,
            BlockEnd::FarReturn,
        );
        let mut at = 10_500;
        script.block(10_000, "work", 0, BlockEnd::Call);
        for (index, callee) in ["hash", "compare", "shift", "copy"].into_iter().enumerate() {
            let from = if index == 0 { 0 } else { Script::AFTER };
            script.block(at, "insert", from, BlockEnd::Call).block(at + 100, callee, 0, BlockEnd::Return);
            at += 100 + step(callee);
        }
        script.block(at, "insert", Script::AFTER, BlockEnd::Return);
        script.block(at + 100, "work", Script::AFTER, BlockEnd::Jump);
        let world = world(&table, script.items.clone(), 50_000);
        let (baseline, outlier) = (world.examine(0..1_500), world.examine(10_000..at + 200));
        let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
        let extra = attribution.segments().iter().filter(|segment| segment.cause == Cause::UserExtraWork);
        let places: std::collections::BTreeSet<String> =
            extra.map(|segment| segment.story.place.clone()).collect();
        places.into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(place(&|_| 2_000), "insert()");
    let one_has_most = place(&|callee| if callee == "shift" { 4_000 } else { 500 });
    assert!(one_has_most.contains("shift()"), "{one_has_most}");
}

/// Four functions that `insert` calls in all intervals, of which none has half of what they took longer: the place of it is `insert`.
#[test]
fn slowness_that_is_spread_is_placed_where_it_meets() {
    let table = Table::new(KERNEL, &["work", "insert", "hash", "compare", "shift", "copy"]);
    let mut script = Script::new(&table);
    let mut at = 0;
    let mut step = |function: &str, from: u64, end: BlockEnd, ticks: u64| {
        script.block(at, function, from, end);
        at += ticks;
    };
    for each in [500, 2_000] {
        step("work", 0, BlockEnd::Call, 100);
        for (index, callee) in ["hash", "compare", "shift", "copy"].into_iter().enumerate() {
            step("insert", if index == 0 { 0 } else { Script::AFTER }, BlockEnd::Call, 100);
            step(callee, 0, BlockEnd::Return, each);
        }
        step("insert", Script::AFTER, BlockEnd::Return, 100);
        step("work", Script::AFTER, BlockEnd::FarCall, 100);
        step("entry_SYSCALL_64", 0, BlockEnd::FarReturn, 100);
    }
    // What is not in the four: two blocks of `work`, five of `insert`, and the system call.
    let quiet = 8 * 100 + 4 * 500;
    let world = world(&table, script.items.clone(), 50_000);
    let (baseline, outlier) = (world.examine(0..quiet - 100), world.examine(quiet..at - 100));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let slower: Vec<_> = attribution
        .segments()
        .iter()
        .filter(|segment| segment.cause == Cause::UserSlower(Slower::Other))
        .collect();
    assert_eq!(slower.iter().map(|segment| segment.range.ticks().0).sum::<u64>(), 4 * 1_500);
    assert!(slower.iter().all(|segment| segment.story.place == "insert()"), "{slower:?}");
}

/// Two new functions call `copy`, which `work` calls, too: none of the three explanations has half of the time.
#[test]
fn one_function_that_several_call_is_placed_below_them() {
    let table = Table::new(KERNEL, &["work", "insert", "hash", "shift", "copy"]);
    let mut script = Script::new(&table);
    let mut at = 0;
    let mut step = |function: &str, from: u64, end: BlockEnd, ticks: u64| {
        script.block(at, function, from, end);
        at += ticks;
    };
    for extra in [0, 1_000] {
        step("work", 0, BlockEnd::Call, 100);
        step("insert", 0, BlockEnd::Call, 100);
        step("copy", 0, BlockEnd::Return, 1_000);
        for callee in ["hash", "shift"].into_iter().filter(|_| extra > 0) {
            step("insert", Script::AFTER, BlockEnd::Call, 100);
            step(callee, 0, BlockEnd::Call, 10);
            step("copy", 0, BlockEnd::Return, extra);
            step(callee, Script::AFTER, BlockEnd::Return, 10);
        }
        step("insert", Script::AFTER, BlockEnd::Return, 100);
        step("work", Script::AFTER, BlockEnd::FarCall, 100);
        step("entry_SYSCALL_64", 0, BlockEnd::FarReturn, 100);
    }
    let world = world(&table, script.items.clone(), 50_000);
    let (baseline, outlier) = (world.examine(0..1_500), world.examine(1_500..at));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let extra = attribution.segments().iter().filter(|segment| segment.cause == Cause::UserExtraWork);
    let places: Vec<&str> = extra.map(|segment| &*segment.story.place).collect();
    assert!(!places.is_empty(), "{:?}", attribution.segments());
    assert!(places.iter().all(|place| *place == "copy() below insert()"), "{places:?}");
}

/// A function without a name is named by what it called, where that had most of its time; callers without a name are left out.
#[test]
fn code_without_names_is_told_by_the_names_around_it() {
    let table = Table::new(KERNEL, &["work", "server+0x1a0", "deflate", "server+0x2b0", "crc"]);
    let told = |last: &str, steps: u64| {
        let mut script = Script::new(&table);
        script.block(0, "work", 0, BlockEnd::Jump).block(1_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn);
        script
            .block(10_000, "work", 0x20, BlockEnd::Call)
            .block(11_000, "server+0x1a0", 0, BlockEnd::Call)
            .block(11_100, last, 0, BlockEnd::Return)
            .block(11_100 + steps, "server+0x1a0", Script::AFTER, BlockEnd::Return)
            .block(11_200 + steps, "work", 0x20 + Script::AFTER, BlockEnd::Jump)
            .block(12_200 + steps, "entry_SYSCALL_64", 0, BlockEnd::FarReturn);
        let world = world(&table, script.items.clone(), 50_000);
        let (baseline, outlier) = (world.examine(0..1_000), world.examine(10_000..12_200 + steps));
        let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
        let longest = unexpected(&attribution).into_iter().max_by_key(|part| part.1);
        longest.map(|(.., detail)| detail).unwrap_or_default()
    };
    assert_eq!(
        told("deflate", 4_000),
        "deflate() below server+0x1a0 called 1 time by work(), 4.2 us; typical 0"
    );
    assert_eq!(told("server+0x2b0", 4_000), "server+0x1a0 called 1 time by work(), 4.2 us; typical 0");
}

/// Nine rehashes instead of three: the calls show it, and a third of them is expected.
#[test]
fn more_calls_of_the_same_are_counted() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    let quiet = insertion(&mut script, 0, 1_000, 3);
    let slow = insertion(&mut script, 100_000, 1_000, 9);
    let world = world(&table, script.items.clone(), 500_000);
    let (baseline, outlier) = (world.examine(0..quiet), world.examine(100_000..slow));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let extra: u64 = unexpected(&attribution).iter().map(|part| part.1).sum();
    assert_eq!(extra, 6 * 5_000, "{:?}", unexpected(&attribution));
    let told: Vec<String> = unexpected(&attribution).into_iter().map(|part| part.2).collect();
    assert!(told.contains(&"rehash() called 9 times by work(); typical 3".to_owned()), "{told:?}");
    assert!(told.contains(&"copy() called 9 times by rehash(); typical 3".to_owned()), "{told:?}");
    assert!(told.contains(&"work() ran 9 times; typical up to 3".to_owned()), "{told:?}");
}

/// Of the calls of a function that calls itself, `work` makes one.
#[test]
fn calls_of_itself_are_not_the_callers() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    let quiet = insertion(&mut script, 0, 1_000, 0);
    script
        .block(100_000, "work", 0x20, BlockEnd::Call)
        .block(101_000, "rehash", 0, BlockEnd::Call)
        .block(102_000, "rehash", 0, BlockEnd::Call)
        .block(103_000, "rehash", 0, BlockEnd::Return)
        .block(104_000, "rehash", Script::AFTER, BlockEnd::Return)
        .block(105_000, "rehash", Script::AFTER, BlockEnd::Return)
        .block(106_000, "work", 0x20 + Script::AFTER, BlockEnd::Jump)
        .block(107_000, "work", 0x20, BlockEnd::Jump);
    let world = world(&table, script.items.clone(), 500_000);
    let (baseline, outlier) = (world.examine(0..quiet), world.examine(100_000..107_000));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let told: Vec<String> = unexpected(&attribution).into_iter().map(|part| part.2).collect();
    let expected = "rehash() called 3 times below work(), ";
    assert!(told.iter().any(|told| told.starts_with(expected)), "{told:?}");
}

/// One call more than typical, of few instructions, whose time passes in a single `rep stosb`: it is work, not the same code slower.
#[test]
fn a_longer_string_instruction_of_another_call_is_extra_work() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    let mut cleared = |start: u64, again: bool| {
        script.block(start, "work", 0x20, BlockEnd::Call);
        for turn in 0..10 {
            script.block(start + 10 + turn * 10, "copy", turn * 8, BlockEnd::ConditionalBranch);
        }
        script.block(start + 110, "copy", 0x80, BlockEnd::Return);
        script.block(start + 120, "work", 0x20 + Script::AFTER, BlockEnd::Call);
        if again {
            script.block(start + 130, "copy", 0, BlockEnd::Return);
            script.block(start + 1_030, "work", 0x40 + Script::AFTER, BlockEnd::Jump);
        }
    };
    cleared(0, false);
    cleared(100_000, true);
    let world = world(&table, script.items.clone(), 500_000);
    let (baseline, mut outlier) = (world.examine(0..130), world.examine(100_000..101_040));
    let causes = |outlier: &Examined| {
        let attribution = attribute(outlier, &[&baseline], &table).expect("a partition");
        let mut sums: Vec<(String, u64)> = Vec::new();
        for (cause, ticks, _) in unexpected(&attribution) {
            match sums.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, sum)) => *sum += ticks,
                None => sums.push((cause, ticks)),
            }
        }
        sums.sort();
        sums
    };
    let ordinary = causes(&outlier);
    assert!(
        ordinary.iter().any(|(cause, ticks)| cause == "user.slower.other" && *ticks > 700),
        "{ordinary:?}"
    );
    outlier.strings.push(StringTime {
        range: TscRange::new(model::Tsc(100_140), model::Tsc(101_020)),
        name: "rep stosb",
        function: Some("copy".into()),
        kernel: false,
        interrupted: false,
    });
    let strings = causes(&outlier);
    assert!(strings.iter().all(|(cause, _)| cause == "user.extra-work"), "{strings:?}");
    assert!(strings.iter().any(|(_, ticks)| *ticks >= 890), "{strings:?}");
}

/// A function whose first instruction is a loop's: one call, however often the loop runs.
#[test]
fn a_loop_to_the_first_instruction_is_no_call() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    let mut looped = |start: u64, count: u64| {
        script.block(start, "work", 0x20, BlockEnd::Call);
        for turn in 0..count {
            script.block(start + 100 + turn * 100, "copy", 0, BlockEnd::ConditionalBranch);
        }
        script.block(start + 100 + count * 100, "copy", 0x20, BlockEnd::Return);
        script.block(start + 200 + count * 100, "work", 0x20 + Script::AFTER, BlockEnd::Jump);
    };
    looped(0, 10);
    looped(10_000, 90);
    let world = world(&table, script.items.clone(), 50_000);
    let (baseline, outlier) = (world.examine(0..1_300), world.examine(10_000..19_300));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let told = unexpected(&attribution);
    assert!(
        told.iter().all(|part| part.2 == "copy(), called by work(), ran 90 times; typical up to 10"),
        "{told:?}"
    );
    assert_eq!(told.iter().map(|part| part.1).sum::<u64>(), 8_000, "{told:?}");
}

/// The same work, called from another function: not extra.
#[test]
fn work_that_another_caller_does_is_no_extra_work() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Call)
        .block(1_000, "copy", 0, BlockEnd::Return)
        .block(6_000, "work", Script::AFTER, BlockEnd::Jump)
        .block(10_000, "insert", 0, BlockEnd::Call)
        .block(11_000, "copy", 0, BlockEnd::Return)
        .block(16_000, "insert", Script::AFTER, BlockEnd::Jump);
    let world = world(&table, script.items.clone(), 50_000);
    let (baseline, outlier) = (world.examine(0..7_000), world.examine(10_000..17_000));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let copied = unexpected(&attribution).iter().any(|(_, _, detail)| detail.contains("copy"));
    assert!(!copied, "{:?}", unexpected(&attribution));
}

/// `rehash` makes a system call of 4 us: that is no part of its 2 us, and the report notes it.
#[test]
fn what_a_new_call_spends_in_the_kernel_is_noted() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .block(1_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(10_100, "work", 0, BlockEnd::Call)
        .block(11_000, "rehash", 0, BlockEnd::FarCall)
        .block(12_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(16_000, "rehash", 0x20, BlockEnd::Return)
        .block(17_000, "work", Script::AFTER, BlockEnd::FarCall)
        .block(17_100, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(18_000, "work", 0x40, BlockEnd::Jump);
    let world = world(&table, script.items.clone(), 50_000);
    let (baseline, outlier) = (world.examine(0..1_000), world.examine(10_000..18_100));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let told: Vec<String> = unexpected(&attribution).into_iter().map(|part| part.2).collect();
    assert!(
        told.contains(
            &"rehash() called 1 time by work(), 2.0 us, and 4.0 us in the kernel; typical 0".to_owned()
        ),
        "{told:?}"
    );
}

/// A segment of several functions has the name of the one that ran longest, with its callers; a stub of the procedure linkage
/// table has no name of its own.
#[test]
fn a_segment_is_named_by_where_its_time_passed() {
    let table = Table::new(KERNEL, &["work", "copy@plt", "copy", "insert"]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Call)
        .block(100, "insert", 0, BlockEnd::Call)
        .block(300, "copy@plt", 0, BlockEnd::Jump)
        .block(310, "copy", 0, BlockEnd::Return)
        .block(900, "insert", Script::AFTER, BlockEnd::Return)
        .block(950, "work", Script::AFTER, BlockEnd::Jump);
    let world = world(&table, script.items.clone(), 50_000);
    let examined = world.examine(0..1_000);
    let attribution = attribute_alone(&examined).expect("a partition");
    let told: Vec<_> = attribution.segments().iter().map(|segment| segment.detail.as_str()).collect();
    assert_eq!(told, ["copy < insert < work"]);
    let of_copy = |run: &&crate::walk::activity::Run| run.function.as_deref() == Some("copy");
    let copies: Vec<_> = examined.runs.iter().filter(of_copy).collect();
    // Both blocks of ten instructions, one call.
    let told: Vec<_> =
        copies.iter().map(|run| (run.range.start.0, run.range.stop.0, run.instructions, run.calls)).collect();
    assert_eq!(told, [(300, 900, 20, 1)]);
    assert!(examined.code.nodes.values().all(|node| !node.function.contains("@plt")));
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

/// `rehash` takes 300 ticks itself, what it calls 200 each: nothing of it matters alone.
#[test]
fn new_calls_count_with_all_that_they_called() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .block(1_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(10_100, "work", 0, BlockEnd::Call)
        .block(11_000, "rehash", 0, BlockEnd::Call)
        .block(11_200, "copy", 0, BlockEnd::Return)
        .block(11_400, "rehash", Script::AFTER, BlockEnd::Call)
        .block(11_450, "insert", 0, BlockEnd::Return)
        .block(11_650, "rehash", 2 * Script::AFTER, BlockEnd::Return)
        .block(11_700, "work", Script::AFTER, BlockEnd::Jump);
    let world = world(&table, script.items.clone(), 20_000);
    let (baseline, outlier) = (world.examine(0..1_000), world.examine(10_100..11_800));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let extra: u64 = unexpected(&attribution)
        .iter()
        .filter(|segment| segment.0 == "user.extra-work" && segment.2.starts_with("rehash()"))
        .map(|segment| segment.1)
        .sum();
    assert_eq!(extra, 700);
}

/// The baseline copies for 1,000 ticks in `insert`; the outlier does it in `work` and in `rehash` instead, 1,000 ticks each.
#[test]
fn work_called_from_elsewhere_is_the_same_once() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Call)
        .block(100, "insert", 0, BlockEnd::Call)
        .block(200, "copy", 0, BlockEnd::Return)
        .block(1_200, "insert", Script::AFTER, BlockEnd::Return)
        .block(1_300, "work", Script::AFTER, BlockEnd::Jump)
        .block(2_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(10_000, "work", 0, BlockEnd::Call)
        .block(10_100, "copy", 0, BlockEnd::Return)
        .block(11_100, "work", Script::AFTER, BlockEnd::Call)
        .block(11_200, "rehash", 0, BlockEnd::Call)
        .block(11_300, "copy", 0, BlockEnd::Return)
        .block(12_300, "rehash", Script::AFTER, BlockEnd::Return)
        .block(12_400, "work", 2 * Script::AFTER, BlockEnd::Jump);
    let world = world(&table, script.items.clone(), 20_000);
    let (baseline, outlier) = (world.examine(0..2_000), world.examine(10_000..12_900));
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let copies: Vec<u64> = unexpected(&attribution)
        .iter()
        .filter(|segment| segment.0 == "user.extra-work" && segment.1 == 1_000)
        .map(|segment| segment.1)
        .collect();
    assert_eq!(copies, [1_000], "{:?}", unexpected(&attribution));
}
