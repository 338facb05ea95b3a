//! Ids of paired intervals.

use std::collections::HashSet;

use model::{Interval, IntervalId, Severity};

use super::Done;
use crate::findings::{Findings, Origin};

/// Gives ids: the stated ones, and to the others their number in order of the begins, or the next number that is free.
/// A stated id that occurs twice is dropped the second time.
pub(super) fn number(mut done: Vec<Done>, stated: Vec<Interval>, findings: &mut Findings) -> Vec<Interval> {
    done.sort_by_key(|Done { interval, .. }| (interval.range.start, interval.range.stop));
    let mut intervals = stated;
    let mut taken: HashSet<u64> = intervals.iter().map(|interval| interval.id.0).collect();
    taken.reserve(done.len());
    let (with_id, without): (Vec<_>, Vec<_>) = done.into_iter().partition(|done| done.id.is_some());
    for Done { id, mut interval, .. } in with_id {
        interval.id = IntervalId(id.unwrap_or_default());
        if taken.insert(interval.id.0) {
            intervals.push(interval);
        } else {
            findings.add(Severity::Error, "duplicate ids", Origin::Unknown, || {
                let start = interval.range.start.0;
                format!("id {} occurs twice: the interval that starts at {start} is left out", interval.id)
            });
        }
    }
    let mut next = 0;
    for Done { mut interval, .. } in without {
        while !taken.insert(next) {
            next += 1;
        }
        interval.id = IntervalId(next);
        intervals.push(interval);
    }
    intervals
}
