//! The schedule against the switch records themselves, as perf prints them.

use std::collections::BTreeMap;

use model::{Cpu, PerfTime, Pid, Tid};
use tailtrace_perfdata::{LeaveReason, PerfData, Record, Run};

use crate::captures;

/// A `sched_switch` as perf prints it.
struct Switch {
    cpu: u32,
    time: PerfTime,
    prev: i32,
    state: String,
    next: i32,
}

#[test]
fn every_sched_switch_is_an_edge() {
    for capture in captures::emulated().into_iter().chain(captures::recorded()) {
        let arguments = ["script", "--no-itrace", "--ns", "-F", "tid,cpu,time,event,trace"];
        let text = captures::perf(&arguments, &capture);
        let perf_data = PerfData::open(&capture).expect("opens");
        let schedule = perf_data.schedule();
        let switches: Vec<Switch> = text.lines().filter_map(parse_line).collect();
        let traced = perf_data.attrs().iter().any(|attr| attr.name.as_deref() == Some("sched:sched_switch"));
        assert!(!traced || switches.len() > 20, "{}", capture.display());
        let processes = processes(&perf_data);
        let mut runs: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
        for switch in switches.iter().rev() {
            let place = format!("{} at {}", capture.display(), switch.time);
            let runs = runs.entry(switch.cpu).or_insert_with(|| schedule.on_cpu(Cpu(switch.cpu)).collect());
            let index = runs.partition_point(|run| run.stop < switch.time);
            let (left, came) = (runs[index], runs[index + 1]);
            assert_eq!(left.stop, switch.time, "{place}");
            assert_eq!((left.thread.tid, came.thread.tid), (Tid(switch.prev), Tid(switch.next)), "{place}");
            assert_eq!(left.stop, came.start, "{place}: an edge, no hole");
            let expected = match switch.state.as_str() {
                "R" | "R+" => LeaveReason::Preempted,
                "X" | "Z" => LeaveReason::Exited,
                state => LeaveReason::Slept(state.chars().next()),
            };
            assert_eq!(left.leave, expected, "{place}");
            if let Some(&pid) = processes.get(&came.thread.tid) {
                assert_eq!(came.thread.pid, pid, "{place}");
            }
        }
    }
}

/// The process by the thread's own COMM or FORK record; a thread born in an unlucky moment has none.
fn processes(perf_data: &PerfData) -> BTreeMap<Tid, Pid> {
    let named = perf_data.records().filter_map(|record| match record.record {
        Record::Comm { thread, .. } | Record::Fork { thread, .. } => Some((thread.tid, thread.pid)),
        _ => None,
    });
    named.chain([(Tid(0), Pid(0))]).collect()
}

/// `    16 [000]     0.476107023:  sched:sched_switch: prev_comm=a prev_pid=16 prev_prio=0 prev_state=S ==> …`
fn parse_line(line: &str) -> Option<Switch> {
    let (head, fields) = line.split_once("sched:sched_switch: ")?;
    let (_, cpu) = head.split_once('[')?;
    let (cpu, time) = cpu.split_once(']')?;
    let field = |name: &str| fields.split_once(name)?.1.split_whitespace().next();
    let nanoseconds: String = time.chars().filter(char::is_ascii_digit).collect();
    Some(Switch {
        cpu: cpu.parse().ok()?,
        time: PerfTime(nanoseconds.parse().ok()?),
        prev: field("prev_pid=")?.parse().ok()?,
        state: field("prev_state=")?.to_owned(),
        next: field("next_pid=")?.parse().ok()?,
    })
}

/// Linux 4.14 and 4.15 set no flag of preemptions (4.17 brought it); all later ones do.
#[test]
fn kernels_before_4_17_hide_preemptions() {
    for capture in captures::corpus() {
        let perf_data = PerfData::open(&capture).expect("opens");
        let release = perf_data.features().os_release.clone().unwrap_or_default();
        let is_old = release.starts_with("4.14.") || release.starts_with("4.15.");
        assert_eq!(perf_data.schedule().hides_preemptions(), is_old, "{}", capture.display());
    }
}
