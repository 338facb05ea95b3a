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

/// The number of the stretch in which a reader found a record last: records are mostly read in the order of the file. Any value is
/// allowed. Each reader has its own: threads that share one take its cache line from each other with each record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastFound(usize);

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
    pub(crate) fn record(&self, at: usize, last: &mut LastFound) -> Option<&[u8]> {
        let number = self.number_at(at, last)?;
        let &(start, here) = self.starts.get(number)?;
        let end = self.starts.get(number + 1).map_or(self.bytes.len(), |&(_, next)| next);
        let rest = self.bytes.get(here..end)?.get(at - start..)?;
        let size = usize::from(Header::read(rest)?.size);
        (size >= HEADER_SIZE && size <= rest.len()).then_some(rest)
    }

    /// Where a reader looks first that reads while copies are made.
    pub(crate) fn newest(&self) -> LastFound {
        LastFound(self.starts.len().saturating_sub(1))
    }

    /// The number of the last stretch that begins at `at` or before it.
    fn number_at(&self, at: usize, last: &mut LastFound) -> Option<usize> {
        let begins = |number: usize| self.starts.get(number).is_some_and(|&(start, _)| start <= at);
        let is_it = |number: usize| begins(number) && !begins(number + 1);
        if is_it(last.0) {
            return Some(last.0);
        }
        let number = match last.0.checked_add(1) {
            Some(next) if is_it(next) => next,
            _ => self.starts.partition_point(|&(start, _)| start <= at).checked_sub(1)?,
        };
        last.0 = number;
        Some(number)
    }
}

#[cfg(test)]
mod tests;
