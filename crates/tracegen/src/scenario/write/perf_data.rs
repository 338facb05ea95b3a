//! Puts the perf.data file of a scenario together: events, what perf writes before the start, records by time, AUX bytes, features.
//!
//! Input: a scenario and its execution. Output: the file's bytes.
//! Source: `tools/perf/arch/x86/util/intel-pt.c` (`intel_pt_recording_options`, `intel_pt_info_fill`): which options make which events.

mod sideband;

use super::super::execution::{Aside, Executed, Owner};
use super::super::image::Backing;
use super::super::program::{Ring, Scenario};
use super::{PAGE, jitdump, machine, span};
use crate::container::{
    Container, Event, INTEL_PT, IntelPt, Mapping, Origin, PT_NAME, Record, TRACEPOINT, carries, feature,
    flag, read, text,
};
use crate::core_event::{CoreEvent, GROUP, SAMPLED};
use crate::elf;
use crate::tracepoint::{Tracepoint, tracing_section};

/// perf's numbers for hardware events, of which cycles are the first, and software events with the dummy among them.
const HARDWARE: u32 = 0;
const CYCLES: u64 = 0;
const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;

/// Samples to a second that perf asks for by default.
const FREQUENCY: u64 = 4000;

/// Intel's event of sampled loads, `MEM_TRANS_RETIRED.LOAD_LATENCY`: a raw one, sampled by PEBS.
const RAW: u32 = 4;
const LOADS: u64 = 0x1cd;

/// Where a runtime maps the page of its jitdump.
const JIT_MARK: u64 = 0x7ffe_0000_0000;

/// Places of the events that each file has.
pub(super) const PT: u32 = 0;
pub(super) const SIDEBAND: u32 = 1;

/// The file while it is put together.
pub(super) struct Writer<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) executed: &'a Executed,
    out: Container,
    /// Records with their perf time.
    pub(super) timed: Vec<(u64, Record)>,
    /// Tracepoints of which there are samples: events from `first_point` on.
    pub(super) points: Vec<&'static Tracepoint>,
    /// Precise events of which there are samples: they come after the tracepoints.
    pub(super) precise: Vec<&'static CoreEvent>,
    /// The places in [`GROUP`] of what is counted in the group: its events come last.
    pub(super) counted: Vec<usize>,
}

/// The bytes of the file.
pub(super) fn perf_data(scenario: &Scenario, executed: &Executed) -> Vec<u8> {
    let (out, timed, points) = (Container::default(), Vec::new(), points(executed));
    let (precise, counted) = (precise(executed), counted(executed));
    let mut writer = Writer { scenario, executed, out, timed, points, precise, counted };
    writer.put_events();
    writer.put_head();
    writer.put_asides();
    let buffers = writer.put_aux();
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

/// The tracepoints that were met, each once, in the order of CPUs and times.
fn points(executed: &Executed) -> Vec<&'static Tracepoint> {
    let mut points = Vec::new();
    for (_, aside) in executed.asides.iter().flatten() {
        match aside {
            Aside::Sample { point, .. } if !points.contains(point) => points.push(*point),
            _ => {}
        }
    }
    points
}

/// The precise events that were sampled, each once, in the order of CPUs and times.
fn precise(executed: &Executed) -> Vec<&'static CoreEvent> {
    let mut events = Vec::new();
    for (_, aside) in executed.asides.iter().flatten() {
        match aside {
            Aside::Precise { event, .. } | Aside::Traced { event } if !events.contains(event) => {
                events.push(*event);
            }
            _ => {}
        }
    }
    events
}

/// What the group counts, if it is read at all: its leader, what is sampled, and what ever happened.
fn counted(executed: &Executed) -> Vec<usize> {
    let reads = || {
        executed.asides.iter().flatten().filter_map(|(_, aside)| match aside {
            Aside::Counted { totals, .. } => Some(totals),
            _ => None,
        })
    };
    let is_member = |&place: &usize| place <= SAMPLED || reads().any(|totals| totals[place] != 0);
    if reads().next().is_none() { Vec::new() } else { (0..GROUP.len()).filter(is_member).collect() }
}

