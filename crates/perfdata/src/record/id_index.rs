//! The entries of an `ID_INDEX` record. Source: `tools/lib/perf/include/perf/event.h`, `struct id_index_entry`.

use model::Cpu;

use crate::bytes::u64_at;

/// Bytes of an entry: id, index of the ring, CPU, thread.
const ENTRY: usize = 32;

/// Where what has an id is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdPlace {
    /// The id.
    pub id: u64,
    /// The CPU; all ones where it is of a thread on any.
    pub cpu: u64,
    /// The thread; all ones where it is of a CPU.
    pub tid: u64,
}

/// The entries, in order.
#[derive(Clone, Debug)]
pub struct IdPlaces<'a>(&'a [u8]);

impl IdPlaces<'_> {
    /// The first `count` entries of `bytes`, as far as they are there; newer versions of perf write more of each after them.
    pub(super) fn of(count: u64, bytes: &[u8]) -> IdPlaces<'_> {
        let held = usize::try_from(count).unwrap_or(usize::MAX).min(bytes.len() / ENTRY);
        IdPlaces(&bytes[..held * ENTRY])
    }
}

impl IdPlace {
    /// The CPU of which all threads are recorded; `None` where single threads are.
    pub fn of_cpu(&self) -> Option<Cpu> {
        u32::try_from(self.cpu).ok().filter(|_| self.tid == u64::MAX).map(Cpu)
    }
}

impl Iterator for IdPlaces<'_> {
    type Item = IdPlace;

    fn next(&mut self) -> Option<IdPlace> {
        let (entry, rest) = self.0.split_at_checked(ENTRY)?;
        self.0 = rest;
        Some(IdPlace { id: u64_at(entry, 0)?, cpu: u64_at(entry, 16)?, tid: u64_at(entry, 24)? })
    }
}
