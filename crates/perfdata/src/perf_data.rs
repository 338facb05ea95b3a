//! A capture: everything that is known after one pass over the headers of its records.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memmap2::Advice;
use model::{Diagnostic, FileOffset, PerfTime, TimeConversion};

use crate::asked_frequencies::AskedFrequencies;
use crate::attr::Attr;
use crate::aux::{AuxBuffer, AuxSample};
use crate::clock_steps::Backwards;
use crate::directory::Directory;
use crate::features::Features;
use crate::file::{FilePosition, Pieces, split};
use crate::files::Files;
use crate::intel_pt::{IntelPtConfig, IntelPtInfo};
use crate::reads::ReadNotes;
use crate::record::{Counts, Layout, Schema, TimedRecord};
use crate::slice::SliceNote;
use crate::thread_names::ThreadNames;
use crate::tracepoint::{Formats, TracepointFormat};
use crate::walk::IndexEntry;
use crate::{Machine, Numa, Schedule};

mod open;

/// An opened perf.data.
#[derive(Debug)]
pub struct PerfData {
    pub(crate) directory: Directory,
    pub(crate) pieces: Pieces,
    attrs: Vec<Attr>,
    features: Features,
    machine: Option<Machine>,
    numa: Numa,
    formats: Formats,
    pub(crate) layout: Layout,
    /// In the order of time; records of the same time in the order of the file. Without the repeats.
    pub(crate) index: Vec<IndexEntry>,
    /// Where the second copies of records stand, in the order of the file.
    pub(crate) repeats: Vec<FileOffset>,
    /// The part of `index` that names threads or changes address spaces.
    pub(crate) map_index: Vec<IndexEntry>,
    pub(crate) backwards: Backwards,
    counts: Counts,
    pub(crate) aux_buffers: Vec<AuxBuffer>,
    intel_pt: Option<IntelPtInfo>,
    time_conversion: Option<TimeConversion>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    schedule: OnceLock<Schedule>,
    thread_names: OnceLock<ThreadNames>,
    pub(crate) files: Files,
    asked_frequencies: OnceLock<AskedFrequencies>,
    aux_samples: OnceLock<Vec<AuxSample>>,
    pub(crate) reads: ReadNotes,
    pub(crate) slice_note: Option<SliceNote>,
    /// Where the records of a slice stood in the recording.
    pub(crate) origins: OnceLock<HashMap<FileOffset, FileOffset>>,
}

/// Facts about the whole capture.
impl PerfData {
    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.directory.path
    }

    /// Length in bytes of the file that holds the records.
    pub fn file_size(&self) -> u64 {
        self.pieces.bytes(0).len() as u64
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
        &self.attrs
    }

    /// What the machine file beside the capture tells; `None` where there is none that can be used.
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
        self.attrs.iter().find(|attr| attr.kind == kind)
    }

    /// What Intel PT was asked to trace.
    pub fn intel_pt_config(&self) -> Option<IntelPtConfig> {
        Some(self.intel_pt.as_ref()?.config(self.intel_pt_attr()?.config))
    }

    /// From TSC to perf time and back; `None` (with a diagnostic) where the recording does not allow it.
    pub fn time_conversion(&self) -> Option<TimeConversion> {
        self.time_conversion
    }

    /// The format of a tracepoint attribute's payload.
    pub fn tracepoint_format(&self, attr: &Attr) -> Option<&TracepointFormat> {
        attr.is_tracepoint().then(|| self.formats.by_id(attr.config)).flatten()
    }

    /// All tracepoint formats in the file, in no order.
    pub fn tracepoint_formats(&self) -> impl Iterator<Item = &TracepointFormat> {
        self.formats.iter()
    }

    /// Where an offset lies for somebody with other tools: another file of the directory, a COMPRESSED record.
    pub fn file_position(&self, offset: FileOffset) -> Option<FilePosition> {
        self.pieces.position(offset)
    }
}

