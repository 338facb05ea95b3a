//! Runs a scenario: walks its code as the timelines say and writes down what a CPU would.
//!
//! Input: a [`Scenario`]. Output: PT bytes per CPU, sideband, intervals, and every retired instruction.
//! Invariant: an instruction is in the list exactly if tracing covers it; each statement of a timeline either happens or is refused.

mod hardware;
mod record;
mod walk;

use super::Wrong;
use super::program::{Machine, Scenario, Share, Step};
use super::statement::Statement;
use crate::encoder::Encoder;
use crate::instruction::Instruction;
use crate::packet::ExecMode;
use crate::tracepoint::Tracepoint;

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
    /// Who ran it.
    pub tid: u32,
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
    Lost(u64),
    /// For the AUX record whose bytes end behind this time.
    AuxFlags(u64),
    /// A tracepoint was met at `ip` by a thread.
    Sample {
        point: &'static Tracepoint,
        thread: usize,
        ip: u64,
        raw: Vec<u8>,
    },
}

/// One interval, with its two threads.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) id: u64,
    pub(super) label: String,
    pub(super) start: u64,
    pub(super) stop: Option<u64>,
    pub(super) start_thread: usize,
    pub(super) stop_thread: usize,
    /// Cause, ticks, number of happenings.
    pub(super) causes: Vec<(String, u64, Option<u64>)>,
}

/// One CPU while the scenario runs, and what it leaves.
#[derive(Debug)]
pub(super) struct Cpu {
    pub(super) tsc: u64,
    /// The next instruction.
    ip: Option<u64>,
    pub(super) thread: Option<usize>,
    encoder: Encoder,
    last: Option<Instruction>,
    tracing: bool,
    retired: Vec<Retired>,
    pub(super) asides: Vec<(u64, Aside)>,
}

/// What a scenario's execution left.
#[derive(Debug)]
pub struct Executed {
    pub(super) cpus: Vec<Finished>,
    pub(super) intervals: Vec<Interval>,
}

/// One CPU at the end.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) bytes: Vec<u8>,
    pub(super) sync_points: Vec<(usize, u64)>,
    pub(super) retired: Vec<Retired>,
    pub(super) asides: Vec<(u64, Aside)>,
    pub(super) end: u64,
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
    contexts: Vec<Context>,
    intervals: Vec<Interval>,
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
        for step in unrolled(&scenario.steps)? {
            runner.step(step).map_err(|what| Wrong::new(step.line, what))?;
        }
        let mut executed = Executed {
            cpus: runner.cpus.into_iter().map(Cpu::finish).collect(),
            intervals: runner.intervals,
        };
        executed.add_causes(scenario)?;
        Ok(executed)
    }

    /// The instructions that CPU `cpu` retired under trace, in order.
    pub fn instructions(&self, cpu: usize) -> &[Retired] {
        self.cpus.get(cpu).map_or(&[], |cpu| &cpu.retired)
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Gives each interval its causes; they must add up to it.
    fn add_causes(&mut self, scenario: &Scenario) -> Result<(), Wrong> {
        for interval in &mut self.intervals {
            let stop =
                interval.stop.ok_or_else(|| Wrong::new(0, format!("interval {} has no end", interval.id)))?;
            let lines: Vec<_> =
                scenario.truth.iter().filter(|truth| truth.intervals.contains(&interval.id)).collect();
            let Some(last) = lines.last() else { continue };
            let ticks = |share| match share {
                Share::Picoseconds(picoseconds) => scenario.machine.ticks(picoseconds),
                Share::Rest => 0,
            };
            let duration = stop - interval.start;
            let named: u64 = lines.iter().map(|truth| ticks(truth.share)).sum();
            let rests = lines.iter().filter(|truth| truth.share == Share::Rest).count();
            if rests > 1 || named > duration || (rests == 0 && named != duration) {
                let what = format!("the causes name {named} ticks, interval {} has {duration}", interval.id);
                return Err(Wrong::new(last.line, what));
            }
            interval.causes = lines
                .iter()
                .map(|truth| {
                    let rest = truth.share == Share::Rest;
                    let ticks = if rest { duration - named } else { ticks(truth.share) };
                    (truth.cause.clone(), ticks, truth.count)
                })
                .collect();
        }
        let known = |id| self.intervals.iter().any(|interval| interval.id == id);
        match scenario.truth.iter().find(|truth| !known(*truth.intervals.end())) {
            Some(truth) => {
                Err(Wrong::new(truth.line, format!("there is no interval {}", truth.intervals.end())))
            }
            None => Ok(()),
        }
    }
}

