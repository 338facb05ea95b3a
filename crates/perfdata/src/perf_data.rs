//! A capture: everything that is known after one pass over the headers of its records.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memmap2::Advice;
use model::{Diagnostic, FileOffset, PerfTime, TimeConversion};

use crate::asked_frequencies::AskedFrequencies;
use crate::attr::{self, Attr};
use crate::aux::{AuxBuffer, AuxSample};
use crate::auxtrace_index::AuxtraceIndex;
use crate::clock_steps::Backwards;
use crate::directory::{self, Directory};
use crate::features::{self, Features};
use crate::file::{FilePosition, Pieces, split};
use crate::files::Files;
use crate::header::Header;
use crate::intel_pt::{IntelPtConfig, IntelPtInfo};
use crate::reads::ReadNotes;
use crate::record::{Counts, HEADER_SIZE, Layout, Record, Schema, TimedRecord};
use crate::slice::SliceNote;
use crate::thread_names::ThreadNames;
use crate::tracepoint::{self, Formats, TracepointFormat};
use crate::walk::{IndexEntry, Walked, Walker, sorted};
use crate::{Error, Machine, Numa, Schedule};

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

impl PerfData {
    /// Opens a perf.data file, or a perf.data directory (`data`, `kcore_dir`).
    ///
    /// Reads the header, the feature sections and the headers of all records; AUX payloads are not touched.
    ///
    /// # Errors
    /// Where the file cannot be read, is no perf.data, or is of a kind that cannot be used (pipe mode, big-endian).
    /// Damage behind the header is no error: see [`PerfData::diagnostics`].
    pub fn open(path: &Path) -> Result<PerfData, Error> {
        let directory = directory::find(path)?;
        let mut pieces = Pieces::default();
        pieces.map(&directory.main)?;
        for file in &directory.more_files {
            pieces.map(file)?;
        }
        let mut diagnostics = Vec::new();
        let machine = Machine::beside(path, &mut diagnostics);
        PerfData::parse(directory, pieces, machine, diagnostics)
    }

    /// Reads a capture that is in memory already. For tests and the fuzzer; `path` only appears in messages, no file beside
    /// it is looked for.
    ///
    /// # Errors
    /// As [`PerfData::open`].
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<PerfData, Error> {
        let mut pieces = Pieces::default();
        pieces.own(path, bytes, Vec::new());
        PerfData::parse(Directory::single_file(path), pieces, None, Vec::new())
    }

