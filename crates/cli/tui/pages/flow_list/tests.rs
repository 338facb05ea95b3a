use model::Tsc;
use proptest::prelude::*;
use pt::{Block, BlockEnd, TimeBounds};

use super::*;

/// A block at `ip` that took `duration`.
pub(crate) fn used(ip: u64, duration: u64) -> BlockUse {
    let block = Block {
        ip,
        end_ip: ip + 3,
        instructions: 2,
        end: BlockEnd::Jump,
        bits: 64,
        kernel: false,
        thread: None,
        time: TimeBounds::between(Tsc(0), Tsc(1)),
        aux_offset: 0,
    };
    BlockUse { block, cpu: None, executions: 1, offset: 0, duration, aux_before: 0 }
}

fn run(blocks: Vec<BlockUse>) -> FlowRow {
    deep(0, blocks)
}

fn deep(depth: usize, blocks: Vec<BlockUse>) -> FlowRow {
    let (offset, duration, executions, instructions) = (0, 1, 1, 1);
    let function = "f".into();
    FlowRow::Run(Run {
        offset,
        duration,
        cpu: None,
        function,
        is_kernel: false,
        depth,
        executions,
        instructions,
        blocks,
    })
}

fn mark() -> FlowRow {
    FlowRow::Mark(Mark { offset: 0, depth: 0, text: "interrupted".to_owned() })
}

fn part() -> FlowPart {
    let rows = vec![run(vec![used(1, 5), used(2, 9)]), mark(), run(vec![used(3, 1)]), mark()];
    let mut part = FlowPart::default();
    part.show(Flow { rows, ..Flow::default() });
    part
}

/// `r` for a run, `m` for a mark, the address of a block.
fn kinds(part: &FlowPart) -> String {
    let kind = |line: FlowLine<'_>| match line {
        FlowLine::Run(..) => "r".to_owned(),
        FlowLine::Block(_, used) => used.block.ip.to_string(),
        FlowLine::Mark(_) => "m".to_owned(),
    };
    part.all().map(kind).collect()
}

#[test]
fn runs_unfold_to_their_blocks() {
    let mut part = part();
    assert_eq!(kinds(&part), "rmrm");
    part.toggle();
    assert_eq!(kinds(&part), "r12mrm");
    assert_eq!(part.count(), 6);
    part.cursor = Cursor::new(4);
    part.set_unfolded(true);
    assert_eq!(kinds(&part), "r12mr3m");
    part.cursor = Cursor::new(3);
    part.toggle();
    assert_eq!(kinds(&part), "r12mr3m", "a mark has no blocks");
}

#[test]
fn folding_a_run_from_within_leaves_the_cursor_on_it() {
    let mut part = part();
    part.toggle();
    part.cursor = Cursor::new(2);
    part.set_unfolded(false);
    assert_eq!((kinds(&part), part.cursor.at(4)), ("rmrm".to_owned(), 0));
}

#[test]
fn a_run_opens_its_longest_block() {
    let mut part = part();
    assert_eq!(part.block(), Some(used(2, 9)));
    part.toggle();
    part.cursor = Cursor::new(1);
    assert_eq!(part.block(), Some(used(1, 5)));
    part.cursor = Cursor::new(3);
    assert_eq!(part.block(), None, "a mark");
}

/// `a` calls `b`, which calls `c`; `a` goes on, then `d`.
#[test]
fn the_calls_of_a_run_can_be_hidden() {
    let rows = [(0, 1), (1, 2), (2, 3), (0, 1), (0, 4)];
    let mut part = FlowPart::default();
    let rows = rows.iter().map(|&(depth, ip)| deep(depth, vec![used(ip, 1)])).collect();
    part.show(Flow { rows, ..Flow::default() });
    let hidden = |part: &FlowPart| -> Vec<usize> {
        let rows = part.all().filter_map(|line| match line {
            FlowLine::Run(_, _, hidden) => Some(hidden),
            _ => None,
        });
        rows.collect()
    };
    part.cursor = Cursor::new(0);
    part.set_unfolded(false);
    assert_eq!((hidden(&part), part.count()), (vec![2, 0, 0], 3));
    part.cursor = Cursor::new(2);
    assert_eq!(part.block(), Some(used(4, 1)), "the row below is the next one that is shown");
    part.cursor = Cursor::new(0);
    part.set_unfolded(true);
    assert_eq!(part.count(), 5);
    // The first has its blocks shown: the third's caller is two lines below it.
    part.set_unfolded(true);
    part.cursor = Cursor::new(3);
    part.set_unfolded(false);
    assert_eq!((part.cursor.at(6), part.block()), (2, Some(used(2, 1))));
}

proptest! {
    /// What is under the cursor is what the list shows there, whatever is unfolded.
    #[test]
    fn lines_and_places_agree(sizes in prop::collection::vec((0usize..4, 0usize..3), 1..12), unfold in prop::collection::vec((0usize..12, 0usize..3), 0..12)) {
        let rows = sizes.iter().enumerate().map(|(row, &(size, depth))| match size {
            0 => mark(),
            size => deep(depth, (0..size).map(|block| used((row * 10 + block) as u64, 1)).collect()),
        });
        let mut part = FlowPart::default();
        part.show(Flow { rows: rows.collect(), ..Flow::default() });
        for (line, key) in unfold {
            part.cursor = Cursor::new(line);
            match key {
                0 => part.toggle(),
                key => part.set_unfolded(key == 1),
            }
        }
        let lines: Vec<FlowLine<'_>> = part.all().collect();
        prop_assert_eq!(lines.len(), part.count());
        for (at, line) in lines.into_iter().enumerate() {
            let here = FlowPart { cursor: Cursor::new(at), ..part.clone() };
            match line {
                FlowLine::Mark(_) => prop_assert_eq!(here.block(), None),
                FlowLine::Block(_, used) => prop_assert_eq!(here.block(), Some(*used)),
                FlowLine::Run(run, ..) => prop_assert_eq!(here.block(), run.blocks.first().copied()),
            }
        }
    }
}
