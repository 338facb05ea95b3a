//! One thread's marks on their way to the file: a ring of records with one writer and one reader, and no lock.
//!
//! A mark is dropped, never waited for: where the ring is full, and where a signal handler marks while its thread is within a mark.
//! Dropped marks are counted, and the next mark for which there is room is preceded by a record of them. The same as in
//! `tailtrace.h`; here all of it is atomic words, which x86-64 reads and writes as plain ones.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use crate::record::{Count, Kind, Record};
use crate::system::{pages, thread_id, thread_name, tsc};

/// Records that a ring holds; 24 bytes each.
pub const SLOTS: u64 = RECORDS as u64;
const RECORDS: usize = 32_768;

/// Words of a ring, by their place. First the marking thread's own.
mod word {
    pub(super) const HEAD: usize = 0;
    pub(super) const TAIL_SEEN: usize = 1;
    /// The thread is within a mark.
    pub(super) const WITHIN: usize = 2;
    pub(super) const TID: usize = 3;
    /// Marks that were dropped, by reason.
    pub(super) const FULL: usize = 4;
    pub(super) const HANDLERS: usize = 5;
    /// How many of them a record mentions, and the times of the others.
    pub(super) const NOTED: usize = 6;
    pub(super) const FIRST_LOST: usize = 7;
    pub(super) const LAST_LOST: usize = 8;
    pub(super) const NAME: usize = 9;
    /// The reader's, on lines of their own.
    pub(super) const TAIL: usize = 16;
    pub(super) const FULL_COUNTED: usize = 17;
    pub(super) const HANDLERS_COUNTED: usize = 18;
    pub(super) const STATE: usize = 24;
    pub(super) const SLOTS: usize = 32;
}

const WORDS: usize = word::SLOTS + 3 * RECORDS;

/// Who has a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free = 0,
    /// A thread is about to use it.
    Taken = 1,
    Used = 2,
    /// Its thread has ended.
    Retired = 3,
}

/// A ring; a copy is the same ring.
#[derive(Clone, Copy, Debug)]
pub struct Ring(&'static [AtomicU64; WORDS]);

/// Marks that a ring dropped since it was called last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Because it was full.
    pub full: u64,
    /// Because a handler interrupted a mark.
    pub within: u64,
}

impl Ring {
    /// A new ring, which a thread takes by [`Ring::take`]; `None` where there is no memory.
    pub fn new() -> Option<Ring> {
        pages(false).map(Ring)
    }

    fn get(self, word: usize) -> u64 {
        self.0[word].load(Ordering::Relaxed)
    }

    fn set(self, word: usize, value: u64) {
        self.0[word].store(value, Ordering::Relaxed);
    }

    fn slot(index: u64) -> usize {
        // Below 32,768: no bits are lost.
        word::SLOTS + 3 * (index % SLOTS) as usize
    }

    /// Writes a record `ahead` of the head; the reader sees it after [`Ring::leave`].
    #[inline]
    fn put(self, ahead: u64, record: Record) {
        let at = Ring::slot(self.get(word::HEAD).wrapping_add(ahead));
        for (word, value) in record.0.into_iter().enumerate() {
            self.0[at + word].store(value, Ordering::Relaxed);
        }
    }

    /// Whether there is room for `slots` records, which are this thread's until [`Ring::leave`]; false where the mark is dropped.
    #[inline]
    fn enter(self, slots: u64) -> bool {
        if self.get(word::WITHIN) != 0 {
            self.drop_mark(word::HANDLERS);
            return false;
        }
        self.set(word::WITHIN, 1);
        // A handler that came before this is over: only now read the head.
        compiler_fence(Ordering::SeqCst);
        let filled = self.get(word::HEAD).wrapping_add(slots).wrapping_sub(self.get(word::TAIL_SEEN));
        if filled > SLOTS && !self.make_room(slots) {
            compiler_fence(Ordering::SeqCst);
            self.set(word::WITHIN, 0);
            return false;
        }
        true
    }

