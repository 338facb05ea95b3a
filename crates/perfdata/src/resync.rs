//! Where a walk can go on after a record that lies about its length: where records follow one another again.
//!
//! The true next record begins at most 64 KiB after the damaged one, at any byte (perf's own records and COMPRESSED
//! ones are not always whole eight bytes long). It must begin a chain of plausible records, or one that ends exactly
//! where the records end.

use crate::bytes::u64_at;
use crate::record::{HEADER_SIZE, Header, kind_name, kinds};

/// The longest record.
const LONGEST: usize = u16::MAX as usize;
/// So many records in a row are no accident.
const CHAIN: usize = 8;
/// So many are enough where they end with the records.
const CHAIN_TO_END: usize = 3;

/// Distance from the beginning of `records`, where the damaged one lies, to the nearest chain after it.
pub(crate) fn distance(records: &[u8]) -> Option<usize> {
    let last = records.len().min(LONGEST);
    (HEADER_SIZE..last).find(|&at| is_chain(&records[at..]))
}

fn is_chain(mut rest: &[u8]) -> bool {
    for seen in 0..CHAIN {
        if rest.is_empty() {
            return seen >= CHAIN_TO_END;
        }
        let Some(next) = plausible_length(rest).and_then(|length| rest.get(length..)) else { return false };
        rest = next;
    }
    true
}

/// How many bytes the record at the beginning of `rest` takes, if it looks like one.
fn plausible_length(rest: &[u8]) -> Option<usize> {
    let header = Header::read(rest)?;
    let size = usize::from(header.size);
    if size < HEADER_SIZE || is_misaligned(header) || kind_name(header.kind).is_none() {
        return None;
    }
    if header.kind != kinds::AUXTRACE {
        return Some(size);
    }
    size.checked_add(usize::try_from(u64_at(rest, HEADER_SIZE)?).ok()?)
}

/// The kernel writes records of whole eight bytes only; perf itself does not always.
pub(crate) fn is_misaligned(header: Header) -> bool {
    header.kind < kinds::FIRST_USER_KIND && !header.size.is_multiple_of(8)
}
