//! The Perfetto export against perf's own text of the same capture: slices of the CPUs and states of the threads against
//! `sched:sched_switch`, wake-ups and the arrows between threads against `sched:sched_waking`. Perfetto's own classes read the export.

#[path = "../crates/report/tests/consumers/place.rs"]
pub(crate) mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::captures::{Capture, emulated, repository};

/// Captures with waits of all kinds, preemption, states S, D and I, and threads that end; and how many of their longest intervals.
const CAPTURES: [(&str, &str); 7] = [
    ("lock", "40"),
    ("block", "40"),
    ("oversubscription", "40"),
    ("preempt", "40"),
    ("tcp", "60"),
    ("wakeup", "40"),
    ("sockets", "40"),
];

/// `TASK_REPORT` of `include/linux/sched.h` by perf's letter. `R+` is said as R; X and Z both are threads that have ended.
const STATES: [(&str, u64); 9] =
    [("R", 0), ("R+", 0), ("S", 1), ("D", 2), ("T", 4), ("t", 8), ("X", 16), ("Z", 16), ("I", 128)];

/// Who was on a CPU, from when to when, and in which state it left.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    tid: i64,
    comm: String,
    from: u64,
    to: u64,
    state: u64,
}

/// One thread made another ready to run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wakeup {
    cpu: u64,
    at: u64,
    waker: i64,
    target: i64,
    target_cpu: u64,
}

/// An arrow of the export: from the end of a slice of a track to the begin of another's.
#[derive(Debug)]
struct Arrow {
    from: String,
    until: u64,
    to: i64,
    at: u64,
}

/// What perf says, in nanoseconds of its clock.
#[derive(Default)]
struct Recorded {
    /// By CPU: the runs from one switch to the next.
    runs: BTreeMap<u64, Vec<Run>>,
    wakeups: Vec<Wakeup>,
}

/// What the export says, from the first window's begin.
#[derive(Default)]
struct Exported {
    runs: BTreeMap<u64, Vec<Run>>,
    wakeups: Vec<Wakeup>,
    arrows: Vec<Arrow>,
}

/// The intervals' times, those that overlap as one, and the threads of each.
struct Windows {
    merged: Vec<(u64, u64)>,
    intervals: Vec<(u64, u64, i64)>,
}

/// What is compared of a capture.
struct Compared {
    name: &'static str,
    recorded: Recorded,
    exported: Exported,
    windows: Windows,
}

#[test]
fn the_machine_of_the_export_is_perfs() {
    let (mut states, mut wakeups, mut arrows) = (BTreeSet::new(), 0, 0);
    for (name, top) in CAPTURES {
        let capture = emulated(name);
        let (recorded, windows) = (Recorded::of(&capture), Windows::of(&capture, top));
        let compared = Compared { name, recorded, exported: Exported::of(&capture, top), windows };
        compared.assert_switches(&mut states);
        wakeups += compared.assert_wakeups();
        arrows += compared.assert_arrows();
    }
    assert!(states.is_superset(&BTreeSet::from([0, 1, 2, 128])), "{states:?}");
    assert!(wakeups > 500 && arrows > 250, "{wakeups} wake-ups, {arrows} arrows");
}

impl Compared {
    /// Each run of each CPU in the windows, no other, to the nanosecond; `seen` gets the states.
    fn assert_switches(&self, seen: &mut BTreeSet<u64>) {
        let (name, exported) = (self.name, &self.exported.runs);
        assert_eq!(exported.len(), self.recorded.runs.len(), "{name}: CPUs");
        for (cpu, runs) in &self.recorded.runs {
            let (found, expected) = (&exported[cpu], self.windows.cut(runs));
            for (found, expected) in found.iter().zip(&expected) {
                let is_named = is_same_name(&found.comm, &expected.comm);
                let bare = |run: &Run| Run { comm: String::new(), ..run.clone() };
                assert!(
                    is_named && bare(found) == bare(expected),
                    "{name}, CPU {cpu}: {found:?}, perf: {expected:?}"
                );
            }
            assert_eq!(found.len(), expected.len(), "{name}, CPU {cpu}");
            assert!(found.len() > 50, "{name}, CPU {cpu}: {} runs", found.len());
            seen.extend(found.iter().map(|run| run.state));
        }
    }

    /// Each wake-up in the windows, and no other. How many.
    fn assert_wakeups(&self) -> usize {
        let (start, recorded) = (self.windows.start(), &self.recorded.wakeups);
        let inside = recorded.iter().filter(|one| self.windows.hold(one.at));
        let mut expected: Vec<Wakeup> =
            inside.map(|one| Wakeup { at: one.at - start, ..one.clone() }).collect();
        let mut exported = self.exported.wakeups.clone();
        expected.sort();
        exported.sort();
        assert_eq!(exported, expected, "{}", self.name);
        expected.len()
    }

