//! The clock pairs of a capture: those beside it, and whether they are of its time.
//!
//! Input: the capture, and the pairs of its intervals. Output: pairs; what there is to say about them.

use std::collections::BTreeSet;

use intervals::{Clock, ClockPair, read_clock_pairs};
use model::Diagnostic;
use perfdata::PerfData;

use crate::request::clocks_of;

/// The clock of the records, where it is not perf's own and marks may carry it.
pub(crate) fn clock_of(perf: &PerfData) -> Option<Clock> {
    perf.clock_id().and_then(Clock::of_id)
}

/// The clock pairs that lie beside the capture; none of another recording's.
pub(crate) fn pairs_beside(perf: &PerfData) -> (Vec<ClockPair>, Vec<Diagnostic>) {
    let (pairs, mut said) = read_clock_pairs(&clocks_of(perf.path()));
    if pairs.is_empty() || are_of(perf, &pairs) {
        return (pairs, said);
    }
    said.push(
        Diagnostic::warning("of another time than the capture's records: its clock pairs are not used")
            .in_file(clocks_of(perf.path()).to_string_lossy()),
    );
    (Vec::new(), said)
}

/// Whether they are of a time that the records cover, too, as far as that can be seen.
fn are_of(perf: &PerfData, pairs: &[ClockPair]) -> bool {
    let overlap = |from: u64, to: u64, times: &mut dyn Iterator<Item = u64>| {
        let (first, last) =
            times.fold((u64::MAX, 0), |(first, last), time| (first.min(time), last.max(time)));
        first <= to && from <= last
    };
    let clock = clock_of(perf);
    let mut readings = pairs.iter().filter(|pair| Some(pair.clock) == clock).map(|pair| pair.ns);
    match (perf.tsc_range(), perf.time_range()) {
        (Some(range), _) => overlap(range.start.0, range.stop.0, &mut pairs.iter().map(|pair| pair.tsc.0)),
        (None, Some(range)) if clock.is_some() => overlap(range.start.0, range.end.0, &mut readings),
        _ => true,
    }
}

/// `own` pairs of the intervals, and of clocks that these lack those that lie beside the capture.
pub(super) fn joined(perf: &PerfData, own: &[ClockPair]) -> Vec<ClockPair> {
    let named: BTreeSet<Clock> = own.iter().map(|pair| pair.clock).collect();
    let (beside, _) = pairs_beside(perf);
    let others = beside.into_iter().filter(|pair| !named.contains(&pair.clock));
    own.iter().copied().chain(others).collect()
}
