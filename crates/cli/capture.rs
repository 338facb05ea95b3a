//! An opened capture with all that the commands ask of it: streams, code images, schedule, clocks, names.

mod clocks;
mod facts;
mod join;
mod recorded;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::Result;
use attribution::{Comms, Function, Functions, Queues};
use model::{CodeBytes, Cpu, Diagnostic, Interval, Pid, ThreadId, Ticks, Tid, TimeConversion, Tsc, TscRange};
use perfdata::{PerfData, Record};
use pt::{CpuModel, Occupant, PtConfig, PtStream};
use symbols::{ProcessImages, SearchPath};

use crate::advice;
use crate::args::InputArgs;
use crate::decode_findings::DecodeFindings;
use crate::read_ahead::Stretch;
use crate::slice::WindowNotes;

pub(crate) use recorded::Recorded;

/// From this time on, nothing retired between two packets is a stand-still and not a slow instruction: above what
/// the slowest single instructions and page walks take, below what an SMI or a hypervisor's pause does.
const STALL_NS: u64 = 10_000;

/// Opens the perf.data that the arguments name.
pub(crate) fn open(args: &InputArgs) -> Result<PerfData> {
    PerfData::open(&args.input).map_err(advice::on_capture)
}

/// A capture, ready for questions. Borrows the mapped file.
pub(crate) struct Capture<'a> {
    perf: &'a PerfData,
    path: String,
    search: SearchPath,
    images: OnceLock<ProcessImages>,
    by_cpu: BTreeMap<Cpu, PtStream<'a>>,
    by_thread: BTreeMap<Tid, PtStream<'a>>,
    occupants: OnceLock<BTreeMap<Cpu, Vec<Occupant>>>,
    thread_occupants: OnceLock<BTreeMap<Tid, Vec<Occupant>>>,
    stream_diagnostics: Vec<Diagnostic>,
    clock_findings: OnceLock<Vec<Diagnostic>>,
    recorded: OnceLock<Recorded>,
    decode_findings: DecodeFindings,
    windows: WindowNotes,
}

impl<'a> Capture<'a> {
    /// Makes the capture in `perf` ready. Opens no binary and touches no AUX byte (but in snapshot mode).
    pub(crate) fn new(perf: &'a PerfData, args: &InputArgs) -> Capture<'a> {
        let mut capture = Capture {
            perf,
            path: args.input.to_string_lossy().into_owned(),
            search: search_path(perf, args),
            images: OnceLock::new(),
            by_cpu: BTreeMap::new(),
            by_thread: BTreeMap::new(),
            occupants: OnceLock::new(),
            thread_occupants: OnceLock::new(),
            stream_diagnostics: Vec::new(),
            clock_findings: OnceLock::new(),
            recorded: OnceLock::new(),
            decode_findings: DecodeFindings::default(),
            windows: WindowNotes::default(),
        };
        capture.join_buffers();
        capture.join_samples();
        capture
    }

    /// The records.
    pub(crate) fn perf(&self) -> &'a PerfData {
        self.perf
    }

    /// The file or directory, as the user named it.
    pub(crate) fn path(&self) -> &Path {
        self.perf.path()
    }

    /// Code and names. The mappings are gathered at the first call.
    pub(crate) fn images(&self) -> &ProcessImages {
        self.images.get_or_init(|| images(self.perf, self.search.clone()))
    }

    /// The bridge between TSC and perf time, where the capture has one.
    pub(crate) fn conversion(&self) -> Option<TimeConversion> {
        self.perf.time_conversion()
    }

