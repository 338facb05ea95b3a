//! String instructions by their machine code, and the time that passes in them.

use model::Cpu;
use pt::{BlockEnd, EventKind};

use super::*;
use crate::testing::script::{STALL, Script, Table};
use crate::walk::activity::Activity;
use crate::walk::walker::Walker;

/// Encodings by hand from the Intel SDM vol. 2.
#[test]
fn repeated_string_instructions_are_known_by_their_bytes() {
    let cases: &[(&[u8], Option<&str>)] = &[
        (&[0xf3, 0xa4], Some("rep movsb")),
        (&[0xf3, 0x48, 0xa5], Some("rep movsq")),
        (&[0x66, 0xf3, 0xa5], Some("rep movsw")),
        (&[0xf3, 0x67, 0xaa], Some("rep stosb")),
        (&[0xf3, 0x48, 0xab], Some("rep stosq")),
        (&[0xf3, 0xad], Some("rep lods")),
        (&[0xf2, 0xae], Some("repne scas")),
        (&[0xf3, 0xae], Some("repe scas")),
        (&[0xf3, 0xa6], Some("repe cmps")),
        (&[0xf2, 0x48, 0xa7], Some("repne cmps")),
        // movsb alone; pause; repz ret; movsd %xmm1,%xmm0; rep nopw
        (&[0xa4], None),
        (&[0xf3, 0x90], None),
        (&[0xf3, 0xc3], None),
        (&[0xf2, 0x0f, 0x10, 0xc1], None),
        (&[0xf3, 0x0f, 0x1e, 0xfa], None),
    ];
    for (code, expected) in cases {
        let instruction = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).decode();
        assert_eq!(name_of(&instruction), *expected, "{code:02x?}");
    }
}

/// `rep movsb`, then instructions of no interest up to the block's end, 11 bytes after its beginning.
const COPIES: &[u8] = &[0xf3, 0xa4, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3];

fn table() -> Table {
    Table::new(&["asm_sysvec_apic_timer_interrupt"], &["work", "copy"]).with_code("copy", COPIES)
}

fn walk(table: &Table, script: &Script<'_>, stop: u64) -> Activity {
    let mut walker = Walker::new(table, STALL);
    walker.switch_in(Some(Cpu(0)), Tsc(0));
    script.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(stop));
    walker.finish(Tsc(stop))
}

/// Times of string instructions with the function, and of stalls.
fn told(activity: &Activity) -> (Vec<(u64, u64, &str)>, usize) {
    let time = |string: &StringTime| (string.range.start.0, string.range.stop.0);
    let strings = activity.strings.iter();
    let strings =
        strings.map(|string| (time(string).0, time(string).1, string.function.as_deref().unwrap_or("")));
    (strings.collect(), activity.stalls.len())
}

#[test]
fn a_long_string_instruction_is_no_stall() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(10, "copy", 0, BlockEnd::Return).block(20_000, "work", 0, BlockEnd::Jump);
    assert_eq!(told(&walk(&table, &script, 21_000)), (vec![(10, 20_000, "copy")], 0));
    // The same without it.
    let mut script = Script::new(&table);
    script.block(10, "work", 0, BlockEnd::Return).block(20_000, "work", 0, BlockEnd::Jump);
    assert_eq!(told(&walk(&table, &script, 21_000)), (vec![], 1));
}

/// `work` calls `copy`, which returns: the next packet is that of the return, at 20,000. The call has none.
#[test]
fn its_time_is_that_of_the_function_it_is_in() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::ConditionalBranch)
        .block_ahead((10, 20_000), "work", 0x40, BlockEnd::Call)
        .block_ahead((10, 20_000), "copy", 0, BlockEnd::Return)
        .block(20_000, "work", 0x50, BlockEnd::Jump);
    let activity = walk(&table, &script, 21_000);
    assert_eq!(told(&activity), (vec![(10, 20_000, "copy")], 0));
    let runs: Vec<_> = activity
        .runs
        .iter()
        .map(|run| (run.function.as_deref().unwrap_or(""), run.range.start.0, run.range.stop.0))
        .filter(|run| run.1 < run.2)
        .collect();
    assert_eq!(runs, [("copy", 10, 20_000), ("work", 20_000, 21_000)]);
}

