//! Code that ran in memory without a file: what a runtime made of its program.
//!
//! Input: the guest's records of such mappings, and the executed blocks. Output: a file with the bytes of that code, for decoders that know
//! no jitdump: for each stretch u64 address, u64 size (little endian), the bytes.
//! Invariant: the file holds, at each executed address, the bytes that were executed; where code changed during the log no file can, and
//! that is an error.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::block::{Block, Blocks};
use crate::capture::{Capture, kind};
use crate::error::Error;

/// Where address, size and name stand in an `MMAP2` record (`linux/perf_event.h`).
const ADDRESS: usize = 16;
const SIZE: usize = 24;
const NAME: usize = 72;

/// Writes the file `to`; none where no such code ran.
///
/// # Errors
/// [`Error::Capture`] where code changed during the log; [`Error::File`].
pub(super) fn write(guest: &Capture, blocks: &Blocks, to: &Path) -> Result<(), Error> {
    let mappings = mappings(guest)?;
    let lies_in_one = |block: &&Block| mappings.iter().any(|mapping| mapping.contains(&block.address()));
    let mut bytes = BTreeMap::new();
    for block in blocks.executed().filter(lies_in_one) {
        for (address, &byte) in (block.address()..).zip(&block.code) {
            if *bytes.entry(address).or_insert(byte) != byte {
                let what =
                    "code in memory without a file changed during the log: warm the program up for longer";
                return Err(guest.wrong(0, what));
            }
        }
    }
    if bytes.is_empty() {
        return Ok(());
    }
    std::fs::write(to, stretches(&bytes)).map_err(Error::file(to))
}

fn mappings(guest: &Capture) -> Result<Vec<Range<u64>>, Error> {
    let mut mappings = Vec::new();
    for record in guest.records.iter().filter(|record| record.kind == kind::MMAP2) {
        let place = record.place.clone();
        if guest.bytes[place.clone()].get(NAME..).is_some_and(|name| name.starts_with(b"//anon")) {
            let (start, size) = (guest.u64(place.start + ADDRESS)?, guest.u64(place.start + SIZE)?);
            mappings.push(start..start.saturating_add(size));
        }
    }
    Ok(mappings)
}

fn stretches(bytes: &BTreeMap<u64, u8>) -> Vec<u8> {
    let mut stretches: Vec<(u64, Vec<u8>)> = Vec::new();
    for (&address, &byte) in bytes {
        match stretches.last_mut() {
            Some((start, code)) if *start + code.len() as u64 == address => code.push(byte),
            _ => stretches.push((address, vec![byte])),
        }
    }
    let stretch = |(address, code): &(u64, Vec<u8>)| {
        [&address.to_le_bytes()[..], &(code.len() as u64).to_le_bytes(), code].concat()
    };
    stretches.iter().flat_map(stretch).collect()
}
