//! What an interval's threads executed in a stretch of its time: runs through functions, with their blocks.
//!
//! Input: the stays of the interval's threads and a decoder. Output: a [`Flow`], bounded whatever the trace holds. A run
//! is a row of blocks of one function; blocks that repeat in it are counted, so a loop of a million rounds is a few
//! lines. A block lasts until the next one begins, as exactly as the trace's time packets show.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use attribution::{Decode, Function, Functions, Stay, thunk};
use model::{Cpu, Pid, ThreadId, Ticks, Tsc, TscRange};
use pt::{Block, EventKind, FlowItem, FlowSink, PtEvent};
use report::{SegmentReport, Timebase};

use super::nesting::Nesting;

/// Rows that are kept; who wants to see more zooms in.
const MOST_ROWS: usize = 50_000;
/// Different blocks of one run that are distinguished; the others count as the last of these.
const MOST_BLOCKS: usize = 2_000;

/// A stretch of an interval, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// In order of time.
    pub(crate) rows: Vec<FlowRow>,
    /// The requested stretch, from the interval's start, in the report's unit.
    pub(crate) asked: (u64, u64),
    /// Whether it ends early because there was too much.
    pub(crate) is_cut: bool,
}

/// A line of the flow.
#[derive(Clone, Debug)]
pub(crate) enum FlowRow {
    /// Blocks of one function, one after the other.
    Run(Run),
    /// Anything else: an interrupt, a gap, time off the CPU.
    Mark(Mark),
}

/// Blocks of one function, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// From the interval's start.
    pub(crate) offset: u64,
    /// Until the next row.
    pub(crate) duration: u64,
    /// The CPU.
    pub(crate) cpu: Option<u32>,
    /// The function; `[unknown]` where no file names it.
    pub(crate) function: Arc<str>,
    /// Whether it is the kernel's.
    pub(crate) is_kernel: bool,
    /// How many calls before it have not returned.
    pub(crate) depth: usize,
    /// Blocks executed, repetitions counted.
    pub(crate) executions: u64,
    /// Instructions executed.
    pub(crate) instructions: u64,
    /// The different blocks in order of their first execution.
    pub(crate) blocks: Vec<BlockUse>,
}

/// A block and how often it ran in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockUse {
    /// As it was first executed.
    pub(crate) block: Block,
    /// Where it was.
    pub(crate) cpu: Option<Cpu>,
    /// How often.
    pub(crate) executions: u64,
    /// When it first ran, from the interval's start.
    pub(crate) offset: u64,
    /// For how long together.
    pub(crate) duration: u64,
    /// Where the decoder had read up to before it first ran.
    pub(crate) aux_before: u64,
}

/// What is no block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// From the interval's start.
    pub(crate) offset: u64,
    /// That of what runs before it.
    pub(crate) depth: usize,
    /// In words; not escaped.
    pub(crate) text: String,
}

impl FlowRow {
    /// How many calls before it have not returned.
    pub(crate) fn depth(&self) -> usize {
        match self {
            FlowRow::Run(run) => run.depth,
            FlowRow::Mark(mark) => mark.depth,
        }
    }
}

/// What is decoded, and how its places are named.
pub(crate) struct Wanted<'a> {
    /// The interval's own range: the zero of all offsets.
    pub(crate) interval: TscRange,
    /// The part to show.
    pub(crate) range: TscRange,
    /// Names of functions.
    pub(crate) functions: &'a dyn Functions,
    /// From ticks to the report's unit.
    pub(crate) timebase: Timebase,
    /// The interval's segments: they name the time off the CPU.
    pub(crate) segments: &'a [SegmentReport],
}

impl Wanted<'_> {
    /// Decodes what lies in the stretch of each stay; it answers what was `asked` for.
    pub(crate) fn decode(&self, asked: (u64, u64), stays: &[Stay], decoder: &mut dyn Decode) -> Flow {
        let mut flow = Flow { asked, ..Flow::default() };
        for stay in stays {
            let Some(range) = stay.range.intersection(self.range) else { continue };
            let Some((cpu, thread)) = stay.traced_by() else {
                flow.rows.extend(self.named(range).map(FlowRow::Mark));
                continue;
            };
            let mut runs = Runs::new(self, &mut flow, range, (cpu, thread));
            let traced = decoder.decode(cpu, thread, range, &mut runs);
            runs.end();
            if !traced {
                let text = format!("no trace for {}", self.words(range));
                flow.rows.push(FlowRow::Mark(Mark { offset: self.offset(range.start), depth: 0, text }));
            }
            if flow.is_cut {
                break;
            }
        }
        flow
    }

    /// What the interval's segments say of a time of which there is no trace.
    fn named(&self, range: TscRange) -> impl Iterator<Item = Mark> {
        let (from, to) = (self.offset(range.start), self.offset(range.stop));
        let there = self.segments.iter().filter(move |segment| {
            segment.offset_ns < to && segment.offset_ns.saturating_add(segment.duration_ns) > from
        });
        there.map(move |segment| {
            let words = [segment.cause.as_str(), &segment.detail];
            let words = words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ");
            let length = report::length(segment.duration_ns, self.timebase.unit());
            Mark { offset: segment.offset_ns.max(from), depth: 0, text: format!("{length} {words}") }
        })
    }

    fn offset(&self, at: Tsc) -> u64 {
        self.timebase.duration(TscRange::new(self.interval.start, at.max(self.interval.start)))
    }

    fn length(&self, ticks: Ticks) -> u64 {
        let start = self.interval.start;
        self.timebase.duration(TscRange::new(start, start + ticks))
    }

    fn words(&self, range: TscRange) -> String {
        report::length(self.timebase.duration(range), self.timebase.unit())
    }
}

