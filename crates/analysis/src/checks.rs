//! What the capture holds and lacks for one interval, a line for each question.
//!
//! Input: the interval as examined, what the decoder met in its windows, and what was recorded. Each line speaks of the
//! interval's own time and CPUs, not of what the recording requested. A question that cannot be answered is unknown,
//! and never good.

mod subject;

use report::Check;

pub(crate) use subject::Subject;

/// The checks of one interval.
pub(crate) fn of(subject: &Subject<'_>) -> Vec<Check> {
    let of_trace = [subject.trace(), subject.loss()];
    // Without a trace there is nothing more to ask of it.
    let of_flow = [subject.cycles(), subject.code(), subject.kernel()];
    let of_records =
        [subject.schedule(), subject.clock(), subject.marks(), subject.records(), subject.neighbours()];
    let has_trace = subject.capture.perf().intel_pt().is_some();
    of_trace.into_iter().chain(of_flow.into_iter().filter(|_| has_trace)).chain(of_records).collect()
}
