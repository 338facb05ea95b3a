//! Hand-written flows, schedules and functions for tests: the contents of a capture, one line per item.

use std::ops::ControlFlow;
use std::sync::Arc;

use model::{
    Attribution, Cpu, FileOffset, Interval, IntervalId, PerfTime, Pid, ThreadId, Ticks, Tid, TimeConversion,
    Tsc, TscRange,
};
use perfdata::{AskedFrequencies, FilePlace, LeaveReason, Pauses, Run, Schedule};
use pt::{Block, BlockEnd, EventKind as PtKind, FlowItem, FlowSink, Gap, GapReason, PtEvent, TimeBounds};

use crate::examine::during::During;
use crate::examine::examination::examine_scene;
use crate::examine::examined::Examined;
use crate::inputs::comms::Comms;
use crate::inputs::decode::Decode;
use crate::inputs::files::Files;
use crate::inputs::functions::{Function, Functions};
use crate::inputs::queues::Queues;
use crate::inputs::scene::Scene;
use crate::records::event::{EventKind, Side, SidebandEvent, Within};
use crate::records::sampled::SampledAddress;
use crate::records::sideband::Sideband;
use crate::tables::collectors::collector_of;

/// The thread whose intervals are examined.
pub(crate) const WORKER: ThreadId = ThreadId { pid: Pid(100), tid: Tid(101) };
/// Another thread of its process.
pub(crate) const WRITER: ThreadId = ThreadId { pid: Pid(100), tid: Tid(102) };
/// A CPU's idle task.
pub(crate) const IDLE: ThreadId = ThreadId { pid: Pid(0), tid: Tid(0) };

/// The time between two packets from which on the tests count it as a stall.
pub(crate) const STALL: Ticks = Ticks(10_000);

/// Kernel functions begin here, 0x1000 apart; user functions at 0x1000.
const KERNEL: u64 = 0xffff_ffff_8100_0000;
const SIZE: u64 = 0x1000;

/// One tick is one nanosecond, and both count from zero.
pub(crate) fn conversion() -> TimeConversion {
    TimeConversion::new(0, 1, 0).expect("usable")
}

/// The functions of a test: kernel and user code, by name.
pub(crate) struct Table {
    kernel: &'static [&'static str],
    user: &'static [&'static str],
    writer: &'static str,
    code: Vec<(&'static str, &'static [u8])>,
    inlined: Vec<Inlined>,
}

/// From an offset in a function up to another, these were inlined, outermost first.
type Inlined = (&'static str, u64, u64, &'static [&'static str]);

impl Table {
    pub(crate) fn new(kernel: &'static [&'static str], user: &'static [&'static str]) -> Table {
        Table::named(kernel, user, "writer")
    }

    /// The bytes that `function` begins with.
    pub(crate) fn with_code(mut self, function: &'static str, code: &'static [u8]) -> Table {
        self.code.push((function, code));
        self
    }

    /// Functions that were inlined.
    pub(crate) fn with_inlined(mut self, inlined: Inlined) -> Table {
        self.inlined.push(inlined);
        self
    }

    /// The same, with a name for the other thread.
    pub(crate) fn named(
        kernel: &'static [&'static str],
        user: &'static [&'static str],
        writer: &'static str,
    ) -> Table {
        Table { kernel, user, writer, code: Vec::new(), inlined: Vec::new() }
    }

    /// The address of the function.
    pub(crate) fn start(&self, name: &str) -> u64 {
        let at = |names: &[&str]| names.iter().position(|known| *known == name);
        match (at(self.kernel), at(self.user)) {
            (Some(index), _) => KERNEL + index as u64 * SIZE,
            (None, Some(index)) => SIZE + index as u64 * SIZE,
            (None, None) => panic!("no function {name} in this test"),
        }
    }
}

