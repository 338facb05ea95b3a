//! Marks that lie in the trace itself: PTWRITE payloads and calls of a function. They need one decode of all of it,
//! a thread per stream; found calls are kept beside the capture.

use std::ops::ControlFlow;

use anyhow::{Result, bail};
use intervals::functions::{EntryPoint, FunctionCalls, MarkCache, join_calls};
use intervals::{IntervalSet, PtwriteOccurrence, PtwriteSpec, from_ptwrites};
use model::{Cpu, Pid, Tsc, TscRange};
use pt::{Engine, EventKind, FlowItem, FlowSink, Libipt, PtStream, Window};
use rayon::prelude::*;

use crate::capture::Capture;

/// All of a trace.
const ALL: TscRange = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };

/// Decodes every stream into a sink of its own, in parallel.
fn scan<S: FlowSink + Send>(capture: &Capture<'_>, sink: impl Fn(&PtStream<'_>) -> S + Sync) -> Vec<S> {
    let streams: Vec<&PtStream<'_>> = capture.streams().collect();
    streams
        .into_par_iter()
        .map(|stream| {
            let mut engine = Libipt::new(capture.pt_config(), pt::Limits::default());
            let occupants = capture.occupants_of(stream);
            let window = Window { stream, range: ALL, occupants: &occupants };
            let mut sink = sink(stream);
            if let Err(error) = engine.decode(&window, capture.images(), &mut sink) {
                capture.note_decode_error(stream.cpu(), &error);
            }
            sink
        })
        .collect()
}

/// Intervals from PTWRITE payloads.
pub(crate) fn ptwrites(capture: &Capture<'_>, spec: &PtwriteSpec) -> IntervalSet {
    let found = scan(capture, |stream| Payloads { cpu: stream.cpu(), found: Vec::new() });
    from_ptwrites(spec, found.into_iter().flat_map(|payloads| payloads.found))
}

/// Collects PTWRITE payloads.
struct Payloads {
    cpu: Option<Cpu>,
    found: Vec<PtwriteOccurrence>,
}

impl FlowSink for Payloads {
    fn item(&mut self, item: FlowItem) -> ControlFlow<()> {
        if let FlowItem::Event(event) = item
            && let EventKind::Ptwrite { payload, .. } = event.kind
        {
            self.found.push(PtwriteOccurrence {
                time: event.time.not_before,
                cpu: self.cpu,
                thread: event.thread,
                payload,
                aux_offset: event.aux_offset,
            });
        }
        ControlFlow::Continue(())
    }
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
    let sinks = scan(capture, |stream| FunctionCalls::new(&entries, stream.cpu(), ALL));
    let found = join_calls(sinks.into_iter().flat_map(FunctionCalls::finish));
    if let Some(cache) = cache {
        // A folder one may not write into costs a second scan, no more.
        let _ = cache.store(&found);
    }
    Ok(found.into_intervals(symbol))
}
