//! Follows one thread through decoded flows: its kernel entries, its user functions, its stalls and its untraced
//! stretches.
//!
//! Input: the flow items of the thread's stays on CPUs, in time order. Output: an [`Activity`]. Frames nest: the
//! kernel entry that interrupts another lies inside it and is deeper. Times are the last time packet before a
//! boundary.

mod untraced;

use model::{Cpu, Ticks, Tsc, TscRange};
use pt::{Block, BlockEnd, EventKind, FlowItem, Gap, PtEvent, TimeBounds};

use super::activity::{Activity, Why};
use super::call_path::{CallPath, is_kernel};
use super::clock::{Clock, Moment};
use super::code::{Code, Inlined};
use super::entries::{Arrival, Enabled, Entries, Off};
use super::kernel_runs::{KernelRuns, Place};
use super::kernel_stack::KernelStack;
use super::led_to::lead_to;
use super::resched::Resched;
use super::silences::Silences;
use super::spins::Spins;
use super::stalls::Stalls;
use super::string_instructions::{StringInstruction, StringInstructions};
use super::switches::Switches;
use super::throttle::Throttle;
use super::user_runs::UserRuns;
use crate::inputs::functions::Functions;
use crate::tables::kernel_spins::tell_lock;

/// Exchanges the registers of two threads (`arch/x86/entry/entry_64.S`).
const SWITCH_FUNCTION: &str = "__switch_to_asm";

/// The Event Trace packet's type for interrupts and exceptions (SDM vol. 3, "CFE packet").
const CFE_INTERRUPT: u8 = 1;
/// The same for `int n` and its kin, of processors with FRED.
const CFE_SOFTWARE_INTERRUPT: u8 = 14;

/// The type of the packet with a page fault's address, CR2 (SDM vol. 3, "EVD packet").
const EVD_FAULT_ADDRESS: u8 = 0;

/// Follows one thread. Feed it the items of its stays in order, then take the [`Activity`].
pub(crate) struct Walker<'a> {
    code: Code<'a>,
    inlined: Inlined<'a>,
    clock: Clock,
    entries: Entries,
    stack: KernelStack,
    kernel: KernelRuns,
    user: UserRuns,
    spins: Spins,
    switches: Switches,
    throttle: Throttle,
    resched: Resched,
    silences: Silences,
    stalls: Stalls,
    strings: StringInstructions,
    /// Where the thread was at the end of each of its stays.
    paths: Vec<CallPath>,
}

