//! Decoding on several threads: many windows, or one stream cut at sync points.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::{CodeBytes, Tsc, TscRange};

use crate::config::{Limits, PtConfig};
use crate::decoder::{Decoder, EngineKind};
use crate::engine::{Engine as _, Window};
use crate::error::Error;
use crate::flow::Flow;
use crate::sink::FlowSink;
use crate::sync::SyncPoint;

/// Decodes `windows` on up to `threads` threads, each with an engine of its own. Flows come in the order of the
/// windows.
///
/// # Errors
/// As [`crate::Engine::decode`]; the first one ends it.
pub fn decode_windows(
    kind: EngineKind,
    config: &PtConfig,
    limits: &Limits,
    windows: &[Window<'_>],
    image: &dyn CodeBytes,
    threads: usize,
) -> Result<Vec<Flow>, Error> {
    on_threads(kind, config, limits, windows.len(), threads, |engine, index| {
        let mut flow = Flow::default();
        engine.decode(&windows[index], image, &mut flow)?;
        Ok(flow)
    })
}

/// Decodes one window on up to `threads` threads: its trace is cut at sync points, each chunk goes into a sink of
/// its own, and the sinks come back in order. Put together they hold the instructions, events and gaps that
/// [`crate::Engine::decode`] yields, in the same order. What the decoder knows from before is found anew at each
/// chunk: who is on the CPU, and whether tracing resumed where it had stopped ([`crate::EventKind::Enabled`]).
///
/// # Errors
/// As [`crate::Engine::decode`]; the first one ends it.
pub fn decode_chunks<S: FlowSink + Send>(
    kind: EngineKind,
    config: &PtConfig,
    limits: &Limits,
    window: &Window<'_>,
    image: &dyn CodeBytes,
    threads: usize,
    make_sink: impl Fn() -> S + Sync,
) -> Result<Vec<S>, Error> {
    let chunks = chunks(window, limits.chunk_bytes, threads);
    decode_each(kind, config, limits, window, &chunks, image, threads, make_sink)
}

/// The same of these of its chunks.
///
/// # Errors
/// As [`crate::Engine::decode`]; the first one ends it.
#[allow(clippy::too_many_arguments, reason = "those of `decode_chunks`, and which chunks")]
pub fn decode_each<S: FlowSink + Send>(
    kind: EngineKind,
    config: &PtConfig,
    limits: &Limits,
    window: &Window<'_>,
    chunks: &[Chunk],
    image: &dyn CodeBytes,
    threads: usize,
    make_sink: impl Fn() -> S + Sync,
) -> Result<Vec<S>, Error> {
    on_threads(kind, config, limits, chunks.len(), threads, |engine, index| {
        let mut sink = make_sink();
        engine.decode_chunk(window, chunks[index], image, &mut sink)?;
        Ok(sink)
    })
}

/// A part of a window's trace, from one sync point to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where it begins; where the window does if there is none.
    pub(crate) start: Option<SyncPoint>,
    /// Position of the sync point at which it ends; [`u64::MAX`] where the window does.
    pub(crate) stop: u64,
}

impl Chunk {
    /// The whole window.
    pub const WHOLE: Chunk = Chunk { start: None, stop: u64::MAX };
}

/// Cuts the window into chunks of at least `least` bytes, some for each of so many threads.
pub fn chunks(window: &Window<'_>, least: u64, threads: usize) -> Vec<Chunk> {
    let starts = chunk_starts(window, least, threads);
    let chunk = |(index, start): (usize, &SyncPoint)| Chunk {
        // The first chunk begins as the whole window does.
        start: (index > 0).then_some(*start),
        stop: starts.get(index + 1).map_or(u64::MAX, |next| next.offset),
    };
    starts.iter().enumerate().map(chunk).collect()
}

/// Sync points of the window at which chunks begin: at least `least` bytes apart, some for each thread.
fn chunk_starts(window: &Window<'_>, least: u64, threads: usize) -> Vec<SyncPoint> {
    let stream = window.stream;
    let Some(first) = stream.sync_point_before(window.range.start) else {
        return vec![SyncPoint { offset: 0, tsc: None }];
    };
    let end = end_of(window);
    let share = end.saturating_sub(first.offset) / (threads.max(1) as u64 * 8);
    let mut starts = vec![first];
    let mut next = first.offset.saturating_add(share.max(least));
    while next < end
        && let Some(point) = stream.sync_from(next).filter(|point| point.offset < end)
    {
        starts.push(point);
        next = point.offset.saturating_add(share.max(least));
    }
    starts
}

/// Position after the trace that the window needs.
fn end_of(window: &Window<'_>) -> u64 {
    let TscRange { stop, .. } = window.range;
    if stop == Tsc(u64::MAX) {
        return window.stream.end();
    }
    let last = window.stream.sync_point_before(stop);
    last.and_then(|last| window.stream.psb_from(last.offset + 1)).unwrap_or(window.stream.end())
}

fn on_threads<T: Send>(
    kind: EngineKind,
    config: &PtConfig,
    limits: &Limits,
    count: usize,
    threads: usize,
    work: impl Fn(&mut Decoder, usize) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let run = || {
        let mut engine = Decoder::new(kind, config.clone(), limits.clone());
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let result = work(&mut engine, index);
            if result.is_err() {
                next.store(count, Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
