//! From what explaining looked at to what a slice holds: PT bytes, times of records, pages of the kernel.
//!
//! Invariant: whoever decodes a kept stretch of trace from its first sync point to its end finds the switch records of
//! that time, so that stock perf knows whose code it is, and the kernel's code, so that no decoder gets lost before the
//! window.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};

use model::{PerfTime, TimeConversion, Tsc, TscRange};
use perfdata::{AuxPart, CpuTimes, PerfData, Record, SlicePlan};
use pt::{FlowItem, FlowSink, PtStream, StreamSpan};
use symbols::{KernelCopy, KernelNames, ProcessImages};

use crate::capture::{Capture, Decoders, StreamKey, key_of};
use crate::study::{Baselines, Study};

/// Instructions are at most 15 bytes long: the last one of a block may reach into the next page.
const LONGEST_INSTRUCTION: u64 = 15;

/// So much trace of other CPUs comes along: enough to see what two or four of them did, little beside a bundle's limit.
const NEIGHBOUR_BYTES: u64 = 2 << 20;

/// What explaining looked at.
pub(crate) struct Looked {
    /// Windows of trace.
    pub(crate) windows: Vec<(StreamKey, TscRange)>,
    /// Times of records.
    pub(crate) times: Vec<Range<PerfTime>>,
}

/// What a slice holds.
pub(crate) struct Cut {
    /// For the perf.data.
    pub(crate) plan: SlicePlan,
    /// The kernel's code, where any was traced.
    pub(crate) kernel: Option<KernelCopy>,
    /// Copies of code that lay in no file, where any of it was traced.
    pub(crate) code_copies: Option<Vec<u8>>,
    /// Else the functions of the kernel that its samples name.
    pub(crate) kernel_names: Option<KernelNames>,
}

/// Cuts out what was looked at.
pub(crate) fn cut(study: &Study<'_>, baselines: &Baselines, looked: &Looked) -> Cut {
    let (capture, intervals) = (study.capture(), study.intervals());
    let outliers: Vec<TscRange> =
        study.selected().indices.iter().map(|&index| intervals[index].range).collect();
    let mut windows = looked.windows.clone();
    windows.extend(whole_outliers(&looked.windows, &outliers));
    windows.extend(neighbours(capture, &windows, &outliers));
    let spans = spans(capture, &windows);
    let aux = spans.iter().flat_map(|(stream, spans)| parts(capture.perf(), stream, spans)).collect();
    let Ran { pages, copies, .. } = ran(capture, &spans);
    let kernel = if pages.is_empty() { None } else { capture.images().kernel_copy(&pages) };
    let code_copies = capture.images().code_copies_file(&copies);
    let sampled = if kernel.is_some() { BTreeSet::new() } else { sampled(capture.perf(), &looked.times) };
    let kernel_names = if sampled.is_empty() { None } else { capture.images().kernel_names(&sampled) };
    let examined = examined(baselines).into_iter().map(|index| &intervals[index]);
    let threads = examined.flat_map(|interval| {
        let of_phases = interval.phases.iter().map(|phase| phase.thread);
        [interval.start_thread, interval.stop_thread].into_iter().chain(of_phases)
    });
    let plan = SlicePlan {
        aux,
        times: capture.conversion().map(|conversion| times(&spans, &looked.times, conversion)),
        threads: threads.flatten().map(|thread| thread.tid).collect(),
        // Trace beside samples: each is a small snapshot, and what it repeats is found by the others.
        records: capture.perf().aux_samples().iter().map(|sample| sample.record_offset).collect(),
        renames: None,
        note: Vec::new(),
        in_directory: kernel.is_some(),
    };
    Cut { plan, kernel, code_copies, kernel_names }
}

/// The addresses of the samples in these times.
fn sampled(perf: &PerfData, times: &[Range<PerfTime>]) -> BTreeSet<u64> {
    let mut times = times.to_vec();
    times.sort_by_key(|range| range.start);
    let mut read = PerfTime(0);
    let mut addresses = BTreeSet::new();
    for range in times {
        let records = perf.records_in(range.start.max(read)..range.end.max(read));
        addresses.extend(records.filter_map(|timed| match timed.record {
            Record::Sample(sample) => sample.ip(),
            _ => None,
        }));
        read = read.max(range.end);
    }
    addresses
}