    /// The trace that holds what `thread` did on `cpu`: the CPU's, or the thread's own.
    pub(crate) fn stream(&self, cpu: Option<Cpu>, thread: ThreadId) -> Option<&PtStream<'a>> {
        cpu.and_then(|cpu| self.by_cpu.get(&cpu)).or_else(|| self.by_thread.get(&thread.tid))
    }

    /// The streams of all CPUs, then those of threads.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &PtStream<'a>> {
        self.by_cpu.values().chain(self.by_thread.values())
    }

    /// Who was on `cpu`, in order of time.
    pub(crate) fn occupants(&self, cpu: Cpu) -> &[Occupant] {
        self.occupants.get_or_init(|| occupants(self.perf)).get(&cpu).map_or(&[], Vec::as_slice)
    }

    /// Who was on what `stream` traces: its CPU's occupants, or its thread.
    pub(crate) fn occupants_of(&self, stream: &PtStream<'_>) -> &[Occupant] {
        match (stream.cpu(), stream.thread()) {
            (Some(cpu), _) => self.occupants(cpu),
            (None, Some(tid)) => self.thread_occupants().get(&tid).map_or(&[], Vec::as_slice),
            (None, None) => &[],
        }
    }

    /// The threads that have a trace of their own, each the only occupant of it.
    fn thread_occupants(&self) -> &BTreeMap<Tid, Vec<Occupant>> {
        self.thread_occupants.get_or_init(|| {
            let mut pids: BTreeMap<Tid, Option<Pid>> =
                self.by_thread.keys().map(|&tid| (tid, None)).collect();
            find_processes(self.perf, &mut pids);
            let alone = |(tid, pid): (Tid, Option<Pid>)| {
                let thread = ThreadId { pid: pid.unwrap_or(Pid(tid.0)), tid };
                (tid, vec![Occupant { since: Tsc(0), thread }])
            };
            pids.into_iter().map(alone).collect()
        })
    }

    /// The CPUs on which the interval's threads ran while it lasted.
    pub(crate) fn cpus_of(&self, interval: &Interval) -> Vec<Cpu> {
        attribution::stays(interval, self.perf.schedule(), self.conversion())
            .into_iter()
            .filter_map(|stay| stay.place.cpu())
            .collect()
    }

    /// Who was on `cpu` within `range` and when, as far as the schedule tells.
    pub(crate) fn runs_on(
        &self,
        cpu: Cpu,
        range: TscRange,
    ) -> impl Iterator<Item = (ThreadId, TscRange)> + '_ {
        let runs = move |conversion| attribution::runs_on(self.perf.schedule(), cpu, range, conversion);
        self.conversion().into_iter().flat_map(runs)
    }

    /// The trace of the interval's threads while it lasted.
    pub(crate) fn stretches_of(&self, interval: &Interval) -> Vec<Stretch<'_>> {
        let stretch = |stay: attribution::Stay| {
            let (cpu, thread) = stay.traced_by()?;
            Some((self.stream(cpu, thread)?, stay.range))
        };
        let stays = attribution::stays(interval, self.perf.schedule(), self.conversion());
        stays.into_iter().filter_map(stretch).collect()
    }

    /// The name of `thread` at `at`, where a record tells.
    pub(crate) fn comm(&self, thread: ThreadId, at: Tsc) -> Option<String> {
        let time = self.conversion()?.to_perf_time(at);
        self.perf.comm_at(thread.tid, time).map(str::to_owned)
    }

    /// Whether core cycles were recorded.
    pub(crate) fn has_cyc(&self) -> bool {
        self.perf.intel_pt_config().is_some_and(|config| config.cyc)
    }

    /// Whether the kernel's code was traced.
    pub(crate) fn kernel_traced(&self) -> bool {
        self.perf.intel_pt_attr().is_none_or(|attr| !attr.exclude_kernel())
    }

    /// Whether single threads were traced, each for itself, and not CPUs.
    pub(crate) fn threads_traced(&self) -> bool {
        self.by_cpu.is_empty()
    }

    /// What attribution needs.
    pub(crate) fn for_attribution<'q>(&'q self, queues: &'q Queues) -> attribution::Capture<'q> {
        let stall_threshold = match self.conversion() {
            Some(conversion) => conversion.ns_to_ticks(STALL_NS),
            None => Ticks(u64::MAX),
        };
        attribution::Capture {
            perf: self.perf,
            schedule: self.perf.schedule(),
            conversion: self.conversion(),
            functions: self,
            comms: self,
            queues,
            kernel_traced: self.kernel_traced(),
            threads_traced: self.threads_traced(),
            stall_threshold,
        }
    }

    /// What the decoder must know.
    pub(crate) fn pt_config(&self) -> PtConfig {
        let Some(intel_pt) = self.perf.intel_pt() else { return PtConfig::default() };
        PtConfig {
            cpu: self.perf.features().cpu_id.as_deref().and_then(cpu_model),
            mtc_freq: self.perf.intel_pt_config().map_or(0, |config| config.mtc_period),
            nom_freq: u8::try_from(intel_pt.max_nonturbo_ratio).unwrap_or(0),
            tsc_ctc_ratio: (intel_pt.tsc_ctc_ratio_n != 0 && intel_pt.tsc_ctc_ratio_d != 0)
                .then_some((intel_pt.tsc_ctc_ratio_n, intel_pt.tsc_ctc_ratio_d)),
        }
    }

    /// Where the clocks of records, trace and CPUs disagree. Reads all records at the first call; a slice's are the
    /// recording's, which has been looked at.
    pub(crate) fn clock_findings(&self) -> &[Diagnostic] {
        let whole = self.perf.slice_note().is_none();
        self.clock_findings.get_or_init(|| if whole { clocks::findings(self) } else { Vec::new() })
    }

    /// Which kinds of records there are, and from when to when. Reads the records at the first call.
    pub(crate) fn recorded(&self) -> Recorded {
        *self.recorded.get_or_init(|| Recorded::of(self))
    }

    /// What is wrong with the file, as far as it was looked at.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut all = self.perf.diagnostics().to_vec();
        all.extend(self.stream_diagnostics.iter().cloned());
        all
    }

    /// What came up while decoding: missing binaries, failures of the decoder.
    pub(crate) fn late_diagnostics(&self) -> Vec<Diagnostic> {
        let mut all = self.images.get().map_or_else(Vec::new, ProcessImages::diagnostics);
        all.extend(self.decode_findings.take());
        all
    }

    /// What the decoder meets goes here, for [`Self::late_diagnostics`].
    pub(crate) fn decode_findings(&self) -> &DecodeFindings {
        &self.decode_findings
    }

    /// Which windows are decoded, for who wants to know.
    pub(crate) fn windows(&self) -> &WindowNotes {
        &self.windows
    }
}