impl Functions for Table {
    fn function_at(&self, _: Pid, address: u64, _: Tsc) -> Option<Function> {
        let (names, base) = if address >= KERNEL { (self.kernel, KERNEL) } else { (self.user, SIZE) };
        let index = address.checked_sub(base)? / SIZE;
        let name = names.get(usize::try_from(index).ok()?)?;
        let start = base + index * SIZE;
        let collector = collector_of(name, None);
        Some(Function {
            start,
            range: start..start + SIZE,
            name: Arc::from(*name),
            library: false,
            collector,
        })
    }

    fn inlined_at(&self, _: Pid, address: u64, _: Tsc) -> Vec<Arc<str>> {
        let within = |&&(name, from, to, _): &&Inlined| {
            (self.start(name) + from..self.start(name) + to).contains(&address)
        };
        let found = self.inlined.iter().find(within);
        found.map_or_else(Vec::new, |(.., names)| names.iter().map(|name| Arc::from(*name)).collect())
    }

    fn code_at(&self, _: Pid, address: u64, _: Tsc, into: &mut [u8]) -> usize {
        let from = |(name, code): &(&str, &'static [u8])| {
            let offset = usize::try_from(address.checked_sub(self.start(name))?).ok()?;
            code.get(offset..).filter(|code| !code.is_empty())
        };
        let code = self.code.iter().find_map(from).unwrap_or_default();
        let known = code.len().min(into.len());
        into[..known].copy_from_slice(&code[..known]);
        known
    }
}

impl Comms for Table {
    fn comm(&self, thread: ThreadId, _: Tsc) -> String {
        match thread.tid {
            _ if thread == WORKER => "worker".into(),
            // Of these a test has several.
            Tid(tid @ 150..160) => format!("clerk-{tid}"),
            _ => self.writer.into(),
        }
    }
}

/// In the worker's process `/srv/db` lies at `0xa_0000`, from its byte 0x1000 on, and descriptor 7 is `/srv/wal`.
impl Files for Table {
    fn mapped(&self, thread: ThreadId, address: u64, _: Tsc) -> Option<FilePlace> {
        let offset = address.checked_sub(0xa_0000).filter(|&offset| offset < 0x1000)? + 0x1000;
        (thread.pid == WORKER.pid).then(|| FilePlace { path: "/srv/db".into(), offset })
    }

    fn opened(&self, thread: ThreadId, descriptor: u32, _: Tsc) -> Option<Arc<str>> {
        (thread.pid == WORKER.pid && descriptor == 7).then(|| "/srv/wal".into())
    }
}

/// A flow in the making, block by block. Times are exact: each item lasts from its time to the next one's.
pub(crate) struct Script<'t> {
    table: &'t Table,
    thread: ThreadId,
    /// What was written.
    pub(crate) items: Vec<FlowItem>,
}

impl<'t> Script<'t> {
    pub(crate) fn new(table: &'t Table) -> Script<'t> {
        Script { table, thread: WORKER, items: Vec::new() }
    }

    /// Another thread's.
    pub(crate) fn of(table: &'t Table, thread: ThreadId) -> Script<'t> {
        Script { thread, ..Script::new(table) }
    }

    /// Ten instructions of `function` from its byte `from` on, at `at`; the last one, a byte before the end of 16,
    /// ends the block as `end` says.
    pub(crate) fn block(&mut self, at: u64, function: &str, from: u64, end: BlockEnd) -> &mut Script<'t> {
        let ip = self.table.start(function) + from;
        self.items.push(FlowItem::Block(Block {
            ip,
            end_ip: ip + 11,
            instructions: 10,
            end,
            bits: 64,
            kernel: ip >= KERNEL,
            thread: Some(self.thread),
            time: bounds(at),
            aux_offset: at,
        }));
        self
    }

    /// The same, between two times: `at` is that of the branch which the block leads to.
    pub(crate) fn block_ahead(
        &mut self,
        (from, at): (u64, u64),
        function: &str,
        offset: u64,
        end: BlockEnd,
    ) -> &mut Script<'t> {
        self.block(at, function, offset, end);
        if let Some(FlowItem::Block(block)) = self.items.last_mut() {
            block.time.not_before = Tsc(from);
        }
        self
    }

