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

/// A system call of 200 ticks, and in it the scheduler; the thread sleeps for 500.
#[test]
fn kernel_functions_stand_below_their_cause_and_add_up_to_it() {
    let table = Table::new(&["entry_SYSCALL_64", "__x64_sys_futex", "__schedule"], &["work"]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .block(100, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .block(120, "__x64_sys_futex", 0, BlockEnd::Call)
        .block(150, "__schedule", 0, BlockEnd::Other)
        .block(700, "__schedule", 0x20, BlockEnd::Return)
        .block(720, "__x64_sys_futex", Script::AFTER, BlockEnd::Return)
        .block(760, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(800, "work", 0x20, BlockEnd::Jump);
    let runs = vec![
        run(WORKER, 0, 0, 200, LeaveReason::Slept(None)),
        run(WORKER, 0, 700, 1_000, LeaveReason::Unknown),
    ];
    let items = script.items.clone();
    let schedule = Schedule::from_runs(runs);
    let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
    let examined = world.examine(0..1_000);
    let calls = calls(&examined);
    let sum = |wanted: &str| -> (u64, u64) {
        let is = |node: u32| {
            let chain = std::iter::successors(Some(node), |&at| calls.nodes[at as usize].parent);
            let mut names: Vec<&str> = chain.map(|at| &*calls.nodes[at as usize].name).collect();
            names.reverse();
            names.join(" > ") == wanted
        };
        let own: Vec<_> = calls.stretches.iter().filter(|stretch| is(stretch.node)).collect();
        (own.iter().map(|own| own.range.ticks().0).sum(), own.iter().map(|own| own.calls).sum())
    };
    for (path, ticks, count) in [
        ("work > kernel.syscall.futex", 0, 1),
        ("work > kernel.syscall.futex > entry_SYSCALL_64", 20 + 40, 1),
        ("work > kernel.syscall.futex > entry_SYSCALL_64 > __x64_sys_futex", 30 + 40, 1),
        ("work > kernel.schedule", 0, 1),
        ("work > kernel.schedule > __schedule", 50 + 20, 1),
    ] {
        assert_eq!(sum(path), (ticks, count), "{path}");
    }
    let all: u64 = calls.stretches.iter().map(|stretch| stretch.range.ticks().0).sum();
    assert_eq!(all, 1_000);
}

/// The loop that waits for a kernel lock is a cause of its own, and this one ended before time went on.
#[test]
fn kernel_calls_without_time_count() {
    let table = Table::new(&["entry_SYSCALL_64", "__x64_sys_mmap", "rwsem_spin_on_owner"], &["work"]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .block(100, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .block(120, "__x64_sys_mmap", 0, BlockEnd::Call)
        .block(120, "rwsem_spin_on_owner", 0, BlockEnd::Return)
        .block(120, "__x64_sys_mmap", Script::AFTER, BlockEnd::Return)
        .block(160, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(200, "work", 0x20, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 1_000, LeaveReason::Unknown)]);
    let items = script.items.clone();
    let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
    let examined = world.examine(0..1_000);
    let calls = calls(&examined);
    let spun = |stretch: &&CallStretch| &*calls.nodes[stretch.node as usize].name == "rwsem_spin_on_owner";
    let spun: Vec<_> = calls.stretches.iter().filter(spun).collect();
    assert_eq!(spun.iter().map(|stretch| stretch.calls).collect::<Vec<_>>(), [1]);
    let above = calls.nodes[spun[0].node as usize].parent.map(|above| &*calls.nodes[above as usize].name);
    assert_eq!(above, Some("kernel.syscall.mmap"));
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
    let examined = world.examine(0..1_000);
    let calls = calls(&examined);
    let of_copy = |stretch: &&CallStretch| &*calls.nodes[stretch.node as usize].name == "copy";
    let copied: Vec<_> = calls.stretches.iter().filter(of_copy).collect();
    assert_eq!(copied.iter().map(|stretch| stretch.calls).sum::<u64>(), 4, "{copied:?}");
    assert_eq!(copied.iter().map(|stretch| stretch.range.ticks().0).sum::<u64>(), 200, "{copied:?}");
    let ordered = calls.stretches.windows(2).all(|pair| pair[0].range.stop <= pair[1].range.start);
    assert!(ordered, "{:?}", calls.stretches);
}