    fn parse(
        directory: Directory,
        mut pieces: Pieces,
        machine: Option<Machine>,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Result<PerfData, Error> {
        let file = pieces.bytes(0);
        let header = Header::parse(&directory.main, file, &mut diagnostics)?;
        let mut attrs = attr::parse_section(file, &header.attrs, header.attr_size, &mut diagnostics);
        let features = Features::parse(file, &header, &mut attrs, &mut diagnostics);
        let of_this = |machine: Machine| machine.told_of(&directory.path, &features, &mut diagnostics);
        let machine = machine.and_then(of_this);
        let numa = Numa::new(&features, machine.as_ref());
        let formats = tracing_data(file, &header, &mut diagnostics);
        tracepoint::name_attrs(&mut attrs, &formats);
        let layout = Layout::new(&attrs);
        let slice_note = SliceNote::of(file, &header);
        let walked = walk_all(&mut pieces, &header, &layout, &mut diagnostics);
        let mut perf_data = PerfData {
            directory,
            pieces,
            attrs,
            features,
            machine,
            numa,
            formats,
            layout,
            index: sorted(walked.index),
            map_index: sorted(walked.map_index),
            backwards: walked.backwards,
            repeats: Vec::new(),
            counts: walked.counts,
            aux_buffers: walked.aux_buffers,
            intel_pt: None,
            time_conversion: None,
            diagnostics,
            schedule: OnceLock::new(),
            thread_names: OnceLock::new(),
            files: Files::default(),
            asked_frequencies: OnceLock::new(),
            aux_samples: OnceLock::new(),
            reads: ReadNotes::default(),
            slice_note,
            origins: OnceLock::new(),
        };
        perf_data.leave_out_repeats();
        perf_data.finish(walked.auxtrace_info, walked.time_conv);
        Ok(perf_data)
    }
}

fn tracing_data(file: &[u8], header: &Header, diagnostics: &mut Vec<Diagnostic>) -> Formats {
    let section = header.features.iter().find(|(bit, _)| *bit == features::TRACING_DATA);
    section.map_or_else(Formats::default, |(_, section)| {
        tracepoint::parse_tracing_data(&file[section.clone()], section.start, diagnostics)
    })
}

/// Walks the main file, the further files of a directory, and what comes out of COMPRESSED records.
fn walk_all(
    pieces: &mut Pieces,
    header: &Header,
    layout: &Layout,
    diagnostics: &mut Vec<Diagnostic>,
) -> Walked {
    let section = header.features.iter().find(|(bit, _)| *bit == features::AUXTRACE);
    let auxtrace = section.map_or_else(AuxtraceIndex::empty, |(_, section)| {
        AuxtraceIndex::parse(&pieces.bytes(0)[section.clone()], &header.records)
    });
    let mut walked = Walked::default();
    let files = pieces.len();
    for piece in 0..files {
        let (records, list) = if piece == 0 {
            (header.records.clone(), &auxtrace)
        } else {
            (0..pieces.bytes(piece).len(), &AuxtraceIndex::default())
        };
        let walk = Walker { pieces, piece, layout, auxtrace: list, walked: &mut walked, diagnostics };
        let copies = walk.walk(records);
        pieces.keep(piece, copies);
        let compressed = std::mem::take(&mut walked.compressed);
        if compressed.is_empty() {
            continue;
        }
        let unpacked = crate::compressed::unpack(pieces.bytes(piece), &compressed, diagnostics);
        let path = pieces.path(piece).map(Path::to_path_buf).unwrap_or_default();
        let end = unpacked.bytes.len();
        let piece = pieces.own(&path, unpacked.bytes, unpacked.origins);
        let auxtrace = &AuxtraceIndex::empty();
        Walker { pieces, piece, layout, auxtrace, walked: &mut walked, diagnostics }.walk(0..end);
    }
    walked
}

impl PerfData {
    /// The last step of opening: what needs single records, and the checks.
    fn finish(&mut self, auxtrace_info: Option<FileOffset>, time_conv: Option<FileOffset>) {
        self.intel_pt = auxtrace_info.and_then(|offset| IntelPtInfo::parse(self.body_at(offset)?));
        if let (Some(intel_pt), Some(slice)) = (&mut self.intel_pt, &self.slice_note) {
            intel_pt.snapshot_mode = slice.was_snapshot;
        }
        if let Some(offset) = auxtrace_info.filter(|_| self.intel_pt.is_none()) {
            let what = "AUXTRACE_INFO is damaged or not of Intel PT: how the trace was set up is unknown";
            self.diagnostics.push(Diagnostic::error(what).at_offset(offset));
        }
        self.time_conversion = self.find_time_conversion(time_conv);
        for (kind, count) in self.counts.unknown() {
            let what = format!("{count} records of the unknown type {kind} were skipped");
            self.diagnostics.push(Diagnostic::note(what));
        }
    }

    fn body_at(&self, offset: FileOffset) -> Option<&[u8]> {
        let bytes = self.pieces.record(offset);
        let size = crate::record::Header::read(bytes)?.size;
        bytes.get(HEADER_SIZE..usize::from(size))
    }

    fn find_time_conversion(&mut self, time_conv: Option<FileOffset>) -> Option<TimeConversion> {
        let uses_clock = self.attrs.iter().find(|attr| attr.use_clockid()).map(|attr| attr.clockid);
        if let Some(clock) = uses_clock {
            self.diagnostics.push(Diagnostic::warning(format!(
                "recorded with `-k` (clock {clock}): its times cannot be related to the trace's TSC; \
                 record without -k to join switches and tracepoints with the trace"
            )));
            return None;
        }
        let of_info = self.intel_pt.as_ref().filter(|pt| pt.cap_user_time_zero);
        let of_record = || {
            time_conv.and_then(|offset| match self.record_at(offset)?.record {
                Record::TimeConv { conversion } => conversion,
                _ => None,
            })
        };
        let conversion = of_info.and_then(|pt| pt.time_conversion).or_else(of_record);
        if conversion.is_none() && self.intel_pt.is_some() {
            self.diagnostics.push(Diagnostic::warning(
                "the file does not say how perf's times relate to the TSC: \
                 switches and tracepoints cannot be joined with the trace",
            ));
        }
        conversion
    }
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
