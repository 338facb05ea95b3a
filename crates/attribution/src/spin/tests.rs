//! Loops by their machine code, and how long they may take.

use model::{Cause, Certainty, Slower, Tsc, TscRange};
use perfdata::{LeaveReason, Schedule};
use pt::BlockEnd;

use super::{SpinBudget, Waiting, judge};
use crate::claim::Claim;
use crate::examine::Examined;
use crate::partition::Piece;
use crate::precedence::Rank;
use crate::script::{Script, Table, WORKER, WRITER, World, expected, interval, run, told};

/// Twelve bytes, the last two a jump back: `1: mov (%rdi),%eax; cmp %esi,%eax; pause; nop x4; je 1b`.
const POLL: &[u8] = &[0x8b, 0x07, 0x39, 0xf0, 0xf3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xf3];

fn table() -> Table {
    Table::new(&["asm_sysvec_apic_timer_interrupt"], &["work", "poll", "publish"]).with_code("poll", POLL)
}

/// The worker polls from 100 on, a round each 10 ticks, and works from `until` on.
fn polling(table: &Table, until: u64) -> World<'_> {
    let mut script = Script::new(table);
    script.block(0, "work", 0, BlockEnd::Call);
    for at in (100..until).step_by(10) {
        script.block(at, "poll", 0, BlockEnd::ConditionalBranch);
    }
    script.block(until, "work", Script::BEHIND, BlockEnd::Jump).block(
        until + 100,
        "work",
        0x40,
        BlockEnd::Jump,
    );
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 10_000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 10_000, LeaveReason::Unknown),
    ]);
    World { table, schedule, records: Vec::new(), items: script.items.clone(), kernel_traced: true }
}

#[test]
fn what_the_baselines_do_not_spin_is_too_long() {
    let table = table();
    let (outlier, baseline) = (polling(&table, 500), polling(&table, 200));
    let (outlier, baseline) = (outlier.examine(0..600), baseline.examine(0..300));
    let alone = crate::attribute_alone(&outlier).expect("a partition");
    assert!(alone.segments().iter().all(|segment| segment.cause.to_string() == "user.expected"));
    let attribution = crate::attribute(&outlier, &[&baseline], &table).expect("a partition");
    let spin: Vec<_> =
        attribution.segments().iter().filter(|segment| segment.cause.to_string() == "user.spin").collect();
    assert_eq!(spin.len(), 1);
    // The baseline polled from 100 to 200.
    assert_eq!((spin[0].range.start, spin[0].range.stop), (Tsc(200), Tsc(500)));
    assert_eq!((spin[0].certainty, &*spin[0].detail), (Certainty::Inferred, "waiting loop in poll()"));
}

/// A packet at 480 tells the rounds behind it, too, and the way out: three rounds of 10 ticks, and no later than the
/// next packet.
#[test]
fn rounds_without_a_time_of_their_own_are_counted_on() {
    let table = table();
    for (next_packet, left_at, uncertainty) in [(560, 510, 80), (500, 500, 20)] {
        let mut world = polling(&table, 510);
        for item in &mut world.items {
            if let pt::FlowItem::Block(block) = item
                && (481..=510).contains(&block.time.likely.0)
            {
                block.time = pt::TimeBounds::between(Tsc(480), Tsc(next_packet));
            }
        }
        let examined = world.examine(0..600);
        let ticks: u64 = examined.spins().iter().map(|(_, ticks)| ticks).sum();
        assert_eq!(ticks, left_at - 100);
        let spin = examined.claims.iter().find(|claim| claim.cause == Cause::UserSpin).expect("a loop");
        assert_eq!(spin.uncertainty.0, uncertainty);
    }
}

