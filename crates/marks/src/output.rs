//! The file: records on their way there, strings that it has, and how many marks it has and has not.
//!
//! Whole records alone are in it. What cannot be written is counted, and the file says of which time it was.

use std::boxed::Box;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::vec::Vec;

use crate::clock::{Clock, Pair};
use crate::counts::Counts;
use crate::late::LateBell;
use crate::record::{COUNTS, Count, Kind, Record};
use crate::ring::Ring;
use crate::system;

/// The first line: 64 bytes, so that the records after it lie aligned.
const LINE: &[u8; 64] = b"# tailtrace-intervals 1 clock=tsc form=binary                  \n";
const TOTALS_AT: u64 = LINE.len() as u64;
const RECORDS_AT: u64 = TOTALS_AT + 24 * COUNTS as u64;
/// Records that are written at a time.
const RECORDS: usize = 2730;
/// A mark with all that belongs to it: its thread, two strings of 1 + 9 records each, and its name.
const OF_A_MARK: usize = 32;
/// The longest string.
const TEXT: usize = 200;
/// The bytes of a string in a record.
const BYTES: usize = 23;
/// Strings whose place in the file is remembered.
const TEXTS: usize = 256;
/// A thread is named again after so many marks, for the reader of a damaged file.
const THREAD_AGAIN: u32 = 256;
/// The kernel's EBUSY.
const EBUSY: i32 = 16;

/// A file in writing.
pub(crate) struct Output {
    file: File,
    process: u32,
    counts: Counts,
    /// The file's end.
    offset: u64,
    records: Vec<Record>,
    /// How many marks are among them, and the times of these and of losses.
    marks: u64,
    times: Option<(u64, u64)>,
    /// Addresses of strings that the file has, by their hash.
    texts: Box<[u64; TEXTS]>,
    /// Whose marks the last thread record announces.
    thread: Option<u64>,
    since_thread: u32,
    first_pair: Option<Pair>,
    /// Nanoseconds and the ticks that they are, as soon as it is known.
    tick: Option<(u64, u64)>,
    /// Rings for ends that no thread has compared.
    bell: Option<Box<LateBell>>,
    /// The first failure.
    error: Option<io::Error>,
}

