//! By which function, and where in the interval, extra work and slowness are named.

use super::*;

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
