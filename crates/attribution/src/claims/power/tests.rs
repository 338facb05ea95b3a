//! Exits from idle states, packet by packet.

use model::Tsc;
use perfdata::Schedule;
use pt::{BlockEnd, EventKind as PtKind};

use crate::records::event::{EventKind, Side};
use crate::testing::script::{IDLE, Script, Table, WORKER, WRITER, World, expected, record, run, told};
use perfdata::LeaveReason;

/// The worker sleeps from 100 to 1000; the writer wakes it at 400; its CPU was idle. PWRX is at 900.
fn world<'t>(table: &'t Table, script: &Script<'_>, with_records: bool) -> World<'t> {
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(IDLE, 0, 100, 1000, LeaveReason::Unknown),
        run(WORKER, 0, 1000, 2000, LeaveReason::Unknown),
    ]);
    let target = WORKER.tid;
    let mut records = vec![record(400, 1, WRITER, Side::Begin, EventKind::Waking { target, by_waker: true })];
    if with_records {
        records.insert(0, record(150, 0, IDLE, Side::Begin, EventKind::Idle { state: Some(3) }));
        records.push(record(950, 0, IDLE, Side::End, EventKind::Idle { state: None }));
    }
    World { table, schedule, records, items: script.items.clone(), kernel_traced: true }
}

fn table() -> Table {
    Table::new(&["do_idle", "__schedule"], &["work"])
}

fn script(table: &Table, last: u8) -> Script<'_> {
    let exit = PtKind::PowerExit { last, deepest: last, interrupt: true, store: false, autonomous: false };
    let mut script = Script::new(table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .event(900, exit)
        .block(920, "do_idle", 0, BlockEnd::Jump)
        .block(1000, "__schedule", 0x40, BlockEnd::FarReturn)
        .block(1100, "work", 0x20, BlockEnd::Jump);
    script
}

/// An interrupt at 900 finds the CPU `ip` into the function that halts; the worker is back at 1100.
fn wake(script: &mut Script<'_>, ip: u64) {
    script
        .interrupt_of(900, "do_idle", ip, "__schedule")
        .block(905, "__schedule", 0, BlockEnd::Jump)
        .block(1000, "__schedule", 0x40, BlockEnd::FarReturn)
        .block(1100, "work", 0x20, BlockEnd::Jump);
}

fn causes(world: &World<'_>) -> Vec<(String, u64)> {
    told(&crate::attribute_alone(&world.examine(50..1050)).expect("a partition"))
        .into_iter()
        .filter(|(cause, _)| cause.starts_with("power.") || cause.starts_with("offcpu."))
        .collect()
}

/// From the wake-up at 400 to the first instruction at 920; PWRX's name precedes that of the records.
#[test]
fn the_exit_lasts_from_the_wake_up_to_the_first_instruction() {
    let table = table();
    for with_records in [false, true] {
        assert_eq!(
            causes(&world(&table, &script(&table, 6), with_records)),
            expected(&[("offcpu.other", 300), ("power.c-state-exit.C6", 520), ("offcpu.runnable", 80)])
        );
    }
}

/// Without PWRX the records name the state; the exit ends with the first instruction at 920, not with the record at 950.
#[test]
fn without_packets_of_power_the_flow_still_tells_the_end() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .block(150, "do_idle", 0, BlockEnd::Jump)
        .block(920, "do_idle", 0x20, BlockEnd::Jump)
        .block(1000, "__schedule", 0x40, BlockEnd::FarReturn)
        .block(1100, "work", 0x20, BlockEnd::Jump);
    assert_eq!(
        causes(&world(&table, &script, true)),
        expected(&[("offcpu.other", 300), ("power.c-state-exit.state-3", 520), ("offcpu.runnable", 80)])
    );
}

/// The record of entering idle is at 150, and the CPU is still entering it when it is woken at 400: it halts at 420
/// and an interrupt wakes it at 900.
#[test]
fn a_cpu_on_its_way_halts_all_the_same() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(0, "work", 0, BlockEnd::Jump);
    script.block(410, "do_idle", 0, BlockEnd::Jump).block(420, "do_idle", 0x10, BlockEnd::Jump);
    wake(&mut script, 0x1c);
    assert_eq!(
        causes(&world(&table, &script, true)),
        expected(&[
            ("offcpu.other", 300),
            ("offcpu.runnable", 20),
            ("power.c-state-exit.state-3", 480),
            ("offcpu.runnable", 100)
        ])
    );
}

/// As before, but the CPU stalled from 420 to 880 with work to do, and HLT, which an interrupt ends at once, follows.
#[test]
fn hlt_says_where_a_cpu_halts() {
    let table = table().with_code("do_idle", &[0xf4]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .block(410, "do_idle", 0x20, BlockEnd::Jump)
        .block(420, "do_idle", 0x10, BlockEnd::Jump)
        .block(880, "do_idle", 0, BlockEnd::FallThrough);
    wake(&mut script, 0x01);
    assert_eq!(
        causes(&world(&table, &script, true)),
        expected(&[
            ("offcpu.other", 300),
            ("offcpu.runnable", 480),
            ("power.c-state-exit.state-3", 20),
            ("offcpu.runnable", 100)
        ])
    );
}

/// When it is woken at 400 the CPU is in an interrupt that ended HLT before that, by its records idle. Another one, which brings the wake-up,
/// hits that one, and it goes back to what follows HLT at 800.
#[test]
fn a_cpu_in_an_interrupt_that_ended_hlt_left_no_idle_state() {
    let table =
        Table::new(&["do_idle", "__schedule", "handle_softirqs"], &["work"]).with_code("do_idle", &[0xf4]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .interrupt_of(350, "do_idle", 0x01, "handle_softirqs")
        .block(360, "handle_softirqs", 0, BlockEnd::Jump)
        .block(520, "handle_softirqs", 0x10, BlockEnd::Jump)
        .interrupt_of(600, "handle_softirqs", 0x20, "__schedule")
        .block(605, "__schedule", 0x20, BlockEnd::FarReturn)
        .block(700, "handle_softirqs", 0x20, BlockEnd::FarReturn)
        .block(800, "do_idle", 0x01, BlockEnd::Jump)
        .block(1000, "__schedule", 0x40, BlockEnd::FarReturn)
        .block(1100, "work", 0x20, BlockEnd::Jump);
    assert_eq!(
        causes(&world(&table, &script, true)),
        expected(&[("offcpu.other", 300), ("offcpu.runnable", 600)])
    );
}

#[test]
fn a_state_of_zero_is_none() {
    let table = table();
    let found = causes(&world(&table, &script(&table, 0), false));
    assert_eq!(found, expected(&[("offcpu.other", 300), ("offcpu.runnable", 600)]));
}

#[test]
fn the_evidence_is_the_packet_and_the_wake_up() {
    let table = table();
    let examined = world(&table, &script(&table, 6), false).examine(50..1050);
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    let exit =
        attribution.segments().iter().find(|segment| segment.range.start == Tsc(400)).expect("the exit");
    assert_eq!(exit.detail, "CPU 0 was woken by an interrupt");
    assert_eq!(exit.evidence[0].aux_offset, Some(900));
    assert!(exit.evidence[1].text.contains("sched_waking"));
}
