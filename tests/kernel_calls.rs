//! The kernel's functions below each cause of kernel work: they add up to it, are called as often as the emulator's log says, and those that
//! work for the recording are its part.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bundled_code::vmlinux;
use crate::captures::{Capture, emulated};

const CAPTURES: [&str; 5] = ["lock", "tcp", "syscall", "page_faults", "block"];

/// The explained intervals of a capture.
fn outliers(capture: &Capture, top: &str) -> Vec<Value> {
    let arguments = ["--intervals", &capture.intervals(), "--top", top, "--format", "json"];
    let output = capture.tailtrace("explain", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["outliers"].as_array().expect("outliers").clone()
}

/// The place of the row that names the cause of a row of kernel work.
fn cause_row(calls: &[Value], mut at: usize) -> usize {
    while let Some(caller) = calls[at]["caller"].as_u64() {
        let caller = usize::try_from(caller).expect("an index");
        if calls[caller]["layer"] != "kernel" {
            break;
        }
        at = caller;
    }
    at
}

#[test]
fn kernel_functions_add_up_to_their_causes() {
    for name in CAPTURES {
        let (mut causes, mut without_function, mut whole) = (0, 0, 0);
        for outlier in outliers(&emulated(name), "60") {
            let calls = outlier["calls"].as_array().expect("calls");
            let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
            for (at, row) in calls.iter().enumerate().filter(|(_, row)| row["layer"] == "kernel") {
                let of = cause_row(calls, at);
                let own = row["self_ns"].as_u64().expect("a length");
                *sums.entry(calls[of]["function"].as_str().expect("a name")).or_default() += own;
                whole += own;
                without_function += if of == at { own } else { 0 };
            }
            sums.retain(|_, sum| *sum > 0);
            let of_causes = outlier["causes"].as_array().expect("causes").iter();
            let expected: BTreeMap<&str, u64> = of_causes
                .map(|row| {
                    (row["cause"].as_str().expect("a cause"), row["duration_ns"].as_u64().expect("a length"))
                })
                .filter(|(cause, length)| cause.starts_with("kernel.") && *length > 0)
                .collect();
            assert_eq!(sums, expected, "{name}, interval {}", outlier["id"]);
            causes += expected.len();
        }
        assert!(causes >= 60, "{name}: {causes} causes");
        assert!(
            without_function * 1000 <= whole,
            "{name}: {without_function} ns of {whole} ns in no function"
        );
    }
}

/// The time in handlers of perf, with all that they called: no more than the names of what the kernel calls is known here.
fn in_handlers(calls: &[Value]) -> u64 {
    const HANDLERS: [&str; 5] = [
        "__traceiter_",
        "perf_trace_",
        "__perf_event_task_sched_",
        "perf_event_task_tick",
        "perf_event_mmap",
    ];
    let mut within: Vec<bool> = Vec::with_capacity(calls.len());
    let mut sum = 0;
    for row in calls {
        let name = row["function"].as_str().expect("a name");
        let caller = row["caller"].as_u64().and_then(|caller| within.get(usize::try_from(caller).ok()?));
        let is_within = caller == Some(&true) || HANDLERS.iter().any(|beginning| name.starts_with(beginning));
        within.push(is_within);
        sum += if is_within { row["self_ns"].as_u64().expect("a length") } else { 0 };
    }
    sum
}

fn sum_of<'v>(rows: &'v Value, name: &str) -> u64 {
    let rows: &'v Vec<Value> = rows.as_array().expect("rows");
    rows.iter().filter_map(|row| row[name].as_u64()).sum()
}

#[test]
fn what_the_recording_took_is_a_part_of_the_causes() {
    for name in CAPTURES {
        let (mut told, mut expected) = (0, 0);
        for outlier in outliers(&emulated(name), "60") {
            let recording = &outlier["recording"];
            let whole = recording["duration_ns"].as_u64().expect("kernel functions are known");
            assert_eq!(sum_of(&outlier["causes"], "recording_ns"), whole, "{name} {}", outlier["id"]);
            assert_eq!(sum_of(&recording["events"], "duration_ns"), whole, "{name} {}", outlier["id"]);
            for cause in outlier["causes"].as_array().expect("causes") {
                assert!(cause["recording_ns"].as_u64() <= cause["duration_ns"].as_u64(), "{name}: {cause}");
            }
            told += whole;
            expected += in_handlers(outlier["calls"].as_array().expect("calls"));
        }
        assert!(expected > 10_000, "{name}: {expected} ns");
        assert!(told.abs_diff(expected) * 50 <= expected, "{name}: {told} ns, in handlers {expected} ns");
    }
}

