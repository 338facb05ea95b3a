//! Any span file: OTLP JSON, trace events, a Perfetto trace, a flight recording or a CTF trace, in clocks of which there are pairs.
#![no_main]

use std::path::Path;

use intervals::{Clock, ClockPair, Clocks, read_intervals};
use libfuzzer_sys::fuzz_target;
use model::Tsc;

fuzz_target!(|bytes: &[u8]| {
    let pair = |clock, tsc, ns| ClockPair { clock, tsc: Tsc(tsc), ns, error_ns: 5 };
    let mut pairs = vec![pair(Clock::Realtime, 0, 0), pair(Clock::Realtime, u64::MAX, u64::MAX / 3)];
    // The first byte decides whether a trace of an unnamed clock is read.
    let unnamed = if bytes.first() == Some(&b'\n') { Clock::Boottime } else { Clock::Monotonic };
    if !matches!(bytes.first(), Some(b'{' | b'F')) {
        pairs = vec![pair(unnamed, 0, 0), pair(unnamed, u64::MAX, u64::MAX / 3)];
    }
    let clocks = Clocks { pairs, ..Clocks::default() };
    let Ok(set) = read_intervals(Path::new("fuzz"), bytes, &clocks) else { return };
    assert!(set.intervals.iter().all(|interval| interval.range.start <= interval.range.stop));
    assert!(set.intervals.windows(2).all(|two| two[0].range.start <= two[1].range.start));
    for interval in &set.intervals {
        let length = interval.range.stop.since(interval.range.start);
        let apart = interval.children.iter().filter(|child| child.label != "(others)");
        assert!(apart.into_iter().all(|child| child.time <= length));
    }
    let places = set.diagnostics.iter().filter_map(|found| found.place.file_offset);
    assert!(places.into_iter().all(|at| at.0 <= bytes.len() as u64));
});
