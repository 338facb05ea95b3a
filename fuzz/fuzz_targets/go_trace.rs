//! An execution trace of Go, whatever follows its first bytes.
#![no_main]

use std::path::Path;

use intervals::{Clock, ClockPair, Clocks, read_intervals};
use libfuzzer_sys::fuzz_target;
use model::Tsc;

const BEGIN: &[u8] = b"go 1.22 trace\0\0\0";

fuzz_target!(|bytes: &[u8]| {
    let pair = |tsc, ns| ClockPair { clock: Clock::Monotonic, tsc: Tsc(tsc), ns, error_ns: 5 };
    let clocks = Clocks { pairs: vec![pair(0, 0), pair(u64::MAX, u64::MAX / 3)], ..Clocks::default() };
    let trace = if bytes.starts_with(b"go 1.") { bytes.to_vec() } else { [BEGIN, bytes].concat() };
    let Ok(set) = read_intervals(Path::new("fuzz"), trace.as_slice(), &clocks) else { return };
    assert!(set.intervals.iter().all(|interval| interval.range.start <= interval.range.stop));
    assert!(set.intervals.windows(2).all(|two| two[0].range.start <= two[1].range.start));
    let places = set.diagnostics.iter().filter_map(|found| found.place.file_offset);
    assert!(places.into_iter().all(|at| at.0 <= trace.len() as u64));
});
