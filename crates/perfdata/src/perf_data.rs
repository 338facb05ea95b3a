//! A capture: everything that is known after one pass over the headers of its records.

mod open;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use memmap2::Advice;
use model::{Cpu, Diagnostic, FileOffset, MapEvent, PerfTime, Pid, Ticks, TimeConversion, TscRange};

use crate::attr::Attr;
use crate::aux::{AuxBuffer, AuxSample};
use crate::aux_sample;
use crate::clock_steps::{self, Backwards, ClockStep};
use crate::directory::Directory;
use crate::features::Features;
use crate::file::{FilePosition, split};
use crate::header::Header;
use crate::intel_pt::{IntelPtConfig, IntelPtInfo};
use crate::loss::{self, Loss};
use crate::maps;
use crate::ordered_records::{OrderedRecords, Records};
use crate::policy::asked_frequencies::AskedFrequencies;
use crate::policy::cgroups::Cgroups;
use crate::policy::files::{FilePlace, Files};
use crate::policy::machine::Machine;
use crate::policy::numa::Numa;
use crate::policy::pauses::Pauses;
use crate::policy::schedule::Schedule;
use crate::policy::slice::note::SliceNote;
use crate::policy::switched_cpus::switched_cpus;
use crate::policy::thread_names::ThreadNames;
use crate::reads::ReadNotes;
use crate::record::{Counts, TimedRecord};
use crate::tracepoint::TracepointFormat;

/// An opened perf.data.
#[derive(Debug)]
pub struct PerfData {
    directory: Directory,
    header: Header,
    pub(crate) records: OrderedRecords,
    features: Features,
    machine: Option<Machine>,
    numa: Numa,
    backwards: Backwards,
    counts: Counts,
    aux_buffers: Vec<AuxBuffer>,
    intel_pt: Option<IntelPtInfo>,
    time_conversion: Option<TimeConversion>,
    diagnostics: Vec<Diagnostic>,
    schedule: OnceLock<Schedule>,
    thread_names: OnceLock<ThreadNames>,
    cgroups: OnceLock<Cgroups>,
    files: Files,
    asked_frequencies: OnceLock<AskedFrequencies>,
    pauses: OnceLock<Pauses>,
    aux_samples: OnceLock<Vec<AuxSample>>,
    reads: ReadNotes,
    slice_note: Option<SliceNote>,
    /// Where the records of a slice stood in the recording.
    origins: OnceLock<HashMap<FileOffset, FileOffset>>,
}

