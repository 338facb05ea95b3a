//! Marks that lie in the trace itself: PTWRITE payloads, which the packets tell, and calls of a function, which need
//! one decode of all of it. Found calls are kept beside the capture.

use anyhow::{Result, bail};
use intervals::IntervalSet;
use intervals::functions::{EntryPoint, FunctionCalls, MarkCache, join_calls};
use intervals::ptwrite::{self, PtwriteOccurrence, PtwriteSpec, from_ptwrites};
use model::{Pid, Tsc, TscRange};
use pt::{PtStream, Window};
use rayon::prelude::*;

use crate::capture::Capture;
use crate::meter::Meter;

/// All of a trace.
const ALL: TscRange = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };

/// Intervals from PTWRITE payloads: the packets tell all, no code is needed.
pub(crate) fn ptwrites(capture: &Capture<'_>, spec: &PtwriteSpec) -> IntervalSet {
    let streams: Vec<&PtStream<'_>> = capture.streams().collect();
    let found: Vec<Vec<PtwriteOccurrence>> = streams
        .into_par_iter()
        .map(|stream| {
            let occupants = capture.occupants_of(stream);
            ptwrite::occurrences(stream, &capture.pt_config(), occupants).collect()
        })
        .collect();
    from_ptwrites(spec, found.into_iter().flatten())
}

/// Intervals from a function's entry to its return.
pub(crate) fn calls(capture: &Capture<'_>, symbol: &str) -> Result<IntervalSet> {
    let found = capture.images().addresses_of_any(symbol);
    let mut entries: Vec<EntryPoint> = found
        .into_iter()
        .map(|(pid, ip)| EntryPoint { ip, pid: (pid != Pid::KERNEL).then_some(pid) })
        .collect();
    entries.sort_unstable();
    if entries.is_empty() {
        bail!("no binary of this capture has a function called {symbol}: check the name, --symfs and -k");
    }
    let cache = MarkCache::new(capture.path(), symbol, &entries).ok();
    if let Some(known) = cache.as_ref().and_then(MarkCache::load) {
        return Ok(known.into_intervals(symbol));
    }
    let found = join_calls(find_calls(capture, &entries)?.into_iter().flat_map(FunctionCalls::finish));
    if let Some(cache) = cache {
        // A folder one may not write into costs a second scan, no more.
        let _ = cache.store(&found);
    }
    Ok(found.into_intervals(symbol))
}

/// Decodes all streams, one after the other, each in chunks on all threads.
fn find_calls<'e>(capture: &Capture<'_>, entries: &'e [EntryPoint]) -> Result<Vec<FunctionCalls<'e>>> {
    let threads = rayon::current_num_threads();
    let mut sinks = Vec::new();
    let meter = Meter::new("scanning the whole trace".to_owned(), capture.streams().count());
    for stream in capture.streams() {
        let window = Window { stream, range: ALL, occupants: capture.occupants_of(stream) };
        let sink = || FunctionCalls::new(entries, stream.cpu(), ALL);
        let limits = pt::Limits::default();
        sinks.extend(pt::decode_chunks(
            &capture.pt_config(),
            &limits,
            &window,
            capture.images(),
            threads,
            sink,
        )?);
        meter.step();
    }
    Ok(sinks)
}
