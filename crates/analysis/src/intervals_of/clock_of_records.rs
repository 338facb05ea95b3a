//! Relates the clock of a capture's records with that of its intervals where the kernel published no conversion: in a guest, and
//! with `perf record -k`.
//!
//! Input: the capture, and clock pairs: those of the interval file, else those that `tailtrace record` wrote beside the capture.
//! Output: the conversion, and what there is to say about it.

use intervals::{Clock, ClockPair, Clocks, IntervalFile, read_clock_pairs};
use model::{Diagnostic, TimeConversion};
use perfdata::PerfData;

use crate::request::{Source, clocks_of};

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

/// Gives `perf` the conversion that clock pairs make, of `file`, else of those `beside` the capture; or where no reading of the TSC
/// is compared with its records, the clock of nanoseconds.
pub(crate) fn relate(
    perf: &mut PerfData,
    file: Option<&IntervalFile>,
    beside: &[ClockPair],
    source: &Source,
) -> Vec<Diagnostic> {
    if perf.time_conversion().is_some() {
        return Vec::new();
    }
    let has_trace = perf.intel_pt().is_some();
    let clock = clock_of(perf);
    let mut said = Vec::new();
    let own = file.map(IntervalFile::pairs).unwrap_or_default();
    let are_own = own.iter().any(|pair| Some(pair.clock) == clock) || beside.is_empty();
    let (pairs, whose) = if are_own { (own, "interval file") } else { (beside, "recording (FILE.clocks)") };
    if let (Some(clock), false) = (clock, pairs.is_empty()) {
        let clocks = Clocks { pairs: pairs.to_vec(), ..Clocks::default() };
        match clocks.line(clock) {
            Ok(line) => {
                perf.relate(line.conversion);
                return vec![Diagnostic::note(format!(
                    "the records carry {clock}: {} of the {whose} relate it to the TSC, within {} ns",
                    report::counted(line.pairs as u64, "clock pair"),
                    line.bound_ns
                ))];
            }
            Err(error) => said.push(Diagnostic::warning(error.to_string())),
        }
    }
    let counts_nanoseconds = match (file, source) {
        (Some(file), _) => file.clock() == Clock::Perf || clock == Some(file.clock()),
        (None, source) => matches!(source, Source::Events(_) | Source::Requests(_)),
    };
    if counts_nanoseconds && !has_trace {
        perf.relate(TimeConversion::NANOSECONDS);
    } else if perf.clock_id().is_none() && !has_trace {
        said.push(Diagnostic::warning(
            "nothing relates the records' times to the TSC of the intervals: record with `-k CLOCK_MONOTONIC_RAW`, as tailtrace \
             record does where there is no Intel PT, and with an interval file that has clock pairs (docs/interval-file.md)",
        ));
    }
    said
}
