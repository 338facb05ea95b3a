//! Tasks of Tokio by three sources on one run: marks around the futures, the layer for `tracing`, and probes on the runtime's functions. It is the
//! program and the commands of `docs/marks-tokio.md`, and needs what `no_pt` needs.

use std::path::Path;

use serde_json::Value;

use crate::captures::tailtrace;
use crate::languages::Page;
use crate::no_pt::{key, run};

const TASKS: usize = 1000;
/// The task that blocks its worker.
const BLOCKING: u64 = 700;
const PROBES: [&str; 14] = [
    "--begin",
    "probe_requests:spawned",
    "--end",
    "probe_requests:done",
    "--key",
    "task",
    "--ready",
    "probe_requests:spawned",
    "--ready",
    "probe_requests:woken",
    "--run",
    "probe_requests:run",
    "--await",
    "probe_requests:idle",
];

/// A task's interval, as one source has it.
struct Task {
    /// Its begin and its end, in ticks of the TSC.
    ends: [u64; 2],
    /// For how long it was ready and not polled, in nanoseconds, and how often.
    queued_ns: u64,
    queued: usize,
    stop_thread: Value,
    report: Value,
}

/// All tasks of a source, in order of their begins: one thread spawns them all.
fn tasks(folder: &Path, source: &[&str]) -> Vec<Task> {
    let mut command = tailtrace();
    command.current_dir(folder).args(["explain", "--format", "json", "--over", "0ns", "--top", "2000"]);
    let report: Value =
        serde_json::from_slice(&run(command.args(source), "explain").stdout).expect("a report in JSON");
    let of_queue = |list: &Value| -> Vec<u64> {
        let all = list.as_array().expect("a list").iter();
        let queued = all.filter(|one| one["cause"] == "queue.runtime");
        queued.map(|one| one["duration_ns"].as_u64().expect("a length")).collect()
    };
    let mut tasks: Vec<Task> = report["outliers"]
        .as_array()
        .expect("outliers")
        .iter()
        .map(|one| Task {
            ends: ["start_tsc", "stop_tsc"]
                .map(|end| one[end].as_str().and_then(|text| text.parse().ok()).expect("a reading")),
            queued_ns: of_queue(&one["causes"]).iter().sum(),
            queued: of_queue(&one["segments"]).len(),
            stop_thread: one["stop_thread"].clone(),
            report: one.clone(),
        })
        .collect();
    tasks.sort_by_key(|task| task.ends[0]);
    tasks
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Task for task: the same begins, ends and times in the queue but for what the marks and probes take, the same number of phases, the
/// same last worker. Else what is apart.
fn compare(one: &[Task], other: &[Task], names: &str) -> Result<(), String> {
    assert_eq!((one.len(), other.len()), (TASKS, TASKS), "{names}");
    let pairs = || one.iter().zip(other);
    let apart = |of: fn(&Task) -> u64| median(pairs().map(|(a, b)| of(a).abs_diff(of(b))).collect());
    let [begins, ends] = [apart(|task| task.ends[0]), apart(|task| task.ends[1])];
    let queued = apart(|task| task.queued_ns);
    // A task may be woken between the two marks of one moment.
    let same = pairs().filter(|(a, b)| a.queued == b.queued && a.stop_thread == b.stop_thread).count();
    let found = format!(
        "{names}: begins {begins}, ends {ends} ticks apart, queued {queued} ns, {same} with the same phases"
    );
    // Some 20 us: two to three ticks to a nanosecond.
    let is_equal = begins < 50_000 && ends < 50_000 && queued < 50_000 && same * 100 >= TASKS * 97;
    if is_equal { Ok(()) } else { Err(found) }
}

/// Runs the page's program once, and compares its three sources.
fn compare_sources() -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = Page::of("tokio").run(folder.path());
    assert!(printed.contains("key 700 ──") && printed.contains("slept"), "{printed}");
    let folder = folder.path().join("requests");
    let marks = ["--intervals", "requests.marks", "--label"];
    let of_marks = tasks(&folder, &[&marks[..], &["order"]].concat());
    let of_layer = tasks(&folder, &[&marks[..], &["src/main.rs:23"]].concat());
    let of_probes = tasks(&folder, &PROBES);
    let blocking = of_marks.iter().position(|task| key(&task.report) == BLOCKING).expect("the task");
    for source in [&of_marks, &of_layer, &of_probes] {
        let first = &source[blocking].report["causes"][0];
        assert_eq!(first["cause"], "offcpu.sleep", "{first}");
    }
    compare(&of_marks, &of_layer, "marks and layer")?;
    compare(&of_marks, &of_probes, "marks and probes")?;
    compare(&of_layer, &of_probes, "layer and probes")
}

/// Two marks of one moment lie further apart where other load comes between: one run of three without it is enough.
#[test]
fn three_sources_agree_on_the_tasks_of_tokio() {
    let disagreed: Vec<String> = (0..3).map_while(|_| compare_sources().err()).collect();
    assert!(disagreed.len() < 3, "{disagreed:?}");
}