    #[inline]
    fn leave(self, slots: u64) {
        self.0[word::HEAD].store(self.get(word::HEAD).wrapping_add(slots), Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        self.set(word::WITHIN, 0);
    }

    /// Writes one record; its time is read last where `make` reads it. 0 where the mark is dropped.
    #[inline]
    pub fn mark(self, make: impl FnOnce() -> Record) -> u64 {
        if !self.enter(1) {
            return 0;
        }
        let record = make();
        self.put(0, record);
        self.leave(1);
        record.0[0]
    }

    /// Writes a record and the name that follows it.
    #[inline]
    pub fn mark_named(self, record: Record, name: Record) {
        if self.enter(2) {
            self.put(0, record);
            self.put(1, name);
            self.leave(2);
        }
    }

    /// Drops a mark. The next one will find no room, so that it looks for some and notes the loss.
    #[cold]
    fn drop_mark(self, reason: usize) {
        let now = tsc();
        if self.lost() == self.get(word::NOTED) {
            self.set(word::FIRST_LOST, now);
        }
        self.set(word::LAST_LOST, now);
        self.0[reason].fetch_add(1, Ordering::Relaxed);
        self.set(word::TAIL_SEEN, self.get(word::HEAD).wrapping_sub(SLOTS));
    }

    fn lost(self) -> u64 {
        self.get(word::FULL).wrapping_add(self.get(word::HANDLERS))
    }

    fn lost_record(self, noted: u64, lost: u64) -> Record {
        Record::lost(
            Count::Full,
            lost.wrapping_sub(noted),
            self.get(word::FIRST_LOST),
            self.get(word::LAST_LOST),
        )
    }

    /// Looks how far the reader is; false where the ring is full, and the mark is dropped.
    #[cold]
    fn make_room(self, slots: u64) -> bool {
        let (lost, noted) = (self.lost(), self.get(word::NOTED));
        let tail = self.0[word::TAIL].load(Ordering::Acquire);
        // A handler may come and change it.
        self.set(word::TAIL_SEEN, tail);
        let filled = self.get(word::HEAD).wrapping_add(slots + u64::from(lost != noted)).wrapping_sub(tail);
        if filled > SLOTS {
            self.drop_mark(word::FULL);
            return false;
        }
        if lost != noted {
            self.put(0, self.lost_record(noted, lost));
            self.set(word::NOTED, lost);
            self.0[word::HEAD].store(self.get(word::HEAD).wrapping_add(1), Ordering::Release);
        }
        true
    }
}

/// Whose it is.
impl Ring {
    fn change(self, from: State, to: State) -> bool {
        let (from, to) = (from as u64, to as u64);
        self.0[word::STATE].compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn is(self, state: State) -> bool {
        self.0[word::STATE].load(Ordering::Acquire) == state as u64
    }

    /// Takes a ring that no thread has for the thread that calls; false where one has it.
    pub fn take(self) -> bool {
        if !self.change(State::Free, State::Taken) {
            return false;
        }
        // Its last thread may have ended within a mark.
        self.set(word::WITHIN, 0);
        self.set(word::TID, thread_id());
        self.read_thread_name();
        self.change(State::Taken, State::Used)
    }

    /// Reads the name of its thread, which calls.
    pub(crate) fn read_thread_name(self) {
        for (at, part) in thread_name().into_iter().enumerate() {
            self.set(word::NAME + at, part);
        }
    }

    /// Whether a thread has it, or had it and marks of it may be left.
    pub fn has_thread(self) -> bool {
        self.is(State::Used) || self.is(State::Retired)
    }

    /// The thread that has it ended: its marks are read, then another one may take it.
    pub fn retire(self) {
        self.change(State::Used, State::Retired);
    }

    /// Its thread's number.
    pub fn thread(self) -> u64 {
        self.get(word::TID)
    }

    /// The record that says whose marks follow.
    pub fn thread_record(self, process: u32) -> Record {
        let ids = self.thread() << 32 | u64::from(process);
        Record::new(Kind::Thread, ids, self.get(word::NAME), self.get(word::NAME + 1))
    }

    /// Nothing is in it, and no thread has it: in a child of `fork()`, whose threads are the parent's.
    pub fn forget(self) {
        for word in &self.0[..word::SLOTS] {
            word.store(0, Ordering::Relaxed);
        }
    }
}

/// The reader's side.
impl Ring {
    /// Whether more than a quarter of it is full.
    pub fn is_filling(self) -> bool {
        let head = self.0[word::HEAD].load(Ordering::Acquire);
        head.wrapping_sub(self.get(word::TAIL)) > SLOTS / 4
    }

    /// Hands each record to `take`, with the name that follows it; records that come later are left for the next time.
    pub fn drain(self, mut take: impl FnMut(Record, Option<Record>)) {
        let head = self.0[word::HEAD].load(Ordering::Acquire);
        let mut tail = self.get(word::TAIL);
        let at = |index: u64| {
            let slot = Ring::slot(index);
            Record([0, 1, 2].map(|word| self.get(slot + word)))
        };
        while tail != head {
            let record = at(tail);
            let is_named = record.kind() == Kind::Stage as u64 || record.kind() == Kind::Counter as u64;
            take(record, is_named.then(|| at(tail.wrapping_add(1))));
            tail = tail.wrapping_add(1 + u64::from(is_named));
            self.0[word::TAIL].store(tail, Ordering::Release);
        }
    }

