//! Lays out the file of a slice: header, ids, attributes, records, AUXTRACE records, feature sections.
//!
//! Source: `tools/perf/Documentation/perf.data-file-format.txt`; the list of AUXTRACE records is what
//! `auxtrace_index__write` in `tools/perf/util/auxtrace.c` writes.

use std::collections::BTreeMap;

use model::FileOffset;

use super::note::{FEATURE, SliceNote};
use super::plan::{AuxPart, SlicePlan};
use super::rename;
use crate::attr::IDS_PLACE_SIZE;
use crate::aux::AuxBuffer;
use crate::features;
use crate::header::Header;
use crate::perf_data::PerfData;
use crate::record::kinds;

/// Length of the header in bytes.
const HEADER_SIZE: usize = 104;
/// Byte in an `AUXTRACE_INFO` record of Intel PT that says whether it is a snapshot: header, type, and word 8.
const SNAPSHOT_MODE: usize = 8 + 8 + 8 * 8;
/// What the header of an AUXTRACE record says of its length.
const AUXTRACE_HEADER_SIZE: u16 = 48;
/// perf pads PT bytes to a multiple of this (`PERF_AUXTRACE_RECORD_ALIGNMENT`), with PAD packets.
const ALIGNMENT: usize = 8;

/// Writes it.
pub(super) fn write(perf: &PerfData, plan: &SlicePlan, records: &[FileOffset]) -> Vec<u8> {
    let header = perf.header();
    let streams = joined_parts(perf, &plan.aux);
    let has_holes = has_holes(&streams);
    let mut file = Writer::with_attributes(perf, header);
    let start = file.bytes.len();
    for &offset in records {
        let record = perf.records.bytes(offset);
        let renamed = plan.renames.as_ref().map(|renames| rename::renamed(&perf.records, record, renames));
        file.record(renamed.as_deref().unwrap_or(record), has_holes);
    }
    let aux: Vec<u64> = streams.iter().map(|stream| file.auxtrace(perf, stream)).collect();
    let size = file.bytes.len() - start;
    file.put(40, [start as u64, size as u64]);
    let note = SliceNote {
        was_snapshot: perf.intel_pt().is_some_and(|intel_pt| intel_pt.snapshot_mode),
        bytes: plan.note.clone(),
        origins: records.iter().map(|&offset| perf.origin(offset)).collect(),
    };
    file.features(sections(perf, header, plan, &aux, &note));
    file.bytes
}

/// PT bytes that follow one another: one AUXTRACE record.
struct Stretch<'a> {
    /// The buffer of the first byte.
    first: &'a AuxBuffer,
    aux_offset: u64,
    parts: Vec<&'a AuxPart>,
}

/// The parts; one that continues where the one before it ended is merged with it, because perf takes two buffers of a
/// snapshot for two snapshots and looks for a PSB in the second.
fn joined_parts<'a>(perf: &'a PerfData, parts: &'a [AuxPart]) -> Vec<Stretch<'a>> {
    let is_snapshot = perf.intel_pt().is_some_and(|intel_pt| intel_pt.snapshot_mode);
    let mut stretches: Vec<Stretch<'a>> = Vec::new();
    let mut end = 0;
    for part in parts.iter().filter(|part| !part.range.is_empty()) {
        let Some(buffer) = perf.aux_buffers().get(part.buffer) else { continue };
        let aux_offset = buffer.aux_offset.saturating_add(part.range.start);
        let same =
            |first: &AuxBuffer| (first.cpu, first.tid, first.idx) == (buffer.cpu, buffer.tid, buffer.idx);
        match stretches.last_mut() {
            Some(last) if !is_snapshot && same(last.first) && end == aux_offset => last.parts.push(part),
            _ => stretches.push(Stretch { first: buffer, aux_offset, parts: vec![part] }),
        }
        end = aux_offset.saturating_add(part.range.end - part.range.start);
    }
    stretches
}

