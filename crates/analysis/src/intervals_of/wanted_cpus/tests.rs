use attribution::stays;
use model::{IntervalId, PerfTime, ThreadId, Tsc};
use perfdata::{LeaveReason, Run};

use super::*;

const ONE: ThreadId = ThreadId { pid: model::Pid(1), tid: Tid(1) };
const OTHER: ThreadId = ThreadId { pid: model::Pid(1), tid: Tid(2) };
const RUNS: u64 = 1000;

/// A tick is a nanosecond.
fn clock() -> TimeConversion {
    TimeConversion::new(0, 1, 0).expect("a clock")
}

/// Each thread runs for 6 of 10 ns, the one on CPUs 0 and 1 in turn, the other on CPU 2.
fn schedule() -> Schedule {
    let run = |thread, cpu, start| Run {
        thread,
        cpu: Cpu(cpu),
        start: PerfTime(start),
        stop: PerfTime(start + 6),
        leave: LeaveReason::Unknown,
        priority: None,
        start_late_ns: 0,
        stop_late_ns: 0,
        start_record: None,
        stop_record: None,
    };
    let two = |n: u64| [run(ONE, u32::from(n % 2 == 1), n * 10), run(OTHER, 2, n * 10 + 3)];
    Schedule::from_runs((0..RUNS).flat_map(two).collect())
}

fn interval(start: u64, stop: u64, publish: Option<u64>) -> Interval {
    let range = TscRange::new(Tsc(start), Tsc(stop));
    let mut interval = Interval::new(IntervalId(0), "x", range, Some(ONE));
    interval.stop_thread = publish.map(|_| OTHER).or(Some(ONE));
    interval.publish = publish.map(Tsc);
    interval
}

/// What attribution's walk over all stays finds.
#[test]
fn they_are_those_of_the_stays() {
    let (schedule, clock) = (schedule(), clock());
    for wanted in [&[Cpu(0)][..], &[Cpu(1)], &[Cpu(2)], &[Cpu(1), Cpu(2)], &[Cpu(9)]] {
        let found = WantedCpus::new(&schedule, clock, None, wanted);
        for start in 0..40 {
            for length in 0..25 {
                for publish in [None, Some(start + length / 2)] {
                    let interval = interval(start, start + length, publish);
                    let walked = stays(&interval, &schedule, Some(clock));
                    let ran =
                        walked.iter().filter_map(|stay| stay.place.cpu()).any(|cpu| wanted.contains(&cpu));
                    assert_eq!(found.one_of(&interval).is_some(), ran, "{wanted:?} {interval:?}");
                }
            }
        }
    }
}

#[test]
fn nothing_is_known_beyond_the_recording() {
    let (schedule, clock) = (schedule(), clock());
    let extent = Some(TscRange::new(Tsc(8), Tsc(30)));
    let cpus = [Cpu(0)];
    let found = WantedCpus::new(&schedule, clock, extent, &cpus);
    assert_eq!(found.one_of(&interval(0, 15, None)), None, "CPU 0 from 0 to 6, CPU 1 from 10 to 16");
    assert_eq!(found.one_of(&interval(0, 25, None)), Some(Cpu(0)), "from 20 to 26");
}

/// A hundred thousand intervals over all runs of a thread, which was never on the CPU.
#[test]
fn many_over_the_same_time_read_the_runs_once() {
    let (schedule, clock) = (schedule(), clock());
    let few = [Cpu(2)];
    let found = WantedCpus::new(&schedule, clock, None, &few);
    for n in 0..100_000 {
        assert_eq!(found.one_of(&interval(n % 7, 10 * RUNS, None)), None);
    }
    assert_eq!(found.steps(), 1000, "the runs of one thread");
    let both = [Cpu(0), Cpu(1)];
    let found = WantedCpus::new(&schedule, clock, None, &both);
    for n in 0..100_000 {
        assert!(found.one_of(&interval(n % 5000, 10 * RUNS, None)).is_some());
    }
    // A bisection of 1000 is 10 or 11 steps.
    assert!(found.steps() <= 1000 + 11 * 100_000, "{}", found.steps());
}
