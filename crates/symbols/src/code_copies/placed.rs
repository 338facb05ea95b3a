//! When which copy stands for the memory of a process.
//!
//! Input: copies, and the map events of the recording in order of time. Output: for a process, an address and a time the copy. Rules: a copy
//! holds from when the one before it of the same page was seen last, or from when its memory was mapped or its protection changed after
//! that, for code is mostly added; the first one since its memory was mapped or changed last before it was seen. Bytes that both have, and
//! that differ, are unknown until the later one is sure: a runtime wrote over them at a time that is not known. The last one holds until its
//! memory is mapped or changed anew. A child has what its parent had.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Diagnostic, MapEvent, Pid, Tsc};

use super::{CodeCopies, CodeCopy};
use crate::file_bytes::FileBytes;
use crate::range_map::RangeMap;
use crate::timeline::{Timeline, Version};

/// So many map events at each end of a time between two copies are looked at; the next one counts as of any memory.
const MOST_EVENTS: usize = 1000;

/// Which copy, by its place in [`Placed::copies`].
pub(crate) type CopyIndex = u32;

/// Forks of forks that are looked through for what a process has of the first of them.
const MOST_FORKS: usize = 16;

/// So many zeros in a row are no code.
const LEAST_UNWRITTEN: usize = 16;

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
    /// This copy's memory is another one from now on.
    Gone(CopyIndex),
    /// A process that was forked maps memory: what it had there of others is gone.
    Mapped(Pid, Range<u64>),
}

/// What the records say of one process, in order of time.
#[derive(Default)]
struct Events {
    /// When it began a program, and where that was a fork, of whom.
    begins: Vec<(Tsc, Option<Pid>)>,
    maps: Vec<(Tsc, Range<u64>)>,
}

impl Placed {
    /// The copies in the file at `path`, where there is one.
    ///
    /// Left out are those that are all from before `recorded_since`: perf does not rename this file with an older capture.
    pub(crate) fn open(
        path: Option<&Path>,
        recorded_since: Option<Tsc>,
        events: &[(Tsc, MapEvent)],
    ) -> Placed {
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
                if recorded_since.is_some_and(|since| are_of_another(&found.copies, since)) {
                    warn("its copies were seen at another time than that of the recording");
                    return placed;
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
        let of_each = events_of(events);
        changes.extend(maps_of_children(events, &of_each));
        changes.extend(self.lays(&of_each));
        // Of one time programs begin first, then memory is mapped.
        changes.sort_by_key(|(at, _)| *at);
        for (at, change) in changes {
            self.apply(at, change);
        }
    }

    fn lays(&self, events_of_all: &HashMap<Pid, Events>) -> Vec<(Tsc, Change)> {
        let (none, mut lays) = (Events::default(), Vec::new());
        let mut before: Option<&CodeCopy> = None;
        for ((copy, index), next) in self.copies.iter().zip(0..).zip(following(&self.copies)) {
            let events = events_of_all.get(&copy.pid).unwrap_or(&none);
            let goes_on = |next: &CodeCopy| {
                is_of_the_same_memory(copy, next) && events.began_before(next.from).0 <= copy.to
            };
            if !next.is_some_and(goes_on)
                && let Some((first, _)) = events.mapped(copy, copy.to..Tsc(u64::MAX))
            {
                lays.push((first, Change::Gone(index)));
            }
            let (began, parent) = events.began_before(copy.from);
            let own = before.filter(|earlier| is_of_the_same_memory(earlier, copy) && earlier.to >= began);
            before = Some(copy);
            let inherited = || self.inherited(copy.address, began, parent, events_of_all);
            let Some(earlier) = own.or_else(inherited) else {
                let since = events.mapped(copy, began..copy.from).map_or(began, |(_, last)| last);
                lays.push((since, Change::Lay { copy: index, unknown: None }));
                continue;
            };
            let last_seen = own.map_or(began, |own| own.to);
            let mapped = events.mapped(copy, last_seen..copy.from);
            let since = mapped.map_or(last_seen, |(first, _)| first);
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

    /// What a process that `parent` forked at `at` had at `address`: the parent's copy, or that of whoever forked the parent.
    fn inherited(
        &self,
        address: u64,
        mut at: Tsc,
        mut parent: Option<Pid>,
        events: &HashMap<Pid, Events>,
    ) -> Option<&CodeCopy> {
        for _ in 0..MOST_FORKS {
            let pid = parent?;
            let (began, before) = events.get(&pid).map_or_else(Default::default, |of| of.began_before(at));
            let after =
                self.copies.partition_point(|copy| (copy.pid, copy.address, copy.from) <= (pid, address, at));
            // One that was seen only after the fork holds from before it, too.
            let near = [after.checked_sub(1), Some(after)].into_iter().flatten();
            let mut near = near.filter_map(|index| self.copies.get(index));
            if let Some(own) =
                near.find(|copy| (copy.pid, copy.address) == (pid, address) && copy.to >= began)
            {
                return Some(own);
            }
            (at, parent) = (began, before);
        }
        None
    }

    /// From the first to the last byte that `earlier` has and `later` has another one of. Many zeros are memory that was not written yet.
    fn written_over(&self, earlier: &CodeCopy, later: &CodeCopy) -> Option<Range<u64>> {
        if earlier.bytes == later.bytes {
            return None;
        }
        let bytes = |copy: &CodeCopy| self.bytes().get(copy.bytes.clone()).unwrap_or_default();
        let (old, new) = (bytes(earlier), bytes(later));
        let mut differ: Option<Range<usize>> = None;
        let mut at = 0;
        for run in old.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
            let here = at..at + run.len();
            at = here.end;
            let unwritten = run.starts_with(&[0]) && (run.len() >= LEAST_UNWRITTEN || at == old.len());
            if unwritten {
                continue;
            }
            let both = run.iter().zip(new.get(here.start..).unwrap_or_default()).zip(here);
            for (_, place) in both.filter(|((old, new), _)| old != new) {
                differ = Some(differ.map_or(place, |known| known.start)..place + 1);
            }
        }
        let differ = differ?;
        Some(later.address + differ.start as u64..later.address + differ.end as u64)
    }

    /// Whether the recorder did not keep what was there: it keeps no page of zeros.
    fn is_nothing(&self, copy: &CodeCopy) -> bool {
        self.bytes().get(copy.bytes.clone()).is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0))
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
                let is_nothing = self.is_nothing(copy);
                self.of(pid).change(at, |pieces| {
                    if is_nothing {
                        return pieces.remove(&range);
                    }
                    pieces.insert(range, index);
                    if let Some(unknown) = unknown {
                        pieces.remove(&unknown);
                    }
                });
            }
            Change::Mapped(pid, range) => {
                let Some(timeline) = self.processes.get_mut(&pid) else { return };
                let (newest, mut inherited, mut from) = (timeline.newest(), Vec::new(), range.start);
                while let Some((piece, &copy)) =
                    newest.at_or_after(from).filter(|(piece, _)| piece.start < range.end)
                {
                    from = piece.end;
                    let is_own = self.copies.get(copy as usize).is_some_and(|copy| copy.pid == pid);
                    inherited.extend((!is_own).then(|| piece.clone()));
                }
                if !inherited.is_empty() {
                    timeline.change(at, |pieces| inherited.iter().for_each(|piece| pieces.remove(piece)));
                }
            }
            Change::Gone(index) => {
                let Some(copy) = self.copies.get(index as usize) else { return };
                let (pid, range) = (copy.pid, copy.range());
                self.of(pid).change(at, |pieces| pieces.remove(&range));
            }
        }
    }

    fn of(&mut self, pid: Pid) -> &mut Timeline<CopyIndex> {
        self.processes.entry(pid).or_insert_with(Timeline::new)
    }
}

