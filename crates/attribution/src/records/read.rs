//! Reads the explaining records of a stretch of time.
//!
//! Input: the capture, a range and the clock. Output: [`SidebandEvent`]s in time order; records that explain nothing
//! are left out.

use std::ops::Range;

use model::{Cpu, PerfTime, TimeConversion, TscRange};
use perfdata::{Attr, AuxFlags, PerfData, Record, Sample, TimedRecord, return_addresses, sample_type};

use crate::records::classify::{classify, number, within};
use crate::records::event::{EventKind, Side, SidebandEvent, is_lazy};

/// What a record reports as lost. An overwritten snapshot ring is no loss.
fn loss(record: &Record<'_>) -> Option<EventKind> {
    match record {
        Record::Aux { flags, .. } if flags.means_loss() => Some(EventKind::TraceLost { how: how(*flags) }),
        Record::Lost { lost, .. } | Record::LostSamples { lost } => {
            Some(EventKind::RecordsLost { count: *lost })
        }
        _ => None,
    }
}

fn how(flags: AuxFlags) -> String {
    let words = [
        (AuxFlags::TRUNCATED, "truncated, the buffer was full"),
        (AuxFlags::PARTIAL, "partial, tracing paused"),
        (AuxFlags::COLLISION, "a sample collided with another one"),
    ];
    let told = words.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, words)| *words);
    told.collect::<Vec<_>>().join("; ")
}

/// The records of block devices within `range`, in time order, one by one: all of a long capture would not fit in memory.
pub(crate) fn block_events_in(
    perf: &PerfData,
    range: TscRange,
    conversion: TimeConversion,
) -> impl Iterator<Item = SidebandEvent> {
    let is_block = |attr: &Attr| attr.name.as_deref().is_some_and(|name| name.starts_with("block:"));
    let records = perf.records_in(perf_times(range, conversion)).without_switches().of_events(is_block);
    let samples = records.filter(|timed| matches!(timed.record, Record::Sample(_)));
    samples.filter_map(move |timed| event(perf, &timed, conversion))
}

/// The times of records within `range`: its end's, too, for nanoseconds are coarser than ticks.
pub(crate) fn perf_times(range: TscRange, conversion: TimeConversion) -> Range<PerfTime> {
    let to = PerfTime(conversion.to_perf_time(range.stop).0.saturating_add(1));
    conversion.to_perf_time(range.start)..to
}

/// What a sample of `perf record --off-cpu` says.
fn off_cpu(sample: &Sample<'_>) -> Option<(Side, EventKind)> {
    let off = sample.off_cpu()?;
    Some((Side::Begin, EventKind::OffCpu { target: off.thread.tid, ns: off.ns }))
}

/// Whether samples of this event may explain anything. [`event`] finds nothing in the others: most records are of switches, which the
/// schedule has.
pub(super) fn may_explain(attr: &Attr) -> bool {
    let is_switch = attr.name.as_deref() == Some("sched:sched_switch");
    !is_switch || attr.samples(sample_type::CALLCHAIN)
}

/// What a record explains, if anything.
pub(super) fn event(
    perf: &PerfData,
    timed: &TimedRecord<'_>,
    conversion: TimeConversion,
) -> Option<SidebandEvent> {
    let (side, mut kind) = match &timed.record {
        Record::Sample(sample) => classify(sample).or_else(|| off_cpu(sample))?,
        Record::CallchainDeferred { .. } => (Side::Begin, EventKind::UserChain),
        record => (Side::Begin, loss(record)?),
    };
    if let EventKind::Block { request, .. } = &mut kind {
        request.name = perf.numa().name_of(request.device);
    }
    let (cpu, chain) = match (&timed.record, &kind) {
        (Record::Sample(sample), EventKind::Idle { .. }) => {
            let cpu = number(sample, "cpu_id").and_then(|id| u32::try_from(id).ok()).map(Cpu);
            (cpu, Vec::new())
        }
        (Record::Sample(sample), EventKind::SwitchOut | EventKind::Waking { .. }) => {
            (timed.cpu, sample.callchain_addresses().collect())
        }
        (Record::Sample(sample), EventKind::OffCpu { .. }) => {
            (timed.cpu, sample.off_cpu().map(|off| off.addresses().collect()).unwrap_or_default())
        }
        (Record::CallchainDeferred { callchain, .. }, _) => {
            (timed.cpu, return_addresses(callchain).collect())
        }
        _ => (timed.cpu, Vec::new()),
    };
    let within = match (&timed.record, &kind) {
        (
            Record::Sample(sample),
            EventKind::Waking { .. } | EventKind::Migration { .. } | EventKind::SoftirqRaise { .. },
        ) => within(sample),
        _ => None,
    };
    let cookie = match &timed.record {
        Record::Sample(sample) if !chain.is_empty() => sample.callchain_cookie(),
        Record::CallchainDeferred { cookie, .. } => Some(*cookie),
        _ => None,
    };
    let lazy = matches!(&timed.record, Record::Sample(sample) if sample.format().and(sample.raw()).is_some_and(is_lazy));
    let (time, offset) = (conversion.to_tsc(timed.time?), timed.offset);
    Some(SidebandEvent { time, cpu, thread: timed.thread, within, offset, side, kind, chain, cookie, lazy })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a switch whose thread left no callchain is of no use here; a name that says nothing of an event says nothing against it.
    #[test]
    fn switches_alone_explain_nothing() {
        const OTHERS: u64 = !(1 << 5);
        let may = |name: Option<&str>, sample_type| {
            let mut attr = Attr::default();
            (attr.name, attr.sample_type) = (name.map(str::to_owned), sample_type);
            may_explain(&attr)
        };
        assert!(!may(Some("sched:sched_switch"), OTHERS));
        assert!(may(Some("sched:sched_switch"), 1 << 5));
        assert!(may(Some("sched:sched_waking"), OTHERS) && may(Some("offcpu-time"), 0) && may(None, 0));
    }
}
