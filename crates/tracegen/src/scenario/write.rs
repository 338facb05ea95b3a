//! Writes an executed scenario: capture, images, interval file, truth.
//!
//! Input: a scenario and its execution. Output: a directory that stock perf and tailtrace read. The same bytes each time.

mod aux;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use aux::{Piece, pieces};

use super::execution::{Aside, Caused, Executed, Finished};
use super::image::{Image, Owner};
use super::program::Scenario;
use crate::Error;
use crate::container::{
    Container, Event, INTEL_PT, IntelPt, Mapping, Origin, Record, TRACEPOINT, feature, flag, text,
};
use crate::elf::{self, Segment};
use crate::tracepoint::{Tracepoint, tracing_section};

/// Number of the feature section that lists NUMA nodes.
const NUMA_TOPOLOGY: usize = 14;

/// Memory of a node, and what of it is free, in KiB.
const NODE_MEMORY: [u64; 2] = [16 << 20, 8 << 20];

const PAGE: u64 = 4096;

/// perf's number for software events, and the dummy among them.
const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;

/// Writes `executed` into the directory `output`; see [`make`](super::make) for what it holds.
///
/// # Errors
/// [`Error::File`] where writing fails.
pub fn write(scenario: &Scenario, executed: &Executed, output: &Path) -> Result<(), Error> {
    put(&output.join("perf.data/data"), &perf_data(scenario, executed))?;
    let kernel: Vec<&Image> = scenario.images.iter().filter(|image| image.owner == Owner::Kernel).collect();
    if !kernel.is_empty() {
        let directory = output.join("perf.data/kcore_dir");
        let segments: Vec<_> = kernel.iter().map(|image| segment(image)).collect();
        put(&directory.join("kcore"), &elf::kcore(&segments))?;
        put(&directory.join("kallsyms"), kallsyms(&kernel).as_bytes())?;
        put(&directory.join("modules"), b"")?;
    }
    for image in &scenario.images {
        if let Owner::File(path) = &image.owner {
            let program = elf::program(segment(image), &image.symbols, image.bits);
            put(&output.join("symfs").join(path.trim_start_matches('/')), &program)?;
        }
    }
    write_jit_names(scenario, &output.join("symfs/tmp"))?;
    for (number, cpu) in executed.cpus.iter().enumerate() {
        let mut list = String::new();
        for retired in &cpu.retired {
            let _ = writeln!(list, "{:x}", retired.ip);
        }
        put(&output.join(format!("instructions.cpu{number}")), list.as_bytes())?;
    }
    put(&output.join("intervals.csv"), intervals(scenario, executed).as_bytes())?;
    put(&output.join("truth.json"), truth(executed).as_bytes())
}

/// Writes each process's `perf-PID.map`: start, size and name of the functions made at run time.
fn write_jit_names(scenario: &Scenario, folder: &Path) -> Result<(), Error> {
    let mut map = String::new();
    for image in scenario.images.iter().filter(|image| image.owner == Owner::Jit) {
        let end = image.address + image.bytes.len() as u64;
        for (number, (name, address)) in image.symbols.iter().enumerate() {
            let next = image.symbols.get(number + 1).map_or(end, |(_, next)| *next);
            let _ = writeln!(map, "{address:x} {:x} {name}", next - address);
        }
    }
    if map.is_empty() {
        return Ok(());
    }
    let processes: BTreeSet<u32> = scenario.threads.iter().map(|thread| thread.pid).collect();
    for pid in processes.into_iter().filter(|&pid| pid != 0) {
        put(&folder.join(format!("perf-{pid}.map")), map.as_bytes())?;
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(Error::file(directory))?;
    }
    std::fs::write(path, bytes).map_err(Error::file(path))
}

fn segment(image: &Image) -> Segment<'_> {
    Segment { address: image.address, bytes: &image.bytes }
}

/// First and last address of the kernel's code.
fn span(kernel: &[&Image]) -> Option<(u64, u64)> {
    let first = kernel.iter().map(|image| image.address).min()?;
    let last = kernel.iter().map(|image| image.address + image.bytes.len() as u64).max()?;
    Some((first, last.next_multiple_of(PAGE)))
}

