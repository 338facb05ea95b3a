//! Follows one thread through decoded flows: which kernel entries it was in, which user functions it ran, where
//! time stood still and where the trace says nothing.
//!
//! Input: the flow items of the thread's stays on CPUs, in order of time. Output: an [`Activity`]. Frames nest: the
//! kernel entry that interrupts another lies inside it and is deeper. Times are the last time packet before an edge.

mod activity;
mod calls;
mod kernel_stack;
mod silences;
mod spins;
mod switches;
mod throttle;
mod user_calls;
mod user_code;
mod user_runs;

use model::{Cpu, Ticks, Tsc};
use pt::{Block, BlockEnd, EventKind, FlowItem, PtEvent, TimeBounds};

pub(crate) use activity::{Activity, Frame, Run, Silence, Spin, Stall, Switch, Why};
use kernel_stack::{KernelStack, Moment};
use spins::Spins;
use switches::Switches;
use throttle::Throttle;
pub(crate) use user_code::{BlockUse, ByAddress, NodeKey, UserCode};
use user_runs::{Place, UserRuns};

use crate::call_path::CallPath;
use crate::functions::{Function, Functions};

/// The length of `iretq`: one that goes right behind itself serialises the core and returns from nothing
/// (`iret_to_self` in `arch/x86/include/asm/sync_core.h`).
const IRETQ_LENGTH: u64 = 2;

/// First address of the kernel's half.
const KERNEL_HALF: u64 = 1 << 63;

/// Exchanges the registers of two threads (`arch/x86/entry/entry_64.S`).
const SWITCH_FUNCTION: &str = "__switch_to_asm";

/// The Event Trace packet's type for interrupts and exceptions (SDM vol. 3, "CFE packet").
const CFE_INTERRUPT: u8 = 1;

/// The type of the packet that tells a page fault's address, CR2 (SDM vol. 3, "EVD packet").
const EVD_FAULT_ADDRESS: u8 = 0;

/// Follows one thread. Feed it the items of its stays in order, then take the [`Activity`].
pub(crate) struct Walker<'a> {
    functions: &'a dyn Functions,
    stall_threshold: Ticks,
    out: Activity,
    stack: KernelStack,
    user: UserRuns,
    spins: Spins,
    previous: Option<Block>,
    /// The last block ended in a near return whose target has not been seen.
    returning: bool,
    pending_entry: Option<PtEvent>,
    /// A transaction was aborted: the asynchronous branch that follows enters nothing.
    aborted: bool,
    /// The vector that Event Trace announced, until execution goes on.
    vector: Option<u8>,
    /// What the exception is that turned tracing off.
    exception: Option<&'static str>,
    /// The address of the page fault that Event Trace announced, until execution goes on.
    address: Option<u64>,
    silence: Option<Silence>,
    /// Where and by what tracing went on, while nothing has retired since.
    enabled: Option<(Place, PtEvent)>,
    /// Whether only user code is traced.
    user_only: bool,
    /// The silence in which the thread left its CPU.
    left_silent: Option<Silence>,
    /// Parts of the silence that goes on behind an absence, until the flow bears it out.
    carried: Option<Vec<Silence>>,
    ratio: u32,
    cpu: Option<Cpu>,
    now: Tsc,
    /// The last time known before the last item: before the stay, too.
    seen: Tsc,
    /// The first time known behind the last item.
    not_after: Tsc,
    /// How far off the last item's time may be.
    edge: Ticks,
    /// Instructions retired since `now`.
    retired: u64,
    current: Option<Function>,
    pid: model::Pid,
    switches: Switches,
    throttle: Throttle,
}

