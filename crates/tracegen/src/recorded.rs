//! Makes a capture from what an emulator logged: every executed instruction as Intel PT, in the guest's own perf.data.
//!
//! Input: the log (`fixtures/emulator`), the guest's `perf record -a --kcore` with switch records. Output: a directory with
//! `perf.data/`, `user/` and `thread/` where requested, and `log/`: what was executed, in plain files.
//! Invariant: times in PT, in the sideband and in the guest's marks are one clock, the guest's TSC; nothing is rescaled here.

mod anonymous;
mod block;
mod clock;
mod flow;
mod kernel;
mod ledger;
mod log;
mod owners;
mod power;
mod schedule;
mod splice;
mod tracer;

use std::ops::Range;
use std::path::Path;

use crate::capture::Capture;
use crate::encoder::{Addresses, Settings};
use crate::error::Error;
use anonymous::Anonymous;
use block::{Blocks, EntryPoints, read_entry_points};
use clock::{GuestClock, PerfTime};
use flow::{Event, Flow};
use ledger::{Ledger, ModelledStall};
use log::{Entry, Log};
use power::{PowerEvents, PowerRecords};
use schedule::{Schedule, Thread};
use splice::Splice;
use tracer::{Slice, Tracer};

pub use ledger::Gap;
pub use tracer::Scope;

/// `PERF_RECORD_TIME_CONV`.
const TIME_CONV: u32 = 79;

/// The TSC derives from a crystal of about 24 MHz; MTC every 8 of its ticks.
const CRYSTAL_HERTZ: u64 = 24_000_000;
const MTC_PERIOD: u8 = 3;

/// Ratio times this is the core's frequency.
const BUS_HERTZ: u64 = 100_000_000;

/// A PSB at least each so many bytes.
const PSB_BYTES: usize = 4096;

/// What to make, and of what.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The directory with `vcpu<N>.log` and `blocks.bin`.
    pub log: &'a Path,
    /// Where interrupts and exceptions enter the guest's kernel: lines of address, `F` or `I`, name.
    pub entries: &'a Path,
    /// The guest's perf.data directory.
    pub guest: &'a Path,
    /// The directory to write.
    pub output: &'a Path,
    /// How many times slower than the host the guest's clock ran.
    pub dilation: u64,
    /// With packets for power events.
    pub power: bool,
    /// A stall of the host is one of more than so many nanoseconds of the guest.
    pub gap_ns: u64,
}

/// What was made.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Instructions executed, per CPU.
    pub executed: Vec<u64>,
    /// Bytes of PT, of each scope.
    pub trace_bytes: Vec<(Scope, u64)>,
    /// Stalls of the host.
    pub gaps: Vec<Gap>,
}

/// Makes the capture.
///
/// # Errors
/// [`Error::File`]; [`Error::Capture`] where log or guest hold what cannot be, with the place.
pub fn encode(request: &Request<'_>, scopes: &[Scope]) -> Result<Recorded, Error> {
    if request.dilation == 0 {
        return Err(Error::Usage("a guest's clock runs at least once as slow as the host's".to_owned()));
    }
    let recording = Recording::read(request)?;
    let (mut recorded, power, lasted) = recording.write_ledgers(request)?;
    let (guest, schedule, time) = (&recording.guest, &recording.schedule, recording.time);
    let power = PowerRecords::of(&power, guest, schedule, time)?;
    let kernel = request.output.join("perf.data/kcore_dir");
    kernel::trim(&request.guest.join("kcore_dir"), &kernel, &recording.blocks)?;
    let code = Anonymous::read(&recording.guest, &recording.blocks)?;
    code.write(&request.output.join("anonymous.bin"))?;
    let copies = code.copies(&lasted);
    for &scope in scopes {
        if let Some(copies) = &copies {
            put(&request.output.join(code_beside(scope)), copies)?;
        }
        let bytes = recording.write_trace(request, scope, &power)?;
        recorded.trace_bytes.push((scope, bytes));
    }
    Ok(recorded)
}

/// Where the copies of code lie of a scope's capture, a directory or a file.
fn code_beside(scope: Scope) -> &'static str {
    match scope {
        Scope::Everything => "perf.data/code",
        Scope::User => "user/perf.data.code",
        Scope::Threads => "thread/perf.data/code",
    }
}

/// All that came out of the emulator.
struct Recording {
    logs: Vec<Log>,
    blocks: Blocks,
    entry_points: EntryPoints,
    clock: GuestClock,
    guest: Capture,
    schedule: Schedule,
    time: PerfTime,
}

