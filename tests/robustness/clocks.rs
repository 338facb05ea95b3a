//! Clocks that step or differ, records twice or in disorder: said with a place, or without any effect.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tracegen::damage::{Damage, damage};

use super::Ending;
use crate::captures::{Capture, emulated, repository};

/// Explains the eight slowest intervals of a copy of `capture`.
fn explained(what: &str, capture: &Capture, perf_data: &Path) -> Value {
    let (perf_data, symfs) = (perf_data.to_string_lossy(), capture.symfs.to_string_lossy());
    let intervals = capture.intervals();
    let mut arguments = vec!["explain", "-i", &*perf_data, "--symfs", &*symfs, "--intervals", &intervals];
    arguments.extend(["--top", "8", "--baselines", "3", "--format", "json"]);
    Ending::of(what, &arguments).ends_with(0, "").report()
}

/// Each interval with its causes and their times.
fn causes(report: &Value) -> Vec<(u64, Vec<(String, u64)>)> {
    let of_outlier = |outlier: &Value| {
        let causes = outlier["causes"].as_array().expect("causes").iter();
        let named =
            causes.map(|cause| (cause["cause"].to_string(), cause["duration_ns"].as_u64().expect("ns")));
        (outlier["id"].as_u64().expect("an id"), named.collect())
    };
    report["outliers"].as_array().expect("outliers").iter().map(of_outlier).collect()
}

/// The diagnostics that speak of clocks, and of records that contradict the trace; each has a place.
#[track_caller]
fn said_of_clocks(what: &str, report: &Value) -> Vec<String> {
    let all = report["diagnostics"].as_array().expect("diagnostics").iter();
    let said = all.map(ToString::to_string);
    let of_clocks = said.filter(|said| said.contains("clock") || said.contains("switch record"));
    of_clocks.inspect(|said| assert!(said.contains(" offset "), "{what}: without a place: {said}")).collect()
}

/// A second too late or too early, from some record on: the records then have another time than the trace.
#[test]
fn a_clock_that_steps_is_said_or_does_not_matter() {
    let capture = emulated("preempt");
    let sound = explained("sound", &capture, &capture.perf_data);
    assert_eq!(said_of_clocks("sound", &sound), Vec::<String>::new());
    let mut differ = 0;
    for (kind, seed) in [Damage::ClockStep, Damage::ClockBack]
        .into_iter()
        .flat_map(|kind| (0..4).map(move |seed| (kind, seed)))
    {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("perf.data");
        let done = damage(kind, &capture.perf_data, &path, seed).expect("damaged");
        let what = format!("{kind:?} by seed {seed}: {done}");
        let report = explained(&what, &capture, &path);
        let said = said_of_clocks(&what, &report);
        if causes(&report) != causes(&sound) {
            differ += 1;
            assert!(!said.is_empty(), "{what}: other causes in silence");
        }
    }
    assert!(differ >= 4, "only {differ} of 8 steps changed anything: the test does not test");
}

#[test]
fn records_in_disorder_change_nothing() {
    let capture = emulated("preempt");
    let sound = explained("sound", &capture, &capture.perf_data);
    for seed in 0..4 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("perf.data");
        let done = damage(Damage::Swap, &capture.perf_data, &path, seed).expect("damaged");
        assert_eq!(causes(&explained(&done, &capture, &path)), causes(&sound), "{done}");
    }
}

