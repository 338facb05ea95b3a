//! Binary marks: what `tailtrace.h` writes after its first line, in records of 24 bytes whose last byte says their kind.
//!
//! `docs/interval-file.md`, "Binary marks", is the contract. A record that cannot be used becomes a diagnostic with its
//! byte in the file, and the rest goes on: a record of the thread is repeated at least every 256 marks. Marks
//! are missing at such a place, so that each thread has a [`Loss`] there.

use std::collections::HashMap;
use std::fmt::Write;
use std::io::{self, BufRead};
use std::sync::Arc;

use model::{Counter, PhaseKind, Severity, ThreadId, Tsc};

use super::draft::Draft;
use super::marks::{MarkLine, keep_mark};
use crate::clock::{Clock, ClockPair};
use crate::findings::Origin;
use crate::losses::Reason;
use crate::pairing::{Loss, MarkKind};

/// Bytes of a record of the binary form (`docs/interval-file.md`, "Binary marks").
pub const MARK_BYTES: usize = 24;
/// The longest string, in bytes.
const LONGEST_TEXT: u64 = 200;
/// Bytes of a string in one record.
const TEXT_BYTES: usize = 23;
/// The most strings that are remembered.
const MOST_TEXTS: usize = 1 << 20;
/// The key of marks without one.
const NO_KEY: u64 = u64::MAX;
/// The last of three words without the kind; what it holds where it begins with a byte of its own.
const PAYLOAD: u64 = u64::MAX >> 8;
const SHORT_PAYLOAD: u64 = u64::MAX >> 16;

/// The last byte of a record.
mod kind {
    pub(super) const BEGIN: u8 = 1;
    pub(super) const END: u8 = 2;
    pub(super) const STAGE: u8 = 3;
    pub(super) const COUNTER: u8 = 4;
    pub(super) const PUBLISH: u8 = 5;
    pub(super) const NAME: u8 = 6;
    pub(super) const LOST: u8 = 7;
    pub(super) const THREAD: u8 = 8;
    pub(super) const TEXT: u8 = 9;
    pub(super) const BYTES: u8 = 10;
    pub(super) const CLOCK_PAIR: u8 = 11;
    pub(super) const TOTAL: u8 = 12;
    pub(super) const RUN: u8 = 14;
    pub(super) const READY: u8 = 15;
    pub(super) const AWAIT: u8 = 16;
}

/// One record.
#[derive(Clone, Copy)]
struct Record {
    /// Where it begins in the file.
    offset: u64,
    bytes: [u8; MARK_BYTES],
}

/// What the last thread record said, and how far that thread's marks are.
#[derive(Clone, Copy)]
struct Current {
    thread: ThreadId,
    seen: Seen,
}

/// What was read of a thread before.
#[derive(Clone, Copy)]
struct Seen {
    /// The time of its last mark; `None` before the first.
    last: Option<Tsc>,
    /// How many damaged places there were then.
    damages: u64,
}

/// What a record of another kind would leave unfinished.
enum Unfinished {
    /// A stage or a counter without its name.
    Mark(Record),
    /// A string without all of its bytes.
    Text { offset: u64, address: u64, length: usize, bytes: Vec<u8> },
}

/// Reads records into a draft.
struct Records<'d> {
    draft: &'d mut Draft,
    texts: HashMap<u64, Arc<str>>,
    threads: HashMap<ThreadId, Seen>,
    current: Option<Current>,
    unfinished: Option<Unfinished>,
    damages: u64,
    key: String,
}

/// Reads what follows the first line, which ends at byte `offset`, into `draft`.
pub(super) fn read(mut reader: impl BufRead, offset: u64, draft: &mut Draft) -> io::Result<()> {
    let mut records = Records {
        draft,
        texts: HashMap::new(),
        threads: HashMap::new(),
        current: None,
        unfinished: None,
        damages: 0,
        key: String::new(),
    };
    let mut record = Record { offset, bytes: [0; MARK_BYTES] };
    loop {
        match fill(&mut reader, &mut record.bytes)? {
            MARK_BYTES => records.take(record),
            0 => break,
            part => {
                let what =
                    format!("the file ends {part} bytes after the beginning of a record: it is cut off");
                records.damaged(record.offset, &what);
                break;
            }
        }
        record.offset += MARK_BYTES as u64;
    }
    records.finish_text_or_mark();
    Ok(())
}

