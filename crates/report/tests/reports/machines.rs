//! The machine around intervals.

use tailtrace_report::{CpuReport, LeftCpu, Machine, Report, RunReport, WakeupReport};

use super::{HOSTILE, with_calls};

fn run((from, to): (u64, u64), tid: i32, comm: &str, left: Option<LeftCpu>) -> RunReport {
    let pid = if tid == 412 { 410 } else { tid };
    RunReport {
        offset_ns: from,
        duration_ns: to - from,
        pid,
        tid,
        comm: comm.to_owned(),
        left,
        priority: Some(120),
    }
}

/// [`with_calls`] twice, the second time 60 us later: two windows that overlap, from 0 to 80 and from 60 to 140 us. On CPU 0 the
/// thread `comp` runs from 10 to 100 us and is preempted; on CPU 1 the interval's thread runs to 40 us, waits for a disk, and runs again from 75 us.
/// `comp` wakes it at 70 us, which both windows hold.
pub fn with_machine() -> Report {
    let mut report = with_calls();
    let mut second = report.outliers[0].clone();
    second.id += 1;
    second.start_ns = second.start_ns.map(|start| start + 60_000);
    let wake = |offset_ns| WakeupReport {
        offset_ns,
        cpu: Some(0),
        waker: 122,
        target: 412,
        target_comm: "engine".to_owned(),
        target_cpu: Some(1),
        is_by_waker: true,
    };
    report.outliers[0].machine = Machine {
        cpus: vec![
            CpuReport {
                cpu: 0,
                runs: vec![
                    run((0, 10_000), 0, "", Some(LeftCpu::Preempted)),
                    run((10_000, 80_000), 122, "comp", None),
                ],
            },
            CpuReport {
                cpu: 1,
                runs: vec![
                    run((0, 40_000), 412, "engine", Some(LeftCpu::Slept(Some('D')))),
                    run((75_000, 80_000), 412, "engine", None),
                ],
            },
        ],
        wakeups: vec![wake(70_000)],
        left_out: 0,
    };
    second.machine = Machine {
        cpus: vec![CpuReport {
            cpu: 0,
            runs: vec![
                run((0, 40_000), 122, "comp", Some(LeftCpu::Preempted)),
                run((40_000, 80_000), 0, "", None),
            ],
        }],
        wakeups: vec![wake(10_000)],
        left_out: 0,
    };
    report.outliers.push(second);
    report
}

/// Threads with hostile names, and one of 10 MB, on two CPUs; wake-ups of each.
pub fn hostile_machine() -> Machine {
    let long = "C".repeat(10_000_000);
    let names: Vec<&str> = HOSTILE.iter().copied().chain([&*long]).collect();
    let of_cpu = |cpu: u32| {
        let run = |(at, name): (usize, &&str)| {
            let (at, tid) = (at as u64 * 1000, 200 + i32::try_from(at).expect("few"));
            run((at, at + 1000), tid, name, None)
        };
        CpuReport { cpu, runs: names.iter().enumerate().map(run).collect() }
    };
    let wake = |name: &&str| WakeupReport {
        cpu: Some(0),
        target: 200,
        target_comm: (*name).to_owned(),
        ..WakeupReport::default()
    };
    Machine {
        cpus: vec![of_cpu(0), of_cpu(u32::MAX)],
        wakeups: names.iter().map(wake).collect(),
        left_out: u64::MAX,
    }
}
