//! Traces what was executed: all of it per CPU, user code only, or the threads of one process each into a buffer of its own.
//!
//! Input: the steps of all CPUs. Output: AUX streams, and for threads which instructions of which CPU lie in each.
//! Source: Intel SDM vol. 3, "Intel Processor Trace": branch filtering by CPL; power events.

use std::collections::BTreeMap;

use super::flow::{Event, Step};
use super::log::StallKind;
use super::schedule::{Switch, Thread};
use crate::encoder::{Encoder, Settings};
use crate::instruction::{Class, Instruction};
use crate::packet::{ExecMode, Packet};

/// The lowest address that is not the user's.
const USER_END: u64 = 1 << 47;

/// The hardware's C-state and sub-state for each state of the machine model: POLL, C1, C1E, C6.
const C_STATES: [(u8, u8); 4] = [(0, 0), (1, 0), (1, 1), (6, 0)];

/// What HLT shows as without the model: C1.
const HALTED: u8 = 1;

/// Interrupt, in PWRX's wake reason.
const WOKEN_BY_INTERRUPT: u8 = 1;

/// Whose instructions are traced, and where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Kernel and user, one buffer per CPU: `perf record -a -e intel_pt//`.
    Everything,
    /// User code only, one buffer per CPU: `perf record -a -e intel_pt//u`.
    User,
    /// Kernel and user of one process, one buffer per thread: `perf record --per-thread -p PID`.
    Threads,
}

/// A buffer's owner: a CPU, or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Cpu(u32),
    Thread(Thread),
}

/// One buffer's trace.
#[derive(Debug)]
pub(super) struct Stream {
    encoder: Encoder,
    /// Guest TSC of the first and the last thing in it.
    pub(super) first: u64,
    pub(super) last: u64,
}

/// A finished stream: its bytes, offset and time of each PSB, its begin and end.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) owner: Owner,
    pub(super) bytes: Vec<u8>,
    pub(super) sync_points: Vec<(usize, u64)>,
    pub(super) first: u64,
    pub(super) last: u64,
}

/// Instructions of one CPU that lie in a thread's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) tid: u32,
    pub(super) cpu: u32,
    /// The first one's place among those that the CPU executed.
    pub(super) first: u64,
    pub(super) count: u64,
}

/// What is traced of one CPU at the moment.
#[derive(Debug, Default)]
struct Cpu {
    /// Switches to come, with guest TSC, the last one first.
    switches: Vec<(u64, Switch)>,
    /// The buffer that tracing goes to. Of a user-only trace also while the kernel runs.
    owner: Option<Owner>,
    cr3: u64,
    executed: u64,
    /// Place of the slice's first instruction.
    slice_from: u64,
    /// C-state and sub-state of the machine model in which it is halted.
    halted: Option<(u8, u8)>,
    /// Its core:bus ratio, where the machine model changed it.
    ratio: Option<u8>,
}

/// Encodes steps as they come.
#[derive(Debug)]
pub(super) struct Tracer {
    scope: Scope,
    settings: Settings,
    power: bool,
    process: u32,
    streams: BTreeMap<Owner, Stream>,
    cpus: Vec<Cpu>,
    pub(super) slices: Vec<Slice>,
}

impl Tracer {
    /// A tracer of `cpus` CPUs; of `process` alone where `scope` is threads. `power`: with power events.
    pub(super) fn new(scope: Scope, settings: Settings, power: bool, process: u32, cpus: usize) -> Tracer {
        let mut all = Vec::new();
        all.resize_with(cpus, Cpu::default);
        let streams = BTreeMap::new();
        Tracer { scope, settings, power, process, streams, cpus: all, slices: Vec::new() }
    }

    /// Sets which threads come to `cpu` and leave it, with the guest's TSC.
    pub(super) fn switches(&mut self, cpu: usize, switches: impl Iterator<Item = (u64, Switch)>) {
        let Some(cpu) = self.cpus.get_mut(cpu) else { return };
        cpu.switches = switches.collect();
        cpu.switches.reverse();
    }

