//! Other names for what a slice must not disclose: the machine, the command line, the paths of files and cgroups.
//!
//! Records grow or shrink with their names; all else in them stays. A path that is not listed stays as it is.

use std::borrow::Cow;
use std::collections::BTreeSet;

use model::FileOffset;

use super::plan::Renames;
use crate::bytes::Fields;
use crate::features::{BUILD_ID_SECTION, COMMAND_LINE_SECTION, HOSTNAME_SECTION};
use crate::intel_pt::padded_filter;
use crate::ordered_records::OrderedRecords;
use crate::perf_data::PerfData;
use crate::policy::files::{NAME_FIELD, told_name};
use crate::record::parse::parse;
use crate::record::{HEADER_SIZE, Header, Record, TimedRecord, kinds};

/// Bytes of a record in front of its path, header included (`struct perf_record_mmap`, `_mmap2`, `_cgroup`).
const PATH_IN_MMAP: usize = 40;
const PATH_IN_MMAP2: usize = 72;
const PATH_IN_CGROUP: usize = 16;
/// Bytes of an entry of the section of build ids in front of its path: header, pid, build ID.
const PATH_IN_BUILD_ID: usize = 36;
/// perf pads names to this many bytes.
const NAME_ALIGNMENT: usize = 64;
/// Word of an `AUXTRACE_INFO` record of Intel PT that says how long the address filters after it are.
const FILTER_LENGTH: usize = 8 + 8 + 16 * 8;

/// All paths that records and the section of build ids name.
pub(super) fn recorded_paths(perf: &PerfData) -> BTreeSet<Vec<u8>> {
    let of_record = |record: &Record<'_>| match record {
        Record::Mmap(mmap) | Record::Mmap2(mmap) => Some(mmap.path.to_vec()),
        Record::Cgroup { path, .. } => Some(path.to_vec()),
        Record::HeaderBuildId(known) => Some(known.path.to_vec()),
        _ => None,
    };
    let mut paths: BTreeSet<Vec<u8>> = perf.records().filter_map(|timed| of_record(&timed.record)).collect();
    // Not from what the features say of it: there a path is text, and what is no UTF-8 would not be found again.
    let header = perf.header();
    let sections = header.features.iter().filter(|(bit, _)| *bit == BUILD_ID_SECTION);
    let section = sections.map(|(_, section)| &perf.main_bytes()[section.clone()]);
    let path = |entry: &[u8]| Some(Fields::new(entry.get(PATH_IN_BUILD_ID..)?).c_string().to_vec());
    paths.extend(section.flat_map(entries).filter_map(path));
    paths
}

/// All names by which files were opened, as the probe `vfs_getname` recorded them.
pub(super) fn opened_names(perf: &PerfData) -> BTreeSet<Vec<u8>> {
    let of_record = |timed: TimedRecord<'_>| match timed.record {
        Record::Sample(sample) => told_name(&sample).map(<[u8]>::to_vec),
        _ => None,
    };
    perf.records().filter_map(of_record).collect()
}

/// A record with its path replaced.
pub(super) fn renamed<'a>(records: &OrderedRecords, record: &'a [u8], renames: &Renames) -> Cow<'a, [u8]> {
    let Some(header) = Header::read(record) else { return Cow::Borrowed(record) };
    let at = match header.kind {
        kinds::MMAP => PATH_IN_MMAP,
        kinds::MMAP2 => PATH_IN_MMAP2,
        kinds::CGROUP => PATH_IN_CGROUP,
        // Written by perf itself: without the trailer of the kernel's.
        kinds::HEADER_BUILD_ID => {
            let new = with_new_path(record, PATH_IN_BUILD_ID, record.len(), renames, NAME_ALIGNMENT);
            return new.map_or(Cow::Borrowed(record), Cow::Owned);
        }
        kinds::AUXTRACE_INFO => return without_filter(record),
        kinds::SAMPLE => {
            return with_new_name(records, record, renames).map_or(Cow::Borrowed(record), Cow::Owned);
        }
        _ => return Cow::Borrowed(record),
    };
    let own = HEADER_SIZE + records.layout.split_trailer(&record[HEADER_SIZE..]).0.len();
    with_new_path(record, at, own, renames, 8).map_or(Cow::Borrowed(record), Cow::Owned)
}

