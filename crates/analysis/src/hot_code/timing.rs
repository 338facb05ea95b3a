//! Times the code of one examined outlier and of its baselines, and lists the hottest of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use attribution::{Decode as _, Examined, thunk};
use model::{Pid, Ticks, Tsc, TscRange};
use rayon::prelude::*;
use report::{HotBlock, HotInstruction, HotRange, Spent, Timebase};
use symbols::{FunctionId, Instruction};

use super::cost::{Cost, Span};
use super::costs::Costs;
use super::cut::{Block, Piece, pieces};
use super::sources::{SourcePlaces, Sources};
use super::stopwatch::Stopwatch;
use crate::capture::{Capture, Decoders, Watch};

/// Ranges of one outlier.
const MOST_RANGES: usize = 5;
/// Instructions of one range.
const MOST_INSTRUCTIONS: usize = 160;
/// Blocks of one range that are looked at; the others are its coldest.
const MOST_BLOCKS: usize = 512;
/// A range with less than this part of the time on a CPU is not hot.
const SMALLEST_PART: u64 = 100;
/// Code that lies closer together than this is one range.
const NEAR: u64 = 64;

/// What timing code takes.
pub(crate) struct Timing<'t, 'a> {
    /// The capture.
    pub(crate) capture: &'t Capture<'a>,
    /// Its decoders.
    pub(crate) decoders: &'t Decoders<'a>,
    /// Receives the progress; may stop it.
    pub(crate) watch: &'t Watch,
}

impl Timing<'_, '_> {
    /// The code in which most of the time of an `outlier` went, beside what its `baselines` spend there. Source lines
    /// have their text where the files lie in one of `places`.
    pub(crate) fn ranges(
        &self,
        places: SourcePlaces,
        outlier: &Examined,
        baselines: &[&Examined],
    ) -> Vec<HotRange> {
        self.watch.expect(1 + baselines.len());
        let (own, typical) = rayon::join(
            || self.times(outlier),
            || baselines.par_iter().map(|one| self.times(one)).collect::<Vec<Costs>>(),
        );
        let listing = Listing {
            capture: self.capture,
            at: outlier.interval.range.start,
            baselines: typical.len() as u64,
            sources: &mut Sources::new(places),
        };
        listing.ranges(&own, &typical)
    }

    /// What each block cost in the time of an interval's own threads.
    fn times(&self, examined: &Examined) -> Costs {
        let mut costs = Costs::new();
        let still = examined.stand_stills();
        let at = examined.interval.range.start;
        let known = RefCell::new(HashMap::new());
        let is_thunk =
            |address| *known.borrow_mut().entry(address).or_insert_with(|| self.is_thunk(address, at));
        self.decoders.with(|decoding| {
            let mut decoder = self.watch.over(decoding);
            for stay in &examined.stays {
                let Some((cpu, thread)) = stay.traced_by() else { continue };
                let mut stopwatch = Stopwatch::new(&mut costs, thread, stay.range, &still, &is_thunk);
                decoder.decode(cpu, thread, stay.range, &mut stopwatch);
                stopwatch.finish();
            }
        });
        self.watch.done();
        costs
    }

    /// Whether the kernel's code at `address` stands in for an indirect call or a return.
    fn is_thunk(&self, address: u64, at: Tsc) -> bool {
        let found = self.capture.images().function_at(Pid::KERNEL, address, at);
        found.is_some_and(|function| thunk(function.name).is_some())
    }
}

/// The blocks of one function, by their offsets from its start.
struct FunctionCode {
    pid: Pid,
    /// Where it starts in the outlier; 0 where no symbol covers it, so that offsets are addresses.
    start: u64,
    blocks: BTreeMap<Span, (Cost, Cost)>,
}

/// One outlier's code in the making.
struct Listing<'a, 'c> {
    capture: &'a Capture<'c>,
    at: Tsc,
    baselines: u64,
    sources: &'a mut Sources,
}

impl Listing<'_, '_> {
    fn ranges(mut self, own: &Costs, typical: &[Costs]) -> Vec<HotRange> {
        let functions = self.by_function(own, typical);
        let all: u64 = own.iter().fold(0, |sum, (_, cost)| sum.saturating_add(cost.ticks));
        let mut ranges: Vec<(u64, &FunctionCode, Vec<Block>)> = Vec::new();
        for function in functions.values() {
            for blocks in near(&function.blocks) {
                let ticks = blocks.iter().fold(0u64, |sum, block| sum.saturating_add(block.own.ticks));
                ranges.push((ticks, function, blocks));
            }
        }
        ranges.retain(|(ticks, ..)| *ticks > 0 && *ticks >= all / SMALLEST_PART);
        ranges.sort_by_key(|(ticks, function, _)| (std::cmp::Reverse(*ticks), function.start));
        ranges.truncate(MOST_RANGES);
        ranges.into_iter().filter_map(|(_, function, blocks)| self.range(function, blocks)).collect()
    }

