use super::*;

#[test]
fn what_lies_beyond_the_recording_is_told() {
    let recorded = Recorded { time: Some((1_000, 9_000)), ..Recorded::default() };
    let beyond = |start, stop| recorded.beyond(PerfTime(start), PerfTime(stop));
    assert_eq!(beyond(1_000, 9_000), (0, 0));
    assert_eq!(beyond(400, 2_000), (600, 0));
    assert_eq!(beyond(20_000, 21_000), (0, 12_000));
    assert_eq!(Recorded::default().beyond(PerfTime(5), PerfTime(6)), (0, 0), "nothing is known");
}

#[test]
fn events_are_known_by_their_names() {
    let mut kinds = Kinds::default();
    for event in ["sched:sched_waking", "irq:softirq_entry", "syscalls:sys_enter_read", "irq:other", ""] {
        kinds.see(event);
    }
    let expected = Kinds { wakings: true, softirqs: true, syscalls: true, ..Kinds::default() };
    assert_eq!(kinds, expected);
    assert!(!kinds.tell_switches());
}
