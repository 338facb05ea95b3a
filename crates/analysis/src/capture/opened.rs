//! An opened capture with all that an analysis asks of it: streams, code images, schedule, clocks, names.

mod for_attribution;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use attribution::{RecentRecords, Stay};
use intervals::{Clock, ClockPair};
use model::{Cpu, Diagnostic, Interval, ThreadId, Tid, TimeConversion, Tsc, TscRange};
use perfdata::PerfData;
use pt::{CpuModel, Decoder, EngineKind, Limits, Occupant, PtConfig, PtStream};
use report::CaptureFacts;
use symbols::{ProcessImages, SearchPath};

use super::decode_findings::DecodeFindings;
use super::read_ahead::Stretch;
use super::recorded::{self, Recorded};
use super::streams::Streams;
use super::window_notes::WindowNotes;
use super::{clock_pairs, clocks, code, facts, kernel_copy, occupants, utc};
use crate::request::Input;

/// A capture, ready for questions. Borrows the mapped file.
pub struct Capture<'a> {
    perf: &'a PerfData,
    path: String,
    search: SearchPath,
    engine: Option<EngineKind>,
    cache: Option<PathBuf>,
    pairs: Vec<ClockPair>,
    images: OnceLock<ProcessImages>,
    streams: Streams<'a>,
    occupants: OnceLock<BTreeMap<Cpu, Vec<Occupant>>>,
    thread_occupants: OnceLock<BTreeMap<Tid, Vec<Occupant>>>,
    clock_findings: OnceLock<Vec<Diagnostic>>,
    extent: OnceLock<Option<TscRange>>,
    recorded: OnceLock<Recorded>,
    cpus_seen: OnceLock<Option<(usize, u32)>>,
    decode_findings: DecodeFindings,
    windows: WindowNotes,
    recent: RecentRecords,
}

impl<'a> Capture<'a> {
    /// Makes the capture in `perf` ready. Opens no binary and touches no AUX byte (but in snapshot mode).
    pub fn new(perf: &'a PerfData, input: &Input) -> Capture<'a> {
        Capture {
            perf,
            path: input.path.to_string_lossy().into_owned(),
            search: code::search_path(perf, &input.code),
            engine: input.engine,
            cache: input.cache.clone(),
            pairs: Vec::new(),
            images: OnceLock::new(),
            streams: Streams::of(perf),
            occupants: OnceLock::new(),
            thread_occupants: OnceLock::new(),
            clock_findings: OnceLock::new(),
            extent: OnceLock::new(),
            recorded: OnceLock::new(),
            cpus_seen: OnceLock::new(),
            decode_findings: DecodeFindings::default(),
            windows: WindowNotes::default(),
            recent: RecentRecords::default(),
        }
    }

    /// With the clock pairs of its intervals, which go before those that lie beside it.
    #[must_use]
    pub fn with_pairs(mut self, pairs: &[ClockPair]) -> Capture<'a> {
        pairs.clone_into(&mut self.pairs);
        self
    }

    /// The clock pairs that relate the jitdumps' times, where that is needed.
    pub(crate) fn pairs_of_jitdumps(&self) -> Vec<ClockPair> {
        if !self.images().has_monotonic_dump() {
            return Vec::new();
        }
        let mut pairs = clock_pairs::joined(self.perf, &self.pairs);
        pairs.retain(|pair| pair.clock == Clock::Monotonic);
        pairs
    }

