//! The frequency that each CPU was asked to run at, over time, from `power:cpu_frequency` records.
//!
//! The field `cpu_id` names the CPU that a record is about: the kernel writes one for each CPU of a frequency domain, on
//! whichever of them the change is made (`cpufreq_notify_transition` in `drivers/cpufreq/cpufreq.c`). `state`, in kHz, is
//! what the governor requested. The core may run otherwise, and where the hardware chooses alone (HWP) nothing is recorded.
//!
//! Invariant: nothing is known before a CPU's first record, nor from a LOST record on until its next one.

use std::collections::BTreeMap;
use std::ops::Range;

use model::{Cpu, FileOffset, PerfTime};

use crate::ordered_records::OrderedRecords;
use crate::record::{Record, Sample};

const EVENT: &str = "power:cpu_frequency";

/// What one record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedFrequency {
    /// From when on.
    pub since: PerfTime,
    /// The frequency, in kHz.
    pub khz: u32,
    /// The record.
    pub record: FileOffset,
}

/// The frequency requested on each CPU over time.
#[derive(Clone, Debug, Default)]
pub struct AskedFrequencies {
    /// In order of time.
    by_cpu: BTreeMap<Cpu, Vec<AskedFrequency>>,
    /// The LOST records in order of time: a lost one may have held another frequency, of any CPU.
    losses: Vec<(PerfTime, FileOffset)>,
}

impl AskedFrequencies {
    /// By the records of a capture; its records are looked at only where it has such ones at all.
    pub(crate) fn of(records: &OrderedRecords) -> AskedFrequencies {
        let mut asked = AskedFrequencies::default();
        if !records.formats.iter().any(|format| format.name() == EVENT) {
            return asked;
        }
        for timed in records.all().without_switches().of_events(|attr| attr.name.as_deref() == Some(EVENT)) {
            let Some(since) = timed.time else { continue };
            match &timed.record {
                Record::Lost { .. } | Record::LostSamples { .. } => asked.lost(since, timed.offset),
                Record::Sample(sample) if sample.event_name() == Some(EVENT) => {
                    if let Some((cpu, khz)) = fields(sample) {
                        asked.add(cpu, AskedFrequency { since, khz, record: timed.offset });
                    }
                }
                _ => {}
            }
        }
        asked
    }

    /// Of these, in order of time: for what comes from no file.
    pub fn from_records(records: impl IntoIterator<Item = (Cpu, AskedFrequency)>) -> AskedFrequencies {
        let mut all = AskedFrequencies::default();
        records.into_iter().for_each(|(cpu, asked)| all.add(cpu, asked));
        all
    }

    /// Another frequency is requested on `cpu`. In order of time.
    fn add(&mut self, cpu: Cpu, asked: AskedFrequency) {
        self.by_cpu.entry(cpu).or_default().push(asked);
    }

    /// Records were lost. In order of time.
    fn lost(&mut self, time: PerfTime, record: FileOffset) {
        self.losses.push((time, record));
    }

    /// What was in force on `cpu` within `range`, and when, in order of time.
    pub fn within(
        &self,
        cpu: Cpu,
        range: Range<PerfTime>,
    ) -> impl Iterator<Item = (Range<PerfTime>, &AskedFrequency)> {
        let of_cpu = self.by_cpu.get(&cpu).map_or(&[][..], Vec::as_slice);
        let first = of_cpu.partition_point(|asked| asked.since <= range.start).saturating_sub(1);
        let ends = of_cpu[first..].iter().skip(1).map(|next| next.since).chain([range.end]);
        of_cpu[first..].iter().zip(ends).take_while(move |(asked, _)| asked.since < range.end).filter_map(
            move |(asked, end)| {
                let lost = self.losses.get(self.losses.partition_point(|&(time, _)| time <= asked.since));
                let end = lost.map_or(end, |&(time, _)| end.min(time)).min(range.end);
                let start = asked.since.max(range.start);
                (asked.khz > 0 && start < end).then_some((start..end, asked))
            },
        )
    }

    /// The records that determine what is in force at `time`: the last one of each CPU, and the last one of a loss.
    pub(crate) fn records_before(&self, time: PerfTime) -> impl Iterator<Item = FileOffset> {
        let last = move |of_cpu: &Vec<AskedFrequency>| {
            let later = of_cpu.partition_point(|asked| asked.since <= time);
            later.checked_sub(1).map(|index| of_cpu[index].record)
        };
        let later = self.losses.partition_point(|&(lost, _)| lost <= time);
        let loss = later.checked_sub(1).map(|index| self.losses[index].1);
        self.by_cpu.values().filter_map(last).chain(loss)
    }
}

/// Which CPU, and kHz.
fn fields(sample: &Sample<'_>) -> Option<(Cpu, u32)> {
    let number = |name| u32::try_from(sample.field(name)?.as_u64()?).ok();
    Some((Cpu(number("cpu_id")?), number("state")?))
}

#[cfg(test)]
mod tests;
