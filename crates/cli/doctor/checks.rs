//! The checks, in the order in which they are reported: what stops a recording first, then what makes it less exact.
//!
//! A check reads an [`Examination`] and yields one finding, or none where it has no subject (tracepoints without tracefs).

mod access;
mod placement;
mod room;
mod timing;
mod tool;
mod trace;
mod tracing;
mod trial;

#[cfg(test)]
mod tests;

use super::examination::Examination;
use super::finding::Finding;

/// A check.
#[derive(Clone, Copy)]
enum Check {
    /// It always has something to say.
    Always(fn(&Examination) -> Finding),
    /// It needs a subject, which a machine may lack.
    Subject(fn(&Examination) -> Option<Finding>),
}

use Check::{Always, Subject};

/// Each check; its finding has its name.
const CHECKS: [Check; 24] = [
    Always(trace::pt),
    Subject(trace::cycles),
    Subject(trace::regions),
    Subject(trace::packets),
    Subject(trace::pauses),
    Always(tool::perf),
    Always(access::permission),
    Always(access::lockdown),
    Always(access::mlock),
    Subject(room::memory),
    Subject(room::disk),
    Subject(trial::trial),
    Always(access::kcore),
    Always(access::kallsyms),
    Always(tracing::tracefs),
    Subject(tracing::tracepoints),
    Always(timing::guest),
    Subject(timing::perf_clock),
    Subject(timing::governor),
    Subject(timing::idle),
    Always(timing::hybrid),
    Always(placement::isolation),
    Subject(placement::interrupts),
    Always(placement::smt),
];

/// What all checks find.
pub(crate) fn findings(examination: &Examination) -> Vec<Finding> {
    let of = |check: &Check| match check {
        Always(check) => Some(check(examination)),
        Subject(check) => check(examination),
    };
    CHECKS.iter().filter_map(of).collect()
}
