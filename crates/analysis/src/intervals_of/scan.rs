//! Marks that lie in the trace itself: PTWRITE payloads and regions of the ITT API, which the packets hold, and emulated ones and calls of a
//! function, which need one decode of all of it. Found calls are kept for the next time.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use intervals::functions::{EntryPoint, FunctionCalls, MarkCache, Stretch, join_calls};
use intervals::pt_regions::{RegionMark, RegionNames, from_region_marks};
use intervals::ptwrite::{self, BitField, FlowPtwrites, PtwriteOccurrence, PtwriteSpec, from_ptwrites};
use intervals::{IntervalSet, SpanContext};
use model::{Pid, Tsc, TscRange};
use pt::{EngineKind, FlowSink, Occupant, PtStream, Window};
use rayon::prelude::*;
use symbols::{LowBits, MarkTable};

use super::{kept_calls, watched_calls};
use crate::capture::{Capture, Counted, Watch};
use crate::error::{Error, Result};

/// All of a trace.
pub(super) const ALL: TscRange = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };

/// How many names are offered in place of one that nothing has.
const OFFERED: usize = 4;

/// Intervals from PTWRITE payloads: the packets hold all of it, no code is needed. Where there are none, emulated ones are looked
/// for in the flow, which only the native engine finds: libipt does not say which way a branch went whose ways are one.
pub(crate) fn ptwrites(capture: &Capture<'_>, spec: &PtwriteSpec, watch: &Watch) -> Result<IntervalSet> {
    let config = capture.pt_config();
    let mut found = walk_all(capture, watch, |stream| {
        ptwrite::occurrences(stream, &config, capture.occupants_of(stream))
    })?;
    if found.is_empty() {
        let sinks = decode_all(capture, EngineKind::Native, watch, |stream| FlowPtwrites::new(stream.cpu()))?;
        found = sinks.into_iter().flat_map(FlowPtwrites::finish).collect();
    }
    let text_of = |occurrence: &PtwriteOccurrence, field: BitField| {
        let pid = occurrence.thread?.pid;
        let low = LowBits { value: field.of(occurrence.payload), width: field.width() };
        capture.images().text_at(pid, low, occurrence.ip, occurrence.time)
    };
    Ok(from_ptwrites(spec, found, &text_of))
}

/// Which of these spans each thread worked for since when, by PTWRITEs of their ids, and of 0 for none. Other payloads are something else.
pub(crate) fn span_contexts(
    capture: &Capture<'_>,
    spans: &HashSet<u64>,
    watch: &Watch,
) -> Result<Vec<SpanContext>> {
    let config = capture.pt_config();
    let found = walk_all(capture, watch, |stream| {
        ptwrite::occurrences(stream, &config, capture.occupants_of(stream))
    })?;
    let is_span =
        |payload: u64| payload == 0 || spans.contains(&payload) || spans.contains(&payload.swap_bytes());
    let found = found.into_iter().filter(|found| found.time != Tsc(0) && is_span(found.payload));
    let context = |found: PtwriteOccurrence| {
        Some(SpanContext { at: found.time, thread: found.thread?, span: found.payload })
    };
    Ok(found.filter_map(context).collect())
}

/// Intervals from the regions that programs of the ITT API mark by jumps into a table of theirs: the packets of the jumps say all of it.
pub(crate) fn regions(capture: &Capture<'_>, names: Option<&Path>, watch: &Watch) -> Result<IntervalSet> {
    let names = names.map(RegionNames::read).transpose()?.unwrap_or_default();
    let tables = capture.images().mark_tables();
    if tables.is_empty() {
        return Err(Error::NoMarkTable);
    }
    let wanted = joined(tables.iter().map(MarkTable::range));
    let config = capture.pt_config();
    let jumps = walk_all(capture, watch, |stream| {
        let occupants = capture.occupants_of(stream);
        let jumps = pt::scan_targets(stream, &config, &wanted);
        jumps.map(move |jump| (jump, stream.cpu(), Occupant::at(occupants, jump.time)))
    })?;
    let marks = jumps.into_iter().filter_map(|(jump, cpu, thread)| {
        let mut of_thread = tables.iter().filter(|table| thread.is_none_or(|thread| thread.pid == table.pid));
        let entry = of_thread.find_map(|table| table.entry(jump.ip))?;
        Some(RegionMark { time: jump.time, cpu, thread, entry, aux_offset: jump.position })
    });
    Ok(from_region_marks(&names, marks))
}