/// Reads as many bytes as there are, at most all that are wanted.
fn fill(reader: &mut impl BufRead, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match reader.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl Record {
    fn kind(&self) -> u8 {
        self.bytes[MARK_BYTES - 1]
    }

    /// The three words, of the last one what is not the kind.
    fn words(&self) -> (u64, u64, u64) {
        let [a, b, c] = [0, 8, 16].map(|at| {
            let mut word = [0; 8];
            word.copy_from_slice(&self.bytes[at..at + 8]);
            u64::from_le_bytes(word)
        });
        (a, b, c & PAYLOAD)
    }

    /// What the last word holds: its second byte from the top, and the rest.
    fn parted(&self) -> (u64, u64) {
        let (.., what) = self.words();
        (what >> 48, what & SHORT_PAYLOAD)
    }
}

impl Records<'_> {
    fn take(&mut self, record: Record) {
        match (record.kind(), self.unfinished.take()) {
            (kind::BYTES, Some(Unfinished::Text { offset, address, length, mut bytes })) => {
                bytes.extend_from_slice(&record.bytes[..TEXT_BYTES]);
                if bytes.len() < length {
                    self.unfinished = Some(Unfinished::Text { offset, address, length, bytes });
                } else {
                    bytes.truncate(length);
                    self.keep_text(address, &bytes);
                }
            }
            (kind::NAME, Some(Unfinished::Mark(mark))) => self.take_mark(mark, Some(record)),
            (_, unfinished) => {
                self.unfinished = unfinished;
                self.finish_text_or_mark();
                self.take_first(record);
            }
        }
    }

    /// A record that does not go on with the one before.
    fn take_first(&mut self, record: Record) {
        let (first, second, last) = record.words();
        match record.kind() {
            kind::BEGIN | kind::END | kind::PUBLISH | kind::RUN | kind::READY | kind::AWAIT => {
                self.take_mark(record, None);
            }
            kind::STAGE | kind::COUNTER => self.unfinished = Some(Unfinished::Mark(record)),
            kind::LOST => self.take_loss(record),
            kind::THREAD => self.take_thread(record, first),
            kind::TEXT if second == 0 => self.keep_text(first, &[]),
            kind::TEXT if second <= LONGEST_TEXT => {
                let length = usize::try_from(second).unwrap_or_default();
                let (offset, bytes) = (record.offset, Vec::with_capacity(length + TEXT_BYTES));
                self.unfinished = Some(Unfinished::Text { offset, address: first, length, bytes });
            }
            kind::TEXT => {
                self.damaged(record.offset, &format!("a string of {second} bytes: 200 are the most"));
            }
            kind::CLOCK_PAIR => self.take_pair(record),
            kind::TOTAL => self.draft.losses.total(last, first, second == 1),
            kind::NAME => self.damaged(record.offset, "a name without its marker"),
            kind::BYTES => self.damaged(record.offset, "a part of a string without its beginning"),
            other => {
                self.damaged(record.offset, &format!("a record of kind {other}, which there is none of"));
            }
        }
    }

    /// Something is not what was written: marks of any thread may be missing here.
    fn damaged(&mut self, offset: u64, what: &str) {
        self.draft.findings.add(Severity::Error, "damaged records", Origin::Byte(offset), || {
            format!("{what}: it is left out")
        });
        self.leave_thread();
        self.damages += 1;
        self.draft.losses.damaged();
    }

    fn finish_text_or_mark(&mut self) {
        match self.unfinished.take() {
            None => {}
            Some(Unfinished::Mark(record)) => {
                self.damaged(record.offset, "a stage or counter without its name");
            }
            Some(Unfinished::Text { offset, length, bytes, .. }) => {
                let what = format!("a string of {length} bytes, of which {} follow", bytes.len());
                self.damaged(offset, &what);
            }
        }
    }

    fn leave_thread(&mut self) {
        if let Some(current) = self.current.take() {
            self.threads.insert(current.thread, current.seen);
        }
    }

    fn take_thread(&mut self, record: Record, both: u64) {
        let number = |number: u64| i32::try_from(number).ok();
        let (Some(pid), Some(tid)) = (number(both & u64::from(u32::MAX)), number(both >> 32)) else {
            return self.damaged(record.offset, "pid and tid are not both thread numbers");
        };
        let thread = ThreadId::new(pid, tid);
        if self.current.is_some_and(|current| current.thread == thread) {
            return;
        }
        self.leave_thread();
        let seen = self.threads.get(&thread).copied();
        let seen = seen.unwrap_or(Seen { last: None, damages: self.damages });
        self.current = Some(Current { thread, seen });
    }

    fn keep_text(&mut self, address: u64, bytes: &[u8]) {
        // Cut at 200 bytes it may end within a character.
        let whole = match std::str::from_utf8(bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => bytes.len(),
        };
        if self.texts.len() < MOST_TEXTS || self.texts.contains_key(&address) {
            self.texts.insert(address, String::from_utf8_lossy(&bytes[..whole]).into());
        }
    }

    fn take_mark(&mut self, record: Record, name: Option<Record>) {
        let (at, key, address) = record.words();
        let Some(current) = &mut self.current else {
            return self.refuse(record, "markers of unknown threads", "a damaged record hides its thread");
        };
        let thread = current.thread;
        let from = current.seen.last.unwrap_or(Tsc(at));
        if current.seen.damages != self.damages {
            self.draft.lost_between(Loss { thread: Some(thread), first: from, last: Tsc(at).max(from) });
        }
        current.seen = Seen { last: Some(from.max(Tsc(at))), damages: self.damages };
        let (value, _, name_address) = name.map_or((0, 0, 0), |name| name.words());
        let text = |address| self.texts.get(&address).map(Arc::clone);
        let (Some(label), name) = (text(address), name.map(|_| text(name_address))) else {
            return self.refuse(record, "markers with unknown labels", "no record says what its label is");
        };
        let mut counters = Vec::new();
        let kind = match (record.kind(), name) {
            (kind::BEGIN, _) => MarkKind::Begin,
            (kind::END, _) => MarkKind::End,
            (kind::STAGE, Some(Some(name))) => MarkKind::Stage(name),
            (kind::COUNTER, Some(Some(name))) => {
                counters.push(Counter { name: name.to_string(), value: value.cast_signed().into() });
                MarkKind::Counter
            }
            (kind::PUBLISH, _) => MarkKind::Publish,
            (kind::RUN, _) => MarkKind::Phase(PhaseKind::Run),
            (kind::READY, _) => MarkKind::Phase(PhaseKind::Ready),
            (kind::AWAIT, _) => MarkKind::Phase(PhaseKind::Await),
            _ => {
                return self.refuse(record, "markers with unknown labels", "no record says what its name is");
            }
        };
        self.key.clear();
        if key != NO_KEY {
            // Writing to memory does not fail.
            let _ = write!(self.key, "{key}");
        }
        let mark = MarkLine {
            kind,
            label: &label,
            key: &self.key,
            at: Some(Tsc(at)),
            thread: Some(thread),
            id: None,
            counters,
        };
        self.draft.losses.kept();
        if let Err((kind, what)) = keep_mark(mark, self.draft, Origin::Byte(record.offset)) {
            self.draft.findings.add(Severity::Error, kind, Origin::Byte(record.offset), || what);
        }
    }

    /// A mark that is there and cannot be used.
    fn refuse(&mut self, record: Record, kind: &'static str, why: &str) {
        self.draft.findings.add(Severity::Error, kind, Origin::Byte(record.offset), || {
            format!("{why}: the marker is left out")
        });
        self.draft.losses.damaged();
        match self.current {
            // Its thread is known, and it alone has lost a mark.
            Some(Current { thread, seen: Seen { last: Some(at), .. } }) => {
                self.draft.lost_between(Loss { thread: Some(thread), first: at, last: at });
            }
            _ => self.damages += 1,
        }
    }

    fn take_loss(&mut self, record: Record) {
        let (first, count, _) = record.words();
        let (reason, ticks) = record.parted();
        // What could not be written was of all threads.
        let own = self.current.filter(|_| reason != Reason::Unwritten as u64);
        let last = Tsc(first.saturating_add(ticks));
        self.draft.losses.noted(count);
        self.draft.lost_between(Loss { thread: own.map(|current| current.thread), first: Tsc(first), last });
    }

    fn take_pair(&mut self, record: Record) {
        let (tsc, ns, _) = record.words();
        let (number, error_ns) = record.parted();
        // Linux's numbers of the clocks.
        let clock = match number {
            0 => Clock::Realtime,
            1 => Clock::Monotonic,
            4 => Clock::MonotonicRaw,
            7 => Clock::Boottime,
            other => return self.damaged(record.offset, &format!("a clock pair of clock {other}")),
        };
        self.draft.keep_pair(ClockPair { clock, tsc: Tsc(tsc), ns, error_ns }, Origin::Byte(record.offset));
    }
}

#[cfg(test)]
mod tests;
