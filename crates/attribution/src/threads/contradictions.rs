//! Contradictions between trace, marks and records about which thread was on a CPU: a clock that steps, records that
//! are missing without a LOST record.
//!
//! Input: an interval, where its threads were, and the schedule. Output: findings. A thread runs when it makes a
//! mark, so it must be on a CPU then; and it does not leave in the middle of a run, so no switch may lie there in its
//! flow.

use model::{Diagnostic, Interval, Ticks, Tid, TimeConversion, Tsc};
use perfdata::{Run, Schedule};

use crate::threads::stays::Stay;

/// How far a mark and the record of a switch may lie apart: a machine that stalls in between does not contradict
/// itself.
const APART_NS: u64 = 1_000_000;

/// The first contradiction about `interval`, whose threads made `stays`.
pub(crate) fn find(
    interval: &Interval,
    stays: &[Stay],
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
        let unrecorded = |stay: &Stay| Some((stay.left_by_flow?, stay.left_cpu));
        let (aux_offset, cpu) = stays.iter().find_map(unrecorded)?;
        let what = format!(
            "the kernel switches threads in the trace of interval {}, and no switch record says so: from then on only the trace \
             shows where the thread was",
            interval.id
        );
        Some(Diagnostic::warning(what).on_cpu(cpu).at_aux(aux_offset))
    })
}

struct Runs<'a> {
    schedule: &'a Schedule,
    conversion: TimeConversion,
    apart: Ticks,
}

impl Runs<'_> {
    /// The run after which `tid` is on no CPU from well before `at` until well after it.
    fn away_since(&self, tid: Tid, at: Tsc) -> Option<&Run> {
        let from = self.conversion.to_perf_time(at);
        let mut runs = self.schedule.of_thread(tid);
        let later = runs.partition_point(|run| run.start <= from);
        let before = runs.nth(later.checked_sub(1)?)?;
        let left = self.conversion.to_tsc(before.stop) + self.apart < at;
        let comes = at + self.apart < self.conversion.to_tsc(runs.next()?.start);
        (left && comes).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use model::{FileOffset, Severity};
    use perfdata::LeaveReason;

    use super::*;
    use crate::testing::script::{WORKER, conversion, interval, run};

    /// The worker runs until 10,000,000 and from 20,000,000 on.
    fn schedule() -> Schedule {
        Schedule::from_runs(vec![
            run(WORKER, 0, 0, 10_000_000, LeaveReason::Slept(Some('S'))),
            run(WORKER, 0, 20_000_000, 30_000_000, LeaveReason::Unknown),
        ])
    }

    fn found(range: std::ops::Range<u64>) -> Option<Diagnostic> {
        find(&interval(range), &[], &schedule(), Some(conversion()))
    }

    #[test]
    fn who_marks_is_on_a_cpu() {
        assert_eq!(found(5_000_000..25_000_000), None);
        // At the boundaries a mark and its record may lie apart.
        assert_eq!(found(10_500_000..19_500_000), None);
        for (range, mark) in [(14_000_000..25_000_000, "begin"), (5_000_000..15_000_000, "end")] {
            let found = found(range).expect("a contradiction");
            assert_eq!(found.severity, Severity::Warning);
            // The record by which it left at 10,000,000 has this offset.
            assert_eq!(found.place.file_offset, Some(FileOffset(10_000_000)));
            assert!(found.what.starts_with(&format!("thread 101 marked the {mark}")), "{}", found.what);
        }
    }
}
