//! The calls of a function by the blocks around them alone, which is several times as fast as by all blocks.
//!
//! ```text
//! 1st turn   chunk 1   chunk 2   chunk 3 ...       where the calls return to is learnt in each, and known in those that come later
//! 2nd turn   chunk 1                               those that came before all was known, until nothing new is learnt
//! ```
//!
//! A call returns in another chunk than it began in, or on another CPU: so no chunk counts that did not watch for all returns. What is found
//! is the same, however many threads decode. Where that has no end, or a call has no known return, all blocks are needed.

use std::sync::{Mutex, PoisonError};

use intervals::functions::{EntryPoint, FunctionCalls, Stretch};
use pt::{Chunk, EngineKind, Limits, PtStream, WatchedCalls, Window};

use super::scan::{ALL, ensure_not_stopped};
use crate::capture::{Capture, Counted, Watch};
use crate::error::Result;

/// Most turns; each after the first begins because the one before it learnt something.
const MOST_TURNS: usize = 8;

/// A stream, its chunks, and what was found in each.
struct Scanned<'c, 'w> {
    stream: &'c PtStream<'c>,
    chunks: Vec<Chunk>,
    found: Vec<Option<FunctionCalls<'w>>>,
}

/// What each thread did with the functions that begin at `entries`. Nothing where it is not known of each call where it returns to: then
/// all blocks are needed.
pub(super) fn stretches(
    capture: &Capture<'_>,
    entries: &[EntryPoint],
    watch: &Watch,
) -> Result<Option<Vec<Stretch>>> {
    if capture.engine() != EngineKind::Native {
        return Ok(None);
    }
    let threads = rayon::current_num_threads();
    let watched = Mutex::new(WatchedCalls::of(entries.iter().map(|entry| (entry.ip, entry.pid))));
    let mut all: Vec<Scanned<'_, '_>> = capture
        .streams()
        .map(|stream| {
            let window = Window { stream, range: ALL, occupants: capture.occupants_of(stream) };
            let chunks = pt::chunks(&window, Limits::default().chunk_bytes, threads);
            let found = chunks.iter().map(|_| None).collect();
            Scanned { stream, chunks, found }
        })
        .collect();
    for _ in 0..MOST_TURNS {
        for scanned in &mut all {
            scan(capture, scanned, (entries, &watched), watch)?;
            ensure_not_stopped(watch)?;
            if watched.lock().unwrap_or_else(PoisonError::into_inner).is_unsure() {
                return Ok(None);
            }
        }
        let incomplete = |scanned: &Scanned<'_, '_>| !scanned.missing().is_empty();
        if !all.iter().any(incomplete) {
            let found = all.into_iter().flat_map(|scanned| scanned.found).flatten();
            return Ok(Some(found.flat_map(FunctionCalls::finish).collect()));
        }
    }
    Ok(None)
}

impl Scanned<'_, '_> {
    /// The indices of the chunks in which nothing was found yet, or not all.
    fn missing(&self) -> Vec<usize> {
        let is_missing =
            |found: &Option<FunctionCalls<'_>>| found.as_ref().is_none_or(FunctionCalls::is_incomplete);
        (0..self.found.len()).filter(|&index| is_missing(&self.found[index])).collect()
    }
}

/// Decodes the chunks that are missing.
fn scan<'w>(
    capture: &Capture<'_>,
    scanned: &mut Scanned<'_, 'w>,
    (entries, watched): (&'w [EntryPoint], &'w Mutex<WatchedCalls>),
    watch: &Watch,
) -> Result<()> {
    let (stream, missing) = (scanned.stream, scanned.missing());
    let window = Window { stream, range: ALL, occupants: capture.occupants_of(stream) };
    let chunks: Vec<Chunk> = missing.iter().map(|&index| scanned.chunks[index]).collect();
    watch.expect_bytes(stream.len() * chunks.len() as u64 / scanned.chunks.len().max(1) as u64);
    let sink = || watch.counting(FunctionCalls::watching(entries, stream.cpu(), ALL, watched));
    let found = pt::decode_each(
        EngineKind::Native,
        &capture.pt_config(),
        &Limits::default(),
        &window,
        &chunks,
        capture.images(),
        rayon::current_num_threads(),
        sink,
    )?;
    for (index, found) in missing.into_iter().zip(found) {
        scanned.found[index] = Some(Counted::into_sink(found));
    }
    Ok(())
}
