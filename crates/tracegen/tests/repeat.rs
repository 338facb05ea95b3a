//! A repeated capture decodes, window by window, to what the original decodes to: stock perf says so.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod perf;

use std::path::Path;

use tailtrace_tracegen::repeat::{Amount, Plan, Repeated, Sideband, repeat, repeat_intervals};

const SMALL_BUFFERS: usize = 64 << 10;

fn repeat_three(capture: &Path, output: &Path, sideband: Sideband) -> Repeated {
    let plan = Plan { amount: Amount::Times(3), sideband, buffer_bytes: SMALL_BUFFERS };
    repeat(&capture.join("perf.data"), output, plan).unwrap()
}

/// Seconds with nine digits, as `perf script --time` takes them.
fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
}

#[test]
fn late_windows_equal_the_originals() {
    let folder = tempfile::tempdir().unwrap();
    let Some(capture) = perf::emulated("fault", folder.path()) else { return };
    let symfs = capture.join("symfs");
    let window = |shift: u64| format!("{},{}", seconds(521_000_000 + shift), seconds(521_200_000 + shift));
    let original = perf::addresses(&capture.join("perf.data"), &symfs, &["--time", &window(0)]);
    assert!(original.len() > 10_000, "a window with work in it: {}", original.len());
    for sideband in [Sideband::All, Sideband::Switches] {
        let output = folder.path().join(format!("{sideband:?}"));
        let repeated = repeat_three(&capture, &output, sideband);
        for turn in 0..3 {
            let window = window(turn * repeated.period_ns);
            let late = perf::addresses(&output, &symfs, &["--time", &window]);
            assert!(late == original, "{sideband:?} {turn}: {} of {}", late.len(), original.len());
        }
        assert_eq!(perf::script(&output, &symfs, &["--itrace=e"]).errors, Vec::<String>::new());
    }
}

#[test]
fn once_keeps_the_number_of_records() {
    let folder = tempfile::tempdir().unwrap();
    let Some(capture) = perf::emulated("fault", folder.path()) else { return };
    let output = folder.path().join("once");
    repeat_three(&capture, &output, Sideband::Once);
    let records = |capture: &Path| {
        let lines = perf::script(capture, &folder.path().join("none"), &["-D"]).lines;
        let kept = |line: &&String| line.contains("PERF_RECORD_") && !line.contains("PERF_RECORD_AUXTRACE ");
        lines.iter().filter(kept).count()
    };
    // One AUX record and one ITRACE_START for each of two CPUs, one FINISHED_ROUND.
    assert_eq!(records(&output), records(&capture.join("perf.data")) + 5);
}

#[test]
fn intervals_move_with_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.csv"), folder.path().join("out.csv"));
    std::fs::write(&input, "name,start_tsc.TSC,end_tsc,pid,tid\nfault,1000,2000,118,120\nframe,5,6\n")
        .unwrap();
    let repeated = Repeated { times: 2, period_ticks: 10_000, period_ns: 0, bytes: 0 };
    repeat_intervals(&input, &output, &repeated).unwrap();
    let expected = "name,start_tsc.TSC,end_tsc,pid,tid\nfault,1000,2000,118,120\nframe,5,6\nfault,11000,12000,118,120\nframe,10005,10006\n";
    assert_eq!(std::fs::read_to_string(&output).unwrap(), expected);
    std::fs::write(&input, "name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc\nfault,1,2\n").unwrap();
    let message = repeat_intervals(&input, &output, &repeated).unwrap_err().to_string();
    assert!(message.contains("in.csv:1:") && message.contains("TSC"), "{message}");
}
