//! What a sample says beside where it was taken: how much its instruction cost, and what the counters stood at.
//!
//! Source: `union perf_sample_weight` and `enum perf_event_read_format` in `include/uapi/linux/perf_event.h`; what Intel
//! PMUs put into the parts of a weight: `setup_pebs_adaptive_sample_data` in `arch/x86/events/intel/ds.c`.

use crate::bytes::Fields;

/// `PERF_FORMAT_*` bits.
mod format {
    pub(super) const TOTAL_TIME_ENABLED: u64 = 1;
    pub(super) const TOTAL_TIME_RUNNING: u64 = 1 << 1;
    pub(super) const ID: u64 = 1 << 2;
    pub(super) const GROUP: u64 = 1 << 3;
    pub(super) const LOST: u64 = 1 << 4;
}

/// What the sampled instruction cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weight {
    /// One number (`PERF_SAMPLE_WEIGHT`), of a meaning that depends on the event.
    Whole(u64),
    /// Three parts (`PERF_SAMPLE_WEIGHT_STRUCT`, Linux 5.12), each 0 where the PMU does not report it.
    Parts {
        /// `var1_dw`: core cycles until the memory access had its data; of a transaction that aborted those in vain.
        memory: u32,
        /// `var2_w`: core cycles from the dispatch of a load until it could retire.
        instruction: u16,
        /// `var3_w`: core cycles between the retirement of the instruction before it and its own (Linux 6.3).
        retire: u16,
    },
}

impl Weight {
    /// The word that the sample holds: `var1_dw` in its lower half, then `var2_w`, `var3_w`.
    #[allow(clippy::cast_possible_truncation)] // Parts of a word.
    pub(super) fn new(word: u64, is_struct: bool) -> Weight {
        if is_struct {
            let (instruction, retire) = ((word >> 32) as u16, (word >> 48) as u16);
            Weight::Parts { memory: word as u32, instruction, retire }
        } else {
            Weight::Whole(word)
        }
    }

    /// Core cycles between the retirement of the instruction before and this one's, where an Intel PMU reports them.
    pub fn retire_latency(self) -> Option<u16> {
        match self {
            Weight::Parts { retire, .. } if retire > 0 => Some(retire),
            _ => None,
        }
    }
}

/// What one counter stood at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Events since it was opened, not scaled to the time in which it did not run.
    pub value: u64,
    /// Its id, which names event and CPU or thread; `None` where reads hold none.
    pub id: Option<u64>,
    /// Samples of it that were lost; `None` where reads do not hold it.
    pub lost: Option<u64>,
}

/// What the counters of a group, or one alone, stood at when a sample was taken (`PERF_SAMPLE_READ`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRead<'a> {
    /// Nanoseconds for which the group was switched on, where reads hold it.
    pub time_enabled: Option<u64>,
    /// Nanoseconds for which it counted: less, where it took turns with others.
    pub time_running: Option<u64>,
    /// Of an event that is read alone: its counter.
    alone: Option<Counter>,
    /// Of a group: its counters, one after the other.
    group: &'a [u8],
    read_format: u64,
}

impl<'a> CounterRead<'a> {
    /// Takes a read from `fields`, as `read_format` lays it out; `None` where it claims more than there is.
    pub(super) fn parse(read_format: u64, fields: &mut Fields<'a>) -> Option<CounterRead<'a>> {
        let mut read =
            CounterRead { time_enabled: None, time_running: None, alone: None, group: &[], read_format };
        let is_group = read_format & format::GROUP != 0;
        // The number of counters in a group, the value of one alone.
        let first = fields.u64()?;
        for (bit, time) in [
            (format::TOTAL_TIME_ENABLED, &mut read.time_enabled),
            (format::TOTAL_TIME_RUNNING, &mut read.time_running),
        ] {
            if read_format & bit != 0 {
                *time = Some(fields.u64()?);
            }
        }
        if is_group {
            read.group = fields.counted_bytes(first.checked_mul(8 * read.words())?)?;
        } else {
            let extra = fields.counted_bytes(8 * (read.words() - 1))?;
            read.alone = read.counter(first, extra);
        }
        Some(read)
    }

    /// The read in `bytes`, as `read_format` lays it out.
    pub fn of_bytes(read_format: u64, bytes: &'a [u8]) -> Option<CounterRead<'a>> {
        CounterRead::parse(read_format, &mut Fields::new(bytes))
    }

    /// The counters: of a group its leader's first.
    pub fn counters(&self) -> impl Iterator<Item = Counter> + use<'a> {
        let read = *self;
        let size = usize::try_from(8 * read.words()).unwrap_or(8);
        let group = read.group.chunks_exact(size).filter_map(move |entry| {
            let (value, extra) = entry.split_at_checked(8)?;
            read.counter(Fields::new(value).u64()?, extra)
        });
        read.alone.into_iter().chain(group)
    }

    /// Words of 8 bytes to a counter: its value, its id, what it lost.
    fn words(&self) -> u64 {
        1 + u64::from((self.read_format & (format::ID | format::LOST)).count_ones())
    }

    fn counter(&self, value: u64, extra: &[u8]) -> Option<Counter> {
        let mut fields = Fields::new(extra);
        let mut take = |bit| if self.read_format & bit == 0 { Some(None) } else { fields.u64().map(Some) };
        Some(Counter { value, id: take(format::ID)?, lost: take(format::LOST)? })
    }
}

#[cfg(test)]
mod tests;