/// Five orders in which `worker` on CPU 1 sleeps for 20 us until `writer` on CPU 0 wakes it after 10, whose clock is
/// `ahead` by so many us; each record stands there `times`.
fn scenario(folder: &Path, ahead: f64, times: usize) -> Capture {
    let file = folder.join("clocks.scenario");
    fs::copy(repository().join("fixtures/scenarios/linux.code"), folder.join("linux.code")).expect("copied");
    let mut text = String::from(
        "machine\n  cpus 2\n\ninclude linux.code\n\ncode /usr/bin/app 0x401000\n  \
         main: mov ecx, 100\n  work: dec ecx\n        jnz short work\n  lock: syscall\n        jmp main\n  \
         skip 16\n  held: dec ecx\n        jnz short held\n\n\
         thread worker 100/101\nthread writer 100/102\nthread swapper 0/0\n\ncpu 1\n  at 10us\n  runs worker\n  trace on main\n",
    );
    let record = |text: &mut String, line: &str| {
        (0..times).for_each(|_| writeln!(text, "  record {line}").expect("a string"));
    };
    let begins = [30, 130, 230, 330, 430];
    for begin in begins {
        write!(text, "  at {begin}us\n  begin order\n  run to lock branches T99N for 2us\n  run 1 for 0ns\n")
            .expect("a string");
        text.push_str("  run to do_syscall_64 for 50ns\n");
        record(&mut text, "raw_syscalls:sys_enter id=202 args=0x7f0000001000,128,2");
        text.push_str("  run to __schedule targets __x64_sys_futex branches N for 350ns\n  run 1 for 50ns\n");
        record(&mut text, "sched:sched_switch next=swapper prev_state=S");
        text.push_str("  switch swapper\n  run through .scheduled");
        // The idle task has not called the scheduler yet, so its first return needs a target.
        text.push_str(if begin == begins[0] { " targets .idle_again" } else { "" });
        text.push_str(" for 50ns\n  run to .idle_woken for 100ns\n");
        writeln!(text, "  at {}us", begin + 20).expect("a string");
        text.push_str("  interrupt asm_sysvec_reschedule_ipi\n  run through .iret branches T9NT for 400ns\n");
        text.push_str("  run to __schedule branches N for 200ns\n  run 1 for 50ns\n");
        record(&mut text, "sched:sched_switch next=worker");
        text.push_str(
            "  switch worker\n  run through .scheduled for 50ns\n  run through .sysret for 250ns\n",
        );
        record(&mut text, "raw_syscalls:sys_exit id=202");
        text.push_str("  run to main for 100ns\n  end\n");
    }
    text.push_str("\ncpu 0\n  at 10us\n  runs writer\n  trace on held\n");
    for begin in begins {
        let at = f64::from(begin) + 10.0 + ahead;
        write!(text, "  at {at}us\n  run to held branches T for 50ns\n").expect("a string");
        record(&mut text, "sched:sched_waking thread=worker target_cpu=1");
    }
    fs::write(&file, text).expect("written");
    Capture::of_scenario(&file, folder.join(format!("made-{ahead}-{times}")))
}

/// The worker runs again 20.65 us after its order's begin, by its CPU's clock; by that of the other CPU it is woken after
/// 10.05 us, and `ahead`.
#[test]
fn cpus_whose_clocks_differ_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for (ahead, by) in [(0.0, None), (30.0, Some("by 19.4"))] {
        let capture = scenario(folder.path(), ahead, 1);
        let what = format!("{ahead} us ahead");
        let report = explained(&what, &capture, &capture.perf_data);
        let said = said_of_clocks(&what, &report);
        let found = said
            .iter()
            .any(|said| said.contains("CPU 0 and CPU 1 disagree") && said.contains(by.unwrap_or("")));
        assert_eq!(found, by.is_some(), "{what}: {said:?}");
        let check = report["outliers"][0]["checks"].to_string();
        assert_eq!(check.contains("clocks disagree"), by.is_some(), "{what}: {check}");
    }
}

#[test]
fn records_that_stand_there_twice_count_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let found: Vec<_> = [1, 2]
        .into_iter()
        .map(|times| {
            let capture = scenario(folder.path(), 0.0, times);
            let report = explained("records twice", &capture, &capture.perf_data);
            assert_eq!(said_of_clocks("records twice", &report), Vec::<String>::new());
            causes(&report)
        })
        .collect();
    assert!(found[0].iter().all(|(_, causes)| causes.iter().any(|(cause, _)| cause.contains("offcpu.lock"))));
    assert_eq!(found[0], found[1]);
}
