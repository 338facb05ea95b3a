//! The executable memory without a file of one process, page by page.
//!
//! Input: `/proc/PID/maps`, `mem`, and `pagemap`, by which pages that are not there stay so: reading them would make them, and wait for the disk
//! where they are swapped out. Output: address and bytes of each page that is there and is not all zero. What went away since is left out.
//! Source: proc(5); pagemap.rst of the kernel.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Instant;

/// x86-64 has no other.
pub(super) const PAGE: usize = 4096;
/// So many pages are read at once.
const AT_ONCE: usize = 64;
/// Of so many pages at most it is read at once whether they are there: 2,048 reads for a TiB of which nothing is.
const MOST_AT_ONCE: usize = 1 << 17;
/// Bytes of an entry of `pagemap`, and its bit for a page in memory.
const ENTRY: usize = 8;
const THERE: u64 = 1 << 63;

/// Where the next page is: those of deleted files come last.
pub(super) type Place = (bool, u64);

/// Why a process's memory is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// The operating system refuses it.
    Refused,
    /// Which pages are there is not known.
    NoPagemap,
}

/// A process's memory, of which the pages come in order of address, those of deleted files last.
pub(super) struct Memory {
    mem: File,
    pagemap: File,
    left: std::vec::IntoIter<(bool, Range<u64>)>,
    /// Whether the pages that come are of a deleted file.
    is_deleted: bool,
    /// What is read of the range that has begun.
    range: Range<u64>,
    /// Pages from [`Self::begin`] on, and which of them are there.
    buffer: Vec<u8>,
    begin: u64,
    at: usize,
    /// Of so many pages it is read next whether they are there.
    pages_at_once: usize,
    has_ended: bool,
}

impl Memory {
    /// That of `pid` from a place on, with deleted files where that is wanted; `None` where it has no such memory, or it may not be read.
    pub(super) fn of(proc: &Path, pid: i32, with_deleted: bool, from: Place) -> Option<Memory> {
        let folder = proc.join(pid.to_string());
        // Paths of files are any bytes.
        let mut ranges = ranges(&String::from_utf8_lossy(&fs::read(folder.join("maps")).ok()?));
        ranges.retain(|(is_deleted, _)| with_deleted || !is_deleted);
        if ranges.is_empty() {
            return None;
        }
        ranges.retain(|(is_deleted, range)| (*is_deleted, range.end) > from);
        if let Some((is_deleted, range)) = ranges.first_mut()
            && *is_deleted == from.0
        {
            range.start = range.start.max(from.1);
        }
        let [mem, pagemap] = ["mem", "pagemap"].map(|name| File::open(folder.join(name)));
        let (mem, pagemap, left) = (mem.ok()?, pagemap.ok()?, ranges.into_iter());
        let (is_deleted, range, buffer) = (from.0, from.1..from.1, Vec::new());
        let (begin, at, pages_at_once, has_ended) = (0, 0, AT_ONCE, false);
        Some(Memory { mem, pagemap, left, is_deleted, range, buffer, begin, at, pages_at_once, has_ended })
    }

    /// Why it is not read, where that has a reason and it is there.
    pub(super) fn gap(proc: &Path, pid: i32) -> Option<Gap> {
        let folder = proc.join(pid.to_string());
        let error = |name: &str| File::open(folder.join(name)).err().map(|error| error.kind());
        if ["maps", "mem"].iter().any(|name| error(name) == Some(ErrorKind::PermissionDenied)) {
            return Some(Gap::Refused);
        }
        let pagemap = File::open(folder.join("pagemap")).and_then(|file| file.read_at(&mut [0; ENTRY], 0));
        match pagemap.err()?.kind() {
            ErrorKind::PermissionDenied => Some(Gap::NoPagemap),
            // It may have ended by now.
            ErrorKind::NotFound if folder.join("maps").exists() => Some(Gap::NoPagemap),
            _ => None,
        }
    }

    /// Where it goes on; `None` where it came to its end.
    pub(super) fn rest(&self) -> Option<Place> {
        (!self.has_ended).then_some((self.is_deleted, self.range.start))
    }

    /// The next page, and whether it is a deleted file's; `None` at the end, or where it is later than `end`.
    pub(super) fn next_page(&mut self, end: Instant) -> Option<(u64, bool, &[u8])> {
        loop {
            while self.at + PAGE <= self.buffer.len() {
                let at = self.at;
                self.at += PAGE;
                if self.buffer[at..at + PAGE].iter().any(|&byte| byte != 0) {
                    return Some((self.begin + at as u64, self.is_deleted, &self.buffer[at..at + PAGE]));
                }
            }
            if Instant::now() >= end || !self.read_on() {
                return None;
            }
        }
    }

