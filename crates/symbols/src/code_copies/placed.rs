//! When which copy stands for the memory of a process.
//!
//! Input: copies, and the map events of the recording in order of time. Output: for a process, an address and a time the copy. Rules: a copy
//! holds from when the one before it of the same page was seen last, or from when its memory was mapped or its protection changed after
//! that, for code is mostly added; the first one since the process began its program. Bytes that both have, and that differ, are unknown
//! until the later one is sure: a runtime wrote over them at a time that is not known. A child has what its parent had.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Diagnostic, MapEvent, Pid, Tsc};

use super::{CodeCopies, CodeCopy};
use crate::file_bytes::FileBytes;
use crate::range_map::RangeMap;
use crate::timeline::{Timeline, Version};

/// So many map events at each end of a time between two copies are looked at.
const MOST_EVENTS: usize = 1000;

/// Which copy, by its place in [`Placed::copies`].
pub(crate) type CopyIndex = u32;

/// The copies of a recording, each in its time.
#[derive(Debug)]
pub(crate) struct Placed {
    file: Option<(Arc<PathBuf>, FileBytes)>,
    copies: Vec<CodeCopy>,
    processes: HashMap<Pid, Timeline<CopyIndex>>,
    nothing: Timeline<CopyIndex>,
    pub(crate) notes: Vec<Diagnostic>,
}

/// What happens to the memory of a process.
enum Change {
    /// It begins a program, with none of these bytes.
    Begin(Pid),
    Fork {
        parent: Pid,
        child: Pid,
    },
    /// From now on this copy is there, but for `unknown`, where no copy is.
    Lay {
        copy: CopyIndex,
        unknown: Option<Range<u64>>,
    },
}

/// What the records say of one process, in order of time.
#[derive(Default)]
struct Events {
    begins: Vec<Tsc>,
    maps: Vec<(Tsc, Range<u64>)>,
}

impl Placed {
    /// The copies in the file at `path`, where there is one.
    pub(crate) fn open(path: Option<&Path>, events: &[(Tsc, MapEvent)]) -> Placed {
        let mut placed = Placed {
            file: None,
            copies: Vec::new(),
            processes: HashMap::new(),
            nothing: Timeline::new(),
            notes: Vec::new(),
        };
        let Some(path) = path else { return placed };
        let mut warn = |what: &str| {
            let what = format!("{what}: code that lay in no file is a gap");
            placed.notes.push(Diagnostic::warning(what).in_file(&*path.to_string_lossy()));
        };
        match FileBytes::open_stored(path).map(|(bytes, _)| (CodeCopies::parse(&bytes), bytes)) {
            Err(error) => warn(&error.to_string()),
            Ok((Err(error), _)) => warn(&error.to_string()),
            Ok((Ok(found), bytes)) => {
                if found.left_out > 0 {
                    warn(&format!("{} of its copies are not possible, or too many", found.left_out));
                }
                placed.copies = found.copies;
                placed.file = Some((Arc::new(path.to_owned()), bytes));
                placed.place(events);
            }
        }
        placed
    }

