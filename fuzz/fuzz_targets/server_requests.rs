//! Any bytes as a perf.data whose system calls are a server's: each request is read before it is answered, in order, once.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use model::TimeConversion;
use perfdata::PerfData;

fuzz_target!(|bytes: &[u8]| {
    let Ok(perf) = PerfData::from_bytes(Path::new("fuzz"), bytes.to_vec()) else { return };
    let conversion = TimeConversion::new(10, 1 << 10, 0).expect("a conversion");
    let found = attribution::requests(&perf, conversion, &|_, _| true);
    assert!(found.answered.iter().all(|request| request.range.start <= request.range.stop));
    assert!(found.answered.is_sorted_by_key(|request| request.range.start));
    let answered: u64 = found.readers.values().map(|&(count, _)| count).sum();
    assert!(found.answered.len() as u64 <= answered);
});
