//! Records that stand in the file twice.
//!
//! perf may write a part of a ring buffer a second time: some records of live recordings stand there again, a few hundred
//! bytes on. The second one has the same bytes as the first, its time in nanoseconds among them. To count both would be a
//! second switch, or a second interrupt, at the same moment.

use std::collections::VecDeque;

use model::{Diagnostic, FileOffset};

use crate::ordered_records::{IndexEntry, OrderedRecords};
use crate::record::{Header, What, kinds};

/// Records of the same time that one is compared with: more than CPUs write in the same nanosecond.
const NEAR: usize = 8;

/// Takes what stands there twice out of `records`: the first one stays.
pub(crate) fn leave_out(records: &mut OrderedRecords, diagnostics: &mut Vec<Diagnostic>) {
    let mut repeats = Vec::new();
    for same_time in records.index.chunk_by(|a, b| a.time == b.time) {
        if same_time.len() > 1 && same_time[0].time != 0 {
            find(records, same_time, &mut repeats);
        }
    }
    repeats.sort_unstable();
    let Some(&first) = repeats.first() else { return };
    let stays = |entry: &IndexEntry| repeats.binary_search(&entry.offset).is_err();
    records.index.retain(stays);
    records.map_index.retain(stays);
    let what = match repeats.len() {
        1 => "1 record repeats another one, byte for byte with the same time: it is left out".to_owned(),
        count => format!(
            "{count} records repeat others, byte for byte with the same time: they are left out, the first one here"
        ),
    };
    diagnostics.push(Diagnostic::note(what).at_offset(first));
    records.repeats = repeats;
}

/// Those of `entries`, which have one time, whose bytes stand before them. Most differ in event, CPU or thread from all near them: not a
/// byte of these is read.
fn find(records: &OrderedRecords, entries: &[IndexEntry], repeats: &mut Vec<FileOffset>) {
    let mut near: VecDeque<&IndexEntry> = VecDeque::with_capacity(NEAR);
    for entry in entries.iter().filter(|entry| has_time(records, entry)) {
        let equals = |other: &&IndexEntry| {
            other.label == entry.label && records.bytes(other.offset) == records.bytes(entry.offset)
        };
        if near.iter().any(equals) {
            repeats.push(entry.offset);
            continue;
        }
        if near.len() == NEAR {
            near.pop_front();
        }
        near.push_back(entry);
    }
}

/// Whether a time is among the bytes of a record: what perf writes itself has none, and may be said again.
fn has_time(records: &OrderedRecords, entry: &IndexEntry) -> bool {
    if entry.label.what() != What::Untold {
        return entry.label.placed(&records.threads).is_some();
    }
    let header = Header::read(records.pieces.record(entry.offset));
    let is_of_kernel = header.is_some_and(|header| header.kind < kinds::FIRST_USER_KIND);
    is_of_kernel && records.at(entry.offset).is_some_and(|record| record.time.is_some())
}

#[cfg(test)]
mod tests;
