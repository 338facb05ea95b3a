//! Marks that lie in the trace itself: PTWRITE payloads, which the packets hold, and calls of a function, which need
//! one decode of all of it. Found calls are kept beside the capture.

use std::path::Path;

use intervals::IntervalSet;
use intervals::functions::{EntryPoint, FoundCalls, FunctionCalls, MarkCache, join_calls};
use intervals::ptwrite::{self, PtwriteOccurrence, PtwriteSpec, from_ptwrites};
use model::{Pid, Tsc, TscRange};
use pt::{PtStream, Window};
use rayon::prelude::*;

use crate::capture::{Capture, Counted, Watch};
use crate::error::{Error, Result};
use crate::output;

/// All of a trace.
const ALL: TscRange = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };

/// Intervals from PTWRITE payloads: the packets hold all of it, no code is needed.
pub(crate) fn ptwrites(capture: &Capture<'_>, spec: &PtwriteSpec, watch: &Watch) -> Result<IntervalSet> {
    let streams: Vec<&PtStream<'_>> = capture.streams().collect();
    expect(&streams, watch);
    let found: Vec<Vec<PtwriteOccurrence>> = streams
        .into_par_iter()
        .map(|stream| {
            let occupants = capture.occupants_of(stream);
            let found = ptwrite::occurrences(stream, &capture.pt_config(), occupants);
            let found = found.take_while(|_| !watch.is_stopped()).collect();
            watch.read(stream.len());
            found
        })
        .collect();
    ensure_not_stopped(watch)?;
    Ok(from_ptwrites(spec, found.into_iter().flatten()))
}

/// Intervals from a function's entry to its return.
pub(crate) fn calls(capture: &Capture<'_>, symbol: &str, watch: &Watch) -> Result<IntervalSet> {
    let found = capture.images().addresses_of_any(symbol);
    let mut entries: Vec<EntryPoint> = found
        .into_iter()
        .map(|(pid, ip)| EntryPoint { ip, pid: (pid != Pid::KERNEL).then_some(pid) })
        .collect();
    entries.sort_unstable();
    if entries.is_empty() {
        return Err(Error::NoFunction(symbol.to_owned()));
    }
    let cache = MarkCache::new(capture.path(), symbol, &entries).ok();
    if let Some(known) = cache.as_ref().and_then(MarkCache::load) {
        return Ok(known.into_intervals(symbol));
    }
    let found = join_calls(find_calls(capture, &entries, watch)?.into_iter().flat_map(FunctionCalls::finish));
    if let Some(cache) = cache {
        keep(&cache, &found);
    }
    Ok(found.into_intervals(symbol))
}

/// Keeps found calls beside the capture. A folder that no one may write into costs a second scan, no more, even where this process
/// (root's) could.
fn keep(cache: &MarkCache, found: &FoundCalls) {
    let folder = cache.path().parent().filter(|folder| !folder.as_os_str().is_empty());
    let may_write =
        folder.unwrap_or(Path::new(".")).metadata().is_ok_and(|found| !found.permissions().readonly());
    // A pipe in its place would wait for a reader.
    let is_free = cache.path().metadata().map_or(true, |found| found.is_file());
    if may_write && is_free {
        let _ = output::write_file(cache.path(), &cache.contents(found));
    }
}

/// Decodes all streams, one after the other, each in chunks on all threads.
fn find_calls<'e>(
    capture: &Capture<'_>,
    entries: &'e [EntryPoint],
    watch: &Watch,
) -> Result<Vec<FunctionCalls<'e>>> {
    let threads = rayon::current_num_threads();
    let mut sinks = Vec::new();
    let streams: Vec<&PtStream<'_>> = capture.streams().collect();
    expect(&streams, watch);
    for stream in streams {
        let window = Window { stream, range: ALL, occupants: capture.occupants_of(stream) };
        let sink = || watch.counting(FunctionCalls::new(entries, stream.cpu(), ALL));
        let limits = pt::Limits::default();
        let config = capture.pt_config();
        let found = pt::decode_chunks(&config, &limits, &window, capture.images(), threads, sink)?;
        ensure_not_stopped(watch)?;
        sinks.extend(found.into_iter().map(Counted::into_sink));
    }
    Ok(sinks)
}

fn expect(streams: &[&PtStream<'_>], watch: &Watch) {
    watch.expect_bytes(streams.iter().map(|stream| stream.len()).sum());
}

/// What a scan found before it was stopped is no population: an entry's return may lie in the part left out.
fn ensure_not_stopped(watch: &Watch) -> Result<()> {
    if watch.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
}