impl Recording {
    fn read(request: &Request<'_>) -> Result<Recording, Error> {
        let mut logs = Vec::new();
        while let path = request.log.join(format!("vcpu{}.log", logs.len()))
            && (logs.is_empty() || path.exists())
        {
            logs.push(Log::read(&path)?);
        }
        let blocks = Blocks::read(&request.log.join("blocks.bin"), &used_blocks(&logs))?;
        let entry_points = read_entry_points(request.entries)?;
        let clock = GuestClock::of(&logs, request.dilation);
        let clock = clock.ok_or_else(|| {
            logs[0].wrong(0, "no RDTSC in the log, or the guest's TSC drifts: no join of clocks")
        })?;
        let guest = Capture::read(request.guest)?;
        let schedule = Schedule::of(&guest)?;
        let time = perf_time(&guest)?;
        if !clock::agrees(time, &logs, &schedule) {
            let what = "switch records at times that no RDTSC in the log gave: the guest's kernel refined its TSC during the recording";
            return Err(guest.wrong(0, what));
        }
        Ok(Recording { logs, blocks, entry_points, clock, guest, schedule, time })
    }

    fn flows(&self) -> Vec<Flow<'_>> {
        let flow = |log| Flow::new(log, &self.blocks, &self.entry_points, self.clock);
        self.logs.iter().map(flow).collect()
    }

    /// Writes `log/`. Also returns from which TSC to which the log has instructions.
    fn write_ledgers(&self, request: &Request<'_>) -> Result<(Recorded, PowerEvents, Range<u64>), Error> {
        let directory = request.output.join("log");
        std::fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let bound = (u128::from(request.gap_ns) * u128::from(self.time.hertz()) / 1_000_000_000) as u64;
        let mut recorded = Recorded::default();
        let (mut spans, mut stalls, mut power) = (Vec::new(), Vec::new(), PowerEvents::default());
        for (cpu, mut flow) in self.flows().into_iter().enumerate() {
            let mut ledger = Ledger::create(&directory, cpu, bound)?;
            while let Some(step) = flow.next()? {
                ledger.take(&step)?;
            }
            recorded.executed.push(ledger.executed);
            recorded.gaps.extend(&ledger.gaps);
            spans.push(ledger.span.unwrap_or_default());
            stalls.append(&mut ledger.stalls);
            power.extend(std::mem::take(&mut ledger.power));
            ledger.finish()?;
        }
        put(&directory.join("gaps.csv"), gaps(&recorded.gaps))?;
        if !stalls.is_empty() {
            put(&directory.join("stalls.csv"), stall_table(&stalls))?;
        }
        put(&directory.join("machine.json"), self.machine(request, bound, &spans))?;
        let begin = spans.iter().map(|(begin, _)| *begin).min().unwrap_or_default();
        let end = spans.iter().map(|(_, end)| *end).max().unwrap_or_default();
        Ok((recorded, power, begin..end))
    }

    /// What a reader of `log/` must know of the clocks.
    fn machine(&self, request: &Request<'_>, gap_ticks: u64, spans: &[(u64, u64)]) -> String {
        let PerfTime { shift, mult, zero } = self.time;
        let (begins, ends): (Vec<u64>, Vec<u64>) = spans.iter().copied().unzip();
        let (hertz, cpus, dilation) = (self.time.hertz(), spans.len(), request.dilation);
        format!(
            "{{\"tsc_hz\": {hertz}, \"shift\": {shift}, \"mult\": {mult}, \"zero\": {zero}, \"dilate\": {dilation}, \"cpus\": {cpus}, \
             \"gap_ticks\": {gap_ticks}, \"begin_tsc\": {begins:?}, \"end_tsc\": {ends:?}}}\n"
        )
    }

    /// Writes the perf.data of one scope; returns its trace's size.
    fn write_trace(&self, request: &Request<'_>, scope: Scope, power: &PowerRecords) -> Result<u64, Error> {
        let settings = self.settings();
        let (streams, slices) = self.trace(request, scope, settings)?;
        let (guest, schedule, time) = (&self.guest, &self.schedule, self.time);
        let splice = Splice { guest, schedule, streams: &streams, scope, settings, time, power };
        let bytes = splice.perf_data()?;
        match scope {
            Scope::Everything => put(&request.output.join("perf.data/data"), bytes)?,
            Scope::User => put(&request.output.join("user/perf.data"), bytes)?,
            Scope::Threads => {
                put(&request.output.join("thread/perf.data/data"), bytes)?;
                put(&request.output.join("thread/slices.csv"), slice_table(&slices))?;
                link_kernel(request.output)?;
            }
        }
        Ok(streams.iter().map(|stream| stream.bytes.len() as u64).sum())
    }

    /// Runs all CPUs through a tracer, in order of time.
    fn trace(
        &self,
        request: &Request<'_>,
        scope: Scope,
        settings: Settings,
    ) -> Result<(Vec<tracer::Finished>, Vec<Slice>), Error> {
        let mut flows = self.flows();
        let process = if scope == Scope::Threads { self.process()? } else { 0 };
        let mut tracer = Tracer::new(scope, settings, request.power, process, flows.len());
        for cpu in 0..flows.len() {
            let switches = self.schedule.on(cpu as u32);
            tracer.switches(cpu, switches.map(|&switch| (self.time.ticks(switch.time), switch)));
        }
        let mut next = Vec::new();
        for flow in &mut flows {
            next.push(flow.next()?);
        }
        loop {
            let waiting = next.iter().enumerate().filter_map(|(cpu, step)| Some((step.as_ref()?.tsc, cpu)));
            let Some((_, cpu)) = waiting.min() else { return Ok(tracer.finish()) };
            if let Some(step) = std::mem::replace(&mut next[cpu], flows[cpu].next()?) {
                tracer.take(cpu, &step);
            }
        }
    }

    /// The process that was recorded: the one that wrote the first PTWRITE.
    fn process(&self) -> Result<u32, Error> {
        let mut first: Option<(u64, usize)> = None;
        for (cpu, mut flow) in self.flows().into_iter().enumerate() {
            while let Some(step) = flow.next()? {
                if matches!(step.event, Event::PtWrite { .. }) {
                    first = first.into_iter().chain([(step.tsc, cpu)]).min();
                    break;
                }
            }
        }
        let what = "no PTWRITE in the log: which process is it whose threads are wanted?";
        let (tsc, cpu) = first.ok_or_else(|| self.logs[0].wrong(0, what))?;
        let Thread { pid, .. } = self.schedule.current(cpu as u32, self.time.nanoseconds(tsc));
        Ok(pid)
    }

    fn settings(&self) -> Settings {
        let hertz = self.time.hertz();
        Settings {
            return_compression: true,
            cycles: true,
            mtc_period: Some(MTC_PERIOD),
            tsc_numerator: (2 * (hertz / CRYSTAL_HERTZ)).max(1) as u32,
            tsc_denominator: 2,
            psb_bytes: PSB_BYTES,
            ratios: true,
            tsc_ratio: ((hertz + BUS_HERTZ / 2) / BUS_HERTZ).clamp(1, 255) as u8,
            long_tnt: false,
            addresses: Addresses::Short,
            event_trace: false,
            event_addresses: true,
        }
    }
}