    /// The records.
    pub fn perf(&self) -> &'a PerfData {
        self.perf
    }

    /// What attribution read lately of the records.
    pub(crate) fn recent(&self) -> &RecentRecords {
        &self.recent
    }

    /// The file or directory, as the user named it.
    pub fn path(&self) -> &Path {
        self.perf.path()
    }

    /// The folder in which found calls are kept.
    pub(crate) fn cache(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// Code and names. The mappings are gathered at the first call.
    pub fn images(&self) -> &ProcessImages {
        self.images.get_or_init(|| {
            let pairs = clock_pairs::joined(self.perf, &self.pairs);
            code::images(self.perf, self.search.clone(), pairs)
        })
    }

    /// The bridge between TSC and perf time, where the capture has one.
    pub fn conversion(&self) -> Option<TimeConversion> {
        self.perf.time_conversion()
    }

    /// How many nanoseconds UTC is ahead of perf's clock; `None` where no clock of the capture, or beside it, is UTC.
    pub(crate) fn utc_ahead_ns(&self) -> Option<i64> {
        utc::ahead_ns(self.perf, self.path())
    }

    /// The trace that holds what `thread` did on `cpu`: the CPU's, or the thread's own.
    pub fn stream(&self, cpu: Option<Cpu>, thread: ThreadId) -> Option<&PtStream<'a>> {
        self.streams.of_stay(cpu, thread.tid)
    }

    /// The streams of all CPUs, then those of threads.
    pub fn streams(&self) -> impl Iterator<Item = &PtStream<'a>> {
        self.streams.all()
    }

    /// Who was on `cpu`, in order of time.
    pub fn occupants(&self, cpu: Cpu) -> &[Occupant] {
        self.occupants.get_or_init(|| occupants::of_cpus(self.perf)).get(&cpu).map_or(&[], Vec::as_slice)
    }

    /// Who was on what `stream` traces: its CPU's occupants, or its thread.
    pub fn occupants_of(&self, stream: &PtStream<'_>) -> &[Occupant] {
        match (stream.cpu(), stream.thread()) {
            (Some(cpu), _) => self.occupants(cpu),
            (None, Some(tid)) => self.thread_occupants().get(&tid).map_or(&[], Vec::as_slice),
            (None, None) => &[],
        }
    }

    /// The threads that have a trace of their own, each the only occupant of it.
    fn thread_occupants(&self) -> &BTreeMap<Tid, Vec<Occupant>> {
        self.thread_occupants.get_or_init(|| occupants::of_threads(self.perf, self.streams.threads()))
    }

    /// From the first record or sync point to the last one, both inside; `None` where no time is known, or no conversion. Reads
    /// a few pages of the trace at the first call.
    pub fn extent(&self) -> Option<TscRange> {
        *self.extent.get_or_init(|| recorded::extent(self.perf, &self.streams))
    }

    /// Where the interval's threads were while both it and the recording lasted.
    pub(crate) fn stays_of(&self, interval: &Interval) -> Vec<Stay> {
        let stays = attribution::stays(interval, self.perf.schedule(), self.conversion());
        let Some(extent) = self.extent() else { return stays };
        let clipped = |stay: Stay| Some(Stay { range: stay.range.intersection(extent)?, ..stay });
        stays.into_iter().filter_map(clipped).collect()
    }

    /// Which threads were on `cpu` within `range` and when, as far as the schedule knows.
    pub fn runs_on(&self, cpu: Cpu, range: TscRange) -> impl Iterator<Item = (ThreadId, TscRange)> + '_ {
        let runs = move |conversion| attribution::runs_on(self.perf.schedule(), cpu, range, conversion);
        self.conversion().into_iter().flat_map(runs)
    }

    /// The trace of the interval's threads while it lasted.
    pub(crate) fn stretches_of(&self, interval: &Interval) -> Vec<Stretch<'_>> {
        let stretch = |stay: Stay| {
            let (cpu, thread) = stay.traced_by()?;
            Some((self.stream(cpu, thread)?, stay.range))
        };
        self.stays_of(interval).into_iter().filter_map(stretch).collect()
    }

    /// The name of `thread` at `at`, if a record has it.
    pub fn comm(&self, thread: ThreadId, at: Tsc) -> Option<String> {
        let time = self.conversion()?.to_perf_time(at);
        self.perf.comm_at(thread.tid, time).map(str::to_owned)
    }

    /// Whether core cycles were recorded.
    pub fn has_cyc(&self) -> bool {
        self.perf.intel_pt_config().is_some_and(|config| config.cyc)
    }

    /// Whether the kernel's code was traced.
    pub fn kernel_traced(&self) -> bool {
        self.perf.intel_pt_attr().is_none_or(|attr| !attr.exclude_kernel())
    }

    /// Whether single threads were traced, each for itself, and not CPUs.
    pub fn threads_traced(&self) -> bool {
        self.streams.are_of_threads()
    }

    /// Whether switches of all CPUs were recorded, or of the threads wherever they ran. Else a thread that is on no recorded
    /// CPU may run on another one.
    pub fn sees_all_cpus(&self) -> bool {
        self.cpus_seen().is_none()
    }

    /// How many CPUs' switches were recorded, and how many CPUs there are, where that is not all of them.
    pub(crate) fn cpus_seen(&self) -> Option<(usize, u32)> {
        *self.cpus_seen.get_or_init(|| {
            let all = self.perf.features().cpus_online?;
            let seen = self.perf.switched_cpus()?.len();
            u32::try_from(seen).is_ok_and(|seen| seen < all).then_some((seen, all))
        })
    }

    /// Which engine decodes.
    pub fn engine(&self) -> EngineKind {
        self.engine.unwrap_or(EngineKind::USUAL)
    }

    /// A decoder of the trace, for one thread at a time.
    pub(crate) fn decoder(&self) -> Decoder {
        Decoder::new(self.engine(), self.pt_config(), Limits::default())
    }

    /// What the decoder must know.
    pub fn pt_config(&self) -> PtConfig {
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
        self.clock_findings
            .get_or_init(|| if whole { clocks::findings(self.perf, &self.streams) } else { Vec::new() })
    }

    /// Which kinds of records there are, and from when to when. Reads the records at the first call.
    pub(crate) fn recorded(&self) -> Recorded {
        *self.recorded.get_or_init(|| Recorded::of(self.perf, self.extent()))
    }

    /// The circumstances of the recording.
    pub(crate) fn facts(&self) -> CaptureFacts {
        facts::of(self.perf, &self.path)
    }

    /// What is wrong with the file, as far as it was looked at.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut all = self.perf.diagnostics().to_vec();
        if let (None, Some(clock)) = (self.conversion(), self.perf.clock_id()) {
            all.push(Diagnostic::warning(format!(
                "recorded with `-k` (clock {clock}): its times cannot be related to the TSC; record without -k, or with an \
                 interval file that has pairs of that clock"
            )));
        }
        all.extend(self.streams.diagnostics().iter().cloned());
        all
    }

    /// What came up while decoding: missing binaries, failures of the decoder.
    pub fn late_diagnostics(&self) -> Vec<Diagnostic> {
        let mut all = self.images.get().map_or_else(Vec::new, ProcessImages::diagnostics);
        let symfs = self.search.symfs.as_deref();
        all.extend(self.images.get().and_then(|images| code::debug_files_of_this_machine(images, symfs)));
        let cut = self.images.get().and_then(|_| kernel_copy::truncated(self.perf.kcore_dir()?));
        all.extend(self.decode_findings.take(cut.is_some()));
        all.extend(cut);
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