    /// Encodes what happened on `cpu`.
    pub(super) fn take(&mut self, cpu: usize, step: &Step<'_>) {
        let tsc = step.tsc;
        match step.event {
            Event::Begin { ip } => self.begin(cpu, tsc, ip),
            Event::Block { ip } => self.follow_switches(cpu, tsc, ip),
            Event::Ran { instructions, .. } => self.cpus[cpu].executed += instructions.len() as u64,
            Event::Branch { instruction, to } => self.branch(cpu, tsc, instruction, to),
            Event::Interrupt { from, to, .. } => self.interrupt(cpu, tsc, from, to),
            Event::End { ip } => self.leave(cpu, tsc, ip),
            Event::Stall { kind: StallKind::Ratio, from, detail } => {
                self.change_ratio(cpu, (from, tsc), detail as u8);
            }
            _ => self.note(cpu, tsc, step.event),
        }
    }

    /// Everything that was traced.
    pub(super) fn finish(self) -> (Vec<Finished>, Vec<Slice>) {
        let finish = |(owner, stream): (Owner, Stream)| {
            let (bytes, sync_points) = stream.encoder.finish();
            Finished { owner, bytes, sync_points, first: stream.first, last: stream.last }
        };
        (self.streams.into_iter().map(finish).collect(), self.slices)
    }

    fn begin(&mut self, cpu: usize, tsc: u64, ip: u64) {
        if self.scope == Scope::Threads {
            return; // the first block asks for the running thread
        }
        self.cpus[cpu].owner = Some(Owner::Cpu(cpu as u32));
        if self.traces(ip) {
            self.enter(cpu, tsc, ip);
        }
    }

    /// Is code at `ip` traced?
    fn traces(&self, ip: u64) -> bool {
        self.scope != Scope::User || ip < USER_END
    }

    fn target(&self, ip: u64) -> Option<(u64, ExecMode)> {
        self.traces(ip).then_some((ip, ExecMode::Bits64))
    }

    /// The stream that `cpu` writes to, if tracing is on.
    fn stream(&mut self, cpu: usize, tsc: u64) -> Option<&mut Encoder> {
        let stream = self.streams.get_mut(&self.cpus[cpu].owner?)?;
        stream.last = stream.last.max(tsc);
        stream.encoder.is_enabled().then_some(&mut stream.encoder)
    }

    /// Tracing begins, or comes back, before the instruction at `ip`.
    fn enter(&mut self, cpu: usize, tsc: u64, ip: u64) {
        let Some(owner) = self.cpus[cpu].owner else { return };
        let new = || Stream { encoder: Encoder::new(self.settings), first: tsc, last: tsc };
        let is_new = !self.streams.contains_key(&owner);
        let stream = self.streams.entry(owner).or_insert_with(new);
        stream.encoder.page_table(self.cpus[cpu].cr3);
        self.cpus[cpu].ratio.into_iter().for_each(|ratio| stream.encoder.run_at(ratio));
        // The kernel switches tracing on anew for each turn of a thread: a PSB. Filtering by privilege writes none.
        if is_new || matches!(owner, Owner::Thread(_)) {
            stream.encoder.start(tsc, ip, ExecMode::Bits64);
        } else {
            stream.encoder.enable(tsc, ip, ExecMode::Bits64);
        }
    }

    /// Tracing of this owner ends before the instruction at `ip`.
    fn leave(&mut self, cpu: usize, tsc: u64, ip: u64) {
        if let Some(encoder) = self.stream(cpu, tsc) {
            encoder.disable_at(tsc, ip);
        }
        let (number, cpu) = (cpu as u32, &mut self.cpus[cpu]);
        if let Some(Owner::Thread(Thread { tid, .. })) = cpu.owner.take() {
            let (first, count) = (cpu.slice_from, cpu.executed - cpu.slice_from);
            self.slices.push(Slice { tid, cpu: number, first, count });
        }
    }

