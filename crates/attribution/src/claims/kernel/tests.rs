//! Records against frames: which frame gets which record, what pairs, what replaces a missing flow.

use model::Cpu;
use perfdata::{LeaveReason, Schedule};
use pt::{BlockEnd, EventKind as PtKind};

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{IDLE, Script, Table, WORKER, WRITER, World, expected, record, run};

const KERNEL: &[&str] = &[
    "entry_SYSCALL_64",
    "asm_exc_page_fault",
    "asm_common_interrupt",
    "vfs_read",
    "do_syscall_64",
    "asm_exc_int3",
];

fn table() -> Table {
    Table::new(KERNEL, &["work"])
}

fn world<'t>(table: &'t Table, script: &Script<'_>, records: Vec<SidebandEvent>) -> World<'t> {
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 10_000, LeaveReason::Unknown)]);
    World { table, schedule, records, items: script.items.clone(), kernel_traced: true }
}

fn fault(time: u64, address: u64) -> SidebandEvent {
    record(time, 0, WORKER, Side::Begin, EventKind::PageFault { address, error_code: None })
}

fn irq(time: u64, side: Side) -> SidebandEvent {
    record(time, 0, WORKER, side, EventKind::Irq { number: 7, name: Some("nvme0q1".into()) })
}

fn call(time: u64, cpu: u32, number: u64, side: Side) -> SidebandEvent {
    record(time, cpu, WORKER, side, EventKind::Syscall { number, arguments: vec![].into() })
}

/// A fault in a system call, interrupted by an interrupt: each record goes to the innermost frame it is about.
#[test]
fn records_name_the_frames_they_are_about() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .block(100, "entry_SYSCALL_64", 0, BlockEnd::FallThrough)
        .interrupt(200, "asm_exc_page_fault")
        .block(200, "asm_exc_page_fault", 0, BlockEnd::FallThrough)
        .interrupt(300, "asm_common_interrupt")
        .block(300, "asm_common_interrupt", 0, BlockEnd::FarReturn)
        .block(400, "asm_exc_page_fault", 0x40, BlockEnd::FarReturn)
        .block(500, "entry_SYSCALL_64", 0x40, BlockEnd::FarReturn)
        .block(600, "work", 0x20, BlockEnd::Jump);
    let records = vec![
        call(110, 0, 0, Side::Begin),
        fault(210, 0xabc0),
        irq(310, Side::Begin),
        irq(390, Side::End),
        call(590, 0, 0, Side::End),
    ];
    let world = world(&table, &script, records);
    let examined = world.examine(0..700);
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    assert_eq!(
        crate::testing::script::told(&attribution),
        expected(&[
            ("user.expected", 100),
            ("kernel.syscall.read", 100),
            ("kernel.page-fault.minor", 100),
            ("kernel.irq.nvme0q1", 100),
            ("kernel.page-fault.minor", 100),
            ("kernel.syscall.read", 100),
            ("user.expected", 100),
        ])
    );
    let segments = attribution.segments();
    assert_eq!(segments[2].detail, "address 0xabc0");
    // The two pieces of the fault and of the call are one occurrence each.
    assert_eq!(segments[2].occurrence, segments[4].occurrence);
    assert_eq!(segments[1].occurrence, segments[5].occurrence);
}

