//! Samples of where a CPU was: instruction addresses at a steady rate of time or cycles.
//!
//! Source: `perf_event_attr.type` and `.config` of `include/uapi/linux/perf_event.h`: the events `cycles`, `cpu-clock` and
//! `task-clock`. Samples of other events (cache misses) are no measure of time and not among them.

use model::{Cpu, FileOffset, PerfTime, ThreadId, TimeConversion, Tsc, TscRange};
use perfdata::{Attr, PerfData, Record, sample_type};

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
/// `PERF_COUNT_HW_CPU_CYCLES`; the upper half of the configuration names one kind of core where there are several.
const CPU_CYCLES: u64 = 0;
/// `PERF_COUNT_SW_CPU_CLOCK`, `PERF_COUNT_SW_TASK_CLOCK`.
const CLOCKS: [u64; 2] = [0, 1];

/// Where a CPU was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampledAddress {
    /// When.
    pub(crate) time: Tsc,
    /// The CPU.
    pub(crate) cpu: Option<Cpu>,
    /// Who was there.
    pub(crate) thread: ThreadId,
    /// The instruction.
    pub(crate) address: u64,
    /// Whether a timer took it: then it lies in the timer's interrupt, and its address is what that interrupted.
    pub(crate) by_timer: bool,
    /// The record.
    pub(crate) offset: FileOffset,
}

/// Whether samples of `attr` measure time, and then whether a timer takes them.
fn is_by_timer(attr: &Attr) -> Option<bool> {
    let by_timer = match attr.kind {
        HARDWARE if attr.config & u64::from(u32::MAX) == CPU_CYCLES => false,
        SOFTWARE if CLOCKS.contains(&attr.config) => true,
        _ => return None,
    };
    attr.samples(sample_type::IP).then_some(by_timer)
}

/// The samples within `range`, in time order. Costs nothing where none were recorded.
pub(crate) fn sampled_within(
    perf: &PerfData,
    range: TscRange,
    conversion: TimeConversion,
) -> Vec<SampledAddress> {
    if !perf.attrs().iter().any(|attr| is_by_timer(attr).is_some()) {
        return Vec::new();
    }
    let to = PerfTime(conversion.to_perf_time(range.stop).0.saturating_add(1));
    let records = perf.records_in(conversion.to_perf_time(range.start)..to);
    let sampled = records.filter_map(|timed| {
        let Record::Sample(sample) = &timed.record else { return None };
        let by_timer = is_by_timer(sample.attr()?)?;
        Some(SampledAddress {
            time: conversion.to_tsc(timed.time?),
            cpu: timed.cpu,
            thread: timed.thread?,
            address: sample.ip()?,
            by_timer,
            offset: timed.offset,
        })
    });
    sampled.collect()
}