fn kallsyms(kernel: &[&Image]) -> String {
    let mut out = String::new();
    let Some((first, last)) = span(kernel) else { return out };
    let _ = writeln!(out, "{first:016x} T _stext\n{first:016x} T _text");
    let mut symbols: Vec<_> = kernel.iter().flat_map(|image| &image.symbols).collect();
    symbols.sort_by_key(|(_, address)| *address);
    for (name, address) in symbols {
        let _ = writeln!(out, "{address:016x} T {name}");
    }
    let _ = writeln!(out, "{last:016x} T _etext");
    out
}

fn intervals(scenario: &Scenario, executed: &Executed) -> String {
    let mut out =
        "# tailtrace-intervals 1 clock=tsc\nid,label,start,stop,pid,tid,stop_pid,stop_tid\n".to_owned();
    for interval in &executed.intervals {
        let (start, stop) =
            (&scenario.threads[interval.start_thread], &scenario.threads[interval.stop_thread]);
        let end = interval.stop.unwrap_or(interval.start);
        let _ = write!(out, "{},{},{},{end},", interval.id, interval.label, interval.start);
        let _ = writeln!(out, "{},{},{},{}", start.pid, start.tid, stop.pid, stop.tid);
    }
    out
}

fn truth(executed: &Executed) -> String {
    let mut rows = Vec::new();
    for interval in &executed.intervals {
        let ticks = interval.ticks();
        let causes = interval.causes.iter().map(|Caused { cause, ticks, count, says }| {
            let count = count.map(|count| format!(", \"count\": {count}")).unwrap_or_default();
            let says = says.as_ref().map(|says| format!(", \"says\": \"{says}\"")).unwrap_or_default();
            format!("{{\"cause\": \"{cause}\", \"ticks\": {ticks}{count}{says}}}")
        });
        let causes = causes.collect::<Vec<_>>().join(", ");
        let (id, label) = (interval.id, &interval.label);
        rows.push(format!(
            "  {{\"id\": {id}, \"label\": \"{label}\", \"ticks\": {ticks}, \"causes\": [{causes}]}}"
        ));
    }
    format!("{{\"intervals\": [\n{}\n]}}\n", rows.join(",\n"))
}

/// The tracepoints that were met, each once, in the order of CPUs and times.
fn points(executed: &Executed) -> Vec<&'static Tracepoint> {
    let mut points = Vec::new();
    for (_, aside) in executed.cpus.iter().flat_map(|cpu| &cpu.asides) {
        match aside {
            Aside::Sample { point, .. } if !points.contains(point) => points.push(*point),
            _ => {}
        }
    }
    points
}

/// The section of NUMA nodes: number, memory, CPUs.
fn numa(nodes: &[(u32, String)]) -> Vec<u8> {
    let mut out = (nodes.len() as u32).to_le_bytes().to_vec();
    for (node, cpus) in nodes {
        out.extend(node.to_le_bytes());
        out.extend(NODE_MEMORY.iter().flat_map(|size| size.to_le_bytes()));
        out.extend(text(cpus));
    }
    out
}

/// The file itself.
struct Writer<'a> {
    scenario: &'a Scenario,
    out: Container,
    /// Records with their perf time.
    timed: Vec<(u64, Record)>,
    /// Tracepoints of which there are samples: events number 2 and on.
    points: Vec<&'static Tracepoint>,
}

fn perf_data(scenario: &Scenario, executed: &Executed) -> Vec<u8> {
    let mut writer =
        Writer { scenario, out: Container::default(), timed: Vec::new(), points: points(executed) };
    writer.put_events();
    writer.put_head();
    let mut buffers = Vec::new();
    for (number, cpu) in (0..).zip(&executed.cpus) {
        writer.put_asides(number, cpu);
        buffers.extend(writer.put_aux(number, cpu));
    }
    writer.put_pokes();
    writer.timed.sort_by_key(|&(time, _)| time);
    let ends =
        (writer.timed.first().map_or(0, |first| first.0), writer.timed.last().map_or(0, |last| last.0));
    for (_, record) in std::mem::take(&mut writer.timed) {
        writer.out.push(&record);
    }
    for (record, bytes) in buffers {
        writer.out.push_aux(&record, bytes);
    }
    writer.out.push(&Record::finished_round());
    writer.put_features(ends);
    writer.out.finish()
}

