//! Runs a scenario: walks its code as the timelines say and writes down what a CPU would.
//!
//! Input: a [`Scenario`]. Output: PT bytes per CPU, sideband, intervals, and every retired instruction.
//! Invariant: an instruction is in the list exactly if tracing covers it; each statement of a timeline either happens or is refused.

mod buffer;
mod hardware;
mod interval;
mod ownership;
mod record;
mod serving;
mod walk;

use super::program::{Ring, Scenario, Step};
use super::statement::Statement;
use super::wrong::Wrong;
use crate::core_event::{COUNTED, CoreEvent};
use crate::instruction::Instruction;
use crate::packet::{ExecMode, Packet};
use crate::tracepoint::Tracepoint;
use buffer::Buffer;
pub use buffer::Owner;
pub(super) use buffer::{Copied, Finished};
pub use interval::{Caused, Interval};
use serving::Serving;

/// The lowest address of the upper half, where kernels live.
const UPPER_HALF: u64 = 1 << 47;

/// A scenario of more steps is a mistake.
const MOST_STEPS: u64 = 1_000_000;

/// One executed instruction that the trace covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// When it retired, in TSC ticks.
    pub tsc: u64,
    /// Where it lies.
    pub ip: u64,
    /// The thread that ran it.
    pub tid: u32,
}

/// A line of the scenario happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happened {
    /// When it began, in TSC ticks.
    pub tsc: u64,
    /// On which CPU.
    pub cpu: usize,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// A sideband record to be written.
#[derive(Clone, Debug)]
pub(super) enum Aside {
    /// Index of the thread that tracing began with.
    TraceStart(usize),
    Switch {
        from: usize,
        to: usize,
        preempt: bool,
    },
    /// So many records, of the thread that ran.
    Lost {
        count: u64,
        thread: Option<usize>,
    },
    /// A load was sampled at `ip`: the data's address, its physical one, `perf_mem_data_src`.
    Access {
        thread: usize,
        ip: u64,
        data: [u64; 3],
    },
    /// A tracepoint was met at `ip` by a thread.
    Sample {
        point: &'static Tracepoint,
        thread: usize,
        ip: u64,
        raw: Vec<u8>,
    },
    /// PEBS sampled the instruction at `ip`.
    Precise {
        event: &'static CoreEvent,
        thread: usize,
        ip: u64,
        period: u64,
        weight: u64,
    },
    /// PEBS wrote a record of this event into the trace.
    Traced {
        event: &'static CoreEvent,
    },
    /// The group of counters was read before the instruction at `ip`; its sampled event had happened `period` times.
    Counted {
        thread: usize,
        ip: u64,
        period: u64,
        totals: Box<[u64; COUNTED]>,
    },
}

/// One CPU while the scenario runs, and what it leaves.
#[derive(Debug)]
pub(super) struct Cpu {
    pub(super) tsc: u64,
    /// The next instruction.
    ip: Option<u64>,
    pub(super) thread: Option<usize>,
    /// Where its trace goes: its own buffer, or that of the thread on it.
    buffer: Buffer,
    last: Option<Instruction>,
    tracing: bool,
    /// The interrupts and softirqs that its records have begun.
    serving: Serving,
    pub(super) asides: Vec<(u64, Aside)>,
}

/// What a scenario's execution left.
#[derive(Debug)]
pub struct Executed {
    pub(super) buffers: Vec<Finished>,
    /// What happened beside the trace, per CPU, with its TSC.
    pub(super) asides: Vec<Vec<(u64, Aside)>>,
    pub(super) intervals: Vec<Interval>,
    happened: Vec<Happened>,
}

/// What a thread does when it runs again.
#[derive(Clone, Debug, Default)]
struct Context {
    /// Return addresses of its calls.
    calls: Vec<u64>,
    /// Where the kernel goes back to.
    interrupted: Vec<u64>,
}

/// The machine while it runs.
struct Runner<'a> {
    scenario: &'a Scenario,
    cpus: Vec<Cpu>,
    /// Of a trace per thread: the buffer of each thread that is on no CPU.
    parked: Vec<Buffer>,
    contexts: Vec<Context>,
    intervals: Vec<Interval>,
    /// What the group's counters stand at, for each CPU, or for each thread where the trace is one per thread.
    counts: Vec<[u64; COUNTED]>,
    /// Operand of the next `ptwrite rax`.
    rax: u64,
}