/// `GenuineIntel,6,94,3` as numbers.
fn cpu_model(cpuid: &str) -> Option<CpuModel> {
    let mut parts = cpuid.split(',');
    let vendor = parts.next()?;
    let (family, model, stepping) = (parts.next()?, parts.next()?, parts.next()?);
    (vendor == "GenuineIntel").then_some(CpuModel {
        family: family.parse().ok()?,
        model: model.parse().ok()?,
        stepping: stepping.parse().ok()?,
    })
}

fn search_path(perf: &PerfData, args: &InputArgs) -> SearchPath {
    SearchPath {
        symfs: args.code.symfs.clone(),
        vmlinux: args.code.vmlinux.clone(),
        kallsyms: args.code.kallsyms.clone(),
        kcore_dir: perf.kcore_dir().map(Path::to_path_buf),
        build_id_dir: None,
        debuginfod: std::env::var_os("DEBUGINFOD_URLS").is_some_and(|urls| !urls.is_empty()),
    }
}

fn images(perf: &PerfData, search: SearchPath) -> ProcessImages {
    let conversion = perf.time_conversion();
    let events: Vec<_> = perf
        .map_events()
        .into_iter()
        .map(|(time, event)| {
            let at = conversion.filter(|_| time.0 != 0).map_or(Tsc(0), |conversion| conversion.to_tsc(time));
            (at, event)
        })
        .collect();
    let build_ids =
        perf.features().build_ids.iter().map(|known| (known.path.clone(), known.build_id.clone())).collect();
    ProcessImages::new(search, events, build_ids)
}

/// Finds the processes of threads, as the first record of each tells.
fn find_processes(perf: &PerfData, pids: &mut BTreeMap<Tid, Option<Pid>>) {
    let mut missing = pids.len();
    for timed in perf.records() {
        if missing == 0 {
            break;
        }
        let named = match timed.record {
            Record::Comm { thread, .. } | Record::ItraceStart { thread } | Record::Fork { thread, .. } => {
                Some(thread)
            }
            _ => timed.thread,
        };
        if let Some(thread) = named.filter(|thread| thread.pid.0 > 0)
            && let Some(pid @ None) = pids.get_mut(&thread.tid)
        {
            *pid = Some(thread.pid);
            missing -= 1;
        }
    }
}

/// Who was on each CPU from when on; between two runs whose records are missing the first is assumed to go on.
fn occupants(perf: &PerfData) -> BTreeMap<Cpu, Vec<Occupant>> {
    let schedule = perf.schedule();
    let Some(conversion) = perf.time_conversion() else {
        return schedule
            .cpus()
            .map(|cpu| {
                (
                    cpu,
                    schedule
                        .on_cpu(cpu)
                        .map(|run| Occupant { since: Tsc(0), thread: run.thread })
                        .take(1)
                        .collect(),
                )
            })
            .collect();
    };
    let of_cpu = |cpu| {
        schedule
            .on_cpu(cpu)
            .map(|run| Occupant { since: conversion.to_tsc(run.start), thread: run.thread })
            .collect()
    };
    schedule.cpus().map(|cpu| (cpu, of_cpu(cpu))).collect()
}

impl Functions for Capture<'_> {
    fn function_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<Function> {
        let found = self.images().function_at(pid, address, at)?;
        Some(Function { start: found.start, range: found.range, name: found.name.clone() })
    }

    fn line_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<Arc<str>> {
        let frame = self.images().lines(pid, address, at).into_iter().find(|frame| frame.line.is_some())?;
        let file = frame.file?;
        let name = file.rsplit('/').next().unwrap_or(&file);
        Some(format!("{name}:{}", frame.line?).into())
    }

    fn code_at(&self, pid: Pid, address: u64, at: Tsc, into: &mut [u8]) -> usize {
        self.images().read(pid, address, at, into)
    }
}

impl Comms for Capture<'_> {
    fn comm(&self, thread: ThreadId, at: Tsc) -> String {
        Capture::comm(self, thread, at).unwrap_or_else(|| format!("tid {}", thread.tid))
    }
}