impl<'a> Walker<'a> {
    /// A walker that reports stand-stills of at least `stall_threshold`.
    pub(crate) fn new(functions: &'a dyn Functions, stall_threshold: Ticks) -> Walker<'a> {
        Walker {
            functions,
            stall_threshold,
            out: Activity::default(),
            stack: KernelStack::default(),
            user: UserRuns::default(),
            spins: Spins::default(),
            previous: None,
            returning: false,
            pending_entry: None,
            aborted: false,
            vector: None,
            exception: None,
            address: None,
            silence: None,
            enabled: None,
            user_only: false,
            left_silent: None,
            carried: None,
            ratio: 0,
            cpu: None,
            now: Tsc(0),
            seen: Tsc(0),
            not_after: Tsc(0),
            edge: Ticks(0),
            retired: 0,
            current: None,
            pid: model::Pid::KERNEL,
            switches: Switches::default(),
            throttle: Throttle::default(),
        }
    }

    /// User code before `at` is another interval's: its time is told, and what it ran is not counted.
    pub(crate) fn counts_from(&mut self, at: Tsc) {
        self.user.counts_from = at;
    }

    /// Only user code is traced: time without trace is the kernel's.
    pub(crate) fn traces_user_code_only(&mut self) {
        self.user_only = true;
    }

    /// The thread comes onto `cpu` at `at`. Its kernel frames stay open: they belong to the thread, not to the CPU.
    /// The ratio may have changed unseen.
    pub(crate) fn switch_in(&mut self, cpu: Option<Cpu>, at: Tsc) {
        self.cpu = cpu;
        (self.now, self.seen) = (at, at);
        self.edge = Ticks(0);
        self.retired = 0;
        self.ratio = 0;
        self.switches.come();
        self.throttle.run();
        self.forget_path();
        self.return_into_silence(at);
        self.stack.switch_in();
    }

    /// The thread has come onto its CPU by a switch, at `at`.
    pub(crate) fn scheduled(&mut self, at: Tsc) {
        self.stack.scheduled(at);
    }

    /// The thread leaves its CPU at `at`.
    pub(crate) fn switch_out(&mut self, at: Tsc) {
        if self.not_after != Tsc(u64::MAX) && self.not_after > at {
            self.notice_stall(at, self.not_after, self.previous.map_or(0, |block| block.aux_offset));
        }
        self.note_path(at);
        self.spins.interrupt(at);
        // The switch record tells this edge.
        self.edge = Ticks(0);
        self.leave_in_silence();
        self.end_silence(at, false);
        self.close_run(at);
        self.forget_path();
    }

    /// Where the thread stands at `at`, the end of a stay.
    fn note_path(&mut self, at: Tsc) {
        let path = self.path(at);
        self.out.paths.push(path);
    }

    fn path(&self, at: Tsc) -> CallPath {
        let kernel = if self.stack.is_empty() { &[][..] } else { self.stack.call_sites() };
        let last = self.previous.filter(|block| block.kernel && block.end != BlockEnd::Call);
        let last = last.map(|block| block.end_ip);
        let ips = self.user.sites().chain(kernel.iter().copied()).chain(last);
        let path = CallPath::of(ips, self.pid, at, self.functions);
        CallPath { throttled: self.throttle.happened(), ..path }
    }

    /// The next item of the thread's flow.
    pub(crate) fn item(&mut self, item: &FlowItem) {
        if self.lies_before_silence(item) {
            return;
        }
        match item {
            FlowItem::Block(block) => self.block(block),
            FlowItem::Event(event) => self.event(event),
            FlowItem::Gap(gap) => self.gap(gap),
        }
    }

    /// Ends all that is open at `at` and returns what was seen.
    pub(crate) fn finish(mut self, at: Tsc) -> Activity {
        self.end_silence(at, false);
        self.close_run(at);
        self.out.frames = self.stack.finish(at);
        self.spins.interrupt(at);
        self.out.spins = self.spins.done;
        self.out.switches = self.switches.done;
        self.out.runs = self.user.done;
        self.out.code = self.user.code;
        let threshold = self.stall_threshold;
        self.out.stalls.retain(|stall| stall.ratio_changed || stall.length >= threshold);
        self.out
    }

    fn block(&mut self, block: &Block) {
        let at = self.advance(&block.time, block.aux_offset);
        self.retired += u64::from(block.instructions);
        self.enabled = None;
        self.refute_silence();
        // Behind a loss, time is known again from the first packet that tells it.
        if self.silence.as_ref().is_none_or(|silence| !silence.why.is_loss() || at > silence.range.start) {
            self.end_silence(at, false);
        }
        self.vector = None;
        self.look_up(block, at);
        if block.kernel {
            self.kernel_block(block, at);
        } else {
            self.user_block(block, at);
        }
        self.previous = Some(*block);
        self.address = None;
    }

    fn kernel_block(&mut self, block: &Block, at: Tsc) {
        self.close_run(at);
        let moment = self.moment(at, &block.time, block.aux_offset);
        if std::mem::take(&mut self.returning) {
            self.stack.return_to(block.ip, self.current.as_ref(), at);
        }
        self.follow_entry_or_return(block, moment);
        if let Some(function) = &self.current {
            self.stack.visit(function, block.ip, moment);
            if block.ip == function.start {
                self.throttle.enter(&function.name, self.stack.is_in_scheduler());
                if &*function.name == SWITCH_FUNCTION {
                    let path =
                        if self.switches.ran_user_code() { self.path(at) } else { CallPath::default() };
                    self.switches.switch(at, block.aux_offset, path);
                }
            }
        }
        match block.end {
            BlockEnd::Call => self.stack.call(block.end_ip),
            BlockEnd::Return => self.returning = true,
            _ => {}
        }
    }

    fn user_block(&mut self, block: &Block, at: Tsc) {
        self.switches.user_code(block);
        self.throttle.run();
        if !self.stack.is_empty() {
            self.stack.leave(at, self.edge);
        }
        self.pending_entry = None;
        self.returning = false;
        self.spins.block(block, self.current.as_ref(), self.pid, at, self.functions);
        let place = Place { at, uncertainty: self.edge, ratio: self.ratio, cpu: self.cpu };
        self.user.block(block, self.current.as_ref(), place);
    }

    /// Opens and closes entry frames by how execution came to `block`.
    fn follow_entry_or_return(&mut self, block: &Block, moment: Moment) {
        let function = self.current.as_ref();
        let entry = self.pending_entry.take();
        let previous = self.previous.as_ref();
        if let Some(event) = entry {
            self.stack.enter(function, block.ip, Moment { aux_offset: event.aux_offset, ..moment });
            if let Some(address) = self.address.take() {
                self.stack.fault_at(address);
            }
        } else if previous.is_some_and(|previous| !previous.kernel || previous.end == BlockEnd::FarCall) {
            self.stack.enter(function, block.ip, moment);
        } else if previous.is_some_and(|previous| returns_from_interrupt(previous, block.ip)) {
            self.stack.return_from_interrupt(function, block.ip, moment);
        } else if self.stack.is_empty() {
            self.stack.begin_inside(function, block.ip, moment);
        }
    }

    fn event(&mut self, event: &PtEvent) {
        let at = self.advance(&event.time, event.aux_offset);
        match event.kind {
            EventKind::AsyncBranch { from, .. } => {
                self.see_unretired(event, from);
                if from < KERNEL_HALF {
                    self.switches.interrupt(from);
                }
                self.async_branch(event, from, at);
            }
            EventKind::Transaction { aborted, .. } => self.aborted = aborted,
            EventKind::CoreBusRatio { ratio } => self.see_ratio(ratio, at),
            EventKind::ControlFlowEvent { kind: CFE_INTERRUPT, vector, .. } => self.vector = Some(vector),
            EventKind::EventData { kind: EVD_FAULT_ADDRESS, payload } => self.address = Some(payload),
            EventKind::Overflow { .. } => {
                self.lose(at, Why::Overflow, event.aux_offset);
            }
            EventKind::Disabled { .. } | EventKind::TraceStop => {
                self.stand_between();
                self.bear_out_silence();
                let entry = self.entry_that_ends_tracing();
                self.begin_silence(at, Why::Off, entry, event.aux_offset);
            }
            EventKind::Enabled { resumed, .. } => {
                self.bear_out_silence();
                self.end_silence(at, resumed);
                let place = Place { at, uncertainty: self.edge, ratio: self.ratio, cpu: self.cpu };
                self.enabled = Some((place, *event));
            }
            _ => {}
        }
    }

    /// Between a return from the kernel's entry and the next entry nothing may have retired: an interrupt waited for the
    /// return, or a `rep stos` that faults page by page runs on without an end. The entry before is over all the same,
    /// with the packet of its return; the time behind that is the user's.
    fn see_unretired(&mut self, event: &PtEvent, from: u64) {
        let Some(last) = self.previous.filter(|last| returns_from_interrupt(last, from) && !self.aborted)
        else {
            return;
        };
        let at = last.time.not_after.clamp(last.time.likely, self.now);
        let uncertainty = self.edge;
        let pid = event.thread.map_or(self.pid, |thread| thread.pid);
        let function = self.functions.function_at(pid, from, at);
        if from >= KERNEL_HALF {
            let moment = Moment { at, uncertainty, cpu: self.cpu, aux_offset: event.aux_offset };
            self.stack.return_from_interrupt(function.as_ref(), from, moment);
        } else {
            self.stack.leave(at, uncertainty);
            let place = Place { at, uncertainty, ratio: self.ratio, cpu: self.cpu };
            self.user.stand(function.as_ref(), place, event.aux_offset);
        }
    }

    /// Between tracing on and tracing off nothing retired: user code that faults page by page, as `rep stos` does.
    fn stand_between(&mut self) {
        let Some((place, event)) = self.enabled.take() else { return };
        let EventKind::Enabled { ip, .. } = event.kind else { return };
        if ip < KERNEL_HALF {
            let pid = event.thread.map_or(self.pid, |thread| thread.pid);
            let function = self.functions.function_at(pid, ip, place.at);
            self.user.stand(function.as_ref(), place, event.aux_offset);
        }
    }

    fn async_branch(&mut self, event: &PtEvent, from: u64, at: Tsc) {
        if std::mem::take(&mut self.returning) {
            self.stack.return_to(from, None, at);
        }
        if !std::mem::take(&mut self.aborted) {
            self.pending_entry = Some(*event);
        }
    }

    fn forget_path(&mut self) {
        self.previous = None;
        self.enabled = None;
        self.pending_entry = None;
        self.returning = false;
        self.vector = None;
        self.address = None;
        self.aborted = false;
    }

    /// Moves the clock to an item.
    fn advance(&mut self, time: &TimeBounds, aux_offset: u64) -> Tsc {
        let at = time.likely.max(self.now);
        if at > self.now {
            self.notice_stall(at, at, aux_offset);
            self.user.step(at.since(self.now));
            self.now = at;
            self.retired = 0;
        }
        self.seen = time.likely;
        self.not_after = time.not_after;
        self.edge = time.width();
        at
    }

    fn close_run(&mut self, at: Tsc) {
        let silence = self.silence.as_ref().map(|silence| (silence.range.start, silence.uncertainty));
        let (at, uncertainty) = silence.unwrap_or((at, self.edge));
        self.user.close(at, uncertainty);
    }

    fn look_up(&mut self, block: &Block, at: Tsc) {
        if !self.current.as_ref().is_some_and(|function| function.range.contains(&block.ip)) {
            self.pid = block.thread.map_or(model::Pid::KERNEL, |thread| thread.pid);
            self.current = self.functions.function_at(self.pid, block.ip, at);
        }
    }

    fn moment(&self, at: Tsc, time: &TimeBounds, aux_offset: u64) -> Moment {
        Moment { at, uncertainty: time.width(), cpu: self.cpu, aux_offset }
    }
}

/// Whether `previous` ended in a far return that ended an interrupt or exception: what it had cut into goes on at `ip`.
fn returns_from_interrupt(previous: &Block, ip: u64) -> bool {
    let returns = previous.kernel && previous.end == BlockEnd::FarReturn;
    returns && ip != previous.end_ip.wrapping_add(IRETQ_LENGTH)
}

#[cfg(test)]
mod tests;