impl Executed {
    /// Runs `scenario` from its first line to its last.
    ///
    /// # Errors
    /// The first statement that cannot happen.
    pub fn run(scenario: &Scenario) -> Result<Executed, Wrong> {
        let mut runner = Runner::new(scenario)?;
        let mut happened = Vec::new();
        for step in unrolled(&scenario.steps)? {
            let cpu = step.cpu as usize;
            happened.push(Happened { tsc: runner.cpus[cpu].tsc, cpu, line: step.line });
            runner.step(step).map_err(|what| Wrong::new(step.line, what))?;
        }
        let mut executed = runner.finish(happened);
        executed.add_causes(scenario)?;
        Ok(executed)
    }

    /// Number of AUX buffers: one per CPU, or per thread.
    pub fn buffers(&self) -> usize {
        self.buffers.len()
    }

    /// Whose trace the buffer holds.
    pub fn owner(&self, buffer: usize) -> Option<Owner> {
        self.buffers.get(buffer).map(|buffer| buffer.owner)
    }

    /// The instructions that a decoder must find in the buffer, in order.
    pub fn instructions(&self, buffer: usize) -> &[Retired] {
        self.buffers.get(buffer).map_or(&[], |buffer| &buffer.retired)
    }

    /// The PT bytes of the buffer, in the stretches that a decoder must take one by one: cut where it had been full, or where
    /// a ring was overwritten between two copies.
    pub fn trace(&self, buffer: usize) -> Vec<&[u8]> {
        let Some(buffer) = self.buffers.get(buffer) else { return Vec::new() };
        buffer.stretches().into_iter().map(|stretch| &buffer.bytes[stretch]).collect()
    }