/// Which blocks were executed, by number.
fn used_blocks(logs: &[Log]) -> Vec<bool> {
    let mut used = Vec::new();
    for entry in logs.iter().flat_map(Log::entries) {
        if let Entry::Block { number, .. } = entry {
            if used.len() <= number {
                used.resize(number + 1, false);
            }
            used[number] = true;
        }
    }
    used
}

fn perf_time(guest: &Capture) -> Result<PerfTime, Error> {
    let record = guest.records.iter().find(|record| record.kind == TIME_CONV);
    let what = "no TIME_CONV record: the TSC to perf-time conversion is missing";
    let start = record.ok_or_else(|| guest.wrong(0, what))?.place.start;
    let [shift, mult, zero] = [8, 16, 24].map(|at| guest.u64(start + at));
    Ok(PerfTime { shift: shift?, mult: mult?, zero: zero? })
}

fn gaps(gaps: &[Gap]) -> String {
    let line = |gap: &Gap| format!("{},{},{},{:x}\n", gap.cpu, gap.from, gap.to, gap.ip);
    "cpu,from_tsc,to_tsc,ip\n".to_owned() + &gaps.iter().map(line).collect::<String>()
}

fn stall_table(stalls: &[ModelledStall]) -> String {
    let line = |stall: &ModelledStall| {
        let ModelledStall { cpu, kind, from, to, detail } = stall;
        format!("{cpu},{},{from},{to},{detail}\n", kind.name())
    };
    "cpu,kind,from_tsc,to_tsc,detail\n".to_owned() + &stalls.iter().map(line).collect::<String>()
}

fn slice_table(slices: &[Slice]) -> String {
    let line = |slice: &Slice| {
        let Slice { tid, cpu, first, count } = slice;
        format!("{tid},{cpu},{first},{count}\n")
    };
    "tid,cpu,first,count\n".to_owned() + &slices.iter().map(line).collect::<String>()
}

/// The threads' capture shows the same kernel: as hard links, which an archive holds once.
fn link_kernel(output: &Path) -> Result<(), Error> {
    let (from, to) = (output.join("perf.data/kcore_dir"), output.join("thread/perf.data/kcore_dir"));
    std::fs::create_dir_all(&to).map_err(Error::file(&to))?;
    for name in ["kcore", "kallsyms", "modules"] {
        crate::tree::link(&from.join(name), &to.join(name))?;
    }
    Ok(())
}

fn put(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(Error::file(directory))?;
    }
    std::fs::write(path, bytes).map_err(Error::file(path))
}

#[cfg(test)]
mod tests;