/// The writer had it until the worker left its loop at 500: nothing else tells.
#[test]
fn leaving_the_waiting_loop_hands_over_third_best() {
    let table = table();
    let world = polling(&table, 500);
    let mut two = interval(300..600);
    (two.start_thread, two.stop_thread) = (Some(WRITER), Some(WORKER));
    let examined = world.examine_interval(&two);
    let hand_off = examined.hand_off.clone().expect("a loop");
    assert_eq!((hand_off.at, hand_off.certainty), (Tsc(500), Certainty::Inferred));
    assert_eq!(hand_off.by, "tid 101 leaving its waiting loop in poll()");
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    assert_eq!(attribution.segments().first().and_then(|first| first.thread), Some(WRITER));
    assert_eq!(attribution.segments().last().and_then(|last| last.thread), Some(WORKER));
}

/// An interrupt in the loop is the interrupt's time, and the loop goes on behind it.
#[test]
fn an_interrupt_does_not_end_the_loop() {
    let table = table();
    let mut world = polling(&table, 500);
    let mut script = Script::new(&table);
    script.interrupt(301, "asm_sysvec_apic_timer_interrupt").block(
        301,
        "asm_sysvec_apic_timer_interrupt",
        0,
        BlockEnd::FarReturn,
    );
    let at = world
        .items
        .iter()
        .position(|item| matches!(item, pt::FlowItem::Block(block) if block.time.likely > Tsc(300)));
    let at = at.expect("a later block");
    world.items.splice(at..at, script.items.clone());
    let spins = world.examine(0..600);
    let ticks: u64 = spins.spins().iter().map(|(_, ticks)| ticks).sum();
    assert_eq!((spins.spins().len(), ticks), (2, 400 - 9));
    let story = told(&crate::attribute_alone(&spins).expect("a partition"));
    assert!(story.contains(&expected(&[("kernel.timer", 9)])[0]), "{story:?}");
}

/// Encodings by hand from the Intel SDM vol. 2; the last jump leads to the first byte, `jne` as 75 or `je` as 74.
#[test]
fn a_loop_waits_that_only_looks() {
    let cases: &[(&str, &[u8], bool)] = &[
        // 1: mov (%rdi),%eax; cmp %esi,%eax; je 1b
        ("poll of a word", &[0x8b, 0x07, 0x39, 0xf0, 0x74, 0xfa], true),
        // 1: cmp %eax,(%rsi); pause; je 1b
        ("poll with pause", &[0x39, 0x06, 0xf3, 0x90, 0x74, 0xfa], true),
        // 1: mov $1,%eax; xchg %eax,(%rdi); test %eax,%eax; jne 1b
        ("spin lock", &[0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf5], true),
        // 1: pause; dec %ecx; jz +2; cmp %eax,(%rsi): bounded, then jne 1b
        ("bounded poll", &[0xf3, 0x90, 0xff, 0xc9, 0x74, 0x04, 0x39, 0x06, 0x75, 0xf6], true),
        // 1: mov -8(%rbp),%rax; mov (%rax),%eax; mov %eax,-12(%rbp); mov -12(%rbp),%eax; test %eax,%eax; je 1b
        (
            "poll without optimisation",
            &[0x48, 0x8b, 0x45, 0xf8, 0x8b, 0x00, 0x89, 0x45, 0xf4, 0x8b, 0x45, 0xf4, 0x85, 0xc0, 0x74, 0xf0],
            true,
        ),
        // 1: dec %ecx; jne 1b
        ("counting down", &[0xff, 0xc9, 0x75, 0xfc], false),
        // 1: mov (%rdi),%al; inc %rdi; test %al,%al; jne 1b
        ("end of a string", &[0x8a, 0x07, 0x48, 0xff, 0xc7, 0x84, 0xc0, 0x75, 0xf7], false),
        // 1: mov (%rdi),%rdi; test %rdi,%rdi; jne 1b
        ("walk of a list", &[0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf8], false),
        // 1: mov %eax,(%rdi); cmp %eax,(%rsi); jne 1b
        ("writes memory", &[0x89, 0x07, 0x39, 0x06, 0x75, 0xfa], false),
        // 1: addl $1,-4(%rbp); cmpl $9,-4(%rbp); jne 1b
        ("counter on the stack", &[0x83, 0x45, 0xfc, 1, 0x83, 0x7d, 0xfc, 9, 0x75, 0xf6], false),
        // 1: call +0; cmp %eax,(%rsi); jne 1b
        ("calls", &[0xe8, 0, 0, 0, 0, 0x39, 0x06, 0x75, 0xf7], false),
        // 1: mov $99,%ecx; 2: dec %ecx; jne 2b; cmp %eax,(%rsi); je 1b
        ("works between looks", &[0xb9, 99, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0x39, 0x06, 0x74, 0xf3], false),
        // 1: jmp 1b
        ("reads nothing", &[0xeb, 0xfe], false),
    ];
    for (name, code, waits) in cases {
        // The range ends one byte into the last instruction: the jump of two bytes.
        let body = 0x1000..0x1000 + code.len() as u64 - 1;
        assert_eq!(judge(code, &body).is_some(), *waits, "{name}");
    }
}