    /// Each arrow to a thread that was on no CPU begins where perf has a wake-up of that thread, by the thread that it leads from; and
    /// each wake-up of an interval's thread that slept has such an arrow. How many.
    fn assert_arrows(&self) -> usize {
        let (name, start, wakeups) = (self.name, self.windows.start(), &self.recorded.wakeups);
        let was_off = |arrow: &&Arrow| !self.recorded.is_on(arrow.to, start + arrow.at);
        let mut count = 0;
        for arrow in self.exported.arrows.iter().filter(was_off) {
            let is_its = |one: &&Wakeup| one.at == start + arrow.until && one.target == arrow.to;
            let wakeup = wakeups.iter().find(is_its);
            let wakeup = wakeup.unwrap_or_else(|| panic!("{name}: no wake-up for {arrow:?}"));
            let is_by_thread = arrow.from.ends_with(&format!(" {}", wakeup.waker));
            assert!(is_by_thread || arrow.from.starts_with("interrupts"), "{name}: {arrow:?}: {wakeup:?}");
            count += 1;
        }
        let slept = |one: &&Wakeup| {
            let is_of =
                |&(from, to, tid): &(u64, u64, i64)| tid == one.target && from < one.at && one.at < to;
            self.windows.intervals.iter().any(is_of) && !self.recorded.is_on(one.target, one.at)
        };
        for wakeup in wakeups.iter().filter(slept) {
            let is_its = |arrow: &Arrow| start + arrow.until == wakeup.at && arrow.to == wakeup.target;
            assert!(self.exported.arrows.iter().any(is_its), "{name}: no arrow for {wakeup:?}, from {start}");
        }
        count
    }
}

/// perf makes the names of the kernel's workers of `/proc`, which adds what they do; the record of a switch has the name alone.
fn is_same_name(found: &str, recorded: &str) -> bool {
    found == recorded || found.starts_with("kworker/") && found.starts_with(recorded)
}

impl Recorded {
    fn of(capture: &Capture) -> Recorded {
        let output = Command::new("perf")
            .args(["script", "--no-itrace", "--ns", "-F", "comm,pid,tid,cpu,time,event,trace", "-i"])
            .arg(&capture.perf_data)
            .output()
            .expect("perf runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut recorded = Recorded::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            recorded.add(line);
        }
        recorded
    }

    /// `worker   142/146   [001]     1.441619568:   sched:sched_switch: prev_comm=worker prev_pid=146 …`.
    fn add(&mut self, line: &str) {
        let Some((head, event)) = line.split_once(" sched:") else { return };
        let (event, fields) = event.split_once(':').expect("an event");
        let (before, cpu) = head.split_once('[').expect("a CPU");
        let (cpu, time) = cpu.split_once(']').expect("a CPU");
        let cpu: u64 = cpu.parse().expect("a CPU");
        let (seconds, rest) = time.trim().trim_end_matches(':').split_once('.').expect("a time");
        let at = seconds.parse::<u64>().expect("seconds") * 1_000_000_000
            + rest.parse::<u64>().expect("nanoseconds");
        match event {
            "sched_switch" => self.switch(cpu, at, fields),
            "sched_waking" => {
                let tid = before.trim_end().rsplit('/').next().expect("a tid");
                self.wakeups.push(Wakeup {
                    cpu,
                    at,
                    waker: tid.parse().expect("a tid"),
                    target: field(fields, " pid="),
                    target_cpu: u64::try_from(field(fields, " target_cpu=")).expect("a CPU"),
                });
            }
            _ => {}
        }
    }

    fn switch(&mut self, cpu: u64, at: u64, fields: &str) {
        let (left, came) = fields.split_once(" ==> ").expect("two threads");
        let letters = left.split("prev_state=").nth(1).expect("a state").trim();
        let (_, state) = STATES.iter().find(|(name, _)| *name == letters).expect("a known state");
        let runs = self.runs.entry(cpu).or_default();
        if let Some(last) = runs.last_mut() {
            assert_eq!(last.tid, field(left, "prev_pid="), "perf's own records: {fields}");
            (last.to, last.state) = (at, *state);
        }
        let comm = came.trim_start_matches("next_comm=").split(" next_pid=").next().expect("a name");
        let tid = field(came, "next_pid=");
        let comm = if tid == 0 { "swapper" } else { comm };
        runs.push(Run { tid, comm: comm.to_owned(), from: at, to: u64::MAX, state: 0 });
    }