/// The ranges in order, those that overlap as one.
fn joined(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = ranges.collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let overlap = next.start < last.end;
        if overlap {
            last.end = last.end.max(next.end);
        }
        overlap
    });
    ranges
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
        let near = capture.images().names_like(symbol, OFFERED);
        return Err(Error::NoFunction { name: symbol.to_owned(), near });
    }
    // What one engine found is not given out as what the other finds.
    let folder = capture.cache().filter(|_| capture.engine() == EngineKind::USUAL);
    let cache = folder.and_then(|folder| MarkCache::new(folder, capture.path(), symbol, &entries).ok());
    if let Some(known) = cache.as_ref().and_then(MarkCache::load) {
        return Ok(known.into_intervals(symbol));
    }
    let found = join_calls(stretches(capture, &entries, watch)?);
    if let Some(cache) = cache {
        kept_calls::keep(&cache, &found);
    }
    Ok(found.into_intervals(symbol))
}

/// What each thread did with the functions that begin at `entries`: by the blocks around their calls, or by all blocks.
fn stretches(capture: &Capture<'_>, entries: &[EntryPoint], watch: &Watch) -> Result<Vec<Stretch>> {
    if let Some(found) = watched_calls::stretches(capture, entries, watch)? {
        return Ok(found);
    }
    let engine = capture.engine();
    let sinks = decode_all(capture, engine, watch, |stream| FunctionCalls::new(entries, stream.cpu(), ALL))?;
    Ok(sinks.into_iter().flat_map(FunctionCalls::finish).collect())
}

/// What `walk` finds in each stream, streams in parallel.
fn walk_all<'c, T: Send, W: Iterator<Item = T>>(
    capture: &'c Capture<'_>,
    watch: &Watch,
    walk: impl Fn(&'c PtStream<'c>) -> W + Sync,
) -> Result<Vec<T>> {
    let streams: Vec<&PtStream<'_>> = capture.streams().collect();
    expect(&streams, watch);
    let found: Vec<Vec<T>> = streams
        .into_par_iter()
        .map(|stream| {
            let found = walk(stream).take_while(|_| !watch.is_stopped()).collect();
            watch.read(stream.len());
            found
        })
        .collect();
    ensure_not_stopped(watch)?;
    Ok(found.into_iter().flatten().collect())
}

/// Decodes all streams, one after the other, each in chunks on all threads.
fn decode_all<S: FlowSink + Send>(
    capture: &Capture<'_>,
    engine: EngineKind,
    watch: &Watch,
    make: impl Fn(&PtStream<'_>) -> S + Sync,
) -> Result<Vec<S>> {
    let threads = rayon::current_num_threads();
    let mut sinks = Vec::new();
    let streams: Vec<&PtStream<'_>> = capture.streams().collect();
    expect(&streams, watch);
    for stream in streams {
        let window = Window { stream, range: ALL, occupants: capture.occupants_of(stream) };
        let sink = || watch.counting(make(stream));
        let limits = pt::Limits::default();
        let config = capture.pt_config();
        let found = pt::decode_chunks(engine, &config, &limits, &window, capture.images(), threads, sink)?;
        ensure_not_stopped(watch)?;
        sinks.extend(found.into_iter().map(Counted::into_sink));
    }
    Ok(sinks)
}

fn expect(streams: &[&PtStream<'_>], watch: &Watch) {
    watch.expect_bytes(streams.iter().map(|stream| stream.len()).sum());
}

/// What a scan found before it was stopped is no population: an entry's return may lie in the part left out.
pub(super) fn ensure_not_stopped(watch: &Watch) -> Result<()> {
    if watch.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
}