/// By a record, and by Event Trace's packet where only that has the address.
#[test]
fn a_fault_in_a_mapped_file_names_it() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FallThrough)
        .interrupt(100, "asm_exc_page_fault")
        .block(100, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(200, "work", 0x20, BlockEnd::FallThrough)
        .event(300, PtKind::EventData { kind: 0, payload: 0xa_0fff })
        .interrupt(300, "asm_exc_page_fault")
        .block(300, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(400, "work", 0x40, BlockEnd::Jump);
    let world = world(&table, &script, vec![fault(110, 0xa_0000)]);
    let attribution = crate::attribute_alone(&world.examine(0..500)).expect("a partition");
    let segments = attribution.segments();
    assert_eq!(segments[1].detail, "address 0xa0000 in /srv/db+0x1000");
    assert_eq!(segments[3].detail, "address 0xa0fff in /srv/db+0x1fff");
}

/// `enum tlb_flush_reason`: 1 is a remote shootdown, 4 an IPI sent; all pages are `TLB_FLUSH_ALL`.
#[test]
fn flushes_of_the_tlb_are_told_where_they_happen() {
    let table = Table::new(&["asm_sysvec_call_function", "entry_SYSCALL_64"], &["work"]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FallThrough)
        .interrupt(100, "asm_sysvec_call_function")
        .block(100, "asm_sysvec_call_function", 0, BlockEnd::FarReturn)
        .block(200, "work", 0x20, BlockEnd::FarCall)
        .block(300, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(400, "work", 0x40, BlockEnd::Jump);
    let flush =
        |time, reason, pages| record(time, 0, WORKER, Side::Begin, EventKind::TlbFlush { reason, pages });
    let world = world(&table, &script, vec![flush(150, 1, u64::MAX), flush(350, 4, 3)]);
    let attribution = crate::attribute_alone(&world.examine(0..500)).expect("a partition");
    let told: Vec<(String, &str)> = attribution
        .segments()
        .iter()
        .map(|segment| (segment.cause.to_string(), &*segment.detail))
        .filter(|(cause, _)| cause.starts_with("kernel."))
        .collect();
    assert_eq!(
        told,
        [
            ("kernel.ipi.call-function".to_owned(), "TLB shootdown requested by another CPU, all pages"),
            ("kernel.syscall.unknown".to_owned(), "TLB shootdown sent to other CPUs, 3 pages"),
        ]
    );
}

/// Two faults, the second nested in an interrupt's handler in the first: two.
#[test]
fn a_fault_within_a_fault_is_a_second_one() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FallThrough)
        .interrupt(100, "asm_exc_page_fault")
        .block(100, "asm_exc_page_fault", 0, BlockEnd::FallThrough)
        .interrupt(200, "asm_exc_page_fault")
        .block(200, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(300, "asm_exc_page_fault", 0x40, BlockEnd::FarReturn)
        .block(400, "work", 0x20, BlockEnd::Jump);
    let world = world(&table, &script, vec![fault(110, 1), fault(210, 2)]);
    let attribution = crate::attribute_alone(&world.examine(0..500)).expect("a partition");
    let faults: Vec<_> = attribution
        .segments()
        .iter()
        .filter(|segment| segment.cause.to_string() == "kernel.page-fault.minor")
        .map(|segment| (segment.range.ticks().0, segment.detail.as_str()))
        .collect();
    assert_eq!(faults, [(100, "address 0x1"), (100, "address 0x2"), (100, "address 0x1")]);
    let numbers: std::collections::BTreeSet<_> = attribution
        .segments()
        .iter()
        .filter(|segment| segment.cause.to_string().starts_with("kernel"))
        .map(|segment| segment.occurrence)
        .collect();
    assert_eq!(numbers.len(), 2);
}

/// No trace at all: pairs show the work, those of the thread's CPUs and of its own calls, whichever CPU they ended
/// on.
#[test]
fn pairs_stand_in_for_a_missing_flow() {
    let table = table();
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 300, LeaveReason::Preempted),
        run(WRITER, 0, 300, 900, LeaveReason::Unknown),
        run(WORKER, 1, 500, 1000, LeaveReason::Unknown),
    ]);
    let softirq = |time, cpu, side| record(time, cpu, WORKER, side, EventKind::Softirq { vector: 3 });
    let records = vec![
        softirq(50, 0, Side::Begin),
        softirq(80, 0, Side::End),
        call(100, 0, 1, Side::Begin),
        softirq(320, 0, Side::Begin),
        softirq(340, 0, Side::End),
        softirq(550, 1, Side::Begin),
        softirq(570, 1, Side::End),
        call(600, 1, 1, Side::End),
    ];
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    assert_eq!(
        world.story(0..700),
        expected(&[
            ("trace.loss", 50),
            ("kernel.softirq.net_rx", 30),
            ("trace.loss", 20),
            ("kernel.syscall.write", 200),
            ("offcpu.preempted", 200),
            ("kernel.syscall.write", 50),
            ("kernel.softirq.net_rx", 20),
            ("kernel.syscall.write", 30),
            ("trace.loss", 100),
        ])
    );
}

