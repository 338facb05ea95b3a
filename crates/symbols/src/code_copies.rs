//! Copies of code that lies in no file: what `tailtrace record` read out of the memory of the processes that it recorded.
//!
//! Input: the bytes of such a file, nothing of them trusted. Output: which bytes stood where, and when they were seen there. All numbers are
//! little-endian: [`MAGIC`], u64 count, then for each copy i32 process, u32 bytes, u64 address, u64 first and u64 last TSC at which it was seen,
//! u64 offset of its bytes in the file. Copies with equal bytes may share them. `docs/recording.md`, "Code in no file", is the contract.

pub(crate) mod placed;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use model::{Pid, Tsc};
use thiserror::Error;

use crate::timeline::KERNEL_HALF;

/// The name of the file, as what lies beside a capture has it.
pub const NAME: &str = "code";
/// How the file begins: the format and its version.
pub const MAGIC: [u8; 16] = *b"tailtrace-code/1";
/// Copies beyond so many are left out.
pub const MOST_COPIES: usize = 1 << 18;
/// Bytes of a copy: a page, and the largest that Linux has is no larger.
pub const LONGEST: usize = 1 << 16;

/// Bytes of all copies together, those that share theirs counted each: what is compared with what stood there before.
const MOST_BYTES: usize = MOST_COPIES << 12;

/// Where the list begins, and the size of an entry.
const LIST: usize = 24;
const ENTRY: usize = 40;

/// Bytes that stood in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeCopy {
    /// Whose.
    pub pid: Pid,
    /// The address (AVMA) of the first.
    pub address: u64,
    /// When they were seen there first.
    pub from: Tsc,
    /// When they were seen there last; not before `from`.
    pub to: Tsc,
    /// Where they stand in the file: at least one, at most [`LONGEST`].
    pub bytes: Range<usize>,
}

impl CodeCopy {
    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.bytes.len() as u64)
    }
}

/// What a file of copies holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeCopies {
    /// The copies, by process, address and time.
    pub copies: Vec<CodeCopy>,
    /// Entries that are not possible, or for which there is no room.
    pub left_out: u64,
}

/// The file holds no copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it does not begin like a file of code copies of this version")]
pub struct NoCopies;

impl CodeCopies {
    /// Reads a file. An entry that is not possible is left out; the others count.
    ///
    /// # Errors
    /// [`NoCopies`] where it is none.
    pub fn parse(bytes: &[u8]) -> Result<CodeCopies, NoCopies> {
        if !bytes.starts_with(&MAGIC) {
            return Err(NoCopies);
        }
        let said = u64_at(bytes, MAGIC.len()).ok_or(NoCopies)?;
        let entries = bytes.get(LIST..).unwrap_or_default().chunks_exact(ENTRY);
        let most = usize::try_from(said).unwrap_or(usize::MAX).min(MOST_COPIES);
        let mut room = Room { of_all: MOST_BYTES, of_file: bytes.len(), known: HashSet::new() };
        let possible = entries.take(most).filter_map(|entry| copy(entry, bytes.len()));
        let mut copies: Vec<CodeCopy> = possible.filter(|copy| room.has(&copy.bytes)).collect();
        copies.sort_by_key(|copy| (copy.pid, copy.address, copy.from, copy.to));
        let left_out = said.saturating_sub(copies.len() as u64);
        Ok(CodeCopies { copies, left_out })
    }
}

/// What may still be taken: copies whose bytes overlap without being the same would be more than the file has when they are written again.
struct Room {
    of_all: usize,
    of_file: usize,
    known: HashSet<Range<usize>>,
}

impl Room {
    fn has(&mut self, bytes: &Range<usize>) -> bool {
        let Some(of_all) = self.of_all.checked_sub(bytes.len()) else { return false };
        if !self.known.contains(bytes) {
            let Some(of_file) = self.of_file.checked_sub(bytes.len()) else { return false };
            self.known.insert(bytes.clone());
            self.of_file = of_file;
        }
        self.of_all = of_all;
        true
    }
}

fn copy(entry: &[u8], file: usize) -> Option<CodeCopy> {
    let [address, from, to, offset] = [8, 16, 24, 32].map(|at| u64_at(entry, at));
    let (address, from, to) = (address?, Tsc(from?), Tsc(to?));
    let pid = i32::from_le_bytes(*entry.first_chunk()?);
    let length = u32::from_le_bytes(*entry.get(4..)?.first_chunk()?) as usize;
    let start = usize::try_from(offset?).ok()?;
    let end = start.checked_add(length).filter(|&end| end <= file)?;
    let is_possible = pid > 0
        && (1..=LONGEST).contains(&length)
        && from <= to
        && address.checked_add(length as u64).is_some_and(|end| end <= KERNEL_HALF);
    is_possible.then_some(CodeCopy { pid: Pid(pid), address, from, to, bytes: start..end })
}

/// The file with these copies, each with its bytes; what `CodeCopy::bytes` says is not looked at. Equal bytes are written once.
pub fn to_bytes<'a>(copies: impl IntoIterator<Item = (&'a CodeCopy, &'a [u8])>) -> Vec<u8> {
    let copies: Vec<(&CodeCopy, &[u8])> = copies.into_iter().collect();
    let mut offsets: HashMap<&[u8], usize> = HashMap::new();
    let mut next = LIST + copies.len() * ENTRY;
    let mut file = [&MAGIC[..], &(copies.len() as u64).to_le_bytes()].concat();
    let mut contents: Vec<&[u8]> = Vec::new();
    for &(CodeCopy { pid, address, from, to, .. }, bytes) in &copies {
        let offset = *offsets.entry(bytes).or_insert_with(|| {
            contents.push(bytes);
            next += bytes.len();
            next - bytes.len()
        });
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        file.extend(pid.0.to_le_bytes());
        file.extend(length.to_le_bytes());
        file.extend([*address, from.0, to.0, offset as u64].map(u64::to_le_bytes).as_flattened());
    }
    file.extend(contents.concat());
    file
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests;
