//! The table of returns to which a program of the ITT API jumps to mark a region in its trace.
//!
//! Source: `ittapi`, `src/ittnotify/ittptmark64.S` and `ittptmark32.S`: 20 known bytes, then 256 times `ret; ret N`, 4 bytes each; a jump to
//! the entry 2R begins region R, one to 2R + 1 ends it. It is looked for by its bytes, for a stripped program has no symbol for it.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem;
use model::Pid;

use super::ProcessImages;
use crate::elf::CodeFile;
use crate::image::ImageKind;

/// What stands before the table: four numbers, and 0xfadefade.
const BEFORE: [u8; 20] = [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0xde, 0xfa, 0xde, 0xfa];
/// Entries of a table.
const ENTRIES: u16 = 256;
/// Bytes of an entry.
const ENTRY: u64 = 4;

/// A mark table in a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct MarkTable {
    /// Whose.
    pub pid: Pid,
    /// Its first address (AVMA).
    pub start: u64,
}

impl MarkTable {
    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + u64::from(ENTRIES) * ENTRY
    }

    /// The number of the entry at `address`; `None` where none begins there.
    pub fn entry(&self, address: u64) -> Option<u8> {
        let offset = address.checked_sub(self.start).filter(|offset| offset % ENTRY == 0)?;
        u8::try_from(offset / ENTRY).ok()
    }
}

impl ProcessImages {
    /// The mark tables of all programs and libraries that any process had mapped at any time, in order.
    pub fn mark_tables(&self) -> Vec<MarkTable> {
        let mut by_image: HashMap<u32, Vec<u64>> = HashMap::new();
        let mut candidates = Vec::new();
        for (mapping, number) in self.timelines.mappings.iter().zip(0u32..) {
            let Some(piece) = self.piece_of(&mapping.range, number) else { continue };
            if piece.image.kind != ImageKind::File {
                continue;
            }
            let offsets = by_image
                .entry(piece.index)
                .or_insert_with(|| piece.image.code(&self.search).map_or_else(Vec::new, offsets_in));
            let shown = offsets.iter().filter(|offset| piece.mapped().contains(offset));
            candidates.extend(shown.filter_map(|offset| {
                let start = mapping.range.start.checked_add(offset - mapping.file_offset)?;
                start.checked_add(u64::from(ENTRIES) * ENTRY).map(|_| (number, start))
            }));
        }
        let mut tables = Vec::new();
        for pid in self.timelines.pids() {
            let held = candidates.iter().filter(|&&(mapping, start)| self.ever_held(pid, mapping, start));
            tables.extend(held.map(|&(_, start)| MarkTable { pid, start }));
        }
        tables.sort_unstable();
        tables.dedup();
        tables
    }
}

/// Where in the file's code tables begin.
fn offsets_in(file: &CodeFile) -> Vec<u64> {
    let mut found = Vec::new();
    for segment in file.segments.iter().filter(|segment| segment.executable) {
        let length = segment.svma.end - segment.svma.start;
        let range = usize::try_from(segment.file_offset).ok().zip(usize::try_from(length).ok());
        let bytes = range.and_then(|(start, length)| file.bytes.get(start..start.checked_add(length)?));
        found.extend(tables_in(bytes.unwrap_or_default()).map(|offset| segment.file_offset + offset));
    }
    found
}

/// Where in `bytes` tables begin.
fn tables_in(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let starts = memmem::find_iter(bytes, &BEFORE).map(|at| at + BEFORE.len());
    let whole = starts.filter(|&start| {
        let entries = bytes[start..].chunks_exact(4).zip(0..ENTRIES);
        let right = entries.take_while(|&(entry, number)| {
            let [low, high] = number.to_le_bytes();
            entry == [0xc3, 0xc2, low, high]
        });
        right.count() == usize::from(ENTRIES)
    });
    whole.map(|start| start as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<u8> {
        let entries = (0..ENTRIES).flat_map(|number| [&[0xc3, 0xc2], &number.to_le_bytes()[..]].concat());
        BEFORE.into_iter().chain(entries).collect()
    }

    #[test]
    fn a_table_is_found_by_all_of_its_bytes() {
        let mut bytes = vec![0x90; 7];
        bytes.extend(table());
        bytes.extend(&table()[..900]);
        bytes.extend(table());
        assert_eq!(tables_in(&bytes).collect::<Vec<_>>(), [27, 27 + 1024 + 920]);
        bytes[27 + 1023] = 1;
        assert_eq!(tables_in(&bytes).collect::<Vec<_>>(), [27 + 1024 + 920]);
        assert_eq!(tables_in(&bytes[..bytes.len() - 1]).count(), 0);
    }

    #[test]
    fn an_entry_has_four_bytes() {
        let table = MarkTable { pid: Pid(7), start: 0x1000 };
        assert_eq!(
            [0x1000, 0x1004, 0x13fc].map(|address| table.entry(address)),
            [Some(0), Some(1), Some(255)]
        );
        assert_eq!([0xffc, 0x1002, 0x1400].map(|address| table.entry(address)), [None; 3]);
    }
}