impl Output {
    /// Begins the file at `path`, over what is there.
    ///
    /// # Errors
    /// EBUSY where another process writes it; what the operating system says, ESPIPE of what is no file on a disk.
    pub(crate) fn create(path: &Path, counts: Counts) -> io::Result<Output> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        // One program writes one file; a second one must not cut it off. Devices, which have no size, are for all.
        if !system::lock(file.as_raw_fd()) && file.metadata()?.len() > 0 {
            return Err(io::Error::from_raw_os_error(EBUSY));
        }
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        file.write_all_at(LINE, 0)?;
        let output = Output {
            file,
            process: std::process::id(),
            counts,
            offset: RECORDS_AT,
            records: Vec::with_capacity(RECORDS),
            marks: 0,
            times: None,
            texts: Box::new([0; TEXTS]),
            thread: None,
            since_thread: 0,
            first_pair: None,
            tick: None,
            bell: None,
            error: None,
        };
        output.put_totals(false)?;
        Ok(output)
    }

    /// Writes what a ring holds; `is_last`: and the losses that no later mark will note.
    pub(crate) fn drain(&mut self, ring: Ring, is_last: bool) {
        let is_retired = ring.is_retired();
        ring.drain(|record, name| self.put_mark(ring, record, name));
        let dropped = ring.dropped();
        self.counts.add(Count::Full, dropped.full);
        self.counts.add(Count::Within, dropped.within);
        if is_retired || is_last {
            ring.note_last_loss().into_iter().for_each(|lost| self.put_lost(ring, lost));
        }
        if is_retired {
            // Its next thread has another name.
            self.thread = None;
            ring.free();
        }
    }

    fn put_mark(&mut self, ring: Ring, record: Record, name: Option<Record>) {
        if record.kind() == Kind::Lost as u64 {
            return self.put_lost(ring, record);
        }
        self.reserve();
        let has_texts = self.put_text(record.low()) && name.is_none_or(|name| self.put_text(name.low()));
        if !has_texts {
            self.counts.add(Count::Unreadable, 1);
            return self.put_lost(ring, Record::lost(Count::Unreadable, 1, record.0[0], record.0[0]));
        }
        self.put_thread(ring);
        self.cover(record.0[0], record.0[0]);
        if let Some(bell) = &mut self.bell {
            bell.take(record, ring.thread());
        }
        self.records.push(record.in_file());
        self.records.extend(name);
        self.marks += 1;
        self.since_thread += 1;
    }

    fn put_lost(&mut self, ring: Ring, lost: Record) {
        self.reserve();
        self.put_thread(ring);
        self.cover(lost.0[0], lost.0[0].saturating_add(lost.low() & u64::MAX >> 16));
        self.records.push(lost);
    }

    /// Says whose marks follow.
    fn put_thread(&mut self, ring: Ring) {
        if self.thread != Some(ring.thread()) || self.since_thread >= THREAD_AGAIN {
            self.records.push(ring.thread_record(self.process));
            self.thread = Some(ring.thread());
            self.since_thread = 0;
        }
    }

    /// Makes sure that the file has the string at `address`; false where it cannot be read.
    fn put_text(&mut self, address: u64) -> bool {
        let known = usize::try_from(address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).unwrap_or_default();
        if self.texts[known] == address && address != 0 {
            return true;
        }
        let mut bytes = [0; TEXT];
        let Some(text) = system::text(self.process, address, &mut bytes) else { return false };
        self.records.push(Record::new(Kind::Text, address, text.len() as u64, 0));
        for part in text.chunks(BYTES) {
            let mut record = [0; 24];
            record[..part.len()].copy_from_slice(part);
            let word = |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| record[at + byte]));
            self.records.push(Record::new(Kind::Bytes, word(0), word(8), word(16)));
        }
        self.texts[known] = address;
        true
    }

    /// The strings go to the file once more, for the reader of a damaged one.
    pub(crate) fn repeat_texts(&mut self) {
        self.texts.fill(0);
        if let Some(bell) = &mut self.bell {
            bell.forget_labels();
        }
    }

    /// From now on it rings, if there is a doorbell.
    pub(crate) fn open_bell(&mut self) {
        self.bell = LateBell::new(self.process).map(Box::new);
    }

    /// Rings for what was slow among the marks up to `until`.
    pub(crate) fn ring_for(&mut self, until: u64) {
        if let Some(bell) = &mut self.bell {
            bell.judge(until);
        }
    }

    /// Notes that the records cover a time: of a mark, or of marks that are missing.
    fn cover(&mut self, from: u64, to: u64) {
        let (first, last) = self.times.unwrap_or((from, to));
        self.times = Some((first.min(from), last.max(to)));
    }

    fn reserve(&mut self) {
        if self.records.len() + OF_A_MARK > RECORDS {
            self.flush();
        }
    }

    /// Writes the records.
    pub(crate) fn flush(&mut self) {
        let bytes: Vec<u8> = self.records.iter().flat_map(|record| record.to_bytes()).collect();
        self.records.clear();
        let marks = std::mem::take(&mut self.marks);
        let times = self.times.take();
        if let Err(error) = self.file.write_all_at(&bytes, self.offset) {
            // What is written in part would be counted twice.
            let _ = self.file.set_len(self.offset);
            self.counts.add(Count::Unwritten, marks);
            self.error.get_or_insert(error);
            // Strings and thread of these records are not in the file.
            self.repeat_texts();
            self.thread = None;
            if let Some((first, last)) = times {
                // The total says how many.
                self.records.push(Record::lost(Count::Unwritten, 0, first, last));
                self.times = times;
            }
            return;
        }
        self.offset += bytes.len() as u64;
        self.counts.add(Count::Written, marks);
    }

    /// Writes a pair of each clock.
    pub(crate) fn put_pairs(&mut self) {
        // First the one that runs like the TSC: it says what a tick is.
        for clock in [Clock::MonotonicRaw, Clock::Monotonic, Clock::Realtime] {
            let Some(pair) = clock.pair() else { continue };
            if clock == Clock::MonotonicRaw {
                let first = *self.first_pair.get_or_insert(pair);
                let passed = (pair.ns.saturating_sub(first.ns), pair.tsc.saturating_sub(first.tsc));
                self.tick = Some(passed).filter(|passed| passed.1 > 0);
            }
            let error = self.tick.map_or(0, |(ns, ticks)| {
                let error = u128::from(pair.apart) * u128::from(ns) / u128::from(ticks);
                u64::try_from(error).unwrap_or(u64::MAX - 1) + 1
            });
            self.reserve();
            self.records.push(Record::clock_pair(clock as u64, pair.tsc, pair.ns, error));
        }
        self.flush();
    }

    /// Counts what a ring holds and dropped as marks that came too late.
    /// They are no loss of the next file.
    pub(crate) fn count_late(&self, ring: Ring) {
        let mut marks = 0;
        ring.drain(|record, _| marks += u64::from(record.kind() != Kind::Lost as u64));
        let dropped = ring.dropped();
        self.counts.add(Count::Late, marks + dropped.full + dropped.within);
        ring.note_last_loss();
    }

    /// Whether this process began it, and not one whose child it is.
    pub(crate) fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    /// Writes the counts in their place, which a full disk does not prevent; `is_closed`: they will not change.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn put_totals(&self, is_closed: bool) -> io::Result<()> {
        let totals = self.counts.all().into_iter().zip(0..);
        let records = totals.map(|(count, what)| Record::new(Kind::Total, count, u64::from(is_closed), what));
        let bytes: Vec<u8> = records.flat_map(Record::to_bytes).collect();
        self.file.write_all_at(&bytes, TOTALS_AT)
    }

    /// The first failure, which was not reported yet.
    pub(crate) fn take_error(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }
}