/// A sample of the probe that records names of files, with its name replaced; `None` where it stays.
fn with_new_name(records: &OrderedRecords, record: &[u8], renames: &Renames) -> Option<Vec<u8>> {
    let timed = parse(records.schema(), FileOffset(0), record)?;
    let Record::Sample(sample) = timed.record else { return None };
    let name = renames.paths.get(told_name(&sample)?)?;
    let payload = sample.format()?.field(NAME_FIELD)?.with_text(sample.raw()?, name)?;
    let with = |mut payload: Vec<u8>| {
        // As the kernel pads it: with the length in front in whole words.
        payload.resize((payload.len() + 4).next_multiple_of(8) - 4, 0);
        let length = u32::try_from(payload.len()).ok()?.to_le_bytes();
        let (before, behind) = (&record[..sample.raw_at().start - 4], &record[sample.raw_at().end..]);
        let mut new = [before, &length, &payload, behind].concat();
        let size = u16::try_from(new.len()).ok()?;
        new[6..8].copy_from_slice(&size.to_le_bytes());
        Some(new)
    };
    with(payload).or_else(|| with(vec![0; sample.raw_at().len()]))
}

/// `record` with the path at byte `at`, which ends before byte `own`, replaced; `None` where it stays.
fn with_new_path(record: &[u8], at: usize, own: usize, renames: &Renames, padding: usize) -> Option<Vec<u8>> {
    let path = Fields::new(record.get(at..own)?).c_string();
    let name = renames.paths.get(path)?;
    let mut new = record[..at].to_vec();
    new.extend_from_slice(name);
    new.resize(at + (name.len() + 1).next_multiple_of(padding), 0);
    new.extend_from_slice(&record[own..]);
    let size = u16::try_from(new.len()).ok()?;
    new[6..8].copy_from_slice(&size.to_le_bytes());
    Some(new)
}

/// An `AUXTRACE_INFO` record whose address filters, which name files, are gone.
fn without_filter(record: &[u8]) -> Cow<'_, [u8]> {
    let length = record.get(FILTER_LENGTH..).and_then(|words| Fields::new(words).u64());
    let Some(length @ 1..) = length else { return Cow::Borrowed(record) };
    let behind = usize::try_from(length).ok().and_then(padded_filter);
    let rest =
        behind.and_then(|behind| record.get((FILTER_LENGTH + 8).checked_add(behind)?..)).unwrap_or(&[]);
    let mut new = [&record[..FILTER_LENGTH], &[0; 8], rest].concat();
    let size = u16::try_from(new.len()).unwrap_or(u16::MAX);
    new[6..8].copy_from_slice(&size.to_le_bytes());
    Cow::Owned(new)
}

/// A feature section with its names replaced.
pub(super) fn section(bit: u32, section: &[u8], renames: &Renames) -> Vec<u8> {
    match bit {
        HOSTNAME_SECTION => text(&renames.hostname),
        COMMAND_LINE_SECTION => {
            let count = u32::try_from(renames.command_line.len()).unwrap_or(0);
            let words = renames.command_line.iter().flat_map(|word| text(word));
            count.to_le_bytes().into_iter().chain(words).collect()
        }
        BUILD_ID_SECTION => build_ids(section, renames),
        _ => section.to_vec(),
    }
}

/// A string of the feature sections: its padded length, then its bytes.
pub(super) fn text(text: &str) -> Vec<u8> {
    let length = (text.len() + 1).next_multiple_of(NAME_ALIGNMENT);
    let mut bytes = u32::try_from(length).unwrap_or(0).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(4 + length, 0);
    bytes
}

fn build_ids(section: &[u8], renames: &Renames) -> Vec<u8> {
    let rewritten = |entry: &[u8]| {
        let new = with_new_path(entry, PATH_IN_BUILD_ID, entry.len(), renames, NAME_ALIGNMENT);
        new.unwrap_or_else(|| entry.to_vec())
    };
    entries(section).flat_map(rewritten).collect()
}

/// The entries of the section of build ids, each with its header, up to the first damaged one.
fn entries(mut section: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let size = usize::from(Header::read(section)?.size);
        let (entry, rest) = section.split_at_checked(size).filter(|_| size >= HEADER_SIZE)?;
        section = rest;
        Some(entry)
    })
}

#[cfg(test)]
mod tests;