impl Writer<'_> {
    /// Id of the event number `event` in the place (CPU or thread) number `place`.
    pub(super) fn id(&self, event: u32, place: usize) -> u64 {
        1 + u64::from(event) * self.executed.buffers.len() as u64 + place as u64
    }

    /// Number of the first event of a tracepoint.
    pub(super) fn first_point(&self) -> u32 {
        if matches!(self.scenario.machine.ring, Ring::Samples(_)) { 3 } else { 2 }
    }

    /// Number of the first precise event.
    pub(super) fn first_precise(&self) -> u32 {
        self.first_point() + self.points.len() as u32
    }

    /// Number of the group's leader.
    pub(super) fn first_counted(&self) -> u32 {
        self.first_precise() + self.precise.len() as u32
    }

    /// Number of the event of sampled loads.
    pub(super) fn accesses(&self) -> u32 {
        self.first_counted() + self.counted.len() as u32
    }

    fn put_events(&mut self) {
        let machine = &self.scenario.machine;
        let tracking = flag::MMAP | flag::COMM | flag::TASK | flag::MMAP2 | flag::COMM_EXEC;
        let tracking =
            tracking | flag::CONTEXT_SWITCH | flag::TEXT_POKE | flag::BUILD_ID | flag::EXCLUDE_KERNEL;
        let (of_group, with_group) =
            if self.scenario.has_groups() { (flag::CGROUP, carries::CGROUP) } else { (0, 0) };
        // Of a thread's event no child inherits: there would be no buffer for it.
        let inherit = if machine.per_thread { 0 } else { flag::INHERIT };
        let flags = inherit | flag::SAMPLE_ID_ALL;
        let exclude = if machine.kernel { 0 } else { flag::EXCLUDE_KERNEL };
        let event = |number, name, kind, config, flags| Event {
            name,
            kind,
            config,
            config1: 0,
            sample_period: 1,
            read_format: read::ID,
            flags,
            sample_type: carries::ORIGIN,
            aux_sample_size: 0,
            aux_action: 0,
            ids: (0..self.executed.buffers.len()).map(|place| self.id(number, place)).collect(),
        };
        let mut all = vec![
            Event {
                aux_action: machine.action(PT_NAME),
                ..event(PT, PT_NAME, INTEL_PT, machine.config(), flags | exclude)
            },
            event(SIDEBAND, "dummy:u", SOFTWARE, DUMMY, flags | tracking | of_group),
        ];
        if let Ring::Samples(bytes) = machine.ring {
            let event = event(2, "cycles", HARDWARE, CYCLES, flags | exclude);
            let sample_type = carries::ORIGIN | carries::AUX;
            all.push(Event { sample_type, aux_sample_size: bytes as u32, ..event });
        }
        for (number, point) in (self.first_point()..).zip(&self.points) {
            let event = event(number, point.name, TRACEPOINT, u64::from(point.id), flags);
            let aux_action = machine.action(point.name);
            all.push(Event { sample_type: carries::ORIGIN | carries::RAW | with_group, aux_action, ..event });
        }
        for (number, precise) in (self.first_precise()..).zip(&self.precise) {
            let is_traced =
                |(_, aside): &(u64, Aside)| matches!(aside, Aside::Traced { event } if event == precise);
            let is_traced = self.executed.asides.iter().flatten().any(is_traced);
            let output = if is_traced { flag::AUX_OUTPUT } else { 0 };
            let like = event(number, "", 0, 0, flags | exclude | flag::FREQ | flag::PRECISE | output);
            let memory = if is_traced { carries::ADDRESS } else { 0 };
            let sample_type = carries::ORIGIN | carries::PERIOD | carries::WEIGHT_STRUCT | memory;
            all.push(precise.event(Event { sample_type, sample_period: FREQUENCY, ..like }));
        }
        for (number, &place) in (self.first_counted()..).zip(&self.counted) {
            // Counters of a group are not inherited; what leads it and the rest of it are not sampled themselves.
            let is_sampled = place == SAMPLED;
            let own = flag::SAMPLE_ID_ALL | exclude | if is_sampled { flag::FREQ } else { 0 };
            all.push(GROUP[place].event(Event {
                sample_type: carries::ORIGIN | carries::PERIOD | carries::READ,
                sample_period: if is_sampled { FREQUENCY } else { 0 },
                read_format: read::ID | read::GROUP,
                ..event(number, "", 0, 0, own)
            }));
        }
        let mut asides = self.executed.asides.iter().flatten();
        if asides.any(|(_, aside)| matches!(aside, Aside::Access { .. })) {
            let event = event(self.accesses(), "cpu/mem-loads,ldlat=30/P", RAW, LOADS, flags | flag::PRECISE);
            all.push(Event { sample_type: carries::ORIGIN | carries::ACCESS, ..event });
        }
        self.out.events = all;
    }

    /// The section of groups: name, number of the leader, number of events.
    fn group(&self) -> Vec<u8> {
        let mut out = 1u32.to_le_bytes().to_vec();
        out.extend(text("{anon_group}"));
        out.extend(self.first_counted().to_le_bytes());
        out.extend((self.counted.len() as u32).to_le_bytes());
        out
    }

    /// What perf writes before the first kernel record.
    fn put_head(&mut self) {
        let machine = &self.scenario.machine;
        let (mult, shift) = machine.mult_shift();
        self.out.push(&Record::time_conversion(u64::from(shift), mult, 0));
        self.out.push(&Record::id_index(&self.index()));
        self.out.push(&Record::intel_pt(IntelPt {
            pmu: INTEL_PT,
            shift: u64::from(shift),
            mult,
            zero: 0,
            settings: machine.settings,
            is_per_cpu: !machine.per_thread,
            is_snapshot: matches!(machine.ring, Ring::Snapshots(_)),
        }));
        let kernel: Vec<_> =
            self.scenario.images.iter().filter(|image| image.backing == Backing::Kernel).collect();
        if let Some((first, last)) = span(&kernel) {
            self.out.push(&Record::kernel_mapping(first, last - first, Origin::default()));
        }
        self.put_processes();
    }

    /// For each id: the number of its buffer, and its CPU or thread.
    fn index(&self) -> Vec<[u64; 4]> {
        let mut index = Vec::new();
        for event in 0..self.out.events.len() as u32 {
            for (place, buffer) in self.executed.buffers.iter().enumerate() {
                let (cpu, tid) = match buffer.owner {
                    Owner::Cpu(cpu) => (u64::from(cpu), u64::MAX),
                    Owner::Thread(tid) => (u64::MAX, u64::from(tid)),
                };
                index.push([self.id(event, place), place as u64, cpu, tid]);
            }
        }
        index
    }

    /// Control groups, names of all threads, and what their processes have mapped.
    fn put_processes(&mut self) {
        let mut seen = Vec::new();
        for (id, path) in (1..).zip(self.scenario.groups()) {
            self.out.push(&Record::cgroup(id, path, Origin::default()));
        }
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
            if self.scenario.images.iter().any(|image| image.backing == Backing::JitDump) {
                // The runtime maps a page of its dump as code, so that perf knows of it.
                let mapping = Mapping {
                    address: JIT_MARK,
                    size: PAGE,
                    file_offset: 0,
                    path: jitdump::path(thread.pid),
                };
                self.out.push(&Record::mapping_by_inode(&mapping, origin));
            }
            for image in &self.scenario.images {
                let (address, size) = (image.address, (image.bytes.len() as u64).next_multiple_of(PAGE));
                let record = match &image.backing {
                    Backing::Kernel => continue,
                    Backing::Jit | Backing::JitDump | Backing::Copied => {
                        Record::anonymous_mapping(address, size, origin)
                    }
                    Backing::File(path) => {
                        let mapping = Mapping { address, size, file_offset: PAGE, path: path.clone() };
                        Record::mapping(&mapping, elf::build_id(&image.bytes), origin)
                    }
                };
                self.out.push(&record);
            }
        }
    }

    fn put_features(&mut self, (first, last): (u64, u64)) {
        let cpus = self.scenario.machine.cpus.to_le_bytes();
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
        self.out.features.extend(machine::features(&self.scenario.machine));
        if !self.points.is_empty() {
            self.out.features.push((feature::TRACING_DATA, tracing_section(&self.points)));
        }
        if !self.counted.is_empty() {
            self.out.features.push((feature::GROUP_DESCRIPTION, self.group()));
        }
        self.out.describe_events();
    }
}
