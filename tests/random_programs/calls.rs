//! Calls of a function in random programs: by the blocks around them alone as by all blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use intervals::functions::{Call, EntryPoint, FoundCalls, FunctionCalls, join_calls};
use model::Tsc;
use pt::{
    Block, BlockEnd, Chunk, Decoder, EngineKind, EventKind, Flow, FlowItem, Limits, PtEvent, WatchedCalls,
    Window, decode_window,
};
use tracegen::random::{Program, program};

use super::{ALL, Trial};

/// Functions of a program that are looked at.
const MOST_FUNCTIONS: usize = 6;

/// What came of the functions looked at.
#[derive(Debug, Default)]
struct Outcomes {
    /// Comparisons in which the calls, if any, were found by the blocks around them.
    alike: u32,
    /// Those calls.
    calls: usize,
    /// All blocks were needed.
    unsure: u32,
}

fn flow_of(trial: &Trial<'_>, window: &Window<'_>) -> Flow {
    let mut engine = Decoder::new(EngineKind::Native, super::config(trial.program), Limits::default());
    decode_window(&mut engine, window, &trial.memory).expect("memory")
}

fn block(item: &FlowItem) -> Option<&Block> {
    match item {
        FlowItem::Block(block) => Some(block),
        _ => None,
    }
}

/// The first blocks after calls.
fn functions(flow: &Flow) -> BTreeSet<u64> {
    let blocks = flow.items.iter().filter_map(block);
    let pairs = blocks.clone().zip(blocks.skip(1));
    let called = pairs.filter(|(call, _)| call.end == BlockEnd::Call).map(|(_, function)| function.ip);
    called.take(MOST_FUNCTIONS).collect()
}

/// Whether all code lies in one half of the address space. Elsewhere a program may return from the kernel by a near return, as none does.
fn is_of_one_level(program: &Program) -> bool {
    program.code.windows(2).all(|pair| pair[0].address >> 63 == pair[1].address >> 63)
}

/// Until when each return leads to where the last open call comes from, and no call or return leads to code that is not traced. What a return
/// after that belongs to is a guess.
fn nested_until(program: &Program, flow: &Flow) -> Tsc {
    let lengths: BTreeMap<u64, u8> = program.code.iter().flat_map(super::lengths_of).collect();
    let (mut open, mut last) = (Vec::new(), None::<&Block>);
    for item in &flow.items {
        let block = match item {
            FlowItem::Block(block) => block,
            FlowItem::Event(PtEvent { kind: EventKind::Disabled { .. }, time, .. })
                if last.is_some_and(|last| matches!(last.end, BlockEnd::Call | BlockEnd::Return)) =>
            {
                return time.likely;
            }
            _ => continue,
        };
        match last {
            Some(Block { end: BlockEnd::Call, end_ip, .. }) => open.push(end_ip + u64::from(lengths[end_ip])),
            Some(Block { end: BlockEnd::Return, .. }) if open.pop().is_some_and(|to| to != block.ip) => {
                return block.time.likely;
            }
            _ => {}
        }
        last = Some(block);
    }
    Tsc(u64::MAX)
}

/// Those that returned before `until`, and during which no trace was lost.
fn known(found: &FoundCalls, until: Tsc) -> Vec<Call> {
    let calls = found.calls.iter().copied();
    calls.filter(|call| !call.crossed_gap && call.range.stop < until).collect()
}

/// The calls by all blocks, the trace in so many chunks.
fn by_all(trial: &Trial<'_>, window: &Window<'_>, entries: &[EntryPoint], chunks: &[Chunk]) -> FoundCalls {
    let mut engine = Decoder::new(EngineKind::Native, super::config(trial.program), Limits::default());
    let mut found = Vec::new();
    for &chunk in chunks {
        let mut calls = FunctionCalls::new(entries, None, ALL);
        engine.decode_chunk(window, chunk, &trial.memory, &mut calls).expect("memory");
        found.extend(calls.finish());
    }
    join_calls(found)
}

/// The calls by the blocks around them, the trace in so many chunks; nothing where all blocks are needed.
fn by_blocks_around(
    trial: &Trial<'_>,
    window: &Window<'_>,
    entries: &[EntryPoint],
    chunks: &[Chunk],
) -> Option<FoundCalls> {
    let watched = Mutex::new(WatchedCalls::of(entries.iter().map(|entry| (entry.ip, entry.pid))));
    let mut engine = Decoder::new(EngineKind::Native, super::config(trial.program), Limits::default());
    loop {
        let (mut found, mut instructions) = (Vec::new(), 0);
        for &chunk in chunks {
            let mut calls = FunctionCalls::watching(entries, None, ALL, &watched);
            let stats = engine.decode_chunk(window, chunk, &trial.memory, &mut calls).expect("memory");
            if watched.lock().expect("no panic").is_unsure() {
                return None;
            }
            instructions += stats.instructions;
            found.push(calls);
        }
        assert_eq!(instructions, trial.instructions);
        if !found.iter().any(FunctionCalls::is_incomplete) {
            return Some(join_calls(found.into_iter().flat_map(FunctionCalls::finish)));
        }
    }
}

#[test]
fn calls_are_found_alike_by_the_blocks_around_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut outcomes = Outcomes::default();
    for seed in 0..3000 {
        let program = program(seed);
        if !is_of_one_level(&program) {
            continue;
        }
        let trial = super::trial(seed, &program, folder.path());
        super::with_window(&program, 1, |window| {
            let flow = flow_of(&trial, window);
            let until = nested_until(&program, &flow);
            let chunks = pt::chunks(window, 1, 2);
            for function in functions(&flow) {
                let entries = [EntryPoint { ip: function, pid: None }];
                for chunks in [&[Chunk::WHOLE][..], &chunks] {
                    let expected = by_all(&trial, window, &entries, chunks);
                    match by_blocks_around(&trial, window, &entries, chunks) {
                        Some(found) => {
                            let here = format!("seed {seed}, {function:#x}, {} chunks", chunks.len());
                            assert_eq!(known(&found, until), known(&expected, until), "{here}");
                            outcomes.alike += 1;
                            outcomes.calls += known(&found, until).len();
                        }
                        None => outcomes.unsure += 1,
                    }
                }
            }
        });
    }
    println!("{outcomes:?}");
    assert!(outcomes.alike > 400 && outcomes.calls > 300 && outcomes.unsure > 100, "{outcomes:?}");
}