/// The head of the page and of Markdown say it in the same words; in the page each outlier and each cause has its part.
#[test]
fn the_page_says_what_the_recording_took() {
    let capture = emulated("syscall");
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("syscall.html");
    let page_name = page.to_str().expect("a name");
    let intervals = capture.intervals();
    let arguments = ["--intervals", &intervals, "--top", "3", "--format", "markdown", "--html", page_name];
    let output = capture.tailtrace("explain", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(&page).expect("the page");
    let text = String::from_utf8_lossy(&output.stdout);
    let begin = text.find("Tracing took ").expect("the sentence");
    let length = text[begin..].find('\n').expect("the end of the line");
    let sentence = text[begin..begin + length].replace('\\', "");
    let head = page.split("<main").next().expect("a head");
    assert!(head.contains(&sentence), "{sentence}\n{head}");
    assert_eq!(page.matches("<p class=\"sub\">Tracing took ").count(), 1 + 3);
    assert!(page.contains(" is tracing</td>"));
}

/// How often each kernel function was called, by the truth of captures that count it.
#[test]
fn kernel_functions_are_called_as_often_as_the_log_says() {
    for name in CAPTURES {
        let capture = emulated(name);
        let explained = capture.truth()["explained"].as_array().expect("intervals").clone();
        let known = explained.iter().filter(|entry| entry["kernel_calls"].is_object());
        let known: BTreeMap<u64, &Value> =
            known.map(|entry| (entry["id"].as_u64().expect("an id"), entry)).collect();
        let mut judged = 0;
        for outlier in outliers(&capture, "60") {
            let Some(entry) = known.get(&outlier["id"].as_u64().expect("an id")) else { continue };
            let mut told: BTreeMap<&str, u64> = BTreeMap::new();
            for row in
                outlier["calls"].as_array().expect("calls").iter().filter(|row| row["layer"] == "kernel")
            {
                *told.entry(row["function"].as_str().expect("a name")).or_default() +=
                    row["calls"].as_u64().expect("a count");
            }
            for (names, times) in entry["kernel_calls"].as_object().expect("calls") {
                let found: u64 = names.split('/').filter_map(|name| told.get(name)).sum();
                let near = entry["kernel_calls_near"][names].as_u64().unwrap_or(0);
                let times = times.as_u64().expect("a count");
                assert!(
                    found.abs_diff(times) <= near,
                    "{name} {}: {names}() {found}, by the log {times}",
                    outlier["id"]
                );
                judged += 1;
            }
        }
        assert!(judged > 1000, "{name}: {judged} functions");
    }
}

/// `handle_mm_fault` of `fault` by the capture's own kallsyms, and from where on the debug file has `made_up` inlined in it.
const HANDLE_MM_FAULT: (u64, u64) = (0xffff_ffff_812c_2730, 0xffff_ffff_812c_2a00);
const MADE_UP: u64 = HANDLE_MM_FAULT.0 + 0x20;

/// DWARF 4 (sections 3.3.5, 3.3.8) by hand: a unit with `handle_mm_fault`, into which `made_up` was inlined.
fn debug_information() -> String {
    let (start, stop) = HANDLE_MM_FAULT;
    let (length, within) = (stop - start, stop - MADE_UP);
    format!(
        ".section .debug_abbrev,\"\",@progbits\n\
         .byte 1, 0x11, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0\n\
         .byte 2, 0x2e, 0, 0x03, 0x08, 0x20, 0x0b, 0, 0\n\
         .byte 3, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0\n\
         .byte 4, 0x1d, 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0, 0\n.byte 0\n\
         .section .debug_info,\"\",@progbits\nunit: .long end - begin\nbegin: .short 4\n.long .debug_abbrev\n.byte 8\n\
         .byte 1\n.asciz \"memory.c\"\n.quad {start:#x}, {length:#x}\n\
         made: .byte 2\n.asciz \"made_up\"\n.byte 3\n\
         .byte 3\n.asciz \"handle_mm_fault\"\n.quad {start:#x}, {length:#x}\n\
         .byte 4\n.long made - unit\n.quad {MADE_UP:#x}, {within:#x}\n.byte 0\n.byte 0\nend:\n"
    )
}

/// Of all kernel functions of the page faults' intervals: time and calls.
fn functions_with(vmlinux: &std::path::Path) -> (BTreeMap<String, (u64, u64)>, Vec<Value>) {
    let capture = emulated("fault");
    let vmlinux = vmlinux.to_string_lossy();
    let arguments =
        ["--vmlinux", &*vmlinux, "--intervals", &capture.intervals(), "--top", "10", "--format", "json"];
    let output = capture.tailtrace("explain", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let trees: Vec<Value> = report["outliers"]
        .as_array()
        .expect("outliers")
        .iter()
        .map(|outlier| outlier["calls"].clone())
        .collect();
    let mut functions: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in trees.iter().filter_map(Value::as_array).flatten().filter(|row| row["layer"] == "kernel") {
        let (time, calls) =
            functions.entry(row["function"].as_str().expect("a name").to_owned()).or_default();
        *time += row["self_ns"].as_u64().expect("a length");
        *calls += row["calls"].as_u64().expect("a number");
    }
    (functions, trees)
}

/// With the kernel's debug information the time of a function is divided between it and what was inlined into it, and what that called
/// stands below it. Calls, and the times of all other functions, are the same without.
#[test]
fn inlined_kernel_functions_stand_in_the_functions_that_hold_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let kcore_dir = emulated("fault").perf_data.join("kcore_dir");
    let (mut without, _) = functions_with(&vmlinux(&kcore_dir, folder.path(), ""));
    let file = vmlinux(&kcore_dir, folder.path(), &debug_information());
    let (mut with, trees) = functions_with(&file);
    let inlined = with.remove("made_up (inlined)").expect("it ran");
    let (own, calls) = with.remove("handle_mm_fault").expect("it was called");
    let (whole, all_calls) = without.remove("handle_mm_fault").expect("it was called");
    assert_eq!((own + inlined.0, calls, inlined.1), (whole, all_calls, 0));
    assert!(own > 0 && inlined.0 > own, "{own} of {whole}");
    assert_eq!(with, without);
    let mut callees = 0;
    for calls in trees.iter().filter_map(Value::as_array) {
        let name = |at: &Value| {
            at.as_u64().and_then(|at| calls.get(usize::try_from(at).ok()?)?["function"].as_str())
        };
        let is_called = |row: &&Value| row["function"] == "__handle_mm_fault";
        for row in calls.iter().filter(is_called) {
            assert_eq!(name(&row["caller"]), Some("made_up (inlined)"));
            callees += 1;
        }
    }
    assert!(callees >= 10, "{callees}");
}
