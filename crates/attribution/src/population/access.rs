//! What block devices did: each request from its issue to its completion, by `block_rq_issue` and `_complete` records.

use std::collections::HashMap;
use std::fmt;

use model::{Cpu, Device, TimeConversion, Tsc, TscRange};
use perfdata::PerfData;

use crate::records::event::{BlockStep, EventKind, Request, SidebandEvent};
use crate::records::read::block_events_in;

/// Requests in progress at once; beyond it (completions are missing) all open requests are dropped.
const MOST_OPEN: usize = 1 << 20;
/// Accesses kept; more do not change a distribution noticeably.
const MOST_KEPT: usize = 4_000_000;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It discards, flushes, or is of unknown kind.
    Other,
}

/// One request that a device served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The device.
    pub device: Device,
    /// Its kind.
    pub direction: Direction,
    /// From issue to completion.
    pub range: TscRange,
    /// The CPU that handled the completion.
    pub completed_on: Option<Cpu>,
}

/// The accesses that completed within `range`, by completion time; without block records none. The records are walked one by
/// one, and not the time: a range that is longer than the recording costs no more.
pub fn accesses(perf: &PerfData, range: TscRange, conversion: TimeConversion) -> Vec<Access> {
    let is_recorded = perf.tracepoint_formats().any(|format| format.name().starts_with("block:"));
    if !is_recorded {
        return Vec::new();
    }
    let mut book = Book::default();
    for event in block_events_in(perf, range, conversion).filter(|event| range.contains(event.time)) {
        book.enter(&event);
        if book.done.len() >= MOST_KEPT {
            break;
        }
    }
    book.done
}

/// Requests in progress and completed.
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