/// Not those from after it: a slice ends before the look at the end of its recording.
fn are_of_another(copies: &[CodeCopy], since: Tsc) -> bool {
    !copies.is_empty() && copies.iter().all(|copy| copy.to < since)
}

fn is_of_the_same_memory(a: &CodeCopy, b: &CodeCopy) -> bool {
    (a.pid, a.address) == (b.pid, b.address)
}

/// For each copy the one after it.
fn following(copies: &[CodeCopy]) -> impl Iterator<Item = Option<&CodeCopy>> {
    copies.iter().skip(1).map(Some).chain([None])
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

fn maps_of_children<'e>(
    events: &'e [(Tsc, MapEvent)],
    of_each: &'e HashMap<Pid, Events>,
) -> impl Iterator<Item = (Tsc, Change)> + 'e {
    let has_parent = |events: &Events| events.begins.iter().any(|(_, parent)| parent.is_some());
    events.iter().filter_map(move |(at, event)| {
        let MapEvent::Map(mapping) = event else { return None };
        let is_child = of_each.get(&mapping.pid).is_some_and(has_parent);
        is_child.then(|| (*at, Change::Mapped(mapping.pid, mapping.range.clone())))
    })
}

fn events_of(events: &[(Tsc, MapEvent)]) -> HashMap<Pid, Events> {
    let mut of: HashMap<Pid, Events> = HashMap::new();
    for (at, event) in events {
        match event {
            MapEvent::Map(mapping) => {
                of.entry(mapping.pid).or_default().maps.push((*at, mapping.range.clone()));
            }
            MapEvent::Exec { pid } => of.entry(*pid).or_default().begins.push((*at, None)),
            // perf's own, of what ran before: as in `begins`.
            MapEvent::Fork { child, parent } => {
                let parent = Some(*parent).filter(|_| *at > Tsc(0));
                of.entry(*child).or_default().begins.push((*at, parent));
            }
            _ => {}
        }
    }
    of
}

impl Events {
    /// When the program began that ran at `at`, and of whom it was a copy where a fork began it.
    fn began_before(&self, at: Tsc) -> (Tsc, Option<Pid>) {
        let after = self.begins.partition_point(|(begin, _)| *begin <= at);
        after.checked_sub(1).and_then(|last| self.begins.get(last)).copied().unwrap_or_default()
    }

    /// When the memory of `copy` was mapped first and last within `time`, its end included.
    fn mapped(&self, copy: &CodeCopy, time: Range<Tsc>) -> Option<(Tsc, Tsc)> {
        let range = copy.range();
        let place = |at: Tsc| self.maps.partition_point(|(time, _)| *time <= at);
        let between = self.maps.get(place(time.start)..place(time.end)).unwrap_or_default();
        let is_here = |(_, mapped): &&(Tsc, Range<u64>)| mapped.start < range.end && range.start < mapped.end;
        let of_first = between.iter().take(MOST_EVENTS).find(is_here);
        let first = of_first.or_else(|| between.get(MOST_EVENTS))?.0;
        let last = between.iter().rev().take(MOST_EVENTS).find(is_here).map_or(time.end, |found| found.0);
        Some((first, last))
    }
}

#[cfg(test)]
mod tests;