/// Whether two stretches belong to one ring.
fn has_holes(stretches: &[Stretch<'_>]) -> bool {
    let ring = |stretch: &Stretch<'_>| (stretch.first.cpu, stretch.first.tid, stretch.first.idx);
    let mut rings: Vec<_> = stretches.iter().map(ring).collect();
    rings.sort_unstable();
    rings.windows(2).any(|pair| pair[0] == pair[1])
}

/// The feature sections, by their numbers.
fn sections(
    perf: &PerfData,
    header: &Header,
    plan: &SlicePlan,
    aux: &[u64],
    note: &SliceNote,
) -> BTreeMap<u32, Vec<u8>> {
    let file = perf.main_bytes();
    let is_carried = |bit: u32| match bit {
        // Written anew, or not true of the slice.
        features::AUXTRACE | features::COMPRESSED | FEATURE => false,
        features::DIR_FORMAT => plan.in_directory,
        _ => true,
    };
    let mut sections: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for (bit, section) in header.features.iter().filter(|(bit, _)| is_carried(*bit)) {
        let section = carried_section(*bit, &file[section.clone()], plan);
        sections.entry(*bit).or_default().extend(section);
    }
    if header.is_stream {
        sections.insert(features::EVENT_DESCRIPTIONS, event_descriptions(perf, header));
    }
    if !aux.is_empty() {
        let entries = aux.iter().flat_map(|&at| [at, AUXTRACE_HEADER_SIZE.into()]);
        sections.insert(features::AUXTRACE, words(std::iter::once(aux.len() as u64).chain(entries)));
    }
    sections.insert(FEATURE, note.section());
    sections
}

/// The names of a stream's events, which stood in records: `write_event_desc` in `tools/perf/util/header.c`.
fn event_descriptions(perf: &PerfData, header: &Header) -> Vec<u8> {
    let file = perf.main_bytes();
    let size = attr_size(header);
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut section = [number(header.attrs.len()), number(size)].concat();
    for (place, attr) in header.attrs.iter().zip(perf.attrs()) {
        section.extend(padded(&file[place.attr.clone()], size));
        section.extend(number(place.ids.len() / 8));
        section.extend(rename::text(attr.name.as_deref().unwrap_or_default()));
        section.extend_from_slice(&file[place.ids.clone()]);
    }
    section
}

/// Length of an attribute in the slice: of the longest.
fn attr_size(header: &Header) -> usize {
    header.attrs.iter().map(|place| place.attr.len()).max().unwrap_or(0)
}

fn padded(bytes: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(length, 0);
    bytes
}

fn carried_section(bit: u32, section: &[u8], plan: &SlicePlan) -> Vec<u8> {
    match &plan.renames {
        Some(renames) => rename::section(bit, section, renames),
        None => section.to_vec(),
    }
}

fn words(words: impl Iterator<Item = u64>) -> Vec<u8> {
    words.flat_map(u64::to_le_bytes).collect()
}

/// The file in the making.
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// With header, ids and attributes; the places of records and sections in the header follow.
    fn with_attributes(perf: &PerfData, header: &Header) -> Writer {
        let file = perf.main_bytes();
        let attr_size = attr_size(header);
        let mut bytes = b"PERFILE2".to_vec();
        bytes.resize(HEADER_SIZE, 0);
        let mut attributes = Vec::new();
        for place in &header.attrs {
            let ids = &file[place.ids.clone()];
            attributes.extend(padded(&file[place.attr.clone()], attr_size));
            attributes.extend(words([bytes.len() as u64, ids.len() as u64].into_iter()));
            bytes.extend_from_slice(ids);
        }
        let attributes_at = bytes.len() as u64;
        bytes.extend_from_slice(&attributes);
        let mut writer = Writer { bytes };
        writer.put(8, [HEADER_SIZE as u64, (attr_size + IDS_PLACE_SIZE) as u64]);
        writer.put(24, [attributes_at, attributes.len() as u64]);
        // As perf and its readers of aligned records expect.
        writer.align();
        writer
    }

    /// Writes two words of the header.
    fn put(&mut self, at: usize, pair: [u64; 2]) {
        let [first, second] = pair.map(u64::to_le_bytes);
        self.bytes[at..at + 8].copy_from_slice(&first);
        self.bytes[at + 8..at + 16].copy_from_slice(&second);
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }

    /// A record as it is, but that the trace is one of snapshots where it has holes: only then do readers begin anew
    /// after each.
    fn record(&mut self, bytes: &[u8], has_holes: bool) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let is_info = bytes.starts_with(&kinds::AUXTRACE_INFO.to_le_bytes());
        if has_holes && is_info && bytes.len() >= SNAPSHOT_MODE + 8 {
            self.bytes[at + SNAPSHOT_MODE..at + SNAPSHOT_MODE + 8].copy_from_slice(&1u64.to_le_bytes());
        }
    }

    /// An AUXTRACE record and its bytes; returns where it begins.
    fn auxtrace(&mut self, perf: &PerfData, stretch: &Stretch<'_>) -> u64 {
        let at = self.bytes.len();
        let none = u32::MAX;
        let tid = stretch.first.tid.map_or(none, |tid| tid.0.cast_unsigned());
        let cpu = stretch.first.cpu.map_or(none, |cpu| cpu.0);
        self.bytes.extend(kinds::AUXTRACE.to_le_bytes());
        self.bytes.extend([0, 0]);
        self.bytes.extend(AUXTRACE_HEADER_SIZE.to_le_bytes());
        let size_at = self.bytes.len();
        self.bytes.extend(words([0, stretch.aux_offset, stretch.first.reference].into_iter()));
        for word in [stretch.first.idx, tid, cpu, 0] {
            self.bytes.extend(word.to_le_bytes());
        }
        let start = self.bytes.len();
        for part in &stretch.parts {
            self.bytes.extend_from_slice(part_bytes(perf, part));
        }
        let padding = (self.bytes.len() - start).next_multiple_of(ALIGNMENT) + start;
        self.bytes.resize(padding, 0);
        let size = (self.bytes.len() - start) as u64;
        self.bytes[size_at..size_at + 8].copy_from_slice(&size.to_le_bytes());
        at as u64
    }

    /// The table after the records, and the sections.
    fn features(&mut self, sections: BTreeMap<u32, Vec<u8>>) {
        let mut bits = [0u64; 4];
        let mut at = self.bytes.len() + sections.len() * 16;
        let mut table = Vec::new();
        for (bit, section) in &sections {
            bits[(bit / 64) as usize] |= 1 << (bit % 64);
            table.extend(words([at as u64, section.len() as u64].into_iter()));
            at += section.len();
        }
        self.put(72, [bits[0], bits[1]]);
        self.put(88, [bits[2], bits[3]]);
        self.bytes.extend(table);
        for (_, section) in sections {
            self.bytes.extend(section);
        }
    }
}

fn part_bytes<'a>(perf: &'a PerfData, part: &AuxPart) -> &'a [u8] {
    let bytes = perf.aux_buffers().get(part.buffer).map_or(&[][..], |buffer| perf.aux_bytes(buffer));
    let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
    &bytes[at(part.range.start)..at(part.range.end).max(at(part.range.start))]
}