impl Writer<'_> {
    fn cpus(&self) -> u32 {
        self.scenario.machine.cpus
    }

    /// Id of the event number `event` on `cpu`.
    fn id(&self, event: u32, cpu: u32) -> u64 {
        u64::from(1 + event * self.cpus() + cpu)
    }

    fn put_events(&mut self) {
        let ids = |event| (0..self.cpus()).map(|cpu| self.id(event, cpu)).collect();
        let machine = &self.scenario.machine;
        let sideband = flag::MMAP
            | flag::COMM
            | flag::TASK
            | flag::MMAP2
            | flag::COMM_EXEC
            | flag::CONTEXT_SWITCH
            | flag::TEXT_POKE;
        let flags = flag::INHERIT | flag::SAMPLE_ID_ALL;
        let exclude = if machine.kernel { 0 } else { flag::EXCLUDE_KERNEL };
        let pt = Event {
            name: "intel_pt//",
            kind: INTEL_PT,
            config: machine.config(),
            flags: flags | exclude,
            ids: ids(0),
        };
        let dummy = Event {
            name: "dummy:u",
            kind: SOFTWARE,
            config: DUMMY,
            flags: flags | sideband | flag::EXCLUDE_KERNEL,
            ids: ids(1),
        };
        let mut all = vec![pt, dummy];
        for (event, point) in (2..).zip(&self.points) {
            let (name, config) = (point.name, u64::from(point.id));
            all.push(Event { name, kind: TRACEPOINT, config, flags, ids: ids(event) });
        }
        self.out.events = all;
    }

    /// What perf writes before the first kernel record.
    fn put_head(&mut self) {
        let machine = &self.scenario.machine;
        let settings = machine.settings;
        let (mult, shift) = machine.mult_shift();
        self.out.push(&Record::time_conversion(u64::from(shift), mult, 0));
        let events =
            (0..self.out.events.len() as u32).flat_map(|event| (0..self.cpus()).map(move |cpu| (event, cpu)));
        let index: Vec<_> = events
            .map(|(event, cpu)| [self.id(event, cpu), u64::from(event), u64::from(cpu), u64::MAX])
            .collect();
        self.out.push(&Record::id_index(&index));
        let (pmu, shift) = (INTEL_PT, u64::from(shift));
        let is_snapshot = machine.snapshot.is_some();
        let machine = IntelPt { pmu, shift, mult, zero: 0, settings, is_per_cpu: true, is_snapshot };
        self.out.push(&Record::intel_pt(machine));
        let kernel: Vec<_> =
            self.scenario.images.iter().filter(|image| image.owner == Owner::Kernel).collect();
        if let Some((first, last)) = span(&kernel) {
            self.out.push(&Record::kernel_mapping(first, last - first, Origin::default()));
        }
        self.put_processes();
    }

    /// Names of all threads, and what their processes have mapped.
    fn put_processes(&mut self) {
        let mut seen = Vec::new();
        for thread in self.scenario.threads.iter().filter(|thread| thread.pid != 0) {
            let origin = Origin { pid: thread.pid, tid: thread.tid, ..Origin::default() };
            if thread.pid != thread.tid {
                self.out.push(&Record::fork(thread.pid, origin));
            }
            self.out.push(&Record::comm(&thread.comm, origin));
            if seen.contains(&thread.pid) {
                continue;
            }
            seen.push(thread.pid);
            let origin = Origin { tid: thread.pid, ..origin };
            for image in &self.scenario.images {
                let (address, size) = (image.address, (image.bytes.len() as u64).next_multiple_of(PAGE));
                let record = match &image.owner {
                    Owner::Kernel => continue,
                    Owner::Jit => Record::anonymous_mapping(address, size, origin),
                    Owner::File(path) => {
                        let mapping = Mapping { address, size, file_offset: PAGE, path: path.clone() };
                        Record::mapping(&mapping, elf::build_id(&image.bytes), origin)
                    }
                };
                self.out.push(&record);
            }
        }
    }

    fn origin(&self, thread: usize, cpu: u32, tsc: u64, event: u32) -> Origin {
        let thread = &self.scenario.threads[thread];
        let time = self.scenario.machine.nanoseconds(tsc);
        Origin { pid: thread.pid, tid: thread.tid, time, cpu, id: self.id(event, cpu) }
    }

    fn put_asides(&mut self, cpu: u32, finished: &Finished) {
        for (tsc, aside) in &finished.asides {
            let tsc = *tsc;
            let time = self.scenario.machine.nanoseconds(tsc);
            match *aside {
                Aside::TraceStart(thread) => {
                    let origin = self.origin(thread, cpu, tsc, 0);
                    self.timed.push((time, Record::itrace_start(origin)));
                }
                Aside::Switch { from, to, preempt } => {
                    let (leaving, coming) = (self.origin(from, cpu, tsc, 1), self.origin(to, cpu, tsc, 1));
                    let out = Record::switch_out((coming.pid, coming.tid), preempt, leaving);
                    self.timed.push((time, out));
                    self.timed.push((time, Record::switch_in((leaving.pid, leaving.tid), coming)));
                }
                Aside::Lost(count) => {
                    let origin = Origin { time, cpu, id: self.id(0, cpu), ..Origin::default() };
                    self.timed.push((time, Record::lost(count, origin)));
                }
                Aside::Sample { point, thread, ip, ref raw } => {
                    let event = self.points.iter().position(|used| *used == point).unwrap_or_default();
                    let origin = self.origin(thread, cpu, tsc, 2 + event as u32);
                    self.timed.push((time, Record::sample(ip, raw, origin)));
                }
                Aside::AuxFlags(_) => {}
            }
        }
    }

    /// AUX records of one CPU, and its AUXTRACE records with their bytes.
    fn put_aux<'a>(&mut self, cpu: u32, finished: &'a Finished) -> Vec<(Record, &'a [u8])> {
        let mut buffers = Vec::new();
        for Piece { bytes, begin, end, flags } in pieces(finished, &self.scenario.machine) {
            let (offset, size) = (bytes.start as u64, bytes.len() as u64);
            let time = self.scenario.machine.nanoseconds(end) + 1;
            let origin = Origin { time, cpu, id: self.id(0, cpu), ..Origin::default() };
            self.timed.push((time, Record::aux(offset, size, flags, origin)));
            let record = Record::auxtrace(size, offset, begin, (cpu, u32::MAX, cpu));
            buffers.push((record, &finished.bytes[bytes]));
        }
        buffers
    }

    fn put_pokes(&mut self) {
        for poke in &self.scenario.pokes {
            let time = self.scenario.machine.nanoseconds(poke.tsc);
            let origin = Origin { time, id: self.id(1, 0), ..Origin::default() };
            self.timed.push((time, Record::text_poke(poke.address, &poke.old, &poke.new, origin)));
        }
    }

    fn put_features(&mut self, (first, last): (u64, u64)) {
        let cpus = self.cpus().to_le_bytes();
        let mut pmus = 1u32.to_le_bytes().to_vec();
        pmus.extend(INTEL_PT.to_le_bytes());
        pmus.extend(text("intel_pt"));
        let mut command = 3u32.to_le_bytes().to_vec();
        for word in ["tracegen", "scenario", "made-by-hand"] {
            command.extend(text(word));
        }
        self.out.features.extend([
            (feature::HOSTNAME, text("scenario")),
            (feature::OS_RELEASE, text("6.1.0-scenario")),
            (feature::VERSION, text("tracegen")),
            (feature::ARCH, text("x86_64")),
            (feature::CPUS, [cpus, cpus].concat()),
            (feature::CPU_DESCRIPTION, text("no CPU: written by tracegen")),
            (feature::CPU_ID, text("GenuineIntel,6,94,3")),
            (feature::COMMAND_LINE, command),
            (feature::PMU_MAPPINGS, pmus),
            (feature::SAMPLE_TIME, [first.to_le_bytes(), last.to_le_bytes()].concat()),
        ]);
        let nodes = &self.scenario.machine.nodes;
        if !nodes.is_empty() {
            self.out.features.push((NUMA_TOPOLOGY, numa(nodes)));
        }
        if !self.points.is_empty() {
            self.out.features.push((feature::TRACING_DATA, tracing_section(&self.points)));
        }
        self.out.describe_events();
    }
}