/// Facts about the whole capture.
impl PerfData {
    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.directory.path
    }

    /// Length in bytes of the file that holds the records.
    pub fn file_size(&self) -> u64 {
        self.records.pieces.bytes(0).len() as u64
    }

    /// The copy of the kernel's code, where it was recorded with `--kcore`.
    pub fn kcore_dir(&self) -> Option<&Path> {
        self.directory.kcore_dir.as_deref()
    }

    /// Copies of guests' kernels: (process id of the guest's monitor, directory).
    pub fn guest_kcore_dirs(&self) -> &[(i32, PathBuf)] {
        &self.directory.guest_kcore_dirs
    }

    /// The events that were recorded.
    pub fn attrs(&self) -> &[Attr] {
        &self.records.attrs
    }

    /// The content of the machine file beside the capture; `None` where there is none that can be used.
    pub fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref()
    }

    /// Which NUMA node is where, and what devices are called.
    pub fn numa(&self) -> &Numa {
        &self.numa
    }

    /// What perf wrote down about the machine and the recording.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// What is damaged or missing.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Names and counts of all records, in the order of their types, as `perf report --stats` prints them.
    pub fn record_counts(&self) -> Vec<(String, u64)> {
        self.counts.named()
    }

    /// How Intel PT was set up; `None` where the capture has no Intel PT.
    pub fn intel_pt(&self) -> Option<&IntelPtInfo> {
        self.intel_pt.as_ref()
    }

    /// The attribute of Intel PT.
    pub fn intel_pt_attr(&self) -> Option<&Attr> {
        let kind = self.intel_pt.as_ref()?.pmu_type;
        self.records.attrs.iter().find(|attr| attr.kind == kind)
    }

    /// What Intel PT was asked to trace.
    pub fn intel_pt_config(&self) -> Option<IntelPtConfig> {
        Some(self.intel_pt.as_ref()?.config(self.intel_pt_attr()?.config))
    }

    /// From TSC to perf time and back; `None` (with a diagnostic) where the recording does not allow it.
    pub fn time_conversion(&self) -> Option<TimeConversion> {
        self.time_conversion
    }

    /// The clock of the records (`CLOCK_*`) where perf was started with `-k`; `None`: perf's own. The kernel publishes no conversion
    /// of such a clock.
    pub fn clock_id(&self) -> Option<i32> {
        self.records.attrs.iter().find(|attr| attr.use_clockid()).map(|attr| attr.clockid)
    }

    /// Takes `conversion`, which is known from elsewhere, where the recording has none.
    pub fn relate(&mut self, conversion: TimeConversion) {
        self.time_conversion.get_or_insert(conversion);
    }

    /// The format of a tracepoint attribute's payload.
    pub fn tracepoint_format(&self, attr: &Attr) -> Option<&TracepointFormat> {
        attr.is_tracepoint().then(|| self.records.formats.by_id(attr.config)).flatten()
    }

    /// All tracepoint formats in the file, in no order.
    pub fn tracepoint_formats(&self) -> impl Iterator<Item = &TracepointFormat> {
        self.records.formats.iter()
    }

    /// Where an offset lies for somebody with other tools: another file of the directory, a COMPRESSED record.
    pub fn file_position(&self, offset: FileOffset) -> Option<FilePosition> {
        self.records.pieces.position(offset)
    }
}

