//! The memory without a file in which a runtime's code lies.
//!
//! The kernel records such memory as mapped again whenever its protection changes, with all code that is in it (`mprotect_fixup`,
//! `perf_event_mmap`): a runtime that makes its code writable for a moment does that all the time. A dump says what lies there, so this
//! memory lies beneath it. perf leaves it out for the same reason (`jit_process`, `tools/perf/util/jitdump.c`).

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use model::{MapEvent, Mapping, Pid, Tsc};

use crate::image::ImageKind;
use crate::jitdump::Load;
use crate::range_map::RangeMap;
use crate::timeline::KERNEL_HALF;

/// What one process mapped so far.
#[derive(Default)]
struct Seen {
    /// Memory without a file.
    anonymous: RangeMap<()>,
    /// Files.
    files: RangeMap<()>,
}

/// Leaves of each process in `dumps` (since when it had one) the first mapping of memory without a file at each address, from the
/// dump's begin on where no file lay there before.
pub(super) fn lay(events: &mut Vec<(Tsc, MapEvent)>, dumps: &BTreeMap<Pid, Tsc>) {
    if dumps.is_empty() {
        return;
    }
    let mut seen: HashMap<Pid, Seen> = HashMap::new();
    let mut laid = Vec::with_capacity(events.len());
    for (at, event) in events.drain(..) {
        match event {
            MapEvent::Map(mapping) if dumps.contains_key(&mapping.pid) => {
                let since = dumps.get(&mapping.pid).copied().unwrap_or(at);
                seen.entry(mapping.pid).or_default().take(at, mapping, since, &mut laid);
            }
            MapEvent::Exec { pid } => {
                seen.remove(&pid);
                laid.push((at, event));
            }
            _ => laid.push((at, event)),
        }
    }
    // By then the events before them have taken their places, too.
    laid.sort_by_key(|(at, _)| *at);
    *events = laid;
}

impl Seen {
    fn take(&mut self, at: Tsc, mapping: Mapping, since: Tsc, laid: &mut Vec<(Tsc, MapEvent)>) {
        let range = mapping.range.clone();
        if ImageKind::of(&mapping.path, range.start >= KERNEL_HALF) != ImageKind::Anonymous {
            self.files.insert(range.clone(), ());
            self.anonymous.remove(&range);
            laid.push((at, MapEvent::Map(mapping)));
            return;
        }
        for part in uncovered(&self.anonymous, &range) {
            let from = if uncovered(&self.files, &part) == [part.clone()] { at.min(since) } else { at };
            let file_offset = mapping.file_offset.wrapping_add(part.start - range.start);
            laid.push((from, MapEvent::Map(Mapping { range: part, file_offset, ..mapping.clone() })));
        }
        self.anonymous.insert(range.clone(), ());
        self.files.remove(&range);
    }
}

/// The parts of `range` that no piece covers.
fn uncovered(pieces: &RangeMap<()>, range: &Range<u64>) -> Vec<Range<u64>> {
    let mut rest = RangeMap::default();
    rest.insert(range.clone(), ());
    let mut at = range.start;
    while let Some((piece, ())) = pieces.at_or_after(at).filter(|(piece, ())| piece.start < range.end) {
        rest.remove(piece);
        at = piece.end;
    }
    rest.iter().map(|(part, ())| part.clone()).collect()
}

/// How many of `loads`, in the order of time, lay at least in part where another one came later.
pub(super) fn hidden(loads: &[Load]) -> usize {
    let mut last = RangeMap::default();
    let mut hidden = vec![false; loads.len()];
    for (number, load) in loads.iter().enumerate() {
        let range = load.range();
        while let Some((piece, &before)) =
            last.at_or_after(range.start).filter(|(piece, _)| piece.start < range.end)
        {
            let piece = piece.clone();
            last.remove(&piece);
            if let Some(hidden) = hidden.get_mut::<usize>(before) {
                *hidden = true;
            }
        }
        last.insert(range, number);
    }
    hidden.into_iter().filter(|&hidden| hidden).count()
}

#[cfg(test)]
mod tests;
