//! The frequencies that the CPUs of an interval's threads were asked for, in the trace's time.
//!
//! Input: the threads' stays and the capture's `cpu_frequency` records. Output: [`Asked`] in order of time, none of which
//! overlap; holes where nothing is known.

use model::{Cpu, FileOffset, PerfTime, Ticks, TimeConversion, TscRange};
use perfdata::AskedFrequencies;

use crate::timeline::Stay;

/// A stretch of time in which one frequency was in force where the interval's thread was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// When.
    pub(crate) range: TscRange,
    /// The CPU.
    pub(crate) cpu: Cpu,
    /// The frequency, in kHz; not 0.
    pub(crate) khz: u32,
    /// The record that tells it.
    pub(crate) record: FileOffset,
}

/// What was in force on the CPUs of `stays`; nothing where the records' clock cannot be joined with the trace's.
pub(crate) fn asked_during(
    stays: &[Stay],
    frequencies: &AskedFrequencies,
    conversion: Option<TimeConversion>,
) -> Vec<Asked> {
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
                all.push(Asked { range, cpu, khz: asked.khz, record: asked.record });
            }
        }
    }
    all
}

/// Those of `all` that were in force within `range`, and for how long.
pub(crate) fn asked_within(all: &[Asked], range: TscRange) -> impl Iterator<Item = (Ticks, &Asked)> {
    let first = all.partition_point(|asked| asked.range.stop <= range.start);
    all[first..].iter().take_while(move |asked| asked.range.start < range.stop).map(move |asked| {
        let stop = asked.range.stop.min(range.stop);
        (stop.since(asked.range.start.max(range.start)), asked)
    })
}

#[cfg(test)]
mod tests;
