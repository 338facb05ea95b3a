//! Arguments that mean nothing: a message that names them, exit code 2; those that choose nothing: exit code 1.

use super::Ending;
use crate::captures::{bundled, emulated};

#[test]
fn meaningless_arguments_are_refused_by_name() {
    let capture = emulated("fault");
    let (perf_data, symfs) = (capture.perf_data.to_string_lossy(), capture.symfs.to_string_lossy());
    let intervals = capture.intervals();
    for (words, code, says) in [
        ("--time nonsense", 2, "'nonsense' is no time"),
        ("--time 2,1", 2, "STOP lies before START"),
        ("--time 99999999999999,", 2, "is no time"),
        ("--cpu x", 2, "'x' is no list of CPUs"),
        ("--cpu 4294967296", 2, "is no list of CPUs"),
        ("--cpu 99999999", 1, "nothing is selected"),
        ("--percentile 101", 2, "between 0 and 100"),
        ("--percentile NaN", 2, "between 0 and 100"),
        ("--mad=-1", 2, "--mad -1"),
        ("--mad NaN", 2, "--mad NaN"),
        ("--top 0", 1, "nothing is selected"),
        ("--over=-1us", 2, "'-1us' is no duration"),
        ("--over 99999999999s", 2, "is no duration"),
        ("--over 10", 2, "'10' has no unit"),
        ("--over 1s", 1, "nothing is selected"),
        ("--percentile p90,5", 0, ""),
        ("--percentile most", 2, "'most' is no percentile"),
        ("--id 99999", 1, "no interval has the id 99999"),
        ("--id 3 99999", 0, "no interval has the id 99999"),
        ("--jobs 99999999", 2, "99999999"),
        ("--format yaml", 2, "yaml"),
    ] {
        let mut arguments = vec!["explain", "-i", &*perf_data, "--symfs", &*symfs, "--intervals", &intervals];
        arguments.extend(words.split(' '));
        Ending::of(words, &arguments).ends_with(code, says);
    }
}

#[test]
fn sources_that_are_not_there_are_named() {
    let capture = emulated("fault");
    let (perf_data, symfs) = (capture.perf_data.to_string_lossy(), capture.symfs.to_string_lossy());
    for (words, says) in [
        ("--function no_such_function", "no_such_function"),
        ("--ptwrite nonsense", "nonsense"),
        ("--ptwrite id=0..64,ticks=0..39", "id=0..64"),
        ("--ptwrite begin=99999999999999999999,end=1,tag=1..2", "begin=99999999999999999999"),
        ("--begin no:such --end no:such2", "no:such"),
        ("--requests nginx,1", "--requests nginx,1: no thread read from a connection"),
        ("--begin sched:sched_switch --end sched:sched_waking --key no_field", "no_field"),
    ] {
        let mut arguments = vec!["stat", "-i", &*perf_data, "--symfs", &*symfs];
        arguments.extend(words.split(' '));
        Ending::of(words, &arguments).fails_in_one_line(says);
    }
}

#[test]
fn a_dump_of_nothing_says_what_there_is() {
    let capture = bundled("multicore");
    let (perf_data, symfs) = (capture.perf_data.to_string_lossy(), capture.symfs.to_string_lossy());
    for (words, code, says) in [
        ("--cpu 99999999", 1, "the capture has CPU 45, 51"),
        ("--time 2,1", 2, "STOP lies before START"),
        ("--time x", 2, "'x' is no time"),
    ] {
        let mut arguments = vec!["dump", "--insns", "-i", &*perf_data, "--symfs", &*symfs];
        arguments.extend(words.split(' '));
        let ending = Ending::of(words, &arguments).ends_with(code, says);
        assert_eq!(ending.stdout, "", "{words}");
    }
}
