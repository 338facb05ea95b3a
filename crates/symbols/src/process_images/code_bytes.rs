//! Code sections by process and time, and the bytes of code: [`CodeBytes`] for [`ProcessImages`].
//!
//! Invariant: sections are ordered and disjoint, and each byte of one is what [`CodeBytes::read`] gives at that time.
//! Poked ranges are in no section: their bytes depend on the time.

use std::ops::Range;
use std::sync::Arc;

use model::{CodeBytes, CodeEpoch, CodeSection, Pid, Tsc};

use super::ProcessImages;
use crate::code_copies::placed::CopyIndex;
use crate::range_map::RangeMap;
use crate::timeline::KERNEL_HALF;

impl CodeBytes for ProcessImages {
    fn epoch(&self, pid: Pid, at: Tsc) -> CodeEpoch {
        let version = self.timelines.process(pid).at(at);
        let copies = self.code_copies.at(pid, at);
        let number = (version.number, copies.number);
        if let Some(epoch) = self.epochs.known(pid, number) {
            return epoch;
        }
        let mut sections = self.user_sections(version.pieces.iter(), copies.pieces);
        self.add_kernel_sections(&mut sections);
        self.epochs.keep(pid, number, version.until.min(copies.until), sections)
    }

    fn read(&self, pid: Pid, address: u64, at: Tsc, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            let Some(address) = address.checked_add(done as u64) else { break };
            let rest = &mut into[done..];
            let copied = if address < KERNEL_HALF {
                self.read_user(pid, address, at, rest)
            } else {
                self.read_kernel(address, at, rest)
            };
            if copied == 0 {
                break;
            }
            done += copied;
        }
        if done == 0 && !into.is_empty() {
            self.note_missing(pid, address, at);
        }
        done
    }
}

impl ProcessImages {
    fn user_sections<'a>(
        &'a self,
        pieces: impl Iterator<Item = (&'a Range<u64>, &'a u32)>,
        copies: &RangeMap<CopyIndex>,
    ) -> Vec<CodeSection> {
        let mut sections = Vec::new();
        for (range, &mapping) in pieces {
            let Some(piece) = self.piece_of(range, mapping) else { continue };
            let Some(file) = piece.image.code(&self.search) else {
                self.add_copies(range, copies, &mut sections);
                continue;
            };
            let file_offset = piece.file_offset(range.start);
            let Some(available) =
                (file.bytes.len() as u64).checked_sub(file_offset).filter(|&bytes| bytes > 0)
            else {
                continue;
            };
            let end = range.end.min(range.start.saturating_add(available));
            sections.push(CodeSection { range: range.start..end, file: Arc::clone(&file.path), file_offset });
        }
        sections
    }

    /// The copies that stand for `range`; pages that lie beside each other in memory and in the file are one section.
    fn add_copies(&self, range: &Range<u64>, copies: &RangeMap<CopyIndex>, sections: &mut Vec<CodeSection>) {
        let Some(path) = self.code_copies.path() else { return };
        let mut at = range.start;
        while let Some((piece, &copy)) = copies.at_or_after(at).filter(|(piece, _)| piece.start < range.end) {
            let (start, end) = (piece.start.max(range.start), piece.end.min(range.end));
            at = end;
            let Some(file_offset) = self.code_copies.file_offset(copy, start) else { continue };
            let goes_on = |last: &CodeSection| {
                last.range.end == start
                    && last.file_offset + (start - last.range.start) == file_offset
                    && last.file == *path
            };
            match sections.last_mut() {
                Some(last) if goes_on(last) => last.range.end = end,
                _ => sections.push(CodeSection { range: start..end, file: Arc::clone(path), file_offset }),
            }
        }
    }

    fn add_kernel_sections(&self, sections: &mut Vec<CodeSection>) {
        for piece in &self.kernel().pieces {
            let mut start = piece.range.start;
            while start < piece.range.end {
                let hole = self.pokes.hole_from(start).filter(|hole| hole.start < piece.range.end);
                let end = hole.map_or(piece.range.end, |hole| hole.start);
                if start < end {
                    let file_offset = piece.file_offset + (start - piece.range.start);
                    sections.push(CodeSection {
                        range: start..end,
                        file: Arc::clone(&piece.path),
                        file_offset,
                    });
                }
                start = hole.map_or(piece.range.end, |hole| hole.end);
            }
        }
    }

    /// Copies from the one piece that holds `address`.
    fn read_user(&self, pid: Pid, address: u64, at: Tsc, into: &mut [u8]) -> usize {
        let Some(piece) = self.user_piece(pid, address, at) else { return 0 };
        match piece.image.code(&self.search) {
            Some(file) => copy(&file.bytes, piece.file_offset(address), piece.range.end - address, into),
            None => self.read_copied(pid, address, at, piece.range.end - address, into).unwrap_or(0),
        }
    }

    /// Copies from the one copy of code that stands for `address`, at most `limit` bytes.
    fn read_copied(&self, pid: Pid, address: u64, at: Tsc, limit: u64, into: &mut [u8]) -> Option<usize> {
        let (range, &number) = self.code_copies.at(pid, at).pieces.get(address)?;
        let file_offset = self.code_copies.file_offset(number, address)?;
        Some(copy(self.code_copies.bytes(), file_offset, limit.min(range.end - address), into))
    }

    /// Copies one poked byte, or what lies before the next one.
    fn read_kernel(&self, address: u64, at: Tsc, into: &mut [u8]) -> usize {
        let hole = self.pokes.hole_from(address);
        let poked = hole.filter(|hole| hole.start <= address).and_then(|_| self.pokes.byte(address, at));
        if let (Some(byte), Some(first)) = (poked, into.first_mut()) {
            *first = byte;
            return 1;
        }
        let Some(piece) = self.kernel().piece(address) else { return 0 };
        let end = match hole {
            Some(hole) if hole.start <= address => address + 1,
            Some(hole) => hole.start.min(piece.range.end),
            None => piece.range.end,
        };
        copy(&piece.bytes, piece.file_offset + (address - piece.range.start), end - address, into)
    }

    fn note_missing(&self, pid: Pid, address: u64, at: Tsc) {
        if address >= KERNEL_HALF {
            self.miss_kernel();
        } else if let Some(piece) = self.user_piece(pid, address, at) {
            piece.image.miss();
        }
    }
}

/// Copies at most `limit` bytes from `file_offset` on; returns how many.
fn copy(file: &[u8], file_offset: u64, limit: u64, into: &mut [u8]) -> usize {
    let from = usize::try_from(file_offset).ok().and_then(|offset| file.get(offset..)).unwrap_or_default();
    let length = from.len().min(into.len()).min(usize::try_from(limit).unwrap_or(usize::MAX));
    into[..length].copy_from_slice(&from[..length]);
    length
}

#[cfg(test)]
mod tests;