    /// Whether a thread was on a CPU at a time, or just came or left.
    fn is_on(&self, tid: i64, at: u64) -> bool {
        self.runs.values().flatten().any(|run| run.tid == tid && (run.from..=run.to).contains(&at))
    }
}

/// The number after `name`.
fn field(text: &str, name: &str) -> i64 {
    let number = text.split(name).nth(1).and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name} in {text}"))
}

impl Exported {
    fn of(capture: &Capture, top: &str) -> Exported {
        let classes = place::of("python/perfetto");
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("trace.pftrace");
        let path = trace.to_string_lossy();
        let made = capture.tailtrace("export", &["--to", "perfetto", "--top", top, "-o", &path]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let output = Command::new("python3")
            .arg(repository().join("crates/report/tests/consumers/check_perfetto.py"))
            .arg(&trace)
            .env("PYTHONPATH", classes.parent().expect("a folder"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .expect("python3 runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut exported = Exported::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            exported.add(line);
        }
        exported
    }

    fn add(&mut self, line: &str) {
        if let Some(wakeup) = line.strip_prefix("wake CPU ") {
            let numbers: Vec<i64> =
                wakeup.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
            let [cpu, waker, target, at, target_cpu] = numbers[..] else { panic!("{line}") };
            let whole = |number: i64| u64::try_from(number).expect("not negative");
            self.wakeups.push(Wakeup {
                cpu: whole(cpu),
                at: whole(at),
                waker,
                target,
                target_cpu: whole(target_cpu),
            });
        } else if let Some((cpu, runs)) = line.strip_prefix("CPU ").and_then(|rest| rest.split_once(": ")) {
            self.runs.insert(cpu.parse().expect("a CPU"), runs.split("; ").map(run).collect());
        } else if let Some((from, to)) = line.split_once(" -> ") {
            let time =
                |text: &str| text.rsplit(' ').next().and_then(|time| time.parse().ok()).expect("a time");
            let track = |text: &str| text.trim().split(": ").next().expect("a track").to_owned();
            let tid = track(to).rsplit(' ').next().and_then(|tid| tid.parse().ok()).unwrap_or(-1);
            self.arrows.push(Arrow { from: track(from), until: time(from), to: tid, at: time(to) });
        }
    }
}

/// `ledger 144 0 146862 1`.
fn run(text: &str) -> Run {
    let mut words = text.rsplitn(5, ' ');
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).expect("a number");
    let (state, to, from, tid) = (number(), number(), number(), number());
    let comm = words.next().expect("a name").to_owned();
    // Nowhere is a thread of its own on each CPU.
    let tid = if comm.starts_with('[') { -1 } else { i64::try_from(tid).expect("a tid") };
    Run { tid, comm, from, to, state }
}

impl Windows {
    fn of(capture: &Capture, top: &str) -> Windows {
        let output = capture.tailtrace("explain", &["--top", top, "--format", "json"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let interval = |outlier: &Value| {
            let start: u64 =
                outlier["start_ns"].as_str().and_then(|start| start.parse().ok()).expect("a begin");
            let tid = outlier["stop_thread"]["tid"].as_i64().expect("a thread");
            (start, start + outlier["duration_ns"].as_u64().expect("a length"), tid)
        };
        let mut intervals: Vec<_> =
            report["outliers"].as_array().expect("outliers").iter().map(interval).collect();
        intervals.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for &(from, to, _) in &intervals {
            match merged.last_mut().filter(|last| from <= last.1) {
                Some(last) => last.1 = last.1.max(to),
                None => merged.push((from, to)),
            }
        }
        Windows { merged, intervals }
    }

    fn start(&self) -> u64 {
        self.merged[0].0
    }

    fn hold(&self, at: u64) -> bool {
        self.merged.iter().any(|&(from, to)| (from..to).contains(&at))
    }

    /// The runs within the windows, from the first window's begin, with a run without a thread from one window to the next. Who runs at a
    /// window's end could go on.
    fn cut(&self, runs: &[Run]) -> Vec<Run> {
        let start = self.start();
        let mut all: Vec<Run> = Vec::new();
        for &(from, to) in &self.merged {
            let inside = runs.iter().filter(|run| run.from < to && run.to > from).map(|run| Run {
                from: run.from.max(from) - start,
                to: run.to.min(to) - start,
                state: if run.to <= to { run.state } else { 0 },
                ..run.clone()
            });
            let inside: Vec<Run> = inside.collect();
            if let (Some(last), Some(first)) = (all.last(), inside.first()) {
                let comm = "[outside of the windows]".to_owned();
                all.push(Run { tid: -1, comm, from: last.to, to: first.from, state: 0 });
            }
            all.extend(inside);
        }
        all
    }
}
