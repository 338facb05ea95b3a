//! Pairs events as they occur: with a key on any thread, without one on the same thread, the innermost first; where both are the same
//! event, each occurrence ends one interval and begins the next. As `intervals::events` pairs those of a capture.

use std::collections::HashMap;

use intervals::EventPair;
use intervals::events::Role;
use model::{Cpu, Tid};

/// Begins without an end that are kept, and on one thread: more are of a program that ends otherwise.
const MOST_OPEN: usize = 1 << 20;
const DEEPEST: usize = 1 << 10;

/// An occurrence of the begin or the end event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Occurrence {
    /// By the time-stamp counter.
    pub(super) time: u64,
    pub(super) cpu: Cpu,
    pub(super) tid: Tid,
    pub(super) role: Role,
}

/// A begin with its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paired {
    /// By the time-stamp counter.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The thread of the begin.
    pub(crate) tid: Tid,
}

/// What may pair.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Lane {
    Keyed(Box<str>),
    Thread(Tid),
    /// The idle tasks are all thread 0.
    Idle(Cpu),
}

/// The begins whose end has not come.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// Whether both are one event.
    is_consecutive: bool,
    open: HashMap<Lane, Vec<(u64, Tid)>>,
}

impl Pairing {
    /// That of these two events.
    pub(super) fn of(pair: &EventPair) -> Pairing {
        Pairing { is_consecutive: pair.begin == pair.end, ..Pairing::default() }
    }

    /// Takes the next one in order of time; the pair that it ends.
    pub(super) fn take(&mut self, occurrence: Occurrence) -> Option<Paired> {
        let Occurrence { time, cpu, tid, role } = occurrence;
        let is_keyed = role.key.is_some();
        let lane = match role.key {
            Some(key) => Lane::Keyed(key),
            None if tid == Tid(0) => Lane::Idle(cpu),
            None => Lane::Thread(tid),
        };
        let paired = |(begin, tid): (u64, Tid)| Paired { begin, end: time.max(begin), tid };
        if self.is_consecutive || role.is_begin {
            if self.open.len() >= MOST_OPEN {
                self.open.clear();
            }
            let open = self.open.entry(lane).or_default();
            let last = if is_keyed || self.is_consecutive { open.pop() } else { None };
            if open.len() >= DEEPEST {
                open.remove(0);
            }
            open.push((time, tid));
            return last.filter(|_| self.is_consecutive).map(paired);
        }
        let open = self.open.get_mut(&lane)?;
        let begin = open.pop();
        if open.is_empty() {
            self.open.remove(&lane);
        }
        begin.map(paired)
    }

    /// Events are missing: no begin that is open can be trusted to have its own end next.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(is_consecutive: bool, given: &[(u64, i32, bool, Option<&str>)]) -> Vec<(u64, u64, i32)> {
        let mut pairing = Pairing { is_consecutive, ..Pairing::default() };
        let take = |&(time, tid, is_begin, key): &(u64, i32, bool, Option<&str>)| {
            let role = Role { is_begin, key: key.map(Into::into) };
            let found = pairing.take(Occurrence { time, cpu: Cpu(0), tid: Tid(tid), role })?;
            Some((found.begin, found.end, found.tid.0))
        };
        given.iter().filter_map(take).collect()
    }

    #[test]
    fn pairs_nest_on_their_thread() {
        let marks = [
            (1, 7, true, None),
            (2, 8, true, None),
            (3, 7, true, None),
            (4, 7, false, None),
            (5, 8, false, None),
            (6, 7, false, None),
            (7, 7, false, None),
        ];
        assert_eq!(paired(false, &marks), [(3, 4, 7), (2, 5, 8), (1, 6, 7)]);
    }

    #[test]
    fn a_key_pairs_across_threads() {
        let marks = [
            (1, 7, true, Some("a")),
            (2, 7, true, Some("b")),
            (3, 8, false, Some("a")),
            (4, 7, true, Some("b")),
        ];
        assert_eq!(paired(false, &marks), [(1, 3, 7)]);
        let again = [&marks[..], &[(5, 9, false, Some("b"))]].concat();
        assert_eq!(paired(false, &again), [(1, 3, 7), (4, 5, 7)], "of two begins the last one");
    }

    #[test]
    fn one_event_is_begin_and_end() {
        let marks = [(1, 7, true, None), (2, 8, true, None), (4, 7, true, None), (9, 7, true, None)];
        assert_eq!(paired(true, &marks), [(1, 4, 7), (4, 9, 7)]);
    }

    #[test]
    fn where_events_are_missing_nothing_pairs_across() {
        let mut pairing = Pairing::default();
        let mut take = |time, is_begin, lost| {
            if lost {
                pairing.forget();
            }
            let role = Role { is_begin, key: None };
            pairing.take(Occurrence { time, cpu: Cpu(0), tid: Tid(7), role })
        };
        assert_eq!([take(1, true, false), take(2, false, true)], [None, None]);
    }
}