/// Gathers the blocks of one stay into runs.
struct Runs<'s, 'a> {
    wanted: &'s Wanted<'a>,
    flow: &'s mut Flow,
    range: TscRange,
    cpu: Option<Cpu>,
    thread: ThreadId,
    now: Tsc,
    /// Where the decoder had read up to; `None` before its first item.
    aux: Option<u64>,
    function: Option<Function>,
    open: Option<OpenRun>,
    nesting: Nesting,
    /// The depths of the stay's rows, the first of which has this index.
    depths: Vec<i64>,
    first: usize,
}

/// A run that is not over.
struct OpenRun {
    start: Tsc,
    function: Option<Function>,
    is_kernel: bool,
    depth: i64,
    instructions: u64,
    executions: u64,
    uses: Vec<(BlockUse, Ticks)>,
    places: HashMap<(u64, u64), usize>,
    last: usize,
}

impl<'s, 'a> Runs<'s, 'a> {
    fn new(
        wanted: &'s Wanted<'a>,
        flow: &'s mut Flow,
        range: TscRange,
        (cpu, thread): (Option<Cpu>, ThreadId),
    ) -> Runs<'s, 'a> {
        let (first, now) = (flow.rows.len(), range.start);
        let (nesting, depths) = (Nesting::default(), Vec::new());
        Runs {
            wanted,
            flow,
            range,
            cpu,
            thread,
            now,
            aux: None,
            function: None,
            open: None,
            nesting,
            depths,
            first,
        }
    }

    /// The time since the last item belongs to the last block.
    fn advance(&mut self, at: Tsc) {
        let at = at.clamp(self.now, self.range.stop.max(self.now));
        if let Some(open) = &mut self.open
            && let Some((_, ticks)) = open.uses.get_mut(open.last)
        {
            *ticks += at.since(self.now);
        }
        self.now = at;
    }

    fn block(&mut self, block: &Block) {
        let pid = block.thread.map_or(Pid::KERNEL, |thread| thread.pid);
        if !self.function.as_ref().is_some_and(|function| function.range.contains(&block.ip)) {
            self.function = self.wanted.functions.function_at(pid, block.ip, self.now);
        }
        let name = self.function.as_ref().map_or("", |function| &function.name);
        if let Some(thunk) = thunk(name).filter(|_| block.kernel && self.open.is_some()) {
            self.nesting.thunk(thunk);
            return self.add(block);
        }
        let depth = self.nesting.block(block);
        let start = self.function.as_ref().map(|function| function.start);
        let goes_on = self.open.as_ref().is_some_and(|open| {
            open.function.as_ref().map(|function| function.start) == start && open.is_kernel == block.kernel
        });
        if !goes_on {
            self.close(self.now);
            self.open = Some(OpenRun {
                start: self.now,
                function: self.function.clone(),
                is_kernel: block.kernel,
                depth,
                instructions: 0,
                executions: 0,
                uses: Vec::new(),
                places: HashMap::new(),
                last: 0,
            });
        }
        self.add(block);
    }

    /// `block` is one of the open run.
    fn add(&mut self, block: &Block) {
        let (cpu, places) = (self.cpu, (self.wanted.offset(self.now), self.aux.unwrap_or(block.aux_offset)));
        if let Some(open) = &mut self.open {
            open.add(block, cpu, places);
        }
    }

    fn mark(&mut self, text: String) {
        self.close(self.now);
        let offset = self.wanted.offset(self.now);
        self.depths.push(self.nesting.depth());
        self.flow.rows.push(FlowRow::Mark(Mark { offset, depth: 0, text }));
    }

    /// Ends the stay: its outermost row has depth 0.
    fn end(&mut self) {
        self.close(self.range.stop);
        let outermost = self.depths.iter().copied().min().unwrap_or(0);
        for (row, depth) in self.flow.rows[self.first..].iter_mut().zip(&self.depths) {
            let own = usize::try_from(depth.saturating_sub(outermost)).unwrap_or(0);
            match row {
                FlowRow::Run(run) => run.depth = own,
                FlowRow::Mark(mark) => mark.depth = own,
            }
        }
    }