/// Records.
impl PerfData {
    /// All records in the order of time; what stands in the file twice comes once ([`PerfData::repeats`]).
    ///
    /// What perf wrote itself about the time before the recording comes first; a record that can have no time
    /// (AUXTRACE, `FINISHED_ROUND`) stands after the record before it in the file.
    pub fn records(&self) -> Records<'_> {
        self.records.all()
    }

    /// The records of a range of times, found by bisection.
    pub fn records_in(&self, range: Range<PerfTime>) -> Records<'_> {
        self.records_at(self.places_in(range))
    }

    /// Where the records of a range of times stand in the order of time, found by bisection: for a caller that keeps what it reads there.
    /// Noted and counted as if they were read.
    pub fn places_in(&self, range: Range<PerfTime>) -> Range<usize> {
        self.reads.note(&range);
        let places = self.records.places(&range);
        self.reads.count(places.len());
        places
    }

    /// How many records a range of times has; none is read.
    pub fn count_in(&self, range: Range<PerfTime>) -> usize {
        self.records.places(&range).len()
    }

    /// The records at these places in the order of time, as far as there are such.
    pub fn records_at(&self, places: Range<usize>) -> Records<'_> {
        self.records.in_places(places)
    }

    /// How much was read so far: each call of [`Self::records_in`] counts one, and one for each record that it found. A
    /// measure of work that depends on no machine.
    pub fn read_steps(&self) -> u64 {
        self.reads.steps()
    }

    /// The record that begins at `offset`; `None` where none can.
    pub fn record_at(&self, offset: FileOffset) -> Option<TimedRecord<'_>> {
        self.records.at(offset)
    }

    /// Where the second copies of records stand that stand in the file twice, in the order of the file.
    /// [`PerfData::record_counts`] counts both, as perf does.
    pub fn repeats(&self) -> &[FileOffset] {
        &self.records.repeats
    }

    /// Times of the first and the last record that have one.
    pub fn time_range(&self) -> Option<Range<PerfTime>> {
        let index = &self.records.index;
        let first = index.get(index.partition_point(|entry| entry.time == 0))?;
        Some(PerfTime(first.time)..PerfTime(index.last()?.time))
    }

    /// The same by the TSC: both readings are in the range. `None` also without a conversion.
    pub fn tsc_range(&self) -> Option<TscRange> {
        let (range, conversion) = (self.time_range()?, self.time_conversion?);
        Some(TscRange::new(conversion.to_tsc(range.start), conversion.to_tsc(range.end) + Ticks(1)))
    }

    /// Whether threads were recorded one by one: each has a ring of its own, of whatever CPU it is on.
    pub fn has_rings_of_threads(&self) -> bool {
        self.aux_buffers.iter().any(|buffer| buffer.cpu.is_none())
    }

    /// Where the clock of the records steps back by more than a millisecond, in the order of the file. Nothing is known of it where
    /// rings were written backwards.
    pub fn clock_steps(&self) -> Vec<ClockStep> {
        if self.records.attrs.iter().any(Attr::write_backward) {
            return Vec::new();
        }
        clock_steps::steps(&self.records, &self.backwards, self.has_rings_of_threads())
    }

    /// All losses in the order of time. An overwritten snapshot ring is no loss and not among them.
    pub fn loss(&self) -> Vec<Loss> {
        loss::losses(self.records())
    }

    /// Changes of the address spaces in the order of time: executable mappings, forks, execs, ends of processes,
    /// the kernel's own changes to its code. Time 0 stands for "before the recording".
    pub fn map_events(&self) -> Vec<(PerfTime, MapEvent)> {
        maps::events(self.records.of_maps(), &self.features.build_ids)
    }

    /// Whether SWITCH records were requested: where there is none, there was no switch.
    pub fn asks_for_switches(&self) -> bool {
        self.records.attrs.iter().any(Attr::context_switch)
    }

    /// The CPUs whose switches were recorded; `None` where they are of threads, on whatever CPU, or the file does not say.
    pub fn switched_cpus(&self) -> Option<BTreeSet<Cpu>> {
        switched_cpus(&self.records)
    }

    /// Which thread ran where and when. Built at the first call.
    pub fn schedule(&self) -> &Schedule {
        self.schedule.get_or_init(|| Schedule::of(&self.records))
    }

    /// The names of threads over time. Built at the first call.
    pub fn thread_names(&self) -> &ThreadNames {
        self.thread_names.get_or_init(|| ThreadNames::of(&self.records))
    }

    /// The control groups of threads over time. Built at the first call.
    pub fn cgroups(&self) -> &Cgroups {
        self.cgroups.get_or_init(|| Cgroups::of(&self.records))
    }

    /// The frequencies requested on the CPUs over time. Built at the first call.
    pub fn asked_frequencies(&self) -> &AskedFrequencies {
        self.asked_frequencies.get_or_init(|| AskedFrequencies::of(&self.records))
    }

    /// When events had paused the trace. Built at the first call.
    pub fn pauses(&self) -> &Pauses {
        self.pauses.get_or_init(|| Pauses::of(&self.records))
    }

    /// The name that a thread had at a time.
    pub fn comm_at(&self, tid: model::Tid, time: PerfTime) -> Option<&str> {
        self.thread_names().at(tid, time)
    }

    /// The file that process `pid` had mapped at `address` at `time`, and where in it that is.
    pub fn mapped_file(&self, pid: Pid, address: u64, time: PerfTime) -> Option<FilePlace> {
        self.files.mapped(&self.records, pid, address, time)
    }

    /// The name by which process `pid` opened what its `descriptor` stood for at `time`: as the process gave it, relative
    /// maybe; else what the recording saved of it beside the capture.
    pub fn opened_file(&self, pid: Pid, descriptor: u32, time: PerfTime) -> Option<Arc<str>> {
        let answer = self.files.opened(&self.records, pid, descriptor, time);
        // A slice that holds the records that the answer rests on gives the same one.
        answer.times.iter().for_each(|&time| self.reads.note(&(time..PerfTime(time.0.saturating_add(1)))));
        answer.name.or_else(|| self.saved_descriptor(pid, descriptor, time))
    }

    /// The machine file with the names of those descriptors alone that [`Self::opened_file`] gave out of it: for a slice.
    pub fn machine_as_used(&self) -> Option<Machine> {
        let mut machine = self.machine.clone()?;
        let used = self.files.used();
        machine.descriptors.retain(|one| used.contains(&(Pid(one.pid), one.fd)));
        Some(machine)
    }

    fn saved_descriptor(&self, pid: Pid, descriptor: u32, time: PerfTime) -> Option<Arc<str>> {
        let saved = self.machine.as_ref().map(|machine| &*machine.descriptors);
        let saved = (saved.filter(|saved| !saved.is_empty())?, self.time_conversion()?);
        self.files.saved(&self.records, saved, (pid, descriptor), time)
    }
}