    /// What stands for the memory of `pid` at `at`.
    pub(crate) fn at(&self, pid: Pid, at: Tsc) -> Version<'_, CopyIndex> {
        self.processes.get(&pid).unwrap_or(&self.nothing).at(at)
    }

    /// Where the file lies.
    pub(crate) fn path(&self) -> Option<&Arc<PathBuf>> {
        self.file.as_ref().map(|(path, _)| path)
    }

    /// All bytes of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.file.as_ref().map_or(&[], |(_, bytes)| bytes)
    }

    /// Where in the file the byte stands that a copy has for `address`, which lies in it.
    pub(crate) fn file_offset(&self, copy: CopyIndex, address: u64) -> Option<u64> {
        let copy = self.copies.get(copy as usize)?;
        Some(copy.bytes.start as u64 + address.checked_sub(copy.address)?)
    }

    /// All copies of the memory that one of `ran` stands for, with their bytes.
    pub(crate) fn of_the_same_memory(
        &self,
        ran: &BTreeSet<CopyIndex>,
    ) -> impl Iterator<Item = (&CodeCopy, &[u8])> {
        let place = |copy: &CodeCopy| (copy.pid, copy.address);
        let ran: HashSet<_> =
            ran.iter().filter_map(|&index| self.copies.get(index as usize)).map(place).collect();
        let wanted = self.copies.iter().filter(move |copy| ran.contains(&place(copy)));
        wanted.filter_map(|copy| Some((copy, self.bytes().get(copy.bytes.clone())?)))
    }

    fn place(&mut self, events: &[(Tsc, MapEvent)]) {
        let mut changes = begins(events);
        changes.extend(self.lays(&events_of(events)));
        // Of one time programs begin first.
        changes.sort_by_key(|(at, _)| *at);
        for (at, change) in changes {
            self.apply(at, change);
        }
    }

    fn lays(&self, events: &HashMap<Pid, Events>) -> Vec<(Tsc, Change)> {
        let (none, mut lays) = (Events::default(), Vec::new());
        let mut before: Option<&CodeCopy> = None;
        for (copy, index) in self.copies.iter().zip(0..) {
            let events = events.get(&copy.pid).unwrap_or(&none);
            let began = events.began_before(copy.from);
            let earlier = before.filter(|earlier| {
                (earlier.pid, earlier.address) == (copy.pid, copy.address) && earlier.to >= began
            });
            before = Some(copy);
            let Some(earlier) = earlier else {
                lays.push((began, Change::Lay { copy: index, unknown: None }));
                continue;
            };
            let mapped = events.mapped(copy, earlier.to);
            let since = mapped.map_or(earlier.to, |(first, _)| first);
            let sure = mapped.map_or(copy.from, |(_, last)| last);
            let unknown = self.written_over(earlier, copy);
            if unknown.is_some() && since < sure {
                lays.push((since, Change::Lay { copy: index, unknown }));
                lays.push((sure, Change::Lay { copy: index, unknown: None }));
            } else {
                lays.push((since, Change::Lay { copy: index, unknown: None }));
            }
        }
        lays
    }

    /// From the first to the last byte that `earlier` has and `later` has another one of. A zero is memory that was not written yet.
    fn written_over(&self, earlier: &CodeCopy, later: &CodeCopy) -> Option<Range<u64>> {
        let bytes = |copy: &CodeCopy| self.bytes().get(copy.bytes.clone()).unwrap_or_default();
        let both = bytes(earlier).iter().zip(bytes(later)).zip(later.address..);
        let mut differ = both.filter(|((old, new), _)| **old != 0 && old != new).map(|(_, at)| at);
        let first = differ.next()?;
        Some(first..differ.last().unwrap_or(first) + 1)
    }

    fn apply(&mut self, at: Tsc, change: Change) {
        match change {
            Change::Begin(pid) => {
                if let Some(timeline) = self.processes.get_mut(&pid) {
                    timeline.set(at, RangeMap::default());
                }
            }
            Change::Fork { parent, child } => {
                let inherited = self.processes.get(&parent).map(Timeline::newest);
                if inherited.is_some() || self.processes.contains_key(&child) {
                    self.of(child).set(at, inherited.unwrap_or_default());
                }
            }
            Change::Lay { copy: index, unknown } => {
                let Some(copy) = self.copies.get(index as usize) else { return };
                let (pid, range) = (copy.pid, copy.range());
                self.of(pid).change(at, |pieces| {
                    pieces.insert(range, index);
                    if let Some(unknown) = unknown {
                        pieces.remove(&unknown);
                    }
                });
            }
        }
    }

    fn of(&mut self, pid: Pid) -> &mut Timeline<CopyIndex> {
        self.processes.entry(pid).or_insert_with(Timeline::new)
    }
}

/// When processes began, and with what.
fn begins(events: &[(Tsc, MapEvent)]) -> Vec<(Tsc, Change)> {
    let change = |(at, event): &(Tsc, MapEvent)| {
        let begin = match *event {
            MapEvent::Exec { pid } => Change::Begin(pid),
            // perf's own, of what ran before: their programs may have begun since.
            MapEvent::Fork { child, .. } if *at == Tsc(0) => Change::Begin(child),
            MapEvent::Fork { parent, child } => Change::Fork { parent, child },
            _ => return None,
        };
        Some((*at, begin))
    };
    events.iter().filter_map(change).collect()
}

fn events_of(events: &[(Tsc, MapEvent)]) -> HashMap<Pid, Events> {
    let mut of: HashMap<Pid, Events> = HashMap::new();
    for (at, event) in events {
        match event {
            MapEvent::Map(mapping) => {
                of.entry(mapping.pid).or_default().maps.push((*at, mapping.range.clone()));
            }
            MapEvent::Exec { pid } | MapEvent::Fork { child: pid, .. } => {
                of.entry(*pid).or_default().begins.push(*at);
            }
            _ => {}
        }
    }
    of
}

impl Events {
    /// When the program began that ran at `at`.
    fn began_before(&self, at: Tsc) -> Tsc {
        let after = self.begins.partition_point(|begin| *begin <= at);
        after.checked_sub(1).and_then(|last| self.begins.get(last)).copied().unwrap_or(Tsc(0))
    }

    /// When the memory of `copy` was mapped first and last after `since`, before it was seen.
    fn mapped(&self, copy: &CodeCopy, since: Tsc) -> Option<(Tsc, Tsc)> {
        let range = copy.range();
        let place = |at: Tsc| self.maps.partition_point(|(time, _)| *time <= at);
        let between = self.maps.get(place(since)..place(copy.from)).unwrap_or_default();
        let is_here = |(_, mapped): &&(Tsc, Range<u64>)| mapped.start < range.end && range.start < mapped.end;
        let first = between.iter().take(MOST_EVENTS).find(is_here)?.0;
        let last = between.iter().rev().take(MOST_EVENTS).find(is_here).map_or(copy.from, |found| found.0);
        Some((first, last))
    }
}

#[cfg(test)]
mod tests;