/// The outliers and their typical intervals.
pub(super) fn examined(baselines: &Baselines) -> BTreeSet<usize> {
    let pairs = baselines.iter();
    pairs.flat_map(|(&outlier, typical)| typical.iter().copied().chain([outlier])).collect()
}

/// The outliers' whole time on the CPUs where they were examined: `perf script` also shows the other threads that ran there.
fn whole_outliers(windows: &[(StreamKey, TscRange)], outliers: &[TscRange]) -> Vec<(StreamKey, TscRange)> {
    let mut whole = BTreeMap::new();
    for &(key, window) in windows {
        for outlier in outliers.iter().filter(|outlier| outlier.overlaps(window)) {
            whole.insert((key, outlier.start, outlier.stop), (key, *outlier));
        }
    }
    whole.into_values().collect()
}

/// The outliers' time on the other CPUs, as long as that is little.
fn neighbours(
    capture: &Capture<'_>,
    windows: &[(StreamKey, TscRange)],
    outliers: &[TscRange],
) -> Vec<(StreamKey, TscRange)> {
    let looked_at: BTreeSet<StreamKey> = windows.iter().map(|&(key, _)| key).collect();
    let mut neighbours = Vec::new();
    let mut left = NEIGHBOUR_BYTES;
    for outlier in outliers {
        let others = || capture.streams().filter(|stream| !looked_at.contains(&key_of(stream)));
        let length = |span: StreamSpan| span.positions.end - span.positions.start;
        let bytes: u64 = others().filter_map(|stream| stream.span_of(*outlier)).map(length).sum();
        let Some(rest) = left.checked_sub(bytes) else { continue };
        left = rest;
        neighbours.extend(others().map(|stream| (key_of(stream), *outlier)));
    }
    neighbours
}

/// By stream what its windows need, in order, those that overlap merged.
fn spans<'c, 'a>(
    capture: &'c Capture<'a>,
    windows: &[(StreamKey, TscRange)],
) -> Vec<(&'c PtStream<'a>, Vec<StreamSpan>)> {
    let mut by_stream: BTreeMap<StreamKey, Vec<StreamSpan>> = BTreeMap::new();
    let streams: BTreeMap<StreamKey, &PtStream<'a>> =
        capture.streams().map(|stream| (key_of(stream), stream)).collect();
    for (key, range) in windows {
        let span = streams.get(key).and_then(|stream| stream.span_of(*range));
        by_stream.entry(*key).or_default().extend(span);
    }
    by_stream.into_iter().filter_map(|(key, spans)| Some((*streams.get(&key)?, joined(spans)))).collect()
}

fn joined(mut spans: Vec<StreamSpan>) -> Vec<StreamSpan> {
    spans.sort_by_key(|span| span.positions.start);
    let mut joined: Vec<StreamSpan> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.positions.start <= last.positions.end => {
                last.positions.end = last.positions.end.max(span.positions.end);
                let (start, stop) =
                    (last.time.start.min(span.time.start), last.time.stop.max(span.time.stop));
                last.time = TscRange::new(start, stop);
            }
            _ => joined.push(span),
        }
    }
    joined
}

/// The bytes of `spans` in the buffers of `stream`. Several snapshots are kept whole: what they repeat is found by their bytes.
fn parts(perf: &PerfData, stream: &PtStream<'_>, spans: &[StreamSpan]) -> Vec<AuxPart> {
    let is_snapshot = perf.intel_pt().is_some_and(|intel_pt| intel_pt.snapshot_mode);
    let own = |buffer: &perfdata::AuxBuffer| match stream.cpu() {
        Some(cpu) => buffer.cpu == Some(cpu),
        None => buffer.cpu.is_none() && buffer.tid == stream.thread(),
    };
    let mut buffers: Vec<(usize, &perfdata::AuxBuffer)> =
        perf.aux_buffers().iter().enumerate().filter(|(_, buffer)| own(buffer)).collect();
    if is_snapshot && buffers.len() > 1 {
        let whole =
            |(index, buffer): (usize, &perfdata::AuxBuffer)| AuxPart { buffer: index, range: 0..buffer.size };
        return buffers.into_iter().map(whole).collect();
    }
    buffers.sort_by_key(|(_, buffer)| buffer.aux_offset);
    spans.iter().flat_map(|span| parts_of_span(&buffers, &span.positions)).collect()
}

