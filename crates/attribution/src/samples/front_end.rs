//! What the core's counters show about its front end while an interval's threads ran.
//!
//! Input: an interval and the records. Output: samples of front-end events with their retire latencies, and how the
//! pipeline's slots were used between reads of the top-down counters. Event names: Intel's perfmon files, as perf
//! writes them into the file. Tested with synthetic input only: no capture here contains any.

mod event_name;
pub(crate) mod samples;
pub(crate) mod slots;

use model::{PerfTime, TimeConversion, Tsc, TscRange};
use perfdata::{PerfData, Record, TimedRecord};

use crate::threads::stays::Stay;
use crate::walk::activity::Run;
use samples::{FrontEndSample, Samples};
use slots::{Counters, Reads, Slots};

/// What counters show about an interval's front end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrontEndRecords {
    /// Samples of front-end events in user code.
    pub(crate) samples: Samples,
    /// How the slots were used, where reads cover half the time on CPUs or more.
    pub(crate) slots: Option<Slots>,
}

impl FrontEndRecords {
    /// The samples and reads made during the stays of the threads in `stays`, which cover `range`; `runs` is the user
    /// code that they ran.
    pub(crate) fn of(
        perf: &PerfData,
        range: TscRange,
        stays: &[Stay],
        runs: &[Run],
        conversion: Option<TimeConversion>,
    ) -> FrontEndRecords {
        let counters = Counters::of(perf.attrs());
        let is_sampled = perf.attrs().iter().any(|attr| attr.name.as_deref().is_some_and(samples::tells));
        let Some(conversion) = conversion.filter(|_| is_sampled || counters.is_some()) else {
            return FrontEndRecords::default();
        };
        let mut reads = counters.map(Reads::new);
        let mut samples = Vec::new();
        let end = PerfTime(conversion.to_perf_time(range.stop).0.saturating_add(1));
        for timed in perf.records_in(conversion.to_perf_time(range.start)..end) {
            let (Record::Sample(sample), Some(time)) = (&timed.record, timed.time) else { continue };
            let at = conversion.to_tsc(time);
            let Some(stay) = stay_of(stays, &timed, at) else { continue };
            if let (Some(reads), Some(read)) = (&mut reads, sample.read()) {
                reads.add(stay, at, &timed, &read);
            }
            samples.extend(FrontEndSample::of(at, &timed, sample));
        }
        let nominal_ratio = perf.intel_pt().map_or(0, |intel_pt| intel_pt.max_nonturbo_ratio);
        FrontEndRecords {
            samples: Samples::new(samples, runs, nominal_ratio),
            slots: reads.and_then(|reads| reads.told(stays)),
        }
    }
}

/// The stay in which `timed` was written at `at`, by the thread whose time it was.
fn stay_of<'a>(stays: &'a [Stay], timed: &TimedRecord<'_>, at: Tsc) -> Option<&'a Stay> {
    let stay = stays.iter().find(|stay| stay.range.contains(at))?;
    let own = stay.thread.is_some_and(|thread| timed.thread.is_some_and(|by| by.tid == thread.tid));
    let here = stay.place.cpu().is_none_or(|cpu| timed.cpu.is_none_or(|by| by == cpu));
    Some(stay).filter(|_| own && here)
}

#[cfg(test)]
mod tests;