/// AUX bytes.
impl PerfData {
    /// The AUX buffers in the order of the file.
    pub fn aux_buffers(&self) -> &[AuxBuffer] {
        &self.aux_buffers
    }

    /// The PT bytes of a buffer, straight out of the mapped file.
    pub fn aux_bytes(&self, buffer: &AuxBuffer) -> &[u8] {
        self.records.pieces.slice(buffer.file_offset, buffer.size).unwrap_or(&[])
    }

    /// Asks the kernel to bring these bytes of the file into memory, before they are read from one end to the other.
    pub fn will_need(&self, bytes: Range<FileOffset>) {
        let ((piece, start), (last, end)) = (split(bytes.start), split(bytes.end));
        if piece == last {
            self.records.pieces.advise(piece, Advice::WillNeed, start..end);
        }
    }

    /// Whether the first, the middle and the last of these bytes of the file are in memory; false where that is not known.
    pub fn is_in_memory(&self, bytes: &Range<FileOffset>) -> bool {
        let ((piece, start), (last, end)) = (split(bytes.start), split(bytes.end));
        let is_cached = |at| self.records.pieces.read_cached(piece, at, &mut [0]);
        piece == last
            && (start >= end || [start, start.midpoint(end - 1), end - 1].into_iter().all(is_cached))
    }

    /// PT bytes that were taken together with samples (`--aux-sample`), in the order of time. Built at the first call.
    pub fn aux_samples(&self) -> &[AuxSample] {
        self.aux_samples.get_or_init(|| aux_sample::locate(&self.records))
    }

    /// The PT bytes of a sample, straight out of the mapped file.
    pub fn aux_sample_bytes(&self, sample: &AuxSample) -> &[u8] {
        self.records.pieces.slice(sample.file_offset, sample.size).unwrap_or(&[])
    }
}

/// What a slice is made of.
impl PerfData {
    /// From now on [`Self::take_reads`] knows which times records are read of ([`Self::records_in`]).
    pub fn note_reads(&self) {
        self.reads.start();
    }

    /// The times of which records were read since [`Self::note_reads`], in order; ends the noting.
    pub fn take_reads(&self) -> Vec<Range<PerfTime>> {
        self.reads.take()
    }

    /// Where the record at `offset` stood in the recording that this slice was cut from; `offset` itself in a capture
    /// that is no slice, and for what is no record of the recording.
    pub fn origin(&self, offset: FileOffset) -> FileOffset {
        let Some(note) = self.slice_note.as_ref().filter(|note| !note.origins.is_empty()) else {
            return offset;
        };
        let origins = self.origins.get_or_init(|| {
            // The note names each record that stands in the file, what stands there twice, too.
            let once = self.records.index.iter().map(|entry| entry.offset);
            let mut records: Vec<FileOffset> = once.chain(self.records.repeats.iter().copied()).collect();
            records.sort_unstable();
            let buffers: BTreeSet<FileOffset> =
                self.aux_buffers.iter().map(|buffer| buffer.record_offset).collect();
            records.retain(|record| !buffers.contains(record));
            records.into_iter().zip(note.origins.iter().copied()).collect()
        });
        origins.get(&offset).copied().unwrap_or(offset)
    }

    /// What the maker of this slice added; `None` in a capture that is no slice.
    pub fn slice_note(&self) -> Option<&SliceNote> {
        self.slice_note.as_ref()
    }

    /// The bytes of the file `data`.
    pub(crate) fn main_bytes(&self) -> &[u8] {
        self.records.pieces.bytes(0)
    }

    /// Where everything lies in the file `data`.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }
}

#[cfg(test)]
mod tests;