impl<'a> Walker<'a> {
    /// A walker that reports stalls of at least `stall_threshold`.
    pub(crate) fn new(functions: &'a dyn Functions, stall_threshold: Ticks) -> Walker<'a> {
        Walker {
            code: Code::new(functions),
            inlined: Inlined::new(functions),
            clock: Clock::default(),
            entries: Entries::default(),
            stack: KernelStack::default(),
            kernel: KernelRuns::default(),
            user: UserRuns::default(),
            spins: Spins::default(),
            switches: Switches::default(),
            throttle: Throttle::default(),
            resched: Resched::default(),
            silences: Silences::default(),
            stalls: Stalls::new(stall_threshold),
            strings: StringInstructions::default(),
            paths: Vec::new(),
        }
    }

    /// User code before `at` belongs to another interval: its time is reported, but what it ran is not counted.
    pub(crate) fn counts_from(&mut self, at: Tsc) {
        self.user.counts_from = at;
    }

    /// Which kernel functions ran is of interest, too.
    pub(crate) fn follows_kernel_calls(&mut self) {
        self.kernel.follows = true;
    }

    /// Only user code is traced: time without trace is the kernel's.
    pub(crate) fn traces_user_code_only(&mut self) {
        self.silences.user_only = true;
    }

    /// An event pauses the trace during `pauses` of the stay that has begun: what ran before goes on only outside of them.
    pub(crate) fn pauses(&mut self, pauses: Vec<TscRange>) {
        self.silences.pauses = pauses;
    }

    /// The thread comes onto `cpu` at `at`. Its kernel frames stay open: they belong to the thread, not to the CPU.
    pub(crate) fn switch_in(&mut self, cpu: Option<Cpu>, at: Tsc) {
        self.clock.switch_in(cpu, at);
        self.switches.come();
        self.throttle.run();
        self.resched.run();
        self.entries.forget();
        self.silences.come_back(cpu, at);
        self.stack.switch_in();
    }

    /// The thread has come onto its CPU by a switch, at `at`.
    pub(crate) fn scheduled(&mut self, at: Tsc) {
        self.silences.scheduled(at);
        self.stack.scheduled(at);
        self.kernel.scheduled(at);
    }

    /// The thread leaves its CPU at `at`.
    pub(crate) fn switch_out(&mut self, at: Tsc) {
        self.release(at);
        let not_after = self.clock.not_after;
        if not_after != Tsc(u64::MAX) && not_after > at {
            self.notice_stall(at, not_after, self.entries.previous.map_or(0, |block| block.aux_offset));
        }
        let path = self.path(at);
        self.user.later.leave(self.paths.len());
        self.paths.push(path);
        // This boundary comes from the switch record.
        self.clock.edge = Ticks(0);
        self.silences.leave();
        self.close_kernel(at);
        self.end_silence(at, false);
        self.close_run(at);
        self.entries.forget();
    }

    /// Where the thread is at `at`.
    fn path(&self, at: Tsc) -> CallPath {
        let kernel = if self.stack.is_empty() { &[][..] } else { self.stack.call_sites() };
        let last = self.entries.previous.filter(|block| block.kernel && block.end != BlockEnd::Call);
        let last = last.map(|block| block.end_ip);
        let ips = self.user.sites().chain(kernel.iter().copied()).chain(last);
        let path = CallPath::of(ips, self.code.pid, at, self.code.functions);
        CallPath { throttled: self.throttle.happened(), resched: self.resched.clone(), ..path }
    }

    /// The next item of the thread's flow.
    pub(crate) fn item(&mut self, item: &FlowItem) {
        if let FlowItem::Block(block) = item {
            if !self.strings.hold(block) {
                self.release(block.time.likely);
                self.strings.hold(block);
            }
            return;
        }
        self.release(item.time().likely);
        if self.silences.is_behind(item, &self.clock) {
            return;
        }
        match item {
            FlowItem::Block(_) => {}
            FlowItem::Event(event) => self.event(event),
            FlowItem::Gap(gap) => self.gap(gap),
        }
    }

    /// The blocks that waited for `next`, the next time.
    fn release(&mut self, next: Tsc) {
        let string = self.strings.judge((self.clock.now, next), self.code.functions);
        let waited = self.strings.let_go();
        for (index, block) in waited.iter().enumerate() {
            if !self.silences.is_past(block, &self.clock) {
                self.block(block);
                if let Some((_, name)) = string.filter(|&(holder, _)| holder == index) {
                    let function = self.code.current().map(|function| function.name.clone());
                    let kernel = block.kernel;
                    self.stalls.begin(StringInstruction { name, function, kernel, interrupted: false });
                }
            }
        }
        self.strings.reuse(waited);
    }

    /// Ends all open work at `at` and returns the activity.
    pub(crate) fn finish(mut self, at: Tsc) -> Activity {
        self.release(at);
        self.close_kernel(at);
        self.end_silence(at, false);
        self.close_run(at);
        self.spins.interrupt(self.code.pid, at, self.code.functions);
        let code = self.user.take_code();
        self.user.later.tell(&mut self.paths, self.code.pid, self.code.functions);
        let (stalls, strings) = self.stalls.finish();
        lead_to(&mut self.user.done, &self.spins.done);
        Activity {
            frames: self.stack.finish(at),
            kernel: self.kernel.code,
            runs: self.user.done,
            code,
            stalls,
            strings,
            silences: self.silences.done,
            switches: self.switches.done,
            spins: self.spins.done,
            paths: self.paths,
        }
    }

    fn block(&mut self, block: &Block) {
        let at = self.advance(&block.time, block.aux_offset);
        self.clock.retired += u64::from(block.instructions);
        self.entries.enabled = None;
        self.silences.begin_trace();
        self.silences.refute();
        if self.silences.ends_at(at) {
            self.end_silence(at, false);
        }
        self.entries.vector = None;
        self.code.look_up(block, at);
        if block.kernel {
            self.kernel_block(block, at);
        } else {
            self.user_block(block, at);
        }
        self.entries.pass(block);
    }

    fn kernel_block(&mut self, block: &Block, at: Tsc) {
        self.close_run(at);
        let moment = self.clock.moment(block.aux_offset);
        if std::mem::take(&mut self.entries.returning) {
            self.stack.return_to(block.ip, self.code.current(), at);
        }
        self.follow_entry_or_return(block, moment);
        let mut passes = false;
        if let Some(function) = self.code.current() {
            passes = self.stack.visit(function, block.ip, moment);
            if self.stack.begins_to_spin() {
                let sites = self.stack.call_sites().iter().copied();
                let path = CallPath::of(sites, self.code.pid, at, self.code.functions);
                self.stack.say_innermost(tell_lock(path.kernel_functions()).into());
            }
            if block.ip == function.start {
                let in_scheduler = self.stack.is_in_scheduler();
                self.throttle.enter(&function.name, in_scheduler);
                let caller = || {
                    let site = *self.stack.call_sites().last()?;
                    self.code.functions.function_at(self.code.pid, site, at).map(|caller| caller.name)
                };
                self.resched.enter(&function.name, in_scheduler, caller);
                if &*function.name == SWITCH_FUNCTION {
                    let path =
                        if self.switches.ran_user_code() { self.path(at) } else { CallPath::default() };
                    self.switches.switch(at, block.aux_offset, path);
                }
            }
        }
        if self.kernel.follows {
            let place = Place { function: self.code.current(), passes };
            let inlined = || self.inlined.at(block.ip, at);
            self.kernel.block(block, &place, inlined, self.stack.innermost(), at);
        }
        match block.end {
            BlockEnd::Call => self.stack.call(block.end_ip),
            BlockEnd::Return => self.entries.returning = true,
            _ => {}
        }
    }

    fn user_block(&mut self, block: &Block, at: Tsc) {
        self.switches.user_code(block);
        self.throttle.run();
        self.resched.run();
        if !self.stack.is_empty() {
            self.kernel.close(at);
            self.stack.leave(at, self.clock.edge);
        }
        self.entries.reach_user_code();
        if self.spins.block(block, self.code.current(), self.code.pid, at, self.code.functions) {
            let caller = self.user.call_site().and_then(|site| self.code.function_at(block.thread, site, at));
            self.spins.called_by(caller.map(|caller| caller.name));
        }
        self.user.block(block, self.code.current(), self.clock.moment(block.aux_offset));
    }

    /// Opens and closes entry frames by how execution came to `block`.
    fn follow_entry_or_return(&mut self, block: &Block, moment: Moment) {
        let function = self.code.current();
        match self.entries.arrive(block.ip) {
            Arrival::Asynchronous { aux_offset, address } => {
                self.stack.enter(function, block.ip, Moment { aux_offset, ..moment });
                if let Some(address) = address {
                    self.stack.fault_at(address);
                }
            }
            Arrival::Entry => self.stack.enter(function, block.ip, moment),
            Arrival::Return => self.stack.return_from_interrupt(function, block.ip, moment),
            Arrival::Within if self.stack.is_empty() => self.stack.begin_inside(function, block.ip, moment),
            Arrival::Within => {}
        }
    }

    fn event(&mut self, event: &PtEvent) {
        self.see_string_interrupted(event);
        let at = self.advance(&event.time, event.aux_offset);
        match event.kind {
            EventKind::AsyncBranch { from, .. } => {
                self.see_unretired(event, from);
                if !is_kernel(from) {
                    self.switches.interrupt(from);
                    self.hit_user_code(from, at);
                }
                if std::mem::take(&mut self.entries.returning) {
                    self.stack.return_to(from, None, at);
                }
                self.entries.branch(event);
            }
            EventKind::Transaction { aborted, .. } => self.entries.aborted = aborted,
            EventKind::CoreBusRatio { ratio } => self.see_ratio(ratio, at),
            EventKind::ControlFlowEvent { kind: CFE_INTERRUPT | CFE_SOFTWARE_INTERRUPT, vector, .. } => {
                self.entries.vector = Some(vector);
            }
            EventKind::EventData { kind: EVD_FAULT_ADDRESS, payload } => self.entries.address = Some(payload),
            EventKind::Overflow { .. } => self.lose(at, Why::Overflow, event.aux_offset),
            EventKind::Disabled { .. } | EventKind::TraceStop => {
                if let EventKind::Disabled { from: Some(from), .. } = event.kind
                    && !is_kernel(from)
                {
                    self.hit_user_code(from, at);
                }
                self.silences.begin_trace();
                self.stand_between();
                self.silences.confirm();
                let off = self.entries.turn_off();
                self.begin_silence(at, Why::Off, off, event.aux_offset);
            }
            EventKind::Enabled { resumed, ip } => {
                self.silences.confirm();
                if let Some(since) = self.silences.begin_trace().filter(|&since| since < at) {
                    self.begin_silence(since, Why::Off, Off::default(), event.aux_offset);
                }
                self.end_silence(at, resumed);
                let moment = self.clock.moment(event.aux_offset);
                self.entries.enabled = Some(Enabled { moment, ip, thread: event.thread });
            }
            _ => {}
        }
    }

    /// User code is interrupted at `ip`, which may be the first instruction of a signal's handler that is not in memory yet.
    fn hit_user_code(&mut self, ip: u64, at: Tsc) {
        if self.user.resumed_elsewhere(ip) {
            let function = self.code.function_at(None, ip, at);
            self.user.follow_signal(ip, function.as_ref());
        }
        self.user.hit(ip);
    }

    fn gap(&mut self, gap: &Gap) {
        let at = self.advance(&gap.time, gap.aux_offset);
        self.lose(at, Why::Gap(gap.reason.clone()), gap.aux_offset);
    }

    /// A string instruction that is interrupted has not retired: no block holds it.
    fn see_string_interrupted(&mut self, event: &PtEvent) {
        let ip = match event.kind {
            EventKind::AsyncBranch { from, .. } => Some(from),
            EventKind::Disabled { .. } => self.entries.enabled.as_ref().map(|enabled| enabled.ip),
            _ => None,
        };
        let at = event.time.likely;
        if let Some(ip) = ip.filter(|_| Stalls::may_be_string(&self.clock, at)) {
            let pid = event.thread.map_or(self.code.pid, |thread| thread.pid);
            if let Some(string) = StringInstruction::begun_at(ip, pid, at, self.code.functions) {
                if !string.kernel {
                    let function = self.code.function_at(event.thread, ip, at);
                    self.user.stand(function.as_ref(), self.clock.moment(event.aux_offset));
                }
                self.stalls.begin(string);
            }
        }
    }

    /// Between a return from the kernel's entry and the next entry nothing may have retired: an interrupt was pending
    /// during the entry, or a `rep stos` that faults on each page continues without retiring. The entry before still
    /// ends with the packet of its return; the time after that is the user's.
    fn see_unretired(&mut self, event: &PtEvent, from: u64) {
        let Some(last) = self.entries.returned_to(from) else { return };
        let at = last.time.not_after.clamp(last.time.likely, self.clock.now);
        let moment = Moment { at, ..self.clock.moment(event.aux_offset) };
        let function = self.code.function_at(event.thread, from, at);
        self.kernel.close(at);
        if is_kernel(from) {
            self.stack.return_from_interrupt(function.as_ref(), from, moment);
        } else {
            self.stack.leave(at, moment.uncertainty);
            self.user.stand(function.as_ref(), moment);
        }
    }

    /// Between tracing on and tracing off nothing retired: user code that faults on each page, as `rep stos` does.
    fn stand_between(&mut self) {
        let Some(Enabled { moment, ip, thread }) = self.entries.enabled.take() else { return };
        if !is_kernel(ip) {
            let function = self.code.function_at(thread, ip, moment.at);
            self.user.stand(function.as_ref(), moment);
        }
    }

    /// A stall that ends with a new ratio was the change to it. CBR repeats the ratio at each sync point.
    fn see_ratio(&mut self, ratio: u32, at: Tsc) {
        if ratio == 0 || ratio == self.clock.ratio {
            return;
        }
        if self.clock.ratio != 0 {
            self.stalls.change_ratio(at, self.clock.cpu);
        }
        self.close_run(at);
        self.clock.ratio = ratio;
    }

    /// Moves the clock to an item.
    fn advance(&mut self, time: &TimeBounds, aux_offset: u64) -> Tsc {
        let at = self.clock.time_of(time);
        if at > self.clock.now {
            self.notice_stall(at, at, aux_offset);
            self.stalls.pass();
            self.user.step(at.since(self.clock.now));
            self.kernel.advance(at);
        }
        self.clock.advance(time);
        at
    }

    /// A step to `at`, which ends at `until`, may be a stall where the flow is traced.
    fn notice_stall(&mut self, at: Tsc, until: Tsc, aux_offset: u64) {
        if self.entries.previous.is_some() && !self.silences.is_open() {
            let function = self.code.current().map(|function| &function.name);
            self.stalls.notice(&self.clock, (at, until), function, aux_offset);
        }
    }

    fn close_kernel(&mut self, at: Tsc) {
        let at = self.silences.since().map_or(at, |(since, _)| since);
        self.kernel.close(at);
    }

    fn close_run(&mut self, at: Tsc) {
        let (at, uncertainty) = self.silences.since().unwrap_or((at, self.clock.edge));
        self.user.close(at, uncertainty);
    }
}
