//! What was recorded: which kinds of records there are, and from when to when. A slice has fewer of both than its
//! recording, so it carries what was found there.

use model::{PerfTime, Ticks, TimeConversion, TscRange};
use perfdata::{PerfData, Record};
use serde::{Deserialize, Serialize};

use super::streams::Streams;

/// Kinds of records that explain time, each with whether there is one at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // one for each kind
pub(crate) struct Kinds {
    /// Switches of the recorded threads: SWITCH.
    pub(crate) own_switches: bool,
    /// Switches of whole CPUs: `SWITCH_CPU_WIDE`, `sched_switch`.
    pub(crate) switches: bool,
    /// `sched_waking`, `sched_wakeup`.
    pub(crate) wakings: bool,
    /// `irq_handler_entry`.
    pub(crate) irqs: bool,
    /// `softirq_entry`.
    pub(crate) softirqs: bool,
    /// `raw_syscalls`, or the tracepoints of single system calls.
    pub(crate) syscalls: bool,
    /// `SWITCH_CPU_WIDE`: also in a recording of threads, where perf may ask for it.
    #[serde(default)]
    pub(crate) cpu_switches: bool,
    /// Of what some threads did alone (`perf record -p`, `--per-thread`, or of a command): no other thread's wake-ups.
    #[serde(default)]
    pub(crate) of_threads: bool,
}

impl Kinds {
    /// Looks through the records until all kinds are found.
    fn of(perf: &PerfData) -> Kinds {
        let counts = perf.record_counts();
        let has = |wanted: &str| counts.iter().any(|(name, count)| name == wanted && *count > 0);
        let (own_switches, cpu_switches) = (has("SWITCH"), has("SWITCH_CPU_WIDE"));
        // On a recorded CPU switches are `SWITCH_CPU_WIDE` (`perf_event.h`).
        let of_threads = perf.has_rings_of_threads() || own_switches && !cpu_switches;
        let mut kinds =
            Kinds { own_switches, cpu_switches, switches: cpu_switches, of_threads, ..Kinds::default() };
        let mut possible = kinds;
        perf.attrs().iter().for_each(|attr| possible.see(attr.name.as_deref().unwrap_or_default()));
        for timed in perf.records() {
            match &timed.record {
                // perf writes it before all that has a time.
                Record::ThreadMap { names_threads: true } => kinds.of_threads = true,
                Record::Sample(sample) => kinds.see(sample.event_name().unwrap_or_default()),
                _ => {}
            }
            // Records without a time come before those with one.
            if timed.time.is_some() && kinds.has_all_of(possible) {
                break;
            }
        }
        kinds
    }

    fn see(&mut self, event: &str) {
        match event.split_once(':') {
            Some(("sched", "sched_switch")) => self.switches = true,
            Some(("sched", "sched_waking" | "sched_wakeup" | "sched_wakeup_new")) => self.wakings = true,
            Some(("irq", "irq_handler_entry")) => self.irqs = true,
            Some(("irq", "softirq_entry")) => self.softirqs = true,
            Some(("raw_syscalls" | "syscalls", _)) => self.syscalls = true,
            _ => {}
        }
    }

    /// Whether of each kind of `possible` there is a record.
    fn has_all_of(self, possible: Kinds) -> bool {
        let has = |kind: fn(Kinds) -> bool| kind(self) || !kind(possible);
        has(|kinds| kinds.switches)
            && has(|kinds| kinds.wakings)
            && has(|kinds| kinds.irqs)
            && has(|kinds| kinds.softirqs)
            && has(|kinds| kinds.syscalls)
    }

    /// Whether records show when other threads than the recorded ones were on a CPU.
    pub(crate) fn tell_others(self) -> bool {
        self.cpu_switches || self.switches && !self.of_threads
    }

    /// Whether any record shows when threads were on a CPU.
    pub(crate) fn tell_switches(self) -> bool {
        self.switches || self.own_switches
    }
}

/// What was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recorded {
    /// The kinds of records.
    pub(crate) kinds: Kinds,
    /// Nanoseconds of perf time of the first and the last record or sync point; `None` where no time is known.
    time: Option<(u64, u64)>,
}

/// From the first record or sync point to the last one, both inside. `None` where no time is known, and without a conversion:
/// then no record has a place in the trace's time, and how long the trace goes on after its last sync point is not known.
pub(super) fn extent(perf: &PerfData, streams: &Streams<'_>) -> Option<TscRange> {
    perf.time_conversion()?;
    let traced = streams.all().filter_map(pt::PtStream::time_span);
    let traced = traced.map(|span| TscRange::new(span.start, span.stop + Ticks(1)));
    let both = |a: TscRange, b: TscRange| TscRange::new(a.start.min(b.start), a.stop.max(b.stop));
    perf.tsc_range().into_iter().chain(traced).reduce(both)
}

impl Recorded {
    /// What is in `perf`, which lasts from the begin to the end of `extent`.
    pub(super) fn of(perf: &PerfData, extent: Option<TscRange>) -> Recorded {
        let time = perf.time_conversion().zip(extent).map(|(conversion, extent)| {
            let last = extent.stop.before(Ticks(1));
            (conversion.to_perf_time(extent.start).0, conversion.to_perf_time(last).0)
        });
        Recorded { kinds: Kinds::of(perf), time }
    }

    /// From the first record or sync point to the last one, both inside.
    pub(crate) fn range(self, conversion: TimeConversion) -> Option<TscRange> {
        let (first, last) = self.time?;
        let reading = |ns| conversion.to_tsc(PerfTime(ns));
        Some(TscRange::new(reading(first), reading(last) + Ticks(1)))
    }

    /// By how many nanoseconds an interval from `start` to `stop` begins before the recording, and ends after it.
    pub(crate) fn beyond(self, start: PerfTime, stop: PerfTime) -> (u64, u64) {
        let (first, last) = self.time.unwrap_or((0, u64::MAX));
        (first.saturating_sub(start.0), stop.0.saturating_sub(last))
    }
}

#[cfg(test)]
mod tests;