    /// The functions that the outlier ran, with what they cost there and in all baselines together.
    fn by_function(&self, own: &Costs, typical: &[Costs]) -> BTreeMap<Option<FunctionId>, FunctionCode> {
        let mut functions: BTreeMap<Option<FunctionId>, FunctionCode> = BTreeMap::new();
        for &((pid, span), ref cost) in own.iter() {
            let (id, start) = self.function(pid, span.first);
            let blocks = BTreeMap::new();
            let code = functions.entry(id).or_insert(FunctionCode { pid, start, blocks });
            code.blocks.entry(span.from(start)).or_default().0.add(cost);
        }
        for &((pid, span), ref cost) in typical.iter().flat_map(Costs::iter) {
            let (id, start) = self.function(pid, span.first);
            if let Some(code) = functions.get_mut(&id) {
                code.blocks.entry(span.from(start)).or_default().1.add(cost);
            }
        }
        functions
    }

    fn function(&self, pid: Pid, address: u64) -> (Option<FunctionId>, u64) {
        let found = self.capture.images().function_at(pid, address, self.at);
        found.map_or((None, 0), |function| (Some(function.id), function.start))
    }

    fn range(&mut self, function: &FunctionCode, mut blocks: Vec<Block>) -> Option<HotRange> {
        blocks.sort_by_key(|block| std::cmp::Reverse((block.own.ticks, block.typical.ticks)));
        let cold: u64 = blocks.iter().skip(MOST_BLOCKS).map(|block| u64::from(block.span.instructions)).sum();
        blocks.truncate(MOST_BLOCKS);
        let texts = self.disassemble(function, &blocks);
        let lengths: Vec<(u64, u64)> =
            texts.iter().map(|(&at, found)| (at, found.bytes.len() as u64)).collect();
        let mut kept = pieces(&lengths, &blocks);
        let left_out = cold + keep_hottest(&mut kept);
        let first = function.start.wrapping_add(kept.first()?.offsets.first().copied()?);
        let location = self.capture.images().resolve(function.pid, first, self.at);
        let mut listed = Vec::with_capacity(kept.len());
        for piece in &kept {
            let instructions = piece.offsets.iter().filter_map(|offset| texts.get(offset));
            let instructions = instructions.map(|found| self.instruction(function.pid, found)).collect();
            listed.push(HotBlock { spent: self.spent(piece), instructions });
        }
        Some(HotRange {
            function: location.symbol.map_or_else(|| "[unknown]".to_owned(), |name| name.to_string()),
            dso: location.dso.to_string(),
            spent: listed.iter().map(|block| block.spent).reduce(Spent::and)?,
            blocks: listed,
            left_out,
        })
    }

    /// The instructions of `blocks` by their offsets.
    fn disassemble(&self, function: &FunctionCode, blocks: &[Block]) -> BTreeMap<u64, Instruction> {
        let mut texts = BTreeMap::new();
        for block in blocks {
            let first = function.start.wrapping_add(block.span.first);
            let count = block.span.instructions as usize;
            let found = self.capture.images().disassemble(function.pid, first, self.at, count);
            let by_offset =
                found.into_iter().map(|found| (found.address.wrapping_sub(function.start), found));
            texts.extend(by_offset.take_while(|(offset, _)| *offset <= block.span.last));
        }
        texts
    }

    fn instruction(&mut self, pid: Pid, found: &Instruction) -> HotInstruction {
        let frames = self.capture.images().lines(pid, found.address, self.at);
        let verified = self.capture.images().has_verified_lines(pid, found.address, self.at);
        let line = self.sources.line(&frames, verified);
        HotInstruction { address: found.address, text: found.text.clone(), line }
    }

    /// In the report's units; of the baselines the mean, rounded half up.
    fn spent(&self, piece: &Piece) -> Spent {
        let timebase = Timebase::new(self.capture.conversion(), None);
        let time = |ticks: u64| timebase.duration(TscRange::new(Tsc(0), Tsc(0) + Ticks(ticks)));
        let count = self.baselines.max(1);
        let mean = |sum: u64| (sum + count / 2) / count;
        let nominal = self.capture.perf().intel_pt().map_or(0, |intel_pt| intel_pt.max_nonturbo_ratio);
        let cycles = |cost: &Cost| cost.cycles(nominal);
        Spent {
            duration_ns: time(piece.own.ticks),
            typical_ns: time(mean(piece.typical.ticks)),
            cycles: cycles(&piece.own),
            typical_cycles: cycles(&piece.typical).map(mean).filter(|_| self.baselines > 0),
            executions: piece.own.executions,
            typical_executions: mean(piece.typical.executions),
        }
    }
}

/// `blocks` as lists whose members lie near one another.
fn near(blocks: &BTreeMap<Span, (Cost, Cost)>) -> Vec<Vec<Block>> {
    let mut lists: Vec<Vec<Block>> = Vec::new();
    let mut end = 0u64;
    for (&span, &(own, typical)) in blocks {
        let block = Block { span, own, typical };
        match lists.last_mut().filter(|_| span.first <= end.saturating_add(NEAR)) {
            Some(list) => list.push(block),
            None => lists.push(vec![block]),
        }
        end = end.max(span.last);
    }
    lists
}

/// Drops the coldest pieces until the others fit; returns how many instructions went.
fn keep_hottest(pieces: &mut Vec<Piece>) -> u64 {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse((pieces[at].own.ticks, pieces[at].typical.ticks)));
    let (mut room, mut dropped) = (MOST_INSTRUCTIONS, 0);
    for at in order {
        let wanted = pieces[at].offsets.len();
        let kept = wanted.min(room);
        room -= kept;
        dropped += (wanted - kept) as u64;
        pieces[at].offsets.truncate(kept);
    }
    pieces.retain(|piece| !piece.offsets.is_empty());
    dropped
}