    /// Another thread may run from the block at `ip` on.
    fn follow_switches(&mut self, cpu: usize, tsc: u64, ip: u64) {
        if self.scope != Scope::Threads {
            return;
        }
        let mut owner = self.cpus[cpu].owner;
        while let Some((_, switch)) = self.cpus[cpu].switches.pop_if(|(at, _)| *at <= tsc) {
            let is_ours = switch.comes && switch.thread.pid == self.process;
            owner = is_ours.then_some(Owner::Thread(switch.thread));
        }
        if owner == self.cpus[cpu].owner {
            return;
        }
        self.leave(cpu, tsc, ip);
        self.cpus[cpu].owner = owner;
        self.cpus[cpu].slice_from = self.cpus[cpu].executed;
        self.enter(cpu, tsc, ip);
    }

    fn branch(&mut self, cpu: usize, tsc: u64, instruction: &Instruction, to: u64) {
        let target = self.target(to);
        let Some(encoder) = self.stream(cpu, tsc) else {
            if target.is_some() && !self.traces(instruction.ip) {
                self.enter(cpu, tsc, to);
            }
            return;
        };
        encoder.retire(tsc, instruction, target);
        let decides = !matches!(
            instruction.class,
            Class::Plain | Class::Jump | Class::Call | Class::PageTable | Class::PtWrite | Class::Mwait
        );
        // After a branch that has a packet no decoder is in doubt where the PSB's address belongs.
        if decides && encoder.is_enabled() {
            encoder.psb_if_due(to);
        }
    }

    fn interrupt(&mut self, cpu: usize, tsc: u64, from: u64, to: u64) {
        let target = self.target(to);
        if let Some(encoder) = self.stream(cpu, tsc) {
            encoder.asynchronous(tsc, from, target);
            if target.is_some() {
                encoder.psb_if_due(to);
            }
        }
    }

    /// The core is halted from one time to another, and has another ratio then: the packets come whatever is filtered out.
    fn change_ratio(&mut self, cpu: usize, (from, to): (u64, u64), ratio: u8) {
        self.cpus[cpu].ratio = Some(ratio);
        let owner = self.cpus[cpu].owner;
        if let Some(stream) = owner.and_then(|owner| self.streams.get_mut(&owner)) {
            stream.last = stream.last.max(to);
            stream.encoder.halt(from, to, ratio);
        }
    }

    /// What has a packet of its own.
    fn note(&mut self, cpu: usize, tsc: u64, event: Event<'_>) {
        let power = self.power && self.scope == Scope::Everything;
        if let Event::PageTable(cr3) = event {
            self.cpus[cpu].cr3 = cr3;
        }
        if let Event::Idle { state, .. } = event {
            self.cpus[cpu].halted = C_STATES.get(usize::from(state)).filter(|_| state > 0).copied();
        }
        let (halted, sub_state) = self.cpus[cpu].halted.unwrap_or((HALTED, 0));
        let Some(encoder) = self.stream(cpu, tsc) else { return };
        match event {
            Event::PageTable(cr3) => encoder.page_table(cr3),
            Event::PtWrite { ip, value } => {
                encoder.event(tsc, Packet::Ptw { payload: value, wide: true, fup: true }, Some(ip));
            }
            Event::Idle { .. } if power => {
                encoder.event(tsc, Packet::Pwre { hw: false, state: halted, sub_state }, None);
                encoder.event(tsc, Packet::ExStop { fup: false }, None);
            }
            Event::Resume if power => {
                encoder.wake(tsc);
                let exit = Packet::Pwrx { last: halted, deepest: halted, wake: WOKEN_BY_INTERRUPT };
                encoder.event(tsc, exit, None);
            }
            _ => {}
        }
    }
}
