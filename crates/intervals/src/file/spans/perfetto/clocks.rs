//! Clocks of a trace: those of the kernel, and those that a writer defines by a reading beside one of the kernel.
//!
//! Ids 1 to 63 are the kernel's, 64 to 127 belong to the writer, greater ones to the trace. A writer's clock may be
//! incremental: each time is the distance from the one before.

use std::collections::HashMap;

use super::messages::{ClockReading, ClockSnapshot};
use crate::clock::Clock;

/// Perfetto's `BuiltinClock`, as far as it can be converted; the coarse ones are their fine ones at the last timer tick.
const BUILTIN: [(u32, Clock); 7] = [
    (BOOTTIME, Clock::Boottime),
    (3, Clock::Monotonic),
    (1, Clock::Realtime),
    (5, Clock::MonotonicRaw),
    (9, Clock::Tsc),
    (4, Clock::Monotonic),
    (2, Clock::Realtime),
];
/// Of times without a clock.
const BOOTTIME: u32 = 6;
const TSC: u32 = 9;
const OF_WRITERS: std::ops::Range<u32> = 64..128;

/// A time of one of the kernel's clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernels {
    clock: u32,
    at: u64,
}

/// A writer's clocks, by their ids.
pub(super) type OfWriter = HashMap<u32, Defined>;

/// A clock that is defined by a reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defined {
    unit_ns: u64,
    is_incremental: bool,
    /// Its reading, and that of the kernel's clock at the same moment.
    reading: u64,
    beside: u64,
    clock: u32,
    /// The last time of an incremental one.
    last: u64,
}

/// What snapshots say, and the clock of the trace.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    /// Of times without one.
    primary: Option<u32>,
    /// The last readings of the kernel's clocks, taken together.
    readings: HashMap<u32, u64>,
    of_trace: OfWriter,
    /// That of the first event.
    clock: Option<u32>,
}

impl Snapshots {
    /// The clock of all times that [`Snapshots::converted`] returned.
    pub(super) fn clock(&self) -> Option<Clock> {
        self.clock.and_then(builtin)
    }

    /// Takes a snapshot; `of_writer` are the clocks of who wrote it.
    pub(super) fn take(&mut self, snapshot: &ClockSnapshot, of_writer: &mut OfWriter) {
        self.primary = snapshot.primary.or(self.primary);
        let readings =
            || snapshot.clocks.iter().filter_map(|reading| Some((reading.id?, reading.timestamp?, reading)));
        let kernels: HashMap<u32, u64> =
            readings().filter(|(id, ..)| builtin(*id).is_some()).map(|(id, at, _)| (id, at)).collect();
        let beside = BUILTIN.iter().find_map(|(id, _)| Some((*id, *kernels.get(id)?)));
        for (id, reading, described) in readings() {
            if let (None, Some((clock, beside))) = (builtin(id), beside.filter(|(clock, _)| *clock != TSC)) {
                let defined = Defined::new(described, reading, clock, beside);
                let clocks = if OF_WRITERS.contains(&id) { &mut *of_writer } else { &mut self.of_trace };
                clocks.insert(id, defined);
            }
        }
        // A snapshot with one of them relates nothing.
        if kernels.len() > 1 {
            self.readings = kernels;
        }
    }

    /// When a packet was, by its number.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn kernels(
        &mut self,
        timestamp: Option<u64>,
        clock: Option<u32>,
        of_writer: &mut OfWriter,
    ) -> Result<Kernels, String> {
        let at = timestamp.ok_or_else(|| "has no timestamp".to_owned())?;
        let id = clock.or(self.primary).unwrap_or(BOOTTIME);
        if builtin(id).is_some() {
            return Ok(Kernels { clock: id, at });
        }
        let clocks = if OF_WRITERS.contains(&id) { of_writer } else { &mut self.of_trace };
        let defined = clocks.get_mut(&id).ok_or_else(|| {
            format!("is of clock {id}, which no clock snapshot before relates to one of the kernel's")
        })?;
        let kernels = defined.kernels(at);
        kernels.ok_or_else(|| format!("has the time {at} of clock {id}, beyond 64 bits of nanoseconds"))
    }

    /// The same in the clock of the trace, by the last snapshot that has both. The first event decides which clock that is.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn converted(&mut self, Kernels { clock: id, at }: Kernels) -> Result<u64, String> {
        let of_trace = *self.clock.get_or_insert(id);
        if builtin(of_trace) == builtin(id) {
            return Ok(at);
        }
        let both = self.readings.get(&id).zip(self.readings.get(&of_trace));
        let (Some((&from, &to)), false) = (both, id == TSC || of_trace == TSC) else {
            return Err(format!(
                "is of clock {id}, and no clock snapshot before relates it to clock {of_trace} of the first event"
            ));
        };
        let converted = i128::from(at) - i128::from(from) + i128::from(to);
        u64::try_from(converted)
            .map_err(|_| format!("has the time {at} of clock {id}, which clock {of_trace} does not reach"))
    }
}

impl Defined {
    fn new(described: &ClockReading, reading: u64, clock: u32, beside: u64) -> Defined {
        let unit_ns = described.unit_ns.filter(|unit| *unit > 0).unwrap_or(1);
        let is_incremental = described.is_incremental.unwrap_or_default();
        Defined { unit_ns, is_incremental, reading, beside, clock, last: reading }
    }

    /// A time of it in the kernel's clock.
    fn kernels(&mut self, timestamp: u64) -> Option<Kernels> {
        let at = if self.is_incremental { self.last.checked_add(timestamp)? } else { timestamp };
        self.last = at;
        let distance = (i128::from(at) - i128::from(self.reading)) * i128::from(self.unit_ns);
        let at = u64::try_from(i128::from(self.beside) + distance).ok()?;
        Some(Kernels { clock: self.clock, at })
    }
}

fn builtin(id: u32) -> Option<Clock> {
    BUILTIN.iter().find(|(known, _)| *known == id).map(|(_, clock)| *clock)
}
