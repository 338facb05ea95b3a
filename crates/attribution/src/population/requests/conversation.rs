//! The requests and answers of one connection, in turns.
//!
//! Invariant: every request that begins is given back once, with its answer or without.

use model::{FileOffset, ThreadId, Tsc, TscRange};

/// How many bytes an eventfd reads and writes at once.
const COUNTER: u64 = 8;

/// A request that is not over yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) reader: ThreadId,
    /// When the first read returned.
    pub(super) since: Tsc,
    pub(super) bytes: u64,
    pub(super) answer: Option<Answer>,
}

/// What was written so far.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) writer: ThreadId,
    /// When the last write returned.
    pub(super) until: Tsc,
    pub(super) bytes: u64,
    /// The record of that.
    pub(super) record: FileOffset,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    current: Option<Pending>,
    /// What was read while an answer was being written: the next request, unless that write fails.
    next: Option<Pending>,
    /// How many threads are in a call that writes.
    writing: u32,
    /// Whether a request was answered.
    answers: bool,
    /// Whether a call moved another number of bytes than an eventfd's.
    is_no_counter: bool,
    /// Whether something was written before anything was read.
    began_before: bool,
}

impl Conversation {
    /// Whether it may as well be an eventfd.
    pub(super) fn may_be_counter(&self) -> bool {
        !self.is_no_counter
    }

    /// Whether a request was answered.
    pub(super) fn answers(&self) -> bool {
        self.answers
    }

    /// Whether its first request may have been read before the recording; says so once.
    pub(super) fn take_began_before(&mut self) -> bool {
        self.is_no_counter && std::mem::take(&mut self.began_before)
    }

    /// A thread enters a call that writes.
    pub(super) fn begins_to_write(&mut self) {
        self.writing += 1;
    }

    /// The call failed, or is not known to have returned.
    pub(super) fn gave_up_writing(&mut self) -> Option<Pending> {
        self.writing = self.writing.saturating_sub(1);
        self.next_turn()
    }

    /// A read returned `bytes`. The request before it comes back where this one begins the next turn.
    pub(super) fn read(&mut self, reader: ThreadId, at: Tsc, bytes: u64) -> Option<Pending> {
        self.is_no_counter |= bytes != COUNTER;
        let begun = Pending { reader, since: at, bytes, answer: None };
        let turn =
            if self.writing > 0 && self.current.is_some() { &mut self.next } else { &mut self.current };
        match turn {
            Some(open) if open.answer.is_none() => {
                open.bytes = open.bytes.saturating_add(bytes);
                None
            }
            turn => turn.replace(begun),
        }
    }

    /// The client will send no more: what is answered is over.
    pub(super) fn ended(&mut self) -> Option<Pending> {
        self.current.take_if(|open| open.answer.is_some() && self.writing == 0)
    }

    /// A write that lasted `range` moved `bytes`. What was read after its begin it does not answer.
    pub(super) fn wrote(
        &mut self,
        writer: ThreadId,
        range: TscRange,
        bytes: u64,
        record: FileOffset,
    ) -> Option<Pending> {
        self.is_no_counter |= bytes != COUNTER;
        self.writing = self.writing.saturating_sub(1);
        match &mut self.current {
            Some(open) if open.since <= range.start => {
                let before = open.answer.as_ref().map_or(0, |answer| answer.bytes);
                let bytes = before.saturating_add(bytes);
                open.answer = Some(Answer { writer, until: range.stop, bytes, record });
                self.answers = true;
            }
            _ => self.began_before |= !self.answers,
        }
        self.next_turn()
    }

    /// Where no thread writes any more, the next request's turn begins.
    fn next_turn(&mut self) -> Option<Pending> {
        if self.writing > 0 {
            return None;
        }
        let next = self.next.take()?;
        match &mut self.current {
            Some(open) if open.answer.is_none() => {
                open.bytes = open.bytes.saturating_add(next.bytes);
                None
            }
            current => current.replace(next),
        }
    }

    /// What is open when the connection or the recording ends. An answer that is still being written is none.
    pub(super) fn close(self) -> impl Iterator<Item = Pending> {
        let is_written = self.writing == 0;
        let current = self.current.map(|open| Pending { answer: open.answer.filter(|_| is_written), ..open });
        current.into_iter().chain(self.next)
    }
}