#[test]
fn code_that_is_not_known_does_not_wait() {
    assert_eq!(judge(&[0x8b, 0x07, 0x39], &(0x1000..0x1005)), None);
    assert_eq!(judge(&[], &(0x1000..0x1001)), None);
}

#[test]
fn as_long_as_a_baseline_is_as_expected() {
    let baselines = [vec![("a", 10), ("a", 20)], vec![("a", 50)]];
    let mut within = SpinBudget::new(&[("a", 25), ("a", 25)], &baselines);
    assert_eq!((within.expected("a", 25), within.expected("a", 25)), (25, 25));
    // Beyond: the mean of 30 and 50, used up over the pieces.
    let mut beyond = SpinBudget::new(&[("a", 30), ("a", 30), ("b", 5)], &baselines);
    assert_eq!((beyond.expected("a", 30), beyond.expected("a", 30), beyond.expected("b", 5)), (30, 10, 0));
    assert_eq!(SpinBudget::new(&[("a", 7)], &[]).expected("a", 7), 0);
}

/// `tpause` lets the core doze: a round may take as long as it likes.
#[test]
fn a_loop_that_dozes_is_told_from_one_that_looks() {
    // 1: cmp %eax,(%rsi); tpause %ecx (or pause); je 1b
    let dozes = [0x39, 0x06, 0x66, 0x0f, 0xae, 0xf1, 0x74, 0xf8];
    let looks = [0x39, 0x06, 0xf3, 0x90, 0x74, 0xfa];
    assert_eq!(judge(&dozes, &(0x1000..0x1007)), Some(Waiting::Dozes));
    assert_eq!(judge(&looks, &(0x1000..0x1005)), Some(Waiting::Looks));
}

/// In the loop for 900 ticks, 50 in the baseline: it went round 17 times where the baseline did ten times, or 18 times.
#[test]
fn a_loop_that_looked_as_often_as_usual_was_slow_and_waited_for_nobody() {
    let spinning = |ticks: u64, rounds: u64| {
        let mut claim =
            Claim::new(TscRange::new(Tsc(0), Tsc(ticks)), Rank::Spin, Cause::UserSpin, Certainty::Decoded);
        claim.say("loop");
        let mut examined = Examined::empty(interval(0..ticks));
        examined.pieces = vec![Piece { range: claim.range(), claim: Some(0) }];
        examined.claims = vec![claim];
        examined.rounds = [("loop".to_owned(), rounds)].into();
        examined
    };
    let usual = spinning(50, 10);
    let excess = |rounds| SpinBudget::of(&spinning(900, rounds), &[&usual]).excess("loop");
    assert_eq!((excess(17), excess(18)), (Cause::UserSlower(Slower::Other), Cause::UserSpin));
    // Whatever it was: the mean is as expected, and of the slow time what the rest of the interval was faster.
    let mut budget = SpinBudget::of(&spinning(900, 17), &[&usual]);
    assert_eq!((budget.total(), budget.slow()), (50, 850));
    budget.keep_slow(600);
    assert_eq!((budget.expected("loop", 900), budget.slow()), (300, 600));
}
