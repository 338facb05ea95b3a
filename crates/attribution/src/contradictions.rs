//! Where trace, marks and records contradict each other about who was on a CPU: a clock that steps, records that are
//! missing without a word.
//!
//! Input: an interval, what its flow tells, and the schedule. Output: findings. A thread runs when it makes a mark, so
//! it must be on a CPU then; and it does not leave in the middle of a run, so no switch may stand there in its flow.

use model::{Diagnostic, Interval, Ticks, Tid, TimeConversion, Tsc};
use perfdata::{Run, Schedule};

use crate::walk::Switch;

/// How far a switch, or a mark, and the record of the switch may lie apart: a machine that stands still in between is
/// none that contradicts itself.
const APART_NS: u64 = 1_000_000;

/// The first contradiction about `interval`, in whose flow the kernel carried out `switches`.
pub(crate) fn find(
    interval: &Interval,
    switches: &[Switch],
    schedule: &Schedule,
    conversion: Option<TimeConversion>,
) -> Option<Diagnostic> {
    let conversion = conversion?;
    let runs = Runs { schedule, conversion, apart: conversion.ns_to_ticks(APART_NS) };
    let marks = [
        ("begin", interval.start_thread, interval.range.start),
        ("end", interval.stop_thread, interval.range.stop),
    ];
    let mut marks = marks.into_iter().filter_map(|(mark, thread, at)| {
        let thread = thread?;
        let left = runs.away_since(thread.tid, at)?;
        let what = format!(
            "thread {} marked the {mark} of interval {}, and the switch records say that it was on no CPU then: its \
             clock, or records, are wrong",
            thread.tid, interval.id
        );
        let found = Diagnostic::warning(what).on_cpu(Some(left.cpu));
        Some(match left.stop_record {
            Some(record) => found.at_offset(record),
            None => found,
        })
    });
    marks.next().or_else(|| {
        if !schedule.tells_switches() {
            return None;
        }
        let switch = switches.iter().find(|switch| runs.goes_on(switch))?;
        let what = format!(
            "the kernel switches threads in the trace of interval {}, and no switch record says so within a millisecond: what \
             ran from then on may be another thread's",
            interval.id
        );
        Some(Diagnostic::warning(what).on_cpu(switch.cpu).at_aux(switch.aux_offset))
    })
}

struct Runs<'a> {
    schedule: &'a Schedule,
    conversion: TimeConversion,
    apart: Ticks,
}

impl Runs<'_> {
    /// The run behind which `tid` is on no CPU from well before `at` until well behind it.
    fn away_since(&self, tid: Tid, at: Tsc) -> Option<&Run> {
        let from = self.conversion.to_perf_time(at);
        let mut runs = self.schedule.of_thread(tid);
        let later = runs.partition_point(|run| run.start <= from);
        let before = runs.nth(later.checked_sub(1)?)?;
        let left = self.conversion.to_tsc(before.stop) + self.apart < at;
        let comes = at + self.apart < self.conversion.to_tsc(runs.next()?.start);
        (left && comes).then_some(before)
    }

    /// Whether the run in which `switch` stands began well before it and ends well behind it.
    fn goes_on(&self, switch: &Switch) -> bool {
        let Some(cpu) = switch.cpu else { return false };
        let at = self.conversion.to_perf_time(switch.at);
        let mut runs = self.schedule.on_cpu(cpu);
        let later = runs.partition_point(|run| run.start <= at);
        let run = later.checked_sub(1).and_then(|index| runs.nth(index));
        run.is_some_and(|run| {
            self.conversion.to_tsc(run.start) + self.apart < switch.at
                && switch.at + self.apart < self.conversion.to_tsc(run.stop)
        })
    }
}

#[cfg(test)]
mod tests {
    use model::{Cpu, FileOffset, Severity};
    use perfdata::LeaveReason;

    use super::*;
    use crate::script::{WORKER, conversion, interval, run};

    /// The worker runs until 10,000,000 and from 20,000,000 on.
    fn schedule() -> Schedule {
        Schedule::from_runs(vec![
            run(WORKER, 0, 0, 10_000_000, LeaveReason::Slept(Some('S'))),
            run(WORKER, 0, 20_000_000, 30_000_000, LeaveReason::Unknown),
        ])
    }

    fn found(range: std::ops::Range<u64>, switches: &[u64]) -> Option<Diagnostic> {
        let switch = |&at: &u64| Switch { at: Tsc(at), cpu: Some(Cpu(0)), aux_offset: at };
        let switches: Vec<Switch> = switches.iter().map(switch).collect();
        find(&interval(range), &switches, &schedule(), Some(conversion()))
    }

    #[test]
    fn who_marks_is_on_a_cpu() {
        assert_eq!(found(5_000_000..25_000_000, &[]), None);
        // At the edges a mark and its record may lie apart.
        assert_eq!(found(10_500_000..19_500_000, &[]), None);
        for (range, mark) in [(14_000_000..25_000_000, "begin"), (5_000_000..15_000_000, "end")] {
            let found = found(range, &[]).expect("a contradiction");
            assert_eq!(found.severity, Severity::Warning);
            // The record by which it left at 10,000,000 has this offset.
            assert_eq!(found.place.file_offset, Some(FileOffset(10_000_000)));
            assert!(found.what.starts_with(&format!("thread 101 marked the {mark}")), "{}", found.what);
        }
    }

    #[test]
    fn a_switch_without_a_record_is_told() {
        // The way in and the way out of a run hold one each.
        assert_eq!(found(20_000_000..29_900_000, &[20_005_000, 29_850_000]), None);
        let found = found(20_000_000..29_900_000, &[23_000_000, 26_000_000]).expect("a contradiction");
        assert_eq!(found.place.aux_offset, Some(23_000_000));
    }
}
