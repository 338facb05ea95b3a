//! Opening: from the bytes of a file, or of a directory of files, to what [`PerfData`] holds.

use std::path::Path;
use std::sync::OnceLock;

use model::{Diagnostic, FileOffset, TimeConversion};

use super::PerfData;
use crate::attr;
use crate::auxtrace_index::AuxtraceIndex;
use crate::directory::{self, Directory};
use crate::error::Error;
use crate::features::{self, Features};
use crate::file::Pieces;
use crate::header::Header;
use crate::intel_pt::IntelPtInfo;
use crate::ordered_records::{OrderedRecords, sorted};
use crate::policy::files::Files;
use crate::policy::machine::Machine;
use crate::policy::numa::Numa;
use crate::policy::slice::note::SliceNote;
use crate::reads::ReadNotes;
use crate::record::{HEADER_SIZE, Layout, Record, Schema};
use crate::record_index::{Walked, Walker};
use crate::repeats;
use crate::tracepoint::{self, Formats};

impl PerfData {
    /// Opens a perf.data file, a stream that was kept (`perf record -o - >FILE`), or a perf.data directory (`data`,
    /// `kcore_dir`).
    ///
    /// Reads the header, the feature sections and the headers of all records; AUX payloads are not touched.
    ///
    /// # Errors
    /// Where the file cannot be read, is no perf.data, or is of a kind that cannot be used (big-endian).
    /// Damage after the header is no error: see [`PerfData::diagnostics`].
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
        let mut attrs = attr::parse_all(file, &header.attrs);
        if !header.event_names.is_empty() {
            let names = header.event_names.iter().map(|(id, name)| (*id, &file[name.clone()]));
            attr::name_by_ids(&mut attrs, names);
        }
        let features = Features::parse(file, &header, &mut attrs, &mut diagnostics);
        let of_this = |machine: Machine| machine.told_of(&directory.path, &features, &mut diagnostics);
        let machine = machine.and_then(of_this);
        let numa = Numa::new(&features, machine.as_ref());
        let formats = tracing_data(file, &header, &mut diagnostics);
        tracepoint::name_attrs(&mut attrs, &formats);
        let layout = Layout::new(&attrs, &formats);
        let slice_note = SliceNote::of(file, &header);
        let schema = Schema { attrs: &attrs, layout: &layout, formats: &formats };
        let walked = walk_all(&mut pieces, &header, schema, &mut diagnostics);
        let mut records = OrderedRecords {
            pieces,
            attrs,
            formats,
            layout,
            index: sorted(walked.index),
            map_index: sorted(walked.map_index),
            repeats: Vec::new(),
            threads: walked.threads,
        };
        repeats::leave_out(&mut records, &mut diagnostics);
        let mut perf_data = PerfData {
            directory,
            header,
            records,
            features,
            machine,
            numa,
            backwards: walked.backwards,
            counts: walked.counts,
            aux_buffers: walked.aux_buffers,
            intel_pt: None,
            time_conversion: None,
            diagnostics,
            schedule: OnceLock::new(),
            thread_names: OnceLock::new(),
            cgroups: OnceLock::new(),
            files: Files::default(),
            asked_frequencies: OnceLock::new(),
            pauses: OnceLock::new(),
            aux_samples: OnceLock::new(),
            reads: ReadNotes::default(),
            slice_note,
            origins: OnceLock::new(),
        };
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
    schema: Schema<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Walked {
    let section = header.features.iter().find(|(bit, _)| *bit == features::AUXTRACE);
    let auxtrace = match section {
        Some((_, section)) => AuxtraceIndex::parse(&pieces.bytes(0)[section.clone()], &header.records),
        // It has no list, whatever it has.
        None if header.is_stream => AuxtraceIndex::default(),
        None => AuxtraceIndex::empty(),
    };
    let mut walked = Walked::default();
    let files = pieces.len();
    for piece in 0..files {
        let (records, list) = if piece == 0 {
            (header.records.clone(), &auxtrace)
        } else {
            (0..pieces.bytes(piece).len(), &AuxtraceIndex::default())
        };
        let walk = Walker { pieces, piece, schema, auxtrace: list, walked: &mut walked, diagnostics };
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
        Walker { pieces, piece, schema, auxtrace, walked: &mut walked, diagnostics }.walk(0..end);
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
        let bytes = self.records.pieces.record(offset);
        let size = crate::record::Header::read(bytes)?.size;
        bytes.get(HEADER_SIZE..usize::from(size))
    }

    fn find_time_conversion(&mut self, time_conv: Option<FileOffset>) -> Option<TimeConversion> {
        if self.clock_id().is_some() {
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
                "the TSC to perf-time conversion is missing: \
                 switches and tracepoints cannot be matched with the trace",
            ));
        }
        conversion
    }
}
