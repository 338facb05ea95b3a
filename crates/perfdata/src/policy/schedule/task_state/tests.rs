//! States of tasks, by the table that a recording carries.

use super::*;

/// The tables of Linux 6.1 and 4.9, shortened in the middle.
#[test]
fn letters_come_from_the_formats_table() {
    let since_4_14 = r#""%s", (REC->prev_state & ((((0x00000000 | 0x00000001) + 1) << 1) - 1)) ? __print_flags(
        REC->prev_state, "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000010, "X" }, { 0x00000020, "Z" },
        { 0x00000080, "I" }) : "R", REC->prev_state & 0x00000100 ? "+" : """#;
    let states = TaskStates(parse_table(since_4_14));
    assert_eq!(states.leave_reason(0), LeaveReason::Preempted);
    assert_eq!(states.leave_reason(0x100), LeaveReason::Preempted);
    assert_eq!(states.leave_reason(2), LeaveReason::Slept(Some('D')));
    assert_eq!(states.leave_reason(0x80), LeaveReason::Slept(Some('I')));
    assert_eq!(states.leave_reason(0x10), LeaveReason::Exited);
    let before =
        r#"{ 1, "S"} , { 2, "D" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }"#;
    let states = TaskStates(parse_table(before));
    assert_eq!(states.leave_reason(128), LeaveReason::Slept(Some('K')));
    assert_eq!(states.leave_reason(2048), LeaveReason::Preempted);
    assert_eq!(states.leave_reason(64), LeaveReason::Exited);
}
