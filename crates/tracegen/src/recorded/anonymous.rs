//! Code that ran in memory without a file: what a runtime or a library made while the program ran.
//!
//! Input: the guest's records of such mappings, and the executed blocks. Output: a file with the bytes of that code, for decoders that know
//! no jitdump: for each stretch u64 address, u64 size (little endian), the bytes; and the file of copies that a recording would have of the
//! processes that wrote no jitdump.
//! Invariant: both hold, at each executed address, the bytes that were executed; where code changed during the log no file can, and
//! that is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use super::block::{Block, Blocks};
use crate::capture::{Capture, Record, kind};
use crate::code_copies::{self, Copy, PAGE};
use crate::error::Error;

/// Where process, address, size and name stand in an `MMAP2` record (`linux/perf_event.h`).
const PROCESS: usize = 8;
const ADDRESS: usize = 16;
const SIZE: usize = 24;
const NAME: usize = 72;

/// The code of a guest.
pub(super) struct Anonymous {
    bytes: BTreeMap<u64, u8>,
    mappings: Vec<Mapping>,
}

/// Memory without a file.
struct Mapping {
    pid: u32,
    range: Range<u64>,
    /// Whether its process wrote a jitdump.
    is_dumped: bool,
}

impl Anonymous {
    /// What ran.
    ///
    /// # Errors
    /// [`Error::Capture`] where code changed during the log.
    pub(super) fn read(guest: &Capture, blocks: &Blocks) -> Result<Anonymous, Error> {
        let mappings = mappings(guest)?;
        let lies_in_one = |block: &&Block| mappings.iter().any(|one| one.range.contains(&block.address()));
        let mut bytes = BTreeMap::new();
        for block in blocks.executed().filter(lies_in_one) {
            for (address, &byte) in (block.address()..).zip(&block.code) {
                if *bytes.entry(address).or_insert(byte) != byte {
                    let what = "code in memory without a file changed during the log: warm the program up for longer";
                    return Err(guest.wrong(0, what));
                }
            }
        }
        Ok(Anonymous { bytes, mappings })
    }

    /// Writes the bytes to the file `to`; none where no such code ran.
    ///
    /// # Errors
    /// [`Error::File`].
    pub(super) fn write(&self, to: &Path) -> Result<(), Error> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let stretch = |(address, code): (u64, Vec<u8>)| {
            [&address.to_le_bytes()[..], &(code.len() as u64).to_le_bytes(), &code].concat()
        };
        let bytes: Vec<u8> = stretches(self.bytes.iter(), u64::MAX).into_iter().flat_map(stretch).collect();
        std::fs::write(to, bytes).map_err(Error::file(to))
    }

    /// The file of copies of what was there all of the time `seen`, in TSC; `None` where jitdumps have all that ran.
    pub(super) fn copies(&self, seen: &Range<u64>) -> Option<Vec<u8>> {
        let mut copies = BTreeMap::new();
        for Mapping { pid, range, .. } in self.mappings.iter().filter(|mapping| !mapping.is_dumped) {
            for (address, bytes) in stretches(self.bytes.range(range.clone()), PAGE) {
                let (pid, from, to) = (*pid, seen.start, seen.end);
                copies.insert((pid, address), Copy { pid, address, from, to, bytes });
            }
        }
        let copies: Vec<Copy> = copies.into_values().collect();
        (!copies.is_empty()).then(|| code_copies::file(&copies))
    }
}

fn mappings(guest: &Capture) -> Result<Vec<Mapping>, Error> {
    let mapped: Vec<&Record> = guest.records.iter().filter(|record| record.kind == kind::MMAP2).collect();
    let name = |record: &Record| {
        let name = guest.bytes[record.place.clone()].get(NAME..).unwrap_or_default();
        String::from_utf8_lossy(name.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
    };
    let mut dumped = BTreeSet::new();
    for record in &mapped {
        let name = name(record);
        if name.contains("/jit-") && name.strip_suffix(".dump").is_some() {
            dumped.insert(guest.u32(record.place.start + PROCESS)?);
        }
    }
    let mut mappings = Vec::new();
    for record in mapped.into_iter().filter(|record| name(record).starts_with("//anon")) {
        let start = record.place.start;
        let pid = guest.u32(start + PROCESS)?;
        let (first, size) = (guest.u64(start + ADDRESS)?, guest.u64(start + SIZE)?);
        let range = first..first.saturating_add(size);
        mappings.push(Mapping { pid, range, is_dumped: dumped.contains(&pid) });
    }
    Ok(mappings)
}

/// Bytes that lie beside each other, cut at each multiple of `border`.
fn stretches<'a>(bytes: impl Iterator<Item = (&'a u64, &'a u8)>, border: u64) -> Vec<(u64, Vec<u8>)> {
    let mut stretches: Vec<(u64, Vec<u8>)> = Vec::new();
    for (&address, &byte) in bytes {
        match stretches.last_mut() {
            Some((start, code)) if *start + code.len() as u64 == address && address % border != 0 => {
                code.push(byte);
            }
            _ => stretches.push((address, vec![byte])),
        }
    }
    stretches
}