    /// From the byte after a block that began at byte `from`: the return address of its call.
    pub(crate) const AFTER: u64 = 16;

    /// A PT event.
    pub(crate) fn event(&mut self, at: u64, kind: PtKind) -> &mut Script<'t> {
        let thread = Some(self.thread);
        self.items.push(FlowItem::Event(PtEvent { kind, thread, time: bounds(at), aux_offset: at }));
        self
    }

    /// A PT event between two time packets that lie apart.
    pub(crate) fn event_between(&mut self, from: u64, to: u64, kind: PtKind) -> &mut Script<'t> {
        let time = TimeBounds::between(Tsc(from), Tsc(to));
        let thread = Some(self.thread);
        self.items.push(FlowItem::Event(PtEvent { kind, thread, time, aux_offset: from }));
        self
    }

    /// An interrupt or exception that enters at `stub`.
    pub(crate) fn interrupt(&mut self, at: u64, stub: &str) -> &mut Script<'t> {
        let to = self.table.start(stub);
        self.event(at, PtKind::AsyncBranch { from: 0x1001, to })
    }

    /// The same, of `function` at its byte `offset`.
    pub(crate) fn interrupt_of(
        &mut self,
        at: u64,
        function: &str,
        offset: u64,
        stub: &str,
    ) -> &mut Script<'t> {
        let from = self.table.start(function) + offset;
        let to = self.table.start(stub);
        self.event(at, PtKind::AsyncBranch { from, to })
    }

    /// A part that could not be decoded.
    pub(crate) fn gap(&mut self, at: u64) -> &mut Script<'t> {
        self.items.push(FlowItem::Gap(Gap {
            reason: GapReason::BadPacket,
            thread: Some(self.thread),
            time: bounds(at),
            aux_offset: at,
            resumed_at: at,
        }));
        self
    }
}

fn bounds(at: u64) -> TimeBounds {
    TimeBounds::between(Tsc(at), Tsc(at))
}

/// A run of `thread` on CPU `cpu`.
pub(crate) fn run(thread: ThreadId, cpu: u32, start: u64, stop: u64, leave: LeaveReason) -> Run {
    Run {
        thread,
        cpu: Cpu(cpu),
        start: PerfTime(start),
        stop: PerfTime(stop),
        leave,
        priority: None,
        start_late_ns: 0,
        stop_late_ns: 0,
        start_record: Some(FileOffset(start)),
        stop_record: Some(FileOffset(stop)),
    }
}

/// A record on CPU `cpu` in `thread`'s context.
pub(crate) fn record(time: u64, cpu: u32, thread: ThreadId, side: Side, kind: EventKind) -> SidebandEvent {
    let offset = FileOffset(time);
    SidebandEvent {
        time: Tsc(time),
        cpu: Some(Cpu(cpu)),
        thread: Some(thread),
        within: None,
        offset,
        side,
        kind,
        chain: Vec::new(),
        cookie: None,
        lazy: false,
    }
}

/// The same, made in such a context.
pub(crate) fn made_within(within: Within, event: SidebandEvent) -> SidebandEvent {
    SidebandEvent { within: Some(within), ..event }
}

/// The contents of a test's capture.
pub(crate) struct World<'t> {
    pub(crate) table: &'t Table,
    pub(crate) schedule: Schedule,
    pub(crate) records: Vec<SidebandEvent>,
    pub(crate) items: Vec<FlowItem>,
    pub(crate) kernel_traced: bool,
}

