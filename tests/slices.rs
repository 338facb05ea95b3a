//! A slice answers as its recording does: `tailtrace explain` gives the same report, stock perf the same instructions.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::captures::{Capture, bundled, corpus, emulated, large_emulated, of_corpus, repository, tailtrace};

/// `tailtrace COMMAND -i … --symfs …` with more arguments.
pub(crate) fn run(command: &str, input: &Path, symfs: &Path, arguments: &[&str]) -> Output {
    let mut process = tailtrace();
    process.arg(command).arg("-i").arg(input).arg("--symfs").arg(symfs).args(arguments);
    process.output().expect("tailtrace runs")
}

#[track_caller]
pub(crate) fn assert_done(output: &Output) {
    assert!(output.status.success(), "{} {}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// A report without the facts about the file it was made from; the commands to paste name that file, too.
pub(crate) fn without_capture(output: &Output) -> Value {
    let mut report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report.as_object_mut().expect("an object").remove("capture");
    for outlier in report["outliers"].as_array_mut().expect("outliers") {
        for command in ["perf_script", "server_requests"] {
            outlier.as_object_mut().expect("an object").remove(command);
        }
    }
    report
}

/// Slices what `arguments` choose; the slice must explain to the same report. Returns the slice and the report.
#[track_caller]
fn slice(capture: &Capture, arguments: &[&str], folder: &Path) -> (std::path::PathBuf, Value) {
    let path = folder.join("slice");
    let out = path.to_string_lossy().into_owned();
    let made = run("slice", &capture.perf_data, &capture.symfs, &[arguments, &["-o", &out]].concat());
    assert_done(&made);
    let json = [arguments, &["--format", "json"]].concat();
    let original = without_capture(&run("explain", &capture.perf_data, &capture.symfs, &json));
    let again = run("explain", &path, &capture.symfs, &["--format", "json"]);
    assert_done(&again);
    assert_eq!(without_capture(&again), original);
    assert_ne!(original["outliers"].as_array().expect("outliers").len(), 0);
    (path, original)
}

/// `perf script`'s instructions of the outliers' time, with address, time, CPU and thread.
fn instructions(input: &Path, symfs: &Path, report: &Value) -> Vec<Vec<u8>> {
    let outliers = report["outliers"].as_array().expect("outliers");
    let times = outliers.iter().map(|outlier| {
        let start: u64 = outlier["start_ns"].as_str().and_then(|ns| ns.parse().ok()).expect("a time");
        let stop = start + outlier["duration_ns"].as_u64().expect("a duration");
        [start, stop].map(|ns| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)).join(",")
    });
    let of_time = |time: String| {
        let mut perf = Command::new("perf");
        perf.args(["script", "--itrace=i0ns", "--ns", "-F", "cpu,tid,time,ip", "--time", &time, "-i"]);
        let output = perf.arg(input).arg("--symfs").arg(symfs).output().expect("perf runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    times.map(of_time).collect()
}

#[track_caller]
fn assert_slices(capture: &Capture, arguments: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, report) = slice(capture, arguments, folder.path());
    let original = instructions(&capture.perf_data, &capture.symfs, &report);
    let sliced = instructions(&path, &capture.symfs, &report);
    for (original, sliced) in original.iter().zip(&sliced) {
        assert!(!original.is_empty());
        assert!(
            original == sliced,
            "{} bytes of instructions, {} of the slice",
            original.len(),
            sliced.len()
        );
    }
}

/// The kernel's and the program's code, waits, preemption, interrupts, idle CPUs, block devices, sockets.
#[test]
fn emulated_captures() {
    for name in [
        "fault",
        "noise",
        "preempt",
        "arrival",
        "block",
        "lock",
        "noise_only",
        "oversubscription",
        "page_faults",
        "queue",
        "rehash",
        "syscall",
        "tcp",
        "wakeup",
    ] {
        println!("{name}");
        let capture = emulated(name);
        assert_slices(&capture, &["--intervals", &capture.intervals(), "--top", "1"]);
    }
}

/// User code alone, and a trace for each thread.
#[test]
fn traces_of_user_code_and_of_threads() {
    let lock = emulated("lock");
    for kind in ["user", "thread"] {
        println!("{kind}");
        let perf_data = lock.root.join(kind).join("perf.data");
        let capture = Capture { perf_data, symfs: lock.symfs.clone(), root: lock.root.clone() };
        assert_slices(&capture, &["--intervals", &lock.intervals(), "--top", "2"]);
    }
}

/// The record with the frequency of the typical intervals was written 3 ms before them, and on another CPU.
#[test]
fn a_frequency_that_was_told_long_before() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = repository().join("fixtures/scenarios/ratio_drop-cpu_frequency.scenario");
    tracegen::scenario::make(&source, folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let root = folder.path().to_path_buf();
    let capture = Capture { perf_data: root.join("perf.data"), symfs: root.join("symfs"), root };
    let both = ["--intervals", &capture.intervals(), "--id", "6", "7"];
    let (_, report) = slice(&capture, &both, folder.path());
    let slower = &report["outliers"][0]["causes"][0];
    assert_eq!(slower["cause"], "user.slower.frequency");
    assert_eq!(slower["duration_ns"], 2000);
}

/// Several outliers in one slice: many holes.
#[test]
fn several_outliers() {
    let capture = emulated("noise");
    assert_slices(&capture, &["--intervals", &capture.intervals(), "--top", "3"]);
}

/// Of a slice single outliers can be had, as they are in the report on all of them.
#[test]
fn single_outliers() {
    let (capture, folder) = (emulated("noise"), tempfile::tempdir().expect("a temporary folder"));
    let (path, all) = slice(&capture, &["--intervals", &capture.intervals(), "--top", "3"], folder.path());
    let wanted = &all["outliers"][1];
    let ids = ["--id", &wanted["id"].to_string(), "999999", "--format", "json"];
    let one = without_capture(&run("explain", &path, &capture.symfs, &ids));
    assert_eq!(one["outliers"], serde_json::json!([wanted]));
    assert_eq!(
        (&one["selection"]["selected"], &one["population"]),
        (&serde_json::json!(1), &all["population"])
    );
    let said = one["diagnostics"].to_string();
    assert!(said.contains("no outlier of the slice has the id 999999"), "{said}");
}

/// Criteria choose among the outliers of a slice; those that need all intervals of the recording are refused in words.
#[test]
fn criteria_choose_among_the_outliers_of_a_slice() {
    let (capture, folder) = (emulated("noise"), tempfile::tempdir().expect("a temporary folder"));
    let (path, all) = slice(&capture, &["--intervals", &capture.intervals(), "--top", "3"], folder.path());
    let outliers = all["outliers"].as_array().expect("outliers");
    assert_eq!(outliers.len(), 3);
    let over = format!("{}ns", outliers[1]["duration_ns"]);
    let label = outliers[0]["label"].as_str().expect("a label");
    for (options, kept, says) in [
        (&["--top", "2"][..], 2, None),
        (&["--over", &over], 1, None),
        (&["--percentile", "99"], 3, Some("does not hold")),
        (&["--label", label, "--top", "1"], 1, Some("the population is that of its recording")),
    ] {
        let options = [options, &["--format", "json"]].concat();
        let report = without_capture(&run("explain", &path, &capture.symfs, &options));
        assert_eq!(report["outliers"], serde_json::json!(outliers[..kept]), "{options:?}");
        assert_eq!(report["population"], all["population"]);
        let said = report["diagnostics"].to_string();
        assert!(says.is_none_or(|says| said.contains(says)), "{options:?}: {said}");
    }
}

#[test]
fn a_hardware_trace() {
    let capture = bundled("multicore");
    assert_slices(&capture, &["--intervals", &capture.intervals(), "--top", "2"]);
}

/// A slice that is given intervals as if it were a recording says what it lacks; left alone it has nothing to say.
#[test]
fn a_source_on_a_slice_is_said_to_find_little() {
    let (capture, folder) = (bundled("multicore"), tempfile::tempdir().expect("a temporary folder"));
    let source = ["--intervals", &capture.intervals(), "--top", "1"];
    let (path, report) = slice(&capture, &source, folder.path());
    let again = run("explain", &path, &capture.symfs, &[&source[..], &["--format", "json"]].concat());
    let says_so = |report: &Value| {
        let listed = report["diagnostics"].as_array().expect("diagnostics").iter();
        listed
            .filter(|it| it["what"].as_str().is_some_and(|what| what.starts_with("this capture is a slice")))
            .count()
    };
    assert_eq!((says_so(&without_capture(&again)), says_so(&report)), (1, 0));
}

/// Marks that lie in the trace itself: the slice carries what was found.
#[test]
fn marks_in_the_trace() {
    for name in ["spsc_k32_small", "spsc_k8_150ms"] {
        let Some(capture) = large_emulated(name) else { return };
        assert_slices(&capture, &["--ptwrite", "id=40..63,ticks=0..39", "--top", "1"]);
    }
}

/// Pairs of records, and a function's calls, of user code and of the kernel's: the slice carries what was found.
#[test]
fn other_sources_of_intervals() {
    for (name, source) in [
        (
            "block",
            &["--begin", "block:block_rq_issue", "--end", "block:block_rq_complete", "--key", "sector"][..],
        ),
        ("queue", &["--begin", "irq:irq_handler_entry", "--end", "irq:irq_handler_exit"]),
        ("rehash", &["--function", "insert"]),
        ("fault", &["--function", "exc_page_fault"]),
    ] {
        println!("{name} {source:?}");
        assert_slices(&emulated(name), &[source, &["--top", "1"]].concat());
    }
}

/// Recordings of real machines: of one thread's user code, and of four CPUs without any binary. The other ones hold no
/// TSC, and so no interval.
#[test]
fn recordings_of_others() {
    let Some(corpus) = corpus() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, perf_data, intervals) in [
        // Its 57 instructions, after the first TSC packet.
        (
            "hase/loopy-20180404T162955",
            "perf.data",
            "x,3094205404057494,3094205404257494,19233,19233\nx,3094205404057494,3094205404067494,19233,19233\n",
        ),
        (
            "quipper",
            "perf.data.intel_pt-4.14",
            "x,808742433534,808742735848,3174,3174\nx,808742433534,808742443534,3174,3174\n",
        ),
    ] {
        println!("{name}");
        let file = folder.path().join("intervals.csv");
        std::fs::write(&file, format!("name,start_tsc.TSC,end_tsc,pid,tid\n{intervals}")).expect("written");
        let capture = of_corpus(&corpus, name);
        let capture = Capture { perf_data: capture.root.join(perf_data), ..capture };
        assert_slices(&capture, &["--intervals", &file.to_string_lossy(), "--top", "1"]);
    }
}

#[test]
fn the_machine_file_of_another_capture_stays() {
    let capture = bundled("multicore");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("there");
    let intervals = capture.intervals();
    let arguments = ["--intervals", &intervals, "--top", "1", "-o", &out.to_string_lossy()];
    // It would be taken for the slice's, which has none.
    let machine = folder.path().join("there.machine.json");
    std::fs::write(&machine, "mine").expect("written");
    let output = run("slice", &capture.perf_data, &capture.symfs, &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there.machine.json is there already"));
    assert_eq!((std::fs::read(&machine).expect("read"), out.exists()), (b"mine".to_vec(), false));
}