    /// Reads some pages more; false where there are none.
    fn read_on(&mut self) -> bool {
        while self.range.is_empty() {
            let Some(next) = self.left.next() else {
                self.has_ended = true;
                return false;
            };
            (self.is_deleted, self.range) = next;
        }
        let bytes = (self.range.end - self.range.start).min((self.pages_at_once * PAGE) as u64);
        let pages = self.range.start..self.range.start + bytes;
        let run = self.next_run(&pages);
        let is_any = !run.is_empty();
        self.pages_at_once = if is_any { AT_ONCE } else { (self.pages_at_once * 4).min(MOST_AT_ONCE) };
        (self.begin, self.at) = (run.start, 0);
        self.buffer.resize(usize::try_from(run.end - run.start).unwrap_or(0), 0);
        // Some may be gone by now: what comes after the first of these is read next.
        let read = self.mem.read_at(&mut self.buffer, run.start).unwrap_or(0) / PAGE * PAGE;
        let is_whole = read == self.buffer.len();
        self.buffer.truncate(read);
        self.range.start = if is_whole { run.end } else { run.start + (read + PAGE) as u64 };
        true
    }

    /// The first of `pages` that are there, as many as are read at once; where none is, their end.
    fn next_run(&self, pages: &Range<u64>) -> Range<u64> {
        let page = PAGE as u64;
        let count = usize::try_from((pages.end - pages.start) / page).unwrap_or(0);
        let mut entries = vec![0; count * ENTRY];
        if self.pagemap.read_exact_at(&mut entries, pages.start / page * ENTRY as u64).is_err() {
            return pages.end..pages.end;
        }
        let is_there =
            |entry: &[u8]| entry.first_chunk().is_some_and(|entry| u64::from_le_bytes(*entry) & THERE != 0);
        let mut entries = entries.chunks_exact(ENTRY).map(is_there);
        let absent = entries.by_ref().take_while(|there| !there).count() as u64;
        let start = (pages.start + absent * page).min(pages.end);
        let more = entries.take(AT_ONCE - 1).take_while(|there| *there).count() as u64;
        let there = if start < pages.end { 1 + more } else { 0 };
        start..start + there * page
    }
}

/// The executable memory without a file on a disk, in the lines of `maps`; each with whether it was a file's that is deleted.
fn ranges(maps: &str) -> Vec<(bool, Range<u64>)> {
    let mut found: Vec<(bool, Range<u64>)> = maps.lines().filter_map(of_line).collect();
    found.sort_by_key(|(is_deleted, range)| (*is_deleted, range.start));
    found
}

/// Whether it was a file's that is deleted, and its range; `None` of other memory.
fn of_line(line: &str) -> Option<(bool, Range<u64>)> {
    /// What the kernel itself has there: perf copies the vDSO.
    const OF_KERNEL: [&str; 4] = ["[vdso]", "[vsyscall]", "[vvar", "[uprobes]"];
    let mut fields = line.splitn(6, ' ');
    let (addresses, access) = (fields.next()?, fields.next()?);
    let path = fields.nth(3).unwrap_or_default().trim();
    let (start, end) = addresses.split_once('-')?;
    let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).ok());
    let range = start?..end?;
    // The kernel says of memory with a name that its file is deleted, too.
    let is_memory = !path.starts_with('/') || path.starts_with("/memfd:") || perfdata::is_memory(path);
    let is_deleted = !is_memory && path.ends_with(" (deleted)");
    let is_kernels = OF_KERNEL.iter().any(|name| path.starts_with(name));
    let is_whole = range.start < range.end && range.start % PAGE as u64 == 0 && range.end % PAGE as u64 == 0;
    let is_wanted =
        access.as_bytes().get(2) == Some(&b'x') && (is_memory || is_deleted) && !is_kernels && is_whole;
    is_wanted.then_some((is_deleted, range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_memory_without_a_file_is_wanted() {
        let maps = "\
            00400000-00401000 r-xp 00000000 08:01 131 /usr/bin/app\n\
            00600000-00700000 r-xp 00000000 08:01 132 /usr/lib/old library.so (deleted)\n\
            7f0000000000-7f0000010000 rwxp 00000000 00:00 0 \n\
            7f0000010000-7f0000020000 rw-p 00000000 00:00 0 \n\
            7f0000020000-7f0000030000 r-xp 00000000 00:00 0                          [anon:v8]\n\
            7f0000030000-7f0000040000 r-xs 00000000 00:01 9                          /memfd:doublemapper (deleted)\n\
            7f0000040000-7f0000041000 r-xs 00000000 00:01 10                         /dev/zero (deleted)\n\
            7ffff0000000-7ffff0021000 rwxp 00000000 00:00 0                          [stack]\n\
            7ffff0030000-7ffff0032000 r-xp 00000000 00:00 0                          [vdso]\n\
            ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n\
            nonsense\n";
        let starts: Vec<u64> = ranges(maps).iter().map(|(_, range)| range.start).collect();
        let anonymous =
            [0x7f00_0000_0000, 0x7f00_0002_0000, 0x7f00_0003_0000, 0x7f00_0004_0000, 0x7fff_f000_0000];
        assert_eq!(starts, [&anonymous[..], &[0x60_0000]].concat());
    }
}