/// Records.
impl PerfData {
    pub(crate) fn schema(&self) -> Schema<'_> {
        Schema { attrs: &self.attrs, layout: &self.layout, formats: &self.formats }
    }

    /// All records in the order of time; what stands in the file twice comes once ([`PerfData::repeats`]).
    ///
    /// What perf wrote itself about the time before the recording comes first; a record that can have no time
    /// (AUXTRACE, `FINISHED_ROUND`) stands behind the record before it in the file.
    pub fn records(&self) -> Records<'_> {
        Records { perf_data: self, entries: self.index.iter() }
    }

    /// The records that name threads or change address spaces, in the order of time.
    pub(crate) fn map_records(&self) -> Records<'_> {
        Records { perf_data: self, entries: self.map_index.iter() }
    }

    /// The records of a range of times, found by bisection.
    pub fn records_in(&self, range: Range<PerfTime>) -> Records<'_> {
        self.reads.note(&range);
        let start = self.index.partition_point(|entry| entry.time < range.start.0);
        let end = self.index.partition_point(|entry| entry.time < range.end.0);
        Records { perf_data: self, entries: self.index.get(start..end).unwrap_or(&[]).iter() }
    }

    /// The record that begins at `offset`; `None` where none can.
    pub fn record_at(&self, offset: FileOffset) -> Option<TimedRecord<'_>> {
        crate::record::parse(self.schema(), offset, self.pieces.record(offset))
    }

    /// Times of the first and the last record that have one.
    pub fn time_range(&self) -> Option<Range<PerfTime>> {
        let first = self.index.get(self.index.partition_point(|entry| entry.time == 0))?;
        Some(PerfTime(first.time)..PerfTime(self.index.last()?.time))
    }

    /// Whether SWITCH records were asked for: where there is none, there was no switch.
    pub fn asks_for_switches(&self) -> bool {
        self.attrs.iter().any(Attr::context_switch)
    }

    /// Who ran where and when. Built at the first call.
    pub fn schedule(&self) -> &Schedule {
        self.schedule.get_or_init(|| Schedule::of(self))
    }

    /// The names of threads over time. Built at the first call.
    pub fn thread_names(&self) -> &ThreadNames {
        self.thread_names.get_or_init(|| ThreadNames::of(self))
    }

    /// The frequencies that the CPUs were asked for over time. Built at the first call.
    pub fn asked_frequencies(&self) -> &AskedFrequencies {
        self.asked_frequencies.get_or_init(|| AskedFrequencies::of(self))
    }

    /// The name that a thread had at a time.
    pub fn comm_at(&self, tid: model::Tid, time: PerfTime) -> Option<&str> {
        self.thread_names().at(tid, time)
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
        self.pieces.slice(buffer.file_offset, buffer.size).unwrap_or(&[])
    }

    /// Asks the kernel to bring these bytes of the file into memory, before they are read from one end to the other.
    pub fn will_need(&self, bytes: Range<FileOffset>) {
        let ((piece, start), (last, end)) = (split(bytes.start), split(bytes.end));
        if piece == last {
            self.pieces.advise(piece, Advice::WillNeed, start..end);
        }
    }

    /// PT bytes that were taken together with samples (`--aux-sample`), in the order of time. Built at the first call.
    pub fn aux_samples(&self) -> &[AuxSample] {
        self.aux_samples.get_or_init(|| crate::aux_sample::locate(self))
    }

    /// The PT bytes of a sample, straight out of the mapped file.
    pub fn aux_sample_bytes(&self, sample: &AuxSample) -> &[u8] {
        self.pieces.slice(sample.file_offset, sample.size).unwrap_or(&[])
    }
}

/// Records in the order of time; see [`PerfData::records`].
#[derive(Clone, Debug)]
pub struct Records<'a> {
    perf_data: &'a PerfData,
    entries: std::slice::Iter<'a, IndexEntry>,
}

impl<'a> Iterator for Records<'a> {
    type Item = TimedRecord<'a>;

    fn next(&mut self) -> Option<TimedRecord<'a>> {
        self.entries.find_map(|entry| self.perf_data.record_at(entry.offset))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.entries.len()))
    }
}

#[cfg(test)]
mod tests;