    /// What it dropped since this was called last.
    pub fn dropped(self) -> Dropped {
        let since = |count: usize, counted: usize| {
            let now = self.get(count);
            let before = self.0[counted].swap(now, Ordering::Relaxed);
            now.wrapping_sub(before)
        };
        Dropped {
            full: since(word::FULL, word::FULL_COUNTED),
            within: since(word::HANDLERS, word::HANDLERS_COUNTED),
        }
    }

    /// Of the dropped marks those that no record mentions, at the end of a file: no later mark of this thread mentions them.
    pub fn note_last_loss(self) -> Option<Record> {
        let lost = self.get(word::FULL_COUNTED).wrapping_add(self.get(word::HANDLERS_COUNTED));
        let noted = self.get(word::NOTED);
        let record = (lost != noted).then(|| self.lost_record(noted, lost))?;
        // Where its thread has just mentioned more of them, that stands.
        let _ = self.0[word::NOTED].compare_exchange(noted, lost, Ordering::Relaxed, Ordering::Relaxed);
        Some(record)
    }

    /// Whether its thread has ended.
    pub fn is_retired(self) -> bool {
        self.is(State::Retired)
    }

    /// Lets another thread take it, once its thread has ended and it is drained.
    pub fn free(self) {
        self.set(word::NOTED, self.lost());
        self.change(State::Retired, State::Free);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn begin(key: u64) -> Record {
        Record::new(Kind::Begin, 100 + key, key, 0x1234)
    }

    fn taken() -> Ring {
        let ring = Ring::new().expect("memory");
        assert!(ring.take() && !ring.take());
        ring
    }

    fn drained(ring: Ring) -> Vec<(Record, Option<Record>)> {
        let mut all = Vec::new();
        ring.drain(|record, name| all.push((record, name)));
        all
    }

    #[test]
    fn records_come_out_in_order_with_their_names() {
        let ring = taken();
        assert_eq!(ring.mark(|| begin(7)), 107);
        let (stage, name) = (Record::new(Kind::Stage, 108, 7, 0x1234), Record::new(Kind::Name, 0, 0, 0x5678));
        ring.mark_named(stage, name);
        assert_eq!(drained(ring), [(begin(7), None), (stage, Some(name))]);
        assert_eq!(drained(ring), []);
    }

    /// 32,768 fit; 3 are dropped; then the ring has room, and the loss stands before the next mark.
    #[test]
    fn a_full_ring_drops_and_notes_it() {
        let ring = taken();
        for key in 0..SLOTS + 3 {
            let at = ring.mark(|| begin(key));
            assert_eq!(at == 0, key >= SLOTS, "{key}");
        }
        assert_eq!(ring.dropped(), Dropped { full: 3, within: 0 });
        assert_eq!(drained(ring).len() as u64, SLOTS);
        ring.mark(|| begin(1));
        let all = drained(ring);
        assert_eq!((all[0].0.kind(), all[0].0.0[1]), (Kind::Lost as u64, 3));
        assert_eq!(all[1], (begin(1), None));
        assert_eq!((ring.note_last_loss(), ring.dropped()), (None, Dropped::default()));
    }

    /// As a signal handler's: the mark that it interrupts is whole, its own is counted.
    #[test]
    fn a_mark_within_a_mark_is_dropped() {
        let ring = taken();
        ring.mark(|| {
            assert_eq!(ring.mark(|| begin(2)), 0);
            begin(1)
        });
        assert_eq!(drained(ring), [(begin(1), None)]);
        ring.mark(|| begin(3));
        assert_eq!(drained(ring).len(), 2, "the loss, and the mark");
    }

    /// A file ends with the loss; the next one, which the same thread marks, has nothing of it.
    #[test]
    fn a_loss_is_noted_once() {
        let ring = taken();
        ring.mark(|| {
            ring.mark(|| begin(2));
            begin(1)
        });
        assert_eq!(ring.dropped(), Dropped { full: 0, within: 1 });
        assert_eq!(ring.note_last_loss().map(|record| record.0[1]), Some(1));
        assert_eq!(ring.note_last_loss(), None);
        drained(ring);
        ring.mark(|| begin(3));
        assert_eq!(drained(ring), [(begin(3), None)]);
    }

    #[test]
    fn a_ring_is_taken_again_after_its_thread() {
        let ring = taken();
        assert!(ring.has_thread() && ring.thread() > 0);
        ring.retire();
        assert!(!ring.take() && ring.is_retired());
        ring.free();
        assert!(!ring.has_thread() && ring.take());
    }
}
