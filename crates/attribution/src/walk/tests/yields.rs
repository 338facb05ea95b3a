//! Loops that yield: a library that looks for tasks waits, and a worker that yields after each item works.

use std::sync::LazyLock;

use super::walk;
use crate::testing::script::{Script, Table};
use crate::walk::activity::Activity;
use pt::BlockEnd;

/// The blocks of a round: more than an iteration without a yield may have, and farther than a short jump leads.
const BLOCKS: u64 = 60;

/// Blocks of 16 bytes with a last instruction at byte 11: `mov $24,%eax; nop x6; syscall`, then `store; nop; jne`, then `cmp %ecx,(%rsi); nopw; jne` again
/// and again.
fn round_with(store: &[u8]) -> Vec<u8> {
    let block = |does: &[u8], end: &[u8]| {
        let mut code = does.to_vec();
        code.resize(11, 0x90);
        code.extend(end);
        code.resize(16, 0x90);
        code
    };
    let mut code = block(&[0xb8, 24, 0, 0, 0], &[0x0f, 0x05]);
    code.extend(block(store, &[0x75, 0]));
    let looks = [0x39, 0x0e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    (2..=BLOCKS + 1).for_each(|_| code.extend(block(&looks, &[0x75, 0])));
    code
}

/// `movl $1,(%rdi)`: a library notes that it looks.
static LOOKS: LazyLock<Vec<u8>> = LazyLock::new(|| round_with(&[0xc7, 0x07, 1, 0, 0, 0]));
/// `mov (%rdi),%rax; mov %eax,(%rdx)`: a worker writes down what it has done.
static WORKS: LazyLock<Vec<u8>> = LazyLock::new(|| round_with(&[0x48, 0x8b, 0x07, 0x89, 0x02]));
/// `add (%rdi),%eax; add $4,%rdi`: a worker goes through the item.
static ADDS: LazyLock<Vec<u8>> = LazyLock::new(|| round_with(&[0x03, 0x07, 0x48, 0x83, 0xc7, 4]));

/// Rounds of 1,000 ticks from 1,000 on, in each of which `blocks` run after the yield.
fn rounds(code: &'static [u8], times: u64, mut blocks: impl FnMut(u64) -> Vec<u64>) -> Activity {
    let table = Table::new(&["entry_SYSCALL_64"], &["work", "turn"]).with_code("turn", code);
    let mut script = Script::new(&table);
    script.block(500, "work", 0, BlockEnd::Call);
    for round in 0..times {
        let begin = 1_000 * (1 + round);
        script
            .block(begin, "turn", 0, BlockEnd::FarCall)
            .block(begin + 10, "entry_SYSCALL_64", 0, BlockEnd::Jump)
            .block(begin + 100, "entry_SYSCALL_64", 0x20, BlockEnd::FarReturn);
        for (at, block) in (begin + 200..).zip(blocks(round)) {
            script.block(at, "turn", 16 * block, BlockEnd::ConditionalBranch);
        }
    }
    let end = 1_000 * (1 + times);
    script.block(end, "work", Script::AFTER, BlockEnd::Jump).block(end + 100, "work", 0x40, BlockEnd::Jump);
    walk(&table, &script, end + 200)
}

fn waited(activity: &Activity) -> Vec<(u64, u64)> {
    activity.spins.iter().map(|spin| (spin.range.start.0, spin.range.stop.0)).collect()
}

fn all() -> Vec<u64> {
    (1..=BLOCKS).collect()
}

/// From the first yield on: what came before it may have been anything.
#[test]
fn rounds_alike_between_yields_wait() {
    assert_eq!(waited(&rounds(&LOOKS, 20, |_| all())), [(1_000, 21_000)]);
}

/// Each seventh round has a block more, as where a library looks into one more queue; where that comes once it may have been work.
#[test]
fn a_round_that_comes_once_is_none_of_the_wait() {
    let more = || (1..=BLOCKS + 1).collect();
    let often = rounds(&LOOKS, 21, |round| if round % 7 == 3 { more() } else { all() });
    assert_eq!(waited(&often), [(1_000, 22_000)]);
    // It is new from its last block on.
    let once = rounds(&LOOKS, 21, |round| if round == 9 { more() } else { all() });
    assert_eq!(waited(&once), [(1_000, 10_260), (11_200, 22_000)]);
}

/// Items of different kinds, each in code of its own.
#[test]
fn a_worker_whose_items_differ_works() {
    let item = |round| (1..=BLOCKS).filter(|&block| block == 1 || (round >> (block % 8)) & 1 == 0).collect();
    assert_eq!(waited(&rounds(&LOOKS, 20, item)), []);
}

#[test]
fn a_worker_that_writes_results_works() {
    assert_eq!(waited(&rounds(&WORKS, 20, |_| all())), []);
}

/// An inner loop of 300 rounds between two yields; of three it may be a look at three queues.
#[test]
fn a_worker_that_goes_through_its_items_works() {
    let item = |words: usize| move |_| [vec![1; words], vec![2, 3]].concat();
    assert_eq!(waited(&rounds(&ADDS, 20, item(300))), []);
    assert_eq!(waited(&rounds(&ADDS, 20, item(3))), [(1_000, 21_000)]);
}

/// It waits for an item and writes small state when there is one: of such a round no part is a wait, though it comes again and again.
#[test]
fn a_worker_that_waits_for_each_item_works_between() {
    let item = || [2, 1].into_iter().chain(3..=BLOCKS).collect();
    let ran = rounds(&LOOKS, 20, |round| if round % 5 == 4 { item() } else { vec![2] });
    let expected = [(1_000, 5_201), (6_000, 10_201), (11_000, 15_201), (16_000, 20_201)];
    assert_eq!(waited(&ran), expected);
}
