//! From `tailtrace.h` to intervals: a program marks faster than its buffer takes, and every interval that is read is one
//! that it had.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use tailtrace_intervals::{Clocks, read_interval_file};

/// What `sequence.c` says of itself.
const INTERVALS: usize = 20_000;
const MARKS_OF_EACH: u64 = 3 + 3 * 3;

#[test]
fn no_interval_spans_lost_marks() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [program, marks, truth] = ["sequence", "x.marks", "truth"].map(|name| folder.path().join(name));
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-DTAILTRACE_SLOTS=256u", "-I"]).arg(own.join("../marks/include"));
    compiler.arg(own.join("tests/marks/sequence.c")).args(["-lpthread", "-o"]).arg(&program);
    assert!(compiler.status().expect("a C compiler").success());
    assert!(Command::new(&program).args([&marks, &truth]).status().expect("it runs").success());

    let bytes = std::fs::read(&truth).expect("written");
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
    let threads: HashMap<u64, &[u64]> =
        words.chunks(1 + 2 * INTERVALS).map(|own| (own[0], &own[1..])).collect();
    let set = read_interval_file(&marks, &Clocks::default()).expect("readable");
    assert_eq!(set.losses.made(), threads.len() as u64 * INTERVALS as u64 * MARKS_OF_EACH);
    assert!(set.losses.lost > 10_000, "{:?}", set.losses);
    assert!(set.intervals.len() > 100, "{}", set.intervals.len());
    for interval in &set.intervals {
        let tid = interval.start_thread.expect("a thread").tid.0;
        let times = threads[&u64::try_from(tid).expect("a tid")];
        // The readings before a begin and after an end alternate: both ends lie after the same number of them.
        let place = |at: u64| times.partition_point(|time| *time < at);
        let (start, stop) = (place(interval.range.start.0), place(interval.range.stop.0));
        assert!(start == stop && start % 2 == 1, "{interval:?} lies in one of its thread's intervals");
    }
}