    /// The intervals, in the order in which the scenario begins them.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Each line of a CPU's timeline that happened, in the order of the file.
    pub fn happened(&self) -> &[Happened] {
        &self.happened
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> usize {
        self.asides.len()
    }
}

impl Cpu {
    fn new(tsc: u64, buffer: Buffer) -> Cpu {
        let serving = Serving::default();
        Cpu { tsc, ip: None, thread: None, buffer, last: None, tracing: false, serving, asides: Vec::new() }
    }
}

impl<'a> Runner<'a> {
    fn new(scenario: &'a Scenario) -> Result<Runner<'a>, Wrong> {
        let mut contexts = Vec::new();
        for thread in &scenario.threads {
            let entry = thread.entry.as_ref().map(|label| scenario.labels.get(label).copied());
            if entry == Some(None) {
                return Err(Wrong::new(0, format!("thread {} enters at no known label", thread.name)));
            }
            let interrupted = entry.flatten().into_iter().collect();
            contexts.push(Context { calls: Vec::new(), interrupted });
        }
        let machine = &scenario.machine;
        let cpus = (0..machine.cpus).map(|_| Cpu::new(machine.base, Buffer::new(machine))).collect();
        let threads = if machine.per_thread { scenario.threads.as_slice() } else { &[] };
        let parked = threads.iter().map(|_| Buffer::new(machine)).collect();
        let counts =
            vec![[0; COUNTED]; if machine.per_thread { threads.len() } else { machine.cpus as usize }];
        Ok(Runner { scenario, cpus, parked, contexts, intervals: Vec::new(), counts, rax: 0 })
    }

    /// Lets one statement happen.
    fn step(&mut self, step: &Step) -> Result<(), String> {
        let number = step.cpu as usize;
        let ticks = |picoseconds| self.scenario.machine.ticks(picoseconds);
        match &step.statement {
            Statement::At(time) => {
                let tsc = self.scenario.machine.base + ticks(*time);
                let cpu = &mut self.cpus[number];
                if tsc < cpu.tsc {
                    return Err("this CPU is past that time already".to_owned());
                }
                cpu.tsc = tsc;
            }
            Statement::Gap(time) => self.cpus[number].tsc += ticks(*time),
            Statement::Runs(thread) => {
                let thread = self.thread(thread)?;
                self.contexts[thread] = Context::default();
                self.put_on(number, thread)?;
            }
            Statement::TraceOn(label) => self.trace_on(number, label)?,
            Statement::TraceOff => self.trace_off(number)?,
            Statement::TraceStop => {
                self.trace_off(number)?;
                let cpu = &mut self.cpus[number];
                cpu.buffer.encoder.event(cpu.tsc, Packet::TraceStop, None);
            }
            Statement::Run { until, branches, targets, duration } => {
                let path = self.walk(number, until, branches, targets)?;
                let duration = duration.map_or(path.len() as u64, ticks);
                self.retire_path(number, &path, duration);
            }
            Statement::Interrupt { label, event } => self.interrupt(number, label, *event)?,
            Statement::Switch { thread, preempt } => self.switch(number, thread, *preempt)?,
            Statement::Goes(label) => self.redirect(number, label)?,
            Statement::Rax(value) => self.rax = *value,
            Statement::Begin { label, id } => self.begin(number, label, *id)?,
            Statement::End { id } => self.end(number, *id)?,
            Statement::Task { kind, id } => self.task(number, kind, *id)?,
            Statement::AuxFlags(flags) => {
                let cpu = &mut self.cpus[number];
                cpu.buffer.flags.push((cpu.tsc, *flags));
            }
            Statement::Lost(count) => {
                let thread = self.cpus[number].thread;
                self.aside(number, Aside::Lost { count: *count, thread });
            }
            Statement::Snapshot => {
                self.copy(number, matches!(self.scenario.machine.ring, Ring::Snapshots(_)))?;
            }
            Statement::Sample => self.copy(number, matches!(self.scenario.machine.ring, Ring::Samples(_)))?,
            Statement::Access { address, physical, source } => {
                self.access(number, [*address, *physical, *source])?;
            }
            Statement::Record { point, values } => self.record(number, point, values)?,
            Statement::Pebs { event, period, weight } => {
                let (thread, ip) = self.running(number)?;
                let (period, weight) = (*period, *weight);
                self.aside(number, Aside::Precise { event, thread, ip, period, weight });
            }
            Statement::Traced { event, memory } => self.pebs(number, event, *memory)?,
            Statement::Read(counts) => self.read(number, counts)?,
            other => self.hardware(number, other)?,
        }
        Ok(())
    }

    fn switch(&mut self, number: usize, thread: &str, preempt: bool) -> Result<(), String> {
        let to = self.thread(thread)?;
        let from = self.cpus[number].thread.ok_or("say first who `runs` here")?;
        self.aside(number, Aside::Switch { from, to, preempt });
        self.put_on(number, to)
    }

    /// The kernel was entered from elsewhere than it returns to: a signal.
    fn redirect(&mut self, number: usize, label: &str) -> Result<(), String> {
        let to = self.label(label)?;
        let thread = self.cpus[number].thread.ok_or("say first who `runs` here")?;
        let entered = self.contexts[thread].interrupted.last_mut();
        *entered.ok_or("this thread is not in the kernel")? = to;
        Ok(())
    }

    fn aside(&mut self, number: usize, aside: Aside) {
        let cpu = &mut self.cpus[number];
        cpu.asides.push((cpu.tsc, aside));
    }

    fn thread(&self, name: &str) -> Result<usize, String> {
        let found = self.scenario.threads.iter().position(|thread| thread.name == name);
        found.ok_or_else(|| format!("no thread `{name}`"))
    }

    fn label(&self, label: &str) -> Result<u64, String> {
        self.scenario.labels.get(label).copied().ok_or_else(|| format!("no label `{label}`"))
    }

    fn mode(&self, ip: u64) -> Result<ExecMode, String> {
        match self.scenario.code_at(ip, 0) {
            Some((_, 32)) => Ok(ExecMode::Bits32),
            Some(_) => Ok(ExecMode::Bits64),
            None => Err(format!("no code at {ip:#x}")),
        }
    }

    fn is_visible(&self, ip: u64) -> bool {
        self.scenario.machine.kernel || ip < UPPER_HALF
    }
}

/// The steps with each `repeat N … done` written out.
fn unrolled(steps: &[Step]) -> Result<Vec<&Step>, Wrong> {
    let mut unrolled: Vec<&Step> = Vec::new();
    // Where the body began, how often, which line.
    let mut open: Vec<(usize, u64, &Step)> = Vec::new();
    for step in steps {
        match step.statement {
            Statement::Repeat(count) => open.push((unrolled.len(), count, step)),
            Statement::Done => {
                let (from, count, _) =
                    open.pop().ok_or_else(|| Wrong::new(step.line, "`done` without `repeat`"))?;
                let body = unrolled.split_off(from);
                if body.len() as u64 * count > MOST_STEPS {
                    return Err(Wrong::new(step.line, "too many repetitions"));
                }
                (0..count).for_each(|_| unrolled.extend(&body));
            }
            _ => unrolled.push(step),
        }
    }
    match open.last() {
        Some((_, _, step)) => Err(Wrong::new(step.line, "`repeat` without `done`")),
        None => Ok(unrolled),
    }
}
