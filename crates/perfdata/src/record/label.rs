//! A record in brief: of which event or kind it is, on which CPU and of which thread. Most that is worked out from all records wants no
//! more of most of them.
//!
//! Input: the bytes of each record, while all are walked over. Output: a [`Label`] of eight bytes, and [`Threads`], the list that its thread
//! is a number in. What has no room in it says so, and the record is looked at instead.

use std::collections::HashMap;

use model::{Cpu, ThreadId};

use super::header::Header;
use super::layout::{Identity, Schema};
use super::{kinds, sample};

/// First number of the kinds of records that are no samples.
const FIRST_KIND: u16 = 0xfe00;
/// A sample of no known event.
const NO_EVENT: u16 = FIRST_KIND - 1;
/// The record itself must be looked at.
const UNTOLD: u16 = 0xffff;
const NO_CPU: u16 = 0xffff;
/// Neither time nor CPU nor thread.
const UNPLACED: u32 = 0;
/// A time, and no thread.
const NO_THREAD: u32 = 1;
const FIRST_THREAD: u32 = 2;

/// A record in brief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label {
    what: u16,
    cpu: u16,
    who: u32,
}

/// Of what a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A sample of the attribute with this number, if of any.
    Sample(Option<usize>),
    /// Of this kind, which is the kernel's and no sample.
    Kind(u32),
    /// The record itself must be looked at.
    Untold,
}

/// Where a record was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) cpu: Option<Cpu>,
    pub(crate) thread: Option<ThreadId>,
}

/// The threads that records are of, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads {
    all: Vec<ThreadId>,
    numbers: HashMap<ThreadId, u32>,
    /// Where each was found last, by some bits of its number.
    recent: Vec<u32>,
}

/// A power of two: as many threads as run at a time.
const RECENT: usize = 1 << 10;

impl Threads {
    fn number(&mut self, thread: ThreadId) -> u32 {
        if self.recent.is_empty() {
            self.recent = vec![u32::MAX; RECENT];
        }
        let place = thread.tid.0.cast_unsigned() as usize % RECENT;
        let recent = self.recent[place];
        if self.all.get(recent as usize) == Some(&thread) {
            return recent;
        }
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(thread).or_insert(next);
        if number == next {
            self.all.push(thread);
        }
        self.recent[place] = number;
        number
    }
}

impl Label {
    /// Of the record with this header and body; and what a parse of it has as its time, CPU and thread.
    #[allow(clippy::cast_possible_truncation)] // Within bounds that are checked before.
    pub(crate) fn of(
        schema: Schema<'_>,
        header: Header,
        body: &[u8],
        threads: &mut Threads,
    ) -> (Label, Identity) {
        let (what, identity) = match header.kind {
            kinds::SAMPLE => match sample::identify(schema, body) {
                Some((Some(event), identity)) if event < usize::from(NO_EVENT) => (event as u16, identity),
                Some((None, identity)) => (NO_EVENT, identity),
                Some((Some(_), identity)) => (UNTOLD, identity),
                None => (UNTOLD, Identity::default()),
            },
            kind @ ..kinds::FIRST_USER_KIND => {
                (FIRST_KIND + kind as u16, schema.layout.split_trailer(body).1)
            }
            _ => (UNTOLD, Identity::default()),
        };
        let cpu = match identity.cpu {
            Some(Cpu(cpu)) if cpu < u32::from(NO_CPU) => Some(cpu as u16),
            Some(_) => None,
            None => Some(NO_CPU),
        };
        let has_place = identity.cpu.is_some() || identity.thread.is_some();
        let label = match (identity.time, cpu, identity.thread) {
            (Some(_), Some(cpu), Some(thread)) => {
                let who = FIRST_THREAD.checked_add(threads.number(thread));
                who.map(|who| Label { what, cpu, who })
            }
            (Some(_), Some(cpu), None) => Some(Label { what, cpu, who: NO_THREAD }),
            (None, ..) if !has_place => Some(Label { what, cpu: NO_CPU, who: UNPLACED }),
            _ => None,
        };
        (label.unwrap_or(Label { what: UNTOLD, ..Label::default() }), identity)
    }

    pub(crate) fn what(self) -> What {
        match self.what {
            UNTOLD => What::Untold,
            NO_EVENT => What::Sample(None),
            kind @ FIRST_KIND.. => What::Kind(u32::from(kind - FIRST_KIND)),
            event => What::Sample(Some(event.into())),
        }
    }

    /// Where it was made; `None` where it has no time. Only of what is not [`What::Untold`].
    pub(crate) fn placed(self, threads: &Threads) -> Option<Placed> {
        let cpu = (self.cpu != NO_CPU).then(|| Cpu(self.cpu.into()));
        let thread = self.thread_number().and_then(|number| threads.all.get(number)).copied();
        (self.who != UNPLACED).then_some(Placed { cpu, thread })
    }

    /// The number of its thread among all.
    pub(crate) fn thread_number(self) -> Option<usize> {
        self.who.checked_sub(FIRST_THREAD).map(|number| number as usize)
    }
}

#[cfg(test)]
mod tests;
