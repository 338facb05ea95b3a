//! Brings the trace of windows into memory before a decoder asks for it.
//!
//! A decoder that waits for a device waits for one page at a time: for each jump of its search for the sync point, then for
//! the trace after it. Here readers do the same search some windows ahead, many at once, so that the device always has
//! something to do. They read nothing that decoding does not. Where the file is cached they cost the searches: after some
//! tasks whose trace is in memory they look at few of the next, until one is not.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use model::{FileOffset, TscRange};
use perfdata::PerfData;
use pt::PtStream;

/// What of a stream is going to be decoded.
pub(crate) type Stretch<'a> = (&'a PtStream<'a>, TscRange);

/// Searches at once: what a device answers in parallel, for next to no time of a CPU.
const READERS: usize = 16;
/// Tasks that are brought before the work has reached them: enough to hide the device, little against its memory.
const AHEAD: usize = 64;
/// Tasks after which readers that wait are woken: to wake all of them after each costs more than what they do.
const STRIDE: usize = 16;
/// So many tasks in memory one after the other, and only one of [`LOOKED_AT`] is looked at.
const CACHED_RUN: usize = 32;
const LOOKED_AT: usize = 16;
/// Read beyond the last sync point before a window's end: a decoder continues until a later time is certain.
const TAIL_BYTES: u64 = 32 << 10;

/// How far the work has come: readers keep up with it.
#[derive(Default)]
pub(crate) struct Pace {
    /// Tasks finished; [`usize::MAX`] once no thread waits any more.
    finished: Mutex<usize>,
    moved: Condvar,
    /// How many tasks were found in memory since one that was not.
    cached: AtomicUsize,
}

impl Pace {
    /// One more task is done.
    pub(crate) fn finished(&self) {
        self.set(|finished| finished.saturating_add(1));
    }

    fn set(&self, change: impl FnOnce(usize) -> usize) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        *finished = change(*finished);
        if finished.is_multiple_of(STRIDE) || *finished == usize::MAX {
            self.moved.notify_all();
        }
    }

    /// Whether it is worth a look where the trace of `task` lies.
    fn is_worth_it(&self, task: usize) -> bool {
        self.cached.load(Ordering::Relaxed) < CACHED_RUN || task.is_multiple_of(LOOKED_AT)
    }

    /// The trace of a task was in memory, or not.
    fn found(&self, in_memory: bool) {
        if in_memory {
            self.cached.fetch_add(1, Ordering::Relaxed);
        } else {
            self.cached.store(0, Ordering::Relaxed);
        }
    }

    /// Waits until the work is near `task`; false where it has ended.
    fn wait_for(&self, task: usize) -> bool {
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let near = |finished: &mut usize| finished.saturating_add(AHEAD) <= task;
        *self.moved.wait_while(finished, near).unwrap_or_else(PoisonError::into_inner) != usize::MAX
    }
}

/// Ends the readers even where the work panics.
struct EndsReaders<'a>(&'a Pace);

impl Drop for EndsReaders<'_> {
    fn drop(&mut self) {
        self.0.set(|_| usize::MAX);
    }
}

/// Does `work`, which reports each finished task to the pace, while the trace of the tasks ahead is
/// brought into memory. `tasks` are in the order in which the work takes them, more or less.
pub(crate) fn while_reading_ahead<'a, T>(
    perf: &PerfData,
    tasks: &[impl AsRef<[Stretch<'a>]> + Sync],
    work: impl FnOnce(&Pace) -> T,
) -> T {
    let pace = Pace::default();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let _ends_readers = EndsReaders(&pace);
        for _ in 0..READERS.min(tasks.len()) {
            // Without a reader the work takes longer, and that is all.
            thread::Builder::new().spawn_scoped(scope, || read(perf, tasks, &next, &pace)).ok();
        }
        work(&pace)
    })
}

fn read<'a>(perf: &PerfData, tasks: &[impl AsRef<[Stretch<'a>]>], next: &AtomicUsize, pace: &Pace) {
    loop {
        let task = next.fetch_add(1, Ordering::Relaxed);
        let Some(stretches) = tasks.get(task) else { return };
        if !pace.is_worth_it(task) {
            continue;
        }
        if !pace.wait_for(task) {
            return;
        }
        for bytes in stretches.as_ref().iter().flat_map(|&(stream, range)| trace_of(stream, range)) {
            let in_memory = perf.is_in_memory(&bytes);
            pace.found(in_memory);
            if !in_memory {
                perf.will_need(bytes);
            }
        }
    }
}

/// How much trace a decoder of these windows will read, in bytes.
pub(crate) fn trace_size(stretches: &[Stretch<'_>]) -> u64 {
    let ranges = stretches.iter().flat_map(|&(stream, range)| trace_of(stream, range));
    ranges.fold(0, |sum: u64, range| sum.saturating_add(range.end.0.saturating_sub(range.start.0)))
}

/// The bytes that a decoder of this window will read.
fn trace_of(stream: &PtStream<'_>, range: TscRange) -> Vec<Range<FileOffset>> {
    let (Some(first), Some(last)) =
        (stream.sync_point_before(range.start), stream.sync_point_before(range.stop))
    else {
        return Vec::new();
    };
    stream.file_ranges(first.offset..last.offset.saturating_add(TAIL_BYTES)).collect()
}

#[cfg(test)]
mod tests;