/// By the record in its frame, by the one before the flow, by the one beyond its end, and by records alone.
#[test]
fn a_system_call_says_its_descriptor() {
    let sendmsg = |time, fd, side| {
        let kind = EventKind::Syscall { number: 46, arguments: vec![fd, 0x7ffc_0000].into() };
        record(time, 0, WORKER, side, kind)
    };
    let details = |world: World<'_>, range| -> Vec<(String, String)> {
        let attribution = crate::attribute_alone(&world.examine(range)).expect("a partition");
        let calls =
            attribution.segments().iter().filter(|segment| matches!(segment.cause, model::Cause::Syscall(_)));
        calls.map(|segment| (segment.cause.to_string(), segment.detail.clone())).collect()
    };
    let sendmsg_on = |fd: u32| ("kernel.syscall.sendmsg".to_owned(), format!("on fd {fd}"));
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(100, "do_syscall_64", 0x40, BlockEnd::FarReturn)
        .block(200, "work", 0, BlockEnd::FarCall)
        .block(300, "entry_SYSCALL_64", 0, BlockEnd::FallThrough)
        .block(350, "entry_SYSCALL_64", 0x40, BlockEnd::FarReturn)
        .block(400, "work", 0, BlockEnd::FarCall)
        .block(500, "entry_SYSCALL_64", 0, BlockEnd::FallThrough);
    let records = vec![
        sendmsg(50, 6, Side::Begin),
        sendmsg(190, 0, Side::End),
        sendmsg(310, 8, Side::Begin),
        sendmsg(390, 1, Side::End),
        sendmsg(610, 9, Side::Begin),
    ];
    assert_eq!(details(world(&table, &script, records), 100..600), [6, 8, 9].map(sendmsg_on));
    let pair = vec![sendmsg(150, 11, Side::Begin), sendmsg(250, 0, Side::End)];
    assert_eq!(details(world(&table, &Script::new(&table), pair), 100..300), [11].map(sendmsg_on));
}

/// An end whose begin is of other work closes nothing: a record was lost between them.
#[test]
fn a_lost_record_makes_no_pair() {
    let table = table();
    let softirq = |time, vector, side| record(time, 0, WORKER, side, EventKind::Softirq { vector });
    let records = vec![softirq(50, 3, Side::Begin), softirq(5000, 9, Side::End)];
    let world = world(&table, &Script::new(&table), records);
    assert_eq!(world.story(0..6000), expected(&[("trace.loss", 6000)]));
}

/// The flow begins inside the kernel and returns to user code without code that would name it.
#[test]
fn an_entry_before_the_flow_is_named_by_the_open_record() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(100, "vfs_read", 0x40, BlockEnd::FarReturn).block(200, "work", 0, BlockEnd::Jump);
    let in_call = world(&table, &script, vec![call(50, 0, 0, Side::Begin)]);
    assert_eq!(in_call.story(100..300), expected(&[("kernel.syscall.read", 100), ("user.expected", 100)]));
    let in_interrupt = world(&table, &script, vec![call(50, 0, 0, Side::Begin), irq(60, Side::Begin)]);
    assert_eq!(
        in_interrupt.story(100..300),
        expected(&[("kernel.irq.nvme0q1", 100), ("user.expected", 100)])
    );
    let unknown = world(&table, &script, Vec::new());
    let attribution = crate::attribute_alone(&unknown.examine(100..300)).expect("a partition");
    assert_eq!(attribution.segments()[0].cause.to_string(), "kernel.unknown");
    assert_eq!(attribution.segments()[0].detail, "already in the kernel, in vfs_read");
}