impl World<'_> {
    /// The worker's interval over `range`, examined.
    pub(crate) fn examine(&self, range: std::ops::Range<u64>) -> Examined {
        self.examine_interval(&interval(range))
    }

    pub(crate) fn examine_interval(&self, interval: &Interval) -> Examined {
        self.examine_among(interval, &[])
    }

    /// The interval, where `others` are known.
    pub(crate) fn examine_among(&self, interval: &Interval, others: &[Interval]) -> Examined {
        self.examine_with(interval, others, None, (&Pauses::default(), true))
    }

    /// The worker's interval over `range`, of a trace that events paused.
    pub(crate) fn examine_paused(&self, range: std::ops::Range<u64>, pauses: &Pauses) -> Examined {
        self.examine_with(&interval(range), &[], None, (pauses, true))
    }

    /// The worker's interval over `range`, where not all CPUs were recorded.
    pub(crate) fn examine_on_some_cpus(&self, range: std::ops::Range<u64>) -> Examined {
        self.examine_with(&interval(range), &[], None, (&Pauses::default(), false))
    }

    /// The worker's interval over `range`, recorded without a trace and with these samples.
    pub(crate) fn examine_without_trace(
        &self,
        range: std::ops::Range<u64>,
        sampled: &[SampledAddress],
    ) -> Examined {
        self.examine_with(&interval(range), &[], Some(sampled), (&Pauses::default(), true))
    }

    /// `sampled`: there is no trace.
    fn examine_with(
        &self,
        interval: &Interval,
        others: &[Interval],
        sampled: Option<&[SampledAddress]>,
        (pauses, sees_all_cpus): (&Pauses, bool),
    ) -> Examined {
        let within = |range: TscRange| {
            let is_within = |sample: &&SampledAddress| range.contains(sample.time);
            sampled.unwrap_or_default().iter().filter(is_within).copied().collect::<Vec<_>>()
        };
        let records = |range: TscRange| {
            let within = self.records.iter().filter(|event| range.contains(event.time));
            Sideband::new(within.cloned().collect())
        };
        let queues = Queues::new(others);
        let scene = Scene {
            records: &records,
            samples: sampled.is_some().then_some(&within),
            queues: &queues,
            schedule: &self.schedule,
            frequencies: &AskedFrequencies::default(),
            pauses,
            conversion: Some(conversion()),
            functions: self.table,
            comms: self.table,
            files: self.table,
            kernel_traced: self.kernel_traced,
            threads_traced: false,
            switches_recorded: self.schedule.tells_switches(),
            sees_all_cpus,
            stall_threshold: STALL,
            caches: None,
        };
        examine_scene(&scene, interval, &mut Replay(&self.items), &mut During::of_outlier())
    }

    /// The causes of the interval's segments in order, with their lengths.
    pub(crate) fn story(&self, range: std::ops::Range<u64>) -> Vec<(String, u64)> {
        let attribution = crate::attribute_alone(&self.examine(range)).expect("a partition");
        told(&attribution)
    }
}

/// The causes in order, with their lengths.
pub(crate) fn told(attribution: &Attribution) -> Vec<(String, u64)> {
    let segments = attribution.segments().iter();
    segments.map(|segment| (segment.cause.to_string(), segment.range.ticks().0)).collect()
}

/// The worker's interval over `range`.
pub(crate) fn interval(range: std::ops::Range<u64>) -> Interval {
    Interval::new(IntervalId(1), "test", TscRange::new(Tsc(range.start), Tsc(range.end)), Some(WORKER))
}

/// Names with lengths, as expected.
pub(crate) fn expected(story: &[(&str, u64)]) -> Vec<(String, u64)> {
    story.iter().map(|&(cause, ticks)| (cause.to_owned(), ticks)).collect()
}

/// Yields the items of a window, as a decoder does: none that ends before it, none that begins after it.
struct Replay<'i>(&'i [FlowItem]);

impl Decode for Replay<'_> {
    fn decode(&mut self, _: Option<Cpu>, _: ThreadId, range: TscRange, sink: &mut dyn FlowSink) -> bool {
        for item in self.0 {
            let at = match item {
                FlowItem::Block(block) => block.time.likely,
                FlowItem::Event(event) => event.time.likely,
                FlowItem::Gap(gap) => gap.time.likely,
            };
            if at >= range.start && at < range.stop && sink.item(item) == ControlFlow::Break(()) {
                break;
            }
        }
        !self.0.is_empty()
    }
}