impl Cpu {
    fn new(machine: &Machine) -> Cpu {
        Cpu {
            tsc: machine.base,
            ip: None,
            thread: None,
            encoder: Encoder::new(machine.settings),
            last: None,
            tracing: false,
            retired: Vec::new(),
            asides: Vec::new(),
        }
    }

    fn finish(mut self) -> Finished {
        if let (true, Some(ip)) = (self.encoder.is_enabled(), self.ip) {
            self.encoder.disable_at(self.tsc, ip);
        }
        let (bytes, sync_points) = self.encoder.finish();
        Finished { bytes, sync_points, retired: self.retired, asides: self.asides, end: self.tsc }
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
        let cpus = (0..scenario.machine.cpus).map(|_| Cpu::new(&scenario.machine)).collect();
        Ok(Runner { scenario, cpus, contexts, intervals: Vec::new(), rax: 0 })
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
                self.cpus[number].thread = Some(thread);
            }
            Statement::TraceOn(label) => self.trace_on(number, label)?,
            Statement::TraceOff => self.trace_off(number)?,
            Statement::Run { until, branches, targets, duration } => {
                let path = self.walk(number, until, branches, targets)?;
                let duration = duration.map_or(path.len() as u64, ticks);
                self.retire_path(number, &path, duration);
            }
            Statement::Interrupt { label, event } => self.interrupt(number, label, *event)?,
            Statement::Switch { thread, preempt } => self.switch(number, thread, *preempt)?,
            Statement::Rax(value) => self.rax = *value,
            Statement::Begin { label, id } => self.begin(number, label, *id)?,
            Statement::End { id } => self.end(number, *id)?,
            Statement::AuxFlags(flags) => self.aside(number, Aside::AuxFlags(*flags)),
            Statement::Lost(count) => self.aside(number, Aside::Lost(*count)),
            Statement::Record { point, values } => self.record(number, point, values)?,
            other => self.hardware(number, other)?,
        }
        Ok(())
    }

    fn switch(&mut self, number: usize, thread: &str, preempt: bool) -> Result<(), String> {
        let to = self.thread(thread)?;
        let from = self.cpus[number].thread.replace(to).ok_or("say first who `runs` here")?;
        self.aside(number, Aside::Switch { from, to, preempt });
        Ok(())
    }

    fn begin(&mut self, number: usize, label: &str, id: Option<u64>) -> Result<(), String> {
        let next = self.intervals.iter().map(|interval| interval.id + 1).max().unwrap_or(0);
        let id = id.unwrap_or(next);
        let thread = self.cpus[number].thread.ok_or("say first who `runs` here")?;
        if self.intervals.iter().any(|interval| interval.id == id) {
            return Err(format!("interval {id} has begun already"));
        }
        let start = self.cpus[number].tsc;
        let label = label.to_owned();
        let (start_thread, stop_thread) = (thread, thread);
        self.intervals.push(Interval {
            id,
            label,
            start,
            stop: None,
            start_thread,
            stop_thread,
            causes: vec![],
        });
        Ok(())
    }

    fn end(&mut self, number: usize, id: Option<u64>) -> Result<(), String> {
        let last = self.intervals.last().map(|interval| interval.id);
        let id = id.or(last).ok_or("no interval has begun")?;
        let (tsc, thread) = (self.cpus[number].tsc, self.cpus[number].thread);
        let open =
            |interval: &&mut Interval| interval.id == id && interval.stop.is_none() && interval.start <= tsc;
        let interval = self.intervals.iter_mut().find(open);
        let interval = interval.ok_or_else(|| format!("no interval {id} is open at this time"))?;
        interval.stop = Some(tsc);
        interval.stop_thread = thread.unwrap_or(interval.start_thread);
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
