//! Calls that the baselines lack, or have fewer of.

use super::*;

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
    let reported: Vec<String> = unexpected(&attribution).into_iter().map(|part| part.2).collect();
    assert!(reported.contains(&"rehash() called 9 times by work(); typical 3".to_owned()), "{reported:?}");
    assert!(reported.contains(&"copy() called 9 times by rehash(); typical 3".to_owned()), "{reported:?}");
    assert!(reported.contains(&"work() ran 9 times; typical up to 3".to_owned()), "{reported:?}");
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
    let reported: Vec<String> = unexpected(&attribution).into_iter().map(|part| part.2).collect();
    let expected = "rehash() called 3 times below work(), ";
    assert!(reported.iter().any(|reported| reported.starts_with(expected)), "{reported:?}");
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
    let reported = unexpected(&attribution);
    assert!(
        reported.iter().all(|part| part.2 == "copy(), called by work(), ran 90 times; typical up to 10"),
        "{reported:?}"
    );
    assert_eq!(reported.iter().map(|part| part.1).sum::<u64>(), 8_000, "{reported:?}");
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
    let reported: Vec<String> = unexpected(&attribution).into_iter().map(|part| part.2).collect();
    assert!(
        reported.contains(
            &"rehash() called 1 time by work(), 2.0 us, and 4.0 us in the kernel; typical 0".to_owned()
        ),
        "{reported:?}"
    );
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
