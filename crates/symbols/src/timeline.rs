//! What the address spaces held, at any time: the map events of a recording, turned into versions.
//!
//! Input: [`MapEvent`]s in order of time. Output: for a process and a time, the pieces of its address space. A version
//! shares all but the changed piece with the one before it, so a million events cost a million small nodes.
//! What perf says of MMAP, FORK, COMM (exec) and EXIT: `perf_event.h`, "enum `perf_event_type`".

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use model::{MapEvent, Mapping, Pid, Tsc};

use crate::range_map::RangeMap;

/// First address of the kernel's half of the address space.
pub(crate) const KERNEL_HALF: u64 = 1 << 63;

/// Which mapping (an index into [`Timelines::mappings`]) covers a piece.
pub(crate) type MappingIndex = u32;

/// Versions of one address space.
#[derive(Debug)]
pub(crate) struct Timeline<V> {
    /// Ordered by time, no two of the same time.
    versions: Vec<(Tsc, RangeMap<V>)>,
    none: RangeMap<V>,
}

/// A version of an address space.
#[derive(Debug)]
pub(crate) struct Version<'a, V> {
    /// Its number within its timeline: 0 before the first event.
    pub(crate) number: usize,
    /// First time at which the next version holds.
    pub(crate) until: Tsc,
    /// What it holds.
    pub(crate) pieces: &'a RangeMap<V>,
}

impl<V: Clone> Timeline<V> {
    /// One that holds nothing.
    pub(crate) fn new() -> Timeline<V> {
        Timeline { versions: Vec::new(), none: RangeMap::default() }
    }

    /// What held at `at`: events of that very time included.
    pub(crate) fn at(&self, at: Tsc) -> Version<'_, V> {
        let number = self.versions.partition_point(|(time, _)| *time <= at);
        let until = self.versions.get(number).map_or(Tsc(u64::MAX), |(time, _)| *time);
        let pieces = number.checked_sub(1).map_or(&self.none, |index| &self.versions[index].1);
        Version { number, until, pieces }
    }

    /// Every version, in order of time.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &RangeMap<V>> {
        self.versions.iter().map(|(_, pieces)| pieces)
    }

    /// The pieces of the newest version.
    pub(crate) fn newest(&self) -> RangeMap<V> {
        self.versions.last().map_or_else(RangeMap::default, |(_, pieces)| pieces.clone())
    }

    /// Makes `pieces` hold from `at` on; a time before the newest version's counts as that version's.
    pub(crate) fn set(&mut self, at: Tsc, pieces: RangeMap<V>) {
        match self.versions.last_mut() {
            Some((time, newest)) if *time >= at => *newest = pieces,
            _ => self.versions.push((at, pieces)),
        }
    }

    /// Changes what holds from `at` on, likewise.
    pub(crate) fn change(&mut self, at: Tsc, change: impl FnOnce(&mut RangeMap<V>)) {
        if let Some((_, newest)) = self.versions.last_mut().filter(|(time, _)| *time >= at) {
            change(newest);
            return;
        }
        let mut pieces = self.newest();
        change(&mut pieces);
        self.versions.push((at, pieces));
    }
}

/// A function of the kernel that came at run time.
pub(crate) type RunTimeSymbol = u32;

/// All address spaces over time.
#[derive(Debug)]
pub(crate) struct Timelines {
    /// Every mapping that any event brought.
    pub(crate) mappings: Vec<Mapping>,
    /// The kernel's mappings: its text and its modules.
    pub(crate) kernel: Timeline<MappingIndex>,
    /// The kernel's functions of run time (BPF, trampolines).
    pub(crate) run_time_symbols: Timeline<RunTimeSymbol>,
    /// Their names.
    pub(crate) run_time_names: Vec<std::sync::Arc<str>>,
    processes: HashMap<Pid, Timeline<MappingIndex>>,
    nothing: Timeline<MappingIndex>,
    /// Processes that ended. Their mappings stay (a trace without time is decoded as of its end) until the kernel gives
    /// the number to another process.
    ended: HashSet<Pid>,
}

impl Timelines {
    /// Replays `events`, which are in order of time. `TEXT_POKE` events are not looked at here.
    pub(crate) fn new(events: Vec<(Tsc, MapEvent)>) -> Timelines {
        let mut timelines = Timelines {
            mappings: Vec::new(),
            kernel: Timeline::new(),
            run_time_symbols: Timeline::new(),
            run_time_names: Vec::new(),
            processes: HashMap::new(),
            nothing: Timeline::new(),
            ended: HashSet::new(),
        };
        for (at, event) in events {
            timelines.apply(at, event);
        }
        timelines
    }

    /// The user half of `pid`'s address space.
    pub(crate) fn process(&self, pid: Pid) -> &Timeline<MappingIndex> {
        self.processes.get(&pid).unwrap_or(&self.nothing)
    }

    /// The processes that ever mapped something, in order.
    pub(crate) fn pids(&self) -> Vec<Pid> {
        let mut pids: Vec<Pid> = self.processes.keys().copied().collect();
        pids.sort_unstable();
        pids
    }

    fn apply(&mut self, at: Tsc, event: MapEvent) {
        match event {
            MapEvent::Map(mapping) => self.map(at, mapping),
            MapEvent::Fork { parent, child } => {
                self.ended.remove(&child);
                // What stands at zero was written by perf for processes that ran already: their own mappings follow,
                // and those of their parents are none of theirs.
                let inherited =
                    if at == Tsc(0) { RangeMap::default() } else { self.process(parent).newest() };
                self.of(child).set(at, inherited);
            }
            MapEvent::Exec { pid } => self.of(pid).set(at, RangeMap::default()),
            MapEvent::Exit { pid, .. } => {
                self.ended.insert(pid);
            }
            MapEvent::KernelSymbol { range, removed: true, .. } => {
                self.run_time_symbols.change(at, |pieces| pieces.remove(&range));
            }
            MapEvent::KernelSymbol { range, name, removed: false } => {
                let Ok(index) = u32::try_from(self.run_time_names.len()) else { return };
                self.run_time_names.push(name.as_str().into());
                self.run_time_symbols.change(at, |pieces| pieces.insert(range, index));
            }
            MapEvent::TextPoke { .. } => {}
        }
    }

    /// A mapping belongs to the half in which it begins; what reaches into the other half is cut off.
    fn map(&mut self, at: Tsc, mapping: Mapping) {
        let kernel = mapping.pid == Pid::KERNEL;
        let half = if kernel { KERNEL_HALF..u64::MAX } else { 0..KERNEL_HALF };
        let range: Range<u64> = mapping.range.start.max(half.start)..mapping.range.end.min(half.end);
        let Ok(index) = u32::try_from(self.mappings.len()) else { return };
        if range.is_empty() {
            return;
        }
        if self.ended.remove(&mapping.pid) {
            self.of(mapping.pid).set(at, RangeMap::default());
        }
        let timeline = if kernel { &mut self.kernel } else { self.of(mapping.pid) };
        timeline.change(at, |pieces| pieces.insert(range, index));
        self.mappings.push(mapping);
    }

    fn of(&mut self, pid: Pid) -> &mut Timeline<MappingIndex> {
        self.processes.entry(pid).or_insert_with(Timeline::new)
    }
}

#[cfg(test)]
mod tests;
