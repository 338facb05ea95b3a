//! What an engine says of watched calls, and interrupts between a call or a return and what follows it.

use super::*;

/// Where interrupts lead.
const ELSEWHERE: u64 = KERNEL + 0x9000;

fn call(returns_to: u64) -> EventKind {
    EventKind::WatchedCall { returns_to }
}

fn entry(ip: u64) -> EventKind {
    EventKind::WatchedEntry { ip }
}

fn back(to: u64) -> EventKind {
    EventKind::WatchedReturn { to }
}

fn interrupt(from: u64) -> EventKind {
    EventKind::AsyncBranch { from, to: ELSEWHERE }
}

#[test]
fn a_watched_call_lasts_from_its_entry_to_its_return() {
    // Times 11 to 16. The call at 13 is of another function, from the same place: its return is no end of the first one.
    let found = Script::new(10, 1)
        .event(call(0x505))
        .event(entry(F))
        .event(call(0x505))
        .event(back(0x505))
        .event(back(0x505))
        .event(back(0x505))
        .found();
    assert_eq!((ranges(&found), found.unfinished), (vec![(12, 15)], 0));
}

#[test]
fn a_watched_call_returns_on_another_cpu() {
    let mut stretches = Script::new(10, 1).event(call(0x505)).event(entry(F)).stretches(0);
    stretches.extend(Script::new(20, 2).event(back(0x505)).stretches(1));
    stretches.extend(Script::new(30, 1).event(back(0x505)).stretches(1));
    let found = join_calls(stretches);
    assert_eq!((ranges(&found), found.unfinished), (vec![(12, 31)], 0));
}

/// Its last block is the `iret` of an interrupt, after which the thread is switched away.
#[test]
fn an_interrupt_that_ended_last_hides_no_call() {
    let calls = |from: Script| {
        let interrupted = from.event(interrupt(KERNEL + 0x48)).block(ELSEWHERE, BlockEnd::FarReturn);
        let mut stretches = interrupted.stretches(0);
        let caller = KERNEL + 0x500 + 8 + 5;
        let returned =
            Script::new(100, 1).block(KERNEL + 0x600, BlockEnd::Return).block(caller, BlockEnd::Jump);
        stretches.extend(returned.stretches(1));
        join_calls(stretches)
    };
    let by_blocks = Script::new(10, 1)
        .block(KERNEL + 0x500, BlockEnd::Call)
        .block(KERNEL, BlockEnd::ConditionalBranch)
        .block(KERNEL + 0x40, BlockEnd::FallThrough);
    assert_eq!(ranges(&calls(by_blocks)), [(12, 102)]);
    let watched = Script::new(10, 1).event(call(KERNEL + 0x50d)).event(entry(KERNEL));
    assert_eq!(ranges(&calls(watched)), [(12, 102)]);
}

/// The same, where the interrupt began in another part of the trace than the one that its `iret` ends.
#[test]
fn an_interrupt_that_began_elsewhere_hides_no_call() {
    let began =
        Script::new(10, 1).event(call(KERNEL + 0x50d)).event(entry(KERNEL)).event(interrupt(KERNEL + 0x48));
    let mut stretches = began.stretches(0);
    stretches.extend(Script::new(50, 1).block(ELSEWHERE, BlockEnd::FarReturn).stretches(0));
    stretches.extend(Script::new(100, 1).event(back(KERNEL + 0x50d)).stretches(0));
    let found = join_calls(stretches);
    assert_eq!((ranges(&found), found.unfinished), (vec![(12, 101)], 0));
}

/// An interrupt of the kernel comes when the function has been called and did not begin; and when it has returned.
#[test]
fn interrupts_on_the_way_to_a_function_and_back_change_nothing() {
    let caller = KERNEL + 0x500 + 8 + 5;
    let found = Script::new(10, 1)
        .block(KERNEL + 0x500, BlockEnd::Call)
        .event(interrupt(KERNEL))
        .block(ELSEWHERE, BlockEnd::FarReturn)
        .block(KERNEL, BlockEnd::Return)
        .event(interrupt(caller))
        .block(ELSEWHERE, BlockEnd::FarReturn)
        .block(caller, BlockEnd::Jump)
        .found();
    assert_eq!((ranges(&found), found.unfinished), (vec![(14, 15)], 0));
}

/// `call thunk`; thunk: `call over`; `mov %rax,(%rsp)`; `jmp` to a `ret`, which leads to the function.
#[test]
fn a_retpoline_whose_return_lies_elsewhere_is_no_frame() {
    let found = Script::new(10, 1)
        .block(0x500, BlockEnd::Call)
        .block(0x2000, BlockEnd::Call)
        .block(0x2020, BlockEnd::Jump)
        .block(0x3000, BlockEnd::Return)
        .block(F, BlockEnd::Return)
        .block(0x500 + 8 + 5, BlockEnd::Jump)
        .found();
    assert_eq!((ranges(&found), found.unfinished), (vec![(15, 16)], 0));
}

/// Ten bytes are the most that a call has; a return to twelve bytes after it is that of another call.
#[test]
fn a_return_after_another_call_is_not_its_own() {
    let found = Script::new(10, 1)
        .block(0x500, BlockEnd::Call)
        .block(F, BlockEnd::Return)
        .block(0x500 + 8 + 12, BlockEnd::Jump)
        .found();
    assert_eq!((ranges(&found), found.unfinished), (vec![], 1));
}