    /// Ends the open run at `at`.
    fn close(&mut self, at: Tsc) {
        self.advance(at);
        let Some(open) = self.open.take() else { return };
        let unknown = || Arc::from("[unknown]");
        let blocks = open
            .uses
            .into_iter()
            .map(|(block, ticks)| BlockUse { duration: self.wanted.length(ticks), ..block });
        self.depths.push(open.depth);
        self.flow.rows.push(FlowRow::Run(Run {
            offset: self.wanted.offset(open.start),
            duration: self.wanted.timebase.duration(TscRange::new(open.start, self.now)),
            cpu: self.cpu.map(|cpu| cpu.0),
            function: open.function.map_or_else(unknown, |function| function.name),
            is_kernel: open.is_kernel,
            depth: 0,
            executions: open.executions,
            instructions: open.instructions,
            blocks: blocks.collect(),
        }));
    }

    fn name(&self, event: &PtEvent, ip: u64) -> String {
        let pid = event.thread.map_or(Pid::KERNEL, |thread| thread.pid);
        match self.wanted.functions.function_at(pid, ip, self.now) {
            Some(function) => format!("{}+{:#x}", function.name, ip.wrapping_sub(function.start)),
            None => format!("{ip:#x}"),
        }
    }

    /// What an event says to a reader; `None` where the blocks around it show it.
    fn event(&self, event: &PtEvent) -> Option<String> {
        Some(match event.kind {
            EventKind::AsyncBranch { from, to } => {
                format!("interrupted at {}, on to {}", self.name(event, from), self.name(event, to))
            }
            EventKind::Disabled { .. } => "tracing stops".to_owned(),
            EventKind::Enabled { .. } => "tracing begins".to_owned(),
            EventKind::Overflow { .. } => "packets lost: the core's buffer overflowed".to_owned(),
            EventKind::Ptwrite { payload, .. } => format!("PTWRITE {payload:#x}"),
            EventKind::ExecutionStopped { .. } => "execution stopped".to_owned(),
            EventKind::Mwait { hints, ext } => format!("MWAIT hints {hints:#x}, extensions {ext:#x}"),
            EventKind::PowerEntry { state, sub_state, .. } => {
                format!("power entry: C-state field {state}.{sub_state}")
            }
            EventKind::PowerExit { last, deepest, .. } => {
                format!("power exit: last C-state field {last}, deepest {deepest}")
            }
            EventKind::Transaction { aborted: true, .. } => "transaction aborted".to_owned(),
            EventKind::ControlFlowEvent { kind, vector, .. } => {
                format!("control-flow event {kind}, vector {vector}")
            }
            EventKind::EventData { payload, .. } => format!("event data {payload:#x}"),
            EventKind::TraceStop => "tracing stops by filter".to_owned(),
            // Core:bus ratio, page table, transactions that begin or commit; and kinds that this page does not know yet.
            _ => return None,
        })
    }
}

impl OpenRun {
    fn add(&mut self, block: &Block, cpu: Option<Cpu>, (offset, aux_before): (u64, u64)) {
        self.executions += 1;
        self.instructions += u64::from(block.instructions);
        let room = self.uses.len() < MOST_BLOCKS;
        let place = self.places.get(&(block.ip, block.end_ip)).copied();
        self.last = match place {
            Some(place) => place,
            None if room => {
                let new = BlockUse { block: *block, cpu, executions: 0, offset, duration: 0, aux_before };
                self.uses.push((new, Ticks(0)));
                self.places.insert((block.ip, block.end_ip), self.uses.len() - 1);
                self.uses.len() - 1
            }
            None => self.uses.len() - 1,
        };
        if let Some((used, _)) = self.uses.get_mut(self.last) {
            used.executions += 1;
        }
    }
}

impl FlowSink for Runs<'_, '_> {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        let time = item.time();
        let aux_offset = item.aux_offset();
        let is_ours = item.thread().is_none_or(|thread| thread.tid == self.thread.tid);
        let is_early = time.not_after < self.range.start;
        if time.likely >= self.range.stop {
            return ControlFlow::Break(());
        }
        if is_ours && !is_early {
            self.advance(time.likely);
            match item {
                FlowItem::Block(block) => self.block(block),
                FlowItem::Gap(gap) => self.mark(format!("not decoded: {}", gap.reason)),
                FlowItem::Event(event) => {
                    if let Some(text) = self.event(event) {
                        self.mark(text);
                    }
                    if let EventKind::AsyncBranch { from, .. } = event.kind {
                        self.nesting.interrupt(from);
                    }
                }
            }
        }
        self.aux = Some(aux_offset);
        self.flow.is_cut = self.flow.rows.len() >= MOST_ROWS;
        if self.flow.is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests;
