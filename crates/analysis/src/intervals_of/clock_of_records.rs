//! Relates the clock of a capture's records with that of its intervals where the kernel published no conversion: in a guest, and
//! with `perf record -k`.
//!
//! Input: the capture, and clock pairs: those of the interval file, else those that `tailtrace record` wrote beside the capture.
//! Output: the conversion, and what there is to say about it.

use intervals::{Clock, ClockPair, Clocks, IntervalFile};
use model::{Diagnostic, TimeConversion};
use perfdata::PerfData;

use crate::capture::clock_of;
use crate::request::Source;

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
