//! Any rows below `VTune`'s header and below that of our own CSV; the clock by the first byte.
#![no_main]

use std::path::Path;

use intervals::{Clock, ClockPair, Clocks, read_intervals};
use libfuzzer_sys::fuzz_target;
use model::{TimeConversion, Tsc};

const HEADERS: [&str; 6] = [
    "name,start_tsc.TSC,end_tsc,pid,tid\n",
    "name,start_tsc.UTC,end_tsc,pid,tid,bytes\n",
    "# tailtrace-intervals 1 clock=tsc\nid,label,start,stop,pid,tid,stop_pid,stop_tid,key,publish,stage.a,stage.b,counter.n\n",
    "# tailtrace-intervals 1 clock=monotonic\nstart,stop\n",
    "# tailtrace-intervals 1 clock=perf\nmark,label,at,key,pid,tid,name,value,id\n",
    "# tailtrace-intervals 1 clock=tsc\n",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, rows)) = bytes.split_first() else { return };
    let header = HEADERS[usize::from(choice) % HEADERS.len()];
    let pair = |clock, tsc, ns| ClockPair { clock, tsc: Tsc(tsc), ns, error_ns: 5 };
    let clocks = Clocks {
        conversion: TimeConversion::new(31, 825_959_061, 18_446_744_073_673_297_304),
        pairs: vec![pair(Clock::Realtime, 0, 0), pair(Clock::Realtime, u64::MAX, u64::MAX / 3)],
        of_records: None,
    };
    if let Ok(set) = read_intervals(Path::new("fuzz"), [header.as_bytes(), rows].concat().as_slice(), &clocks)
    {
        assert!(set.intervals.iter().all(|interval| interval.range.start <= interval.range.stop));
        assert!(set.intervals.windows(2).all(|two| two[0].range.start <= two[1].range.start));
    }
});