/// The interval begins at the exit of `sendto`, and ends at the entry of `recvfrom`: both records lie outside.
#[test]
fn calls_that_the_edges_cut_are_named_by_the_records_beyond() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(100, "do_syscall_64", 0x40, BlockEnd::FallThrough)
        .block(150, "entry_SYSCALL_64", 0x40, BlockEnd::FarReturn)
        .block(200, "work", 0, BlockEnd::FarCall)
        .block(300, "entry_SYSCALL_64", 0, BlockEnd::FallThrough);
    let (sendto, recvfrom) = (44, 45);
    let records = vec![
        call(20, 0, sendto, Side::Begin),
        call(90, 0, sendto, Side::End),
        call(410, 0, recvfrom, Side::Begin),
    ];
    let known = [("kernel.syscall.sendto", 100), ("user.expected", 100), ("kernel.syscall.recvfrom", 100)];
    assert_eq!(world(&table, &script, records).story(100..400), expected(&known));
    let unknown = [("kernel.syscall.unknown", 100), ("user.expected", 100), ("kernel.syscall.unknown", 100)];
    assert_eq!(world(&table, &script, Vec::new()).story(100..400), expected(&unknown));
    // A record is missing: what ended there may be another call.
    let gap = vec![call(410, 0, recvfrom, Side::End)];
    assert_eq!(world(&table, &script, gap).story(100..400), expected(&unknown));
}

/// The records of a call in the middle are lost: the next one, at the interval's end, is another.
#[test]
fn only_the_call_that_the_end_cuts_is_named_by_the_record_beyond() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(100, "work", 0, BlockEnd::FarCall)
        .block(200, "entry_SYSCALL_64", 0, BlockEnd::FallThrough)
        .block(250, "entry_SYSCALL_64", 0x40, BlockEnd::FarReturn)
        .block(300, "work", 0, BlockEnd::FarCall)
        .block(400, "entry_SYSCALL_64", 0, BlockEnd::FallThrough);
    let story = |middle: &'static str| {
        expected(&[
            ("user.expected", 100),
            (middle, 100),
            ("user.expected", 100),
            ("kernel.syscall.recvfrom", 100),
        ])
    };
    let records = vec![call(510, 0, 45, Side::Begin)];
    let found = world(&table, &script, records).story(100..500);
    assert_eq!(found, story("kernel.syscall.unknown"));
    // Only its `sys_exit` is lost: it is no longer open.
    let records = vec![call(210, 0, 0, Side::Begin), call(510, 0, 45, Side::Begin)];
    assert_eq!(world(&table, &script, records).story(100..500), story("kernel.syscall.read"));
}

/// A thread has a page fault at 100, in which it sleeps in `function` from 200 to 800.
fn fault_that_sleeps_in(function: &str) -> Vec<(String, u64)> {
    let waits = &[
        "asm_exc_page_fault",
        "handle_mm_fault",
        "folio_wait_bit_common",
        "rwsem_down_read_slowpath",
        "reclaim_throttle",
    ];
    let table = Table::new(waits, &["work"]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FallThrough)
        .interrupt(100, "asm_exc_page_fault")
        .block(100, "asm_exc_page_fault", 0, BlockEnd::Call)
        .block(150, function, 0, BlockEnd::FallThrough)
        .block(800, function, 0x40, BlockEnd::Return)
        .block(850, "asm_exc_page_fault", Script::AFTER, BlockEnd::FarReturn)
        .block(900, "work", 0x20, BlockEnd::Jump);
    let mut world = world(&table, &script, Vec::new());
    world.schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 200, LeaveReason::Slept(Some('D'))),
        run(IDLE, 0, 200, 800, LeaveReason::Preempted),
        run(WORKER, 0, 800, 1000, LeaveReason::Unknown),
    ]);
    world.story(0..1000)
}

