//! The hottest code in the payload: ranges, blocks, instructions; bounded in instructions.

use serde::Serialize;

use super::texts::Texts;
use crate::hot_code::{HotBlock, HotInstruction, HotRange, Spent};

/// Instructions of the whole page.
const MOST_INSTRUCTIONS: usize = 6000;

#[derive(Serialize)]
pub(super) struct RangeTwin {
    name: usize,
    blocks: Vec<BlockTwin>,
    left: u64,
}

/// Time, typical time, cycles, typical cycles, runs, typical runs, instructions.
#[derive(Serialize)]
struct BlockTwin(u64, u64, Option<u64>, Option<u64>, u64, u64, Vec<InstructionTwin>);

/// Address, text, and where a line is known: file, number, text.
#[derive(Serialize)]
struct InstructionTwin(usize, usize, Option<(usize, u32, Option<usize>)>);

/// The `ranges` of one of `outliers`.
pub(super) fn ranges(ranges: &[HotRange], outliers: usize, texts: &mut Texts) -> Vec<RangeTwin> {
    let mut room = MOST_INSTRUCTIONS / outliers;
    let twin = |range: &HotRange| {
        let mut left = range.left_out;
        let mut blocks = Vec::new();
        for block in &range.blocks {
            let shown = &block.instructions[..block.instructions.len().min(room)];
            room -= shown.len();
            left += (block.instructions.len() - shown.len()) as u64;
            if !shown.is_empty() {
                blocks.push(BlockTwin::new(block, shown, texts));
            }
        }
        RangeTwin { name: texts.index(&range.function), blocks, left }
    };
    ranges.iter().map(twin).collect()
}

impl BlockTwin {
    fn new(block: &HotBlock, shown: &[HotInstruction], texts: &mut Texts) -> BlockTwin {
        let Spent { duration_ns, typical_ns, cycles, typical_cycles, executions, typical_executions } =
            block.spent;
        let mut instruction = |one: &HotInstruction| {
            let line = one.line.as_ref().map(|line| {
                (texts.index(&line.file), line.number, line.text.as_ref().map(|text| texts.index(text)))
            });
            InstructionTwin(texts.index(&format!("{:x}", one.address)), texts.index(&one.text), line)
        };
        let instructions = shown.iter().map(&mut instruction).collect();
        BlockTwin(
            duration_ns,
            typical_ns,
            cycles,
            typical_cycles,
            executions,
            typical_executions,
            instructions,
        )
    }
}
