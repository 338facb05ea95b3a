use perfdata::{LeaveReason, Schedule};
use pt::BlockEnd;

use super::*;
use crate::testing::script::{Script, Table, WORKER, World, run};

/// `work` for 100, then it calls `copy` for 300, in which a system call takes 200; back in `work` for 400.
#[test]
fn time_hangs_where_it_was_called() {
    let table = Table::new(&["entry_SYSCALL_64"], &["work", "copy"]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Call)
        .block(100, "copy", 0, BlockEnd::FarCall)
        .block(300, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(500, "copy", 0x20, BlockEnd::Return)
        .block(600, "work", 0x20, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 1_000, LeaveReason::Unknown)]);
    let items = script.items.clone();
    let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
    let examined = world.examine(0..1_000);
    assert_eq!(examined.stays.first().and_then(|stay| stay.left_at), None);
    let calls = calls(&examined);
    let path = |mut at: u32| {
        let mut names = vec![calls.nodes[at as usize].name.to_string()];
        while let Some(parent) = calls.nodes[at as usize].parent {
            names.insert(0, calls.nodes[parent as usize].name.to_string());
            at = parent;
        }
        names.join(" < ")
    };
    let told: Vec<(String, u64)> =
        calls.stretches.iter().map(|stretch| (path(stretch.node), stretch.range.ticks().0)).collect();
    let ticks: u64 = told.iter().map(|(_, ticks)| ticks).sum();
    assert_eq!(ticks, 1_000, "{told:?}");
    assert_eq!(told[0], ("work".to_owned(), 100));
    assert_eq!(told[1], ("work < copy".to_owned(), 200));
    assert!(told[2].0.starts_with("work < copy < kernel.syscall"), "{told:?}");
    assert_eq!(told.last().map(|(path, _)| path.as_str()), Some("work"));
}

/// No packet lies between the calls of `copy`: they have no time, and are calls all the same.
#[test]
fn calls_without_time_count() {
    let table = Table::new(&["entry_SYSCALL_64"], &["work", "copy"]);
    let mut script = Script::new(&table);
    script.block(0, "work", 0, BlockEnd::Call);
    for _ in 0..3 {
        script.block(100, "copy", 0, BlockEnd::Return).block(100, "work", Script::AFTER, BlockEnd::Call);
    }
    script.block(100, "copy", 0, BlockEnd::Return).block(300, "work", Script::AFTER, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 1_000, LeaveReason::Unknown)]);
    let items = script.items.clone();
    let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
    let calls = calls(&world.examine(0..1_000));
    let of_copy = |stretch: &&CallStretch| &*calls.nodes[stretch.node as usize].name == "copy";
    let copied: Vec<_> = calls.stretches.iter().filter(of_copy).collect();
    assert_eq!(copied.iter().map(|stretch| stretch.calls).sum::<u64>(), 4, "{copied:?}");
    assert_eq!(copied.iter().map(|stretch| stretch.range.ticks().0).sum::<u64>(), 200, "{copied:?}");
    let ordered = calls.stretches.windows(2).all(|pair| pair[0].range.stop <= pair[1].range.start);
    assert!(ordered, "{:?}", calls.stretches);
}