/// A thread that sleeps while a fault is handled waits for the page: the fault is a major one. This does not apply
/// where it waits for the lock of the address space, or for free memory.
#[test]
fn a_fault_that_slept_for_its_page_is_major() {
    let story = |fault: &'static str, wait: &'static str| {
        expected(&[("user.expected", 100), (fault, 100), (wait, 600), (fault, 100), ("user.expected", 100)])
    };
    let page = story("kernel.page-fault.major", "offcpu.block-io");
    assert_eq!(fault_that_sleeps_in("folio_wait_bit_common"), page);
    let unknown = story("kernel.page-fault.major", "offcpu.other");
    assert_eq!(fault_that_sleeps_in("handle_mm_fault"), unknown, "no function that says what for");
    let lock = story("kernel.page-fault.minor", "offcpu.lock");
    assert_eq!(fault_that_sleeps_in("rwsem_down_read_slowpath"), lock);
    let reclaim = story("kernel.page-fault.minor", "offcpu.other");
    assert_eq!(fault_that_sleeps_in("reclaim_throttle"), reclaim);
}

/// A user-only trace: the flow before the kernel's time and a record inside it identify the work.
#[test]
fn untraced_kernel_time_is_classed_by_records() {
    let table = table();
    let enabled = PtKind::Enabled { ip: 0x1020, resumed: true };
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .event(100, PtKind::Disabled { ip: None, from: None })
        .event(300, enabled)
        .block(300, "work", 0x20, BlockEnd::Jump)
        .event(400, PtKind::Disabled { ip: None, from: None })
        .event(600, enabled)
        .block(600, "work", 0x40, BlockEnd::Jump)
        .event(700, PtKind::Disabled { ip: None, from: None })
        .event(900, enabled)
        .block(900, "work", 0x60, BlockEnd::Jump);
    let mut world = world(&table, &script, vec![call(110, 0, 1, Side::Begin), fault(410, 0x77)]);
    world.kernel_traced = false;
    assert_eq!(
        world.story(0..1000),
        expected(&[
            ("user.expected", 100),
            ("kernel.syscall.write", 200),
            ("user.expected", 100),
            ("kernel.page-fault.minor", 200),
            ("user.expected", 100),
            ("kernel.unknown", 200),
            ("user.expected", 100),
        ])
    );
    assert_eq!(world.examine(0..1000).stays[0].place, crate::Whereabouts::OnCpu(Cpu(0)));
}

/// A loss between two packets of a system call: the pair of records covers it, and all of it is one call.
#[test]
fn a_loss_inside_a_recorded_call_is_the_call() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .block(100, "entry_SYSCALL_64", 0, BlockEnd::FallThrough)
        .gap(200)
        .block(400, "do_syscall_64", 0x40, BlockEnd::FarReturn)
        .block(500, "work", 0x20, BlockEnd::Jump);
    let world = world(&table, &script, vec![call(110, 0, 0, Side::Begin), call(490, 0, 0, Side::End)]);
    let attribution = crate::attribute_alone(&world.examine(0..600)).expect("a partition");
    assert_eq!(
        crate::testing::script::told(&attribution),
        expected(&[
            ("user.expected", 100),
            ("kernel.syscall.read", 100),
            ("kernel.syscall.read", 200),
            ("kernel.syscall.read", 100),
            ("user.expected", 100),
        ])
    );
    let calls = attribution.segments()[1..4].iter().map(|segment| segment.occurrence);
    assert_eq!(calls.collect::<std::collections::BTreeSet<_>>().len(), 1);
}

/// A uprobe's breakpoint has no cause of its own, so the particulars name the kernel entry and describe it.
#[test]
fn an_exception_without_a_cause_names_its_entry() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FallThrough)
        .interrupt(100, "asm_exc_int3")
        .block(100, "asm_exc_int3", 0, BlockEnd::FarReturn)
        .block(300, "work", 0x20, BlockEnd::Jump);
    let attribution = crate::attribute_alone(&world(&table, &script, Vec::new()).examine(0..400));
    let attribution = attribution.expect("a partition");
    let segment = &attribution.segments()[1];
    assert_eq!(segment.cause.to_string(), "kernel.unknown");
    assert!(segment.detail.starts_with("entered at asm_exc_int3 (#BP"), "{}", segment.detail);
}