/// A string instruction before the branch that has the first time ran before it.
#[test]
fn one_that_ran_before_does_not_explain_a_stall() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::ConditionalBranch)
        .block_ahead((10, 50), "copy", 0, BlockEnd::ConditionalBranch)
        .block(50, "work", 0x40, BlockEnd::Jump)
        .block(30_000, "work", 0, BlockEnd::Jump);
    assert_eq!(told(&walk(&table, &script, 31_000)), (vec![], 1));
}

/// `mov $10,%ecx; rep stosq` takes no 20,000 ticks, nor does one of 32 words, which lie in six lines at most; with a count that is not
/// known, or of a thousand, it may.
#[test]
fn one_of_few_elements_does_not_explain_a_stall() {
    const FEW: &[u8] = &[0xb9, 10, 0, 0, 0, 0xf3, 0x48, 0xab, 0x90, 0x90, 0x90, 0xc3];
    const LINES: &[u8] = &[0xb9, 32, 0, 0, 0, 0xf3, 0x48, 0xab, 0x90, 0x90, 0x90, 0xc3];
    const MANY: &[u8] = &[0xb9, 0xe8, 3, 0, 0, 0xf3, 0x48, 0xab, 0x90, 0x90, 0x90, 0xc3];
    const UNKNOWN: &[u8] = &[0xb9, 10, 0, 0, 0, 0x89, 0xd1, 0xf3, 0x48, 0xab, 0x90, 0xc3];
    for (code, strings) in [(FEW, 0), (LINES, 0), (MANY, 1), (UNKNOWN, 1)] {
        let table = Table::new(&[], &["work", "clear"]).with_code("clear", code);
        let mut script = Script::new(&table);
        script.block(10, "clear", 0, BlockEnd::Return).block(20_010, "work", 0, BlockEnd::Jump);
        let activity = walk(&table, &script, 21_000);
        assert_eq!((activity.strings.len(), activity.stalls.len()), (strings, 1 - strings));
    }
}

/// The core stalls before the branch at 20,000; a short copy follows that branch.
#[test]
fn one_that_runs_after_it_does_not_explain_a_stall() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::ConditionalBranch)
        .block_ahead((10, 20_000), "work", 0x40, BlockEnd::ConditionalBranch)
        .block(20_000, "copy", 0, BlockEnd::Return)
        .block(20_040, "work", 0x50, BlockEnd::Jump);
    assert_eq!(told(&walk(&table, &script, 21_000)), (vec![], 1));
}

/// The interrupt comes 15,000 ticks after the copy began; it returns to the copy, which then runs to its end.
#[test]
fn one_that_is_interrupted_has_both_parts() {
    let table = table();
    let timer = "asm_sysvec_apic_timer_interrupt";
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::Call)
        .interrupt_of(15_010, "copy", 0, timer)
        .block(15_010, timer, 0, BlockEnd::FarReturn)
        .block(17_000, "copy", 0, BlockEnd::Return)
        .block(22_000, "work", 0x10, BlockEnd::Jump);
    let activity = walk(&table, &script, 23_000);
    assert_eq!(told(&activity), (vec![(10, 15_010, "copy"), (17_000, 22_000, "copy")], 0));
}

/// The kernel is not traced: between tracing on and off nothing retired, and tracing resumed at the copy.
#[test]
fn one_between_tracing_on_and_off_is_no_stall() {
    let table = table();
    let ip = table.start("copy");
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::Call)
        .event(100, EventKind::Disabled { ip: None, from: None })
        .event(1_000, EventKind::Enabled { ip, resumed: true })
        .event(16_000, EventKind::Disabled { ip: None, from: None })
        .event(17_000, EventKind::Enabled { ip, resumed: true })
        .block(17_000, "copy", 0, BlockEnd::Return)
        .block(17_100, "work", 0x10, BlockEnd::Jump);
    let mut walker = Walker::new(&table, STALL);
    walker.traces_user_code_only();
    walker.switch_in(Some(Cpu(0)), Tsc(0));
    script.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(18_000));
    let (strings, stalls) = (walker.finish(Tsc(18_000)), 0);
    assert_eq!(told(&strings), (vec![(1_000, 16_000, "copy")], stalls));
}