fn parts_of_span(buffers: &[(usize, &perfdata::AuxBuffer)], positions: &Range<u64>) -> Vec<AuxPart> {
    let first = buffers.partition_point(|(_, buffer)| end_of(buffer) <= positions.start);
    let within = buffers[first..].iter().take_while(|(_, buffer)| buffer.aux_offset < positions.end);
    within
        .map(|&(index, buffer)| {
            let from = positions.start.max(buffer.aux_offset) - buffer.aux_offset;
            let to = positions.end.min(end_of(buffer)) - buffer.aux_offset;
            AuxPart { buffer: index, range: from..to }
        })
        .collect()
}

fn end_of(buffer: &perfdata::AuxBuffer) -> u64 {
    buffer.aux_offset.saturating_add(buffer.size)
}

/// The times that were examined, and those that the kept trace covers, on its CPU.
fn times(
    spans: &[(&PtStream<'_>, Vec<StreamSpan>)],
    looked: &[Range<PerfTime>],
    conversion: TimeConversion,
) -> Vec<CpuTimes> {
    let time = |at: Tsc| match at {
        Tsc(0) => PerfTime(0),
        Tsc(u64::MAX) => PerfTime(u64::MAX),
        at => conversion.to_perf_time(at),
    };
    let traced = spans.iter().flat_map(|(stream, spans)| {
        spans.iter().map(|span| {
            let end = PerfTime(time(span.time.stop).0.saturating_add(1));
            CpuTimes { cpu: stream.cpu(), range: time(span.time.start)..end }
        })
    });
    looked.iter().map(|range| CpuTimes { cpu: None, range: range.clone() }).chain(traced).collect()
}

/// What the kept trace ran through. What programs it ran is noted with their images: the
/// way to a window begins before it, perhaps in a file that nothing in the window runs.
fn ran<'c>(capture: &'c Capture<'_>, spans: &[(&PtStream<'_>, Vec<StreamSpan>)]) -> Ran<'c> {
    let decoders = Decoders::new(capture);
    let mut ran = Ran { images: capture.images(), pages: BTreeSet::new(), copies: BTreeSet::new() };
    for (stream, spans) in spans {
        for span in spans {
            decoders.with(|decoding| decoding.stream(stream, span.time, &mut ran));
        }
    }
    ran
}

/// What the kept trace ran.
struct Ran<'a> {
    images: &'a ProcessImages,
    /// An address in each page of the kernel.
    pages: BTreeSet<u64>,
    /// The numbers of copies of code that lay in no file.
    copies: BTreeSet<u32>,
}

impl FlowSink for Ran<'_> {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        const WITHIN: u64 = 4095;
        let FlowItem::Block(block) = item else { return ControlFlow::Continue(()) };
        let end = block.end_ip.saturating_add(LONGEST_INSTRUCTION);
        let (first, last) = (block.ip & !WITHIN, end & !WITHIN);
        // A block is short; what says otherwise is damaged.
        let pages = (first..=last).step_by(4096).take(64);
        if block.kernel {
            self.pages.extend(pages);
        } else if let Some(thread) = block.thread {
            let at = block.time.likely;
            self.images.function_at(thread.pid, block.ip, at);
            // A copy begins anywhere in a page.
            let places = pages.chain([block.ip, block.end_ip, end]);
            self.copies.extend(places.filter_map(|ip| self.images.code_copy_at(thread.pid, ip, at)));
        }
        ControlFlow::Continue(())
    }
}
