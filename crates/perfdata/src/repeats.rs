//! Records that stand in the file twice.
//!
//! perf may write a part of a ring buffer a second time: some records of live recordings stand there again, a few hundred
//! bytes on. The second one has the same bytes as the first, its time in nanoseconds among them. To count both would be a
//! second switch, or a second interrupt, at the same moment.

use std::collections::VecDeque;

use model::{Diagnostic, FileOffset};

use crate::ordered_records::{IndexEntry, OrderedRecords};
use crate::record::{Header, kinds};

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

/// Those of `entries`, which have one time, whose bytes stand before them.
fn find(records: &OrderedRecords, entries: &[IndexEntry], repeats: &mut Vec<FileOffset>) {
    let mut near: VecDeque<&[u8]> = VecDeque::with_capacity(NEAR);
    for entry in entries {
        let Some(bytes) = bytes_with_time(records, entry.offset) else { continue };
        if near.contains(&bytes) {
            repeats.push(entry.offset);
            continue;
        }
        if near.len() == NEAR {
            near.pop_front();
        }
        near.push_back(bytes);
    }
}

/// All bytes of the record at `offset`, if a time is among them: what perf writes itself has none, and may be said again.
fn bytes_with_time(records: &OrderedRecords, offset: FileOffset) -> Option<&[u8]> {
    let bytes = records.pieces.record(offset);
    let header = Header::read(bytes).filter(|header| header.kind < kinds::FIRST_USER_KIND)?;
    records.at(offset)?.time?;
    bytes.get(..usize::from(header.size))
}

#[cfg(test)]
mod tests;
