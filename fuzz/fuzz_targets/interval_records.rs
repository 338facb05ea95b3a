//! Any records below the first line of binary marks; the same records without their first half.
#![no_main]

use std::path::Path;

use intervals::{Clocks, IntervalSet, read_intervals};
use libfuzzer_sys::fuzz_target;

const LINE: &[u8] = b"# tailtrace-intervals 1 clock=tsc form=binary                  \n";
const RECORD: usize = 24;

fn read(records: &[u8]) -> IntervalSet {
    let file = [LINE, records].concat();
    let set =
        read_intervals(Path::new("fuzz"), file.as_slice(), &Clocks::default()).expect("a usable first line");
    assert!(set.intervals.iter().all(|interval| interval.range.start <= interval.range.stop));
    assert!(set.intervals.windows(2).all(|two| two[0].range.start <= two[1].range.start));
    assert!(set.losses.kept <= (records.len() / RECORD) as u64);
    assert!(2 * set.intervals.len() as u64 <= set.losses.kept);
    let places = set.diagnostics.iter().filter_map(|found| found.place.file_offset);
    assert!(places.into_iter().all(|at| at.0 <= file.len() as u64));
    set
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    read(&bytes[bytes.len() / 2..]);
});
