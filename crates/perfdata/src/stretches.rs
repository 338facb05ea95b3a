//! Copies of the short stretches of records that lie between AUX payloads.
//!
//! A file written in many AUXTRACE records holds its other records in thousands of places, each on pages of its own. To
//! read them through the mapping costs a page fault for each, which also maps the payload's pages around; one
//! positioned read costs a fraction of it. Copies are looked at instead of the mapping wherever a record lies in one as a
//! whole; nothing else depends on them.

use crate::record::{HEADER_SIZE, Header};

/// Longer stretches are as well read through the mapping: a copy costs page faults of its own, one for 4 KiB.
const LONGEST: usize = 8 << 10;
/// So much memory copies may take; what comes later in the file is read through the mapping.
const MOST: usize = 128 << 20;

/// The copies from one piece, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    bytes: Vec<u8>,
    /// (first byte in the piece, first byte in `bytes`): each lasts until the next one's.
    starts: Vec<(usize, usize)>,
}

impl Stretches {
    /// Whether a copy of `length` more bytes is worth making.
    pub(crate) fn would_take(&self, length: usize) -> bool {
        length <= LONGEST && self.bytes.len() + length <= MOST
    }

    /// Copies `length` bytes from `at` on, by `read`; false, and nothing is kept, where that fails. Must come in the
    /// order of the file.
    pub(crate) fn copy(&mut self, at: usize, length: usize, read: impl FnOnce(&mut [u8]) -> bool) -> bool {
        let here = self.bytes.len();
        self.bytes.resize(here + length, 0);
        if read(&mut self.bytes[here..]) {
            self.starts.push((at, here));
            true
        } else {
            self.bytes.truncate(here);
            false
        }
    }

    /// The record at `at` and what is copied after it; `None` where it does not lie in a copy as a whole.
    pub(crate) fn record(&self, at: usize) -> Option<&[u8]> {
        // A walk asks for the stretch that was copied last.
        let behind = match self.starts.last() {
            Some(&(last, _)) if last <= at => self.starts.len(),
            _ => self.starts.partition_point(|&(start, _)| start <= at),
        };
        let &(start, here) = self.starts.get(behind.checked_sub(1)?)?;
        let end = self.starts.get(behind).map_or(self.bytes.len(), |&(_, next)| next);
        let rest = self.bytes.get(here..end)?.get(at - start..)?;
        let size = usize::from(Header::read(rest)?.size);
        (size >= HEADER_SIZE && size <= rest.len()).then_some(rest)
    }
}

#[cfg(test)]
mod tests;
