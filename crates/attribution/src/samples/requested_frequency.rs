//! The frequencies requested for the CPUs of an interval's threads, in the trace's time.
//!
//! Input: the threads' stays and the capture's `cpu_frequency` records. Output: [`RequestedFrequency`] in time order,
//! without overlaps; holes where nothing is known.

use model::{Cpu, FileOffset, PerfTime, Ticks, TimeConversion, TscRange};
use perfdata::AskedFrequencies;

use crate::threads::stays::Stay;

/// A stretch of time in which one frequency was in force where the interval's thread was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestedFrequency {
    /// When.
    pub(crate) range: TscRange,
    /// The CPU.
    pub(crate) cpu: Cpu,
    /// The frequency, in kHz; not 0.
    pub(crate) khz: u32,
    /// Its record.
    pub(crate) record: FileOffset,
}

/// The frequencies in force on the CPUs of `stays`; empty where the records' clock cannot be converted to the
/// trace's.
pub(crate) fn requested_during(
    stays: &[Stay],
    frequencies: &AskedFrequencies,
    conversion: Option<TimeConversion>,
) -> Vec<RequestedFrequency> {
    let Some(conversion) = conversion else { return Vec::new() };
    let mut all = Vec::new();
    for stay in stays {
        let Some(cpu) = stay.place.cpu() else { continue };
        let end = conversion.to_perf_time(stay.range.stop).0.saturating_add(1);
        let time = conversion.to_perf_time(stay.range.start)..PerfTime(end);
        for (time, asked) in frequencies.within(cpu, time) {
            let start = conversion.to_tsc(time.start).max(stay.range.start);
            let range = TscRange::new(start, conversion.to_tsc(time.end).min(stay.range.stop));
            if !range.is_empty() {
                all.push(RequestedFrequency { range, cpu, khz: asked.khz, record: asked.record });
            }
        }
    }
    all
}

/// Those of `all` that were in force within `range`, and for how long.
pub(crate) fn requested_within(
    all: &[RequestedFrequency],
    range: TscRange,
) -> impl Iterator<Item = (Ticks, &RequestedFrequency)> {
    let first = all.partition_point(|asked| asked.range.stop <= range.start);
    all[first..].iter().take_while(move |asked| asked.range.start < range.stop).map(move |asked| {
        let stop = asked.range.stop.min(range.stop);
        (stop.since(asked.range.start.max(range.start)), asked)
    })
}

#[cfg(test)]
mod tests;
