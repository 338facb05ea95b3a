//! What block devices did: each request from its issue to its completion, by `block_rq_issue` and `_complete` records.

use std::collections::HashMap;
use std::fmt;

use model::{Cpu, Device, Ticks, TimeConversion, Tsc, TscRange};
use perfdata::PerfData;

use crate::sideband::{BlockStep, EventKind, Request, SidebandEvent, events_within};

/// Records are read so much time at a time (0.1 s at 4 GHz): all of a long capture at once would not fit.
const SLICE: Ticks = Ticks(400_000_000);
/// Requests under way at once; beyond it (completions are missing) the book is closed and a new one begun.
const MOST_OPEN: usize = 1 << 20;
/// Accesses kept; more tell no more about a distribution.
const MOST_KEPT: usize = 4_000_000;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It discards, flushes, or does not say.
    Other,
}

/// One request that a device served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which device.
    pub device: Device,
    /// What it did.
    pub direction: Direction,
    /// From issue to completion.
    pub range: TscRange,
    /// The CPU that handled the completion.
    pub completed_on: Option<Cpu>,
}

/// The accesses that completed within `range`, in order of their completions; without block records none.
pub fn accesses(perf: &PerfData, range: TscRange, conversion: TimeConversion) -> Vec<Access> {
    let is_recorded = perf.tracepoint_formats().any(|format| format.name().starts_with("block:"));
    if !is_recorded {
        return Vec::new();
    }
    let mut book = Book::default();
    let mut from = range.start;
    while from < range.stop && book.done.len() < MOST_KEPT {
        let to = (from + SLICE).min(range.stop);
        let slice = TscRange::new(from, to);
        // A slice's last record may be the next one's first.
        for event in events_within(perf, slice, conversion).iter().filter(|event| slice.contains(event.time))
        {
            book.enter(event);
        }
        from = to;
    }
    book.done
}

/// Requests under way and done.
#[derive(Default)]
pub(super) struct Book {
    open: HashMap<(Device, u64), Tsc>,
    pub(super) done: Vec<Access>,
}

impl Book {
    pub(super) fn enter(&mut self, event: &SidebandEvent) {
        let EventKind::Block { step, request } = &event.kind else { return };
        match step {
            BlockStep::Insert => {}
            BlockStep::Issue => {
                if self.open.len() >= MOST_OPEN {
                    self.open.clear();
                }
                self.open.insert(request.key(), event.time);
            }
            BlockStep::Complete => {
                let Some(issued) = self.open.remove(&request.key()) else { return };
                self.done.push(Access {
                    device: request.device,
                    direction: Direction::of(request),
                    range: TscRange::new(issued, event.time),
                    completed_on: event.cpu,
                });
            }
        }
    }
}

impl Direction {
    /// By the kernel's letters; a leading F is a flush before the work.
    fn of(request: &Request) -> Direction {
        match request.letters.trim_start_matches('F').chars().next() {
            Some('R') => Direction::Read,
            Some('W') => Direction::Write,
            _ => Direction::Other,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Other => "other",
        })
    }
}
