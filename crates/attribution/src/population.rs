//! Waits and device accesses over many intervals, and the requests of servers, by records alone.
//!
//! Input: the capture's records; no trace is decoded, so thousands of intervals cost little. Output: for a stay off
//! the CPU what was waited for ([`waits`]), for a range of time what each block device did ([`access`]), for a CPU
//! which threads ran on it ([`ran_on`]), for threads the requests that they answered ([`mod@requests`]). The name of a wait follows the rules of an interval's own segments
//! (`claims/off_cpu`), with the path through the kernel where a callchain shows it, and without the one that only a flow
//! shows.
//!
//! Beside `examine` and `compare`: imports what lies to the left of these, and neither of them imports it.

pub(crate) mod access;
pub(crate) mod requests;
mod scene;
pub(crate) mod waits;

use model::{Cpu, ThreadId, TimeConversion, TscRange};
use perfdata::Schedule;

use crate::threads::stays::runs_on;

/// The threads that ran on `cpu` within `range` and for how many nanoseconds, run by run, including the idle task.
pub fn ran_on(
    schedule: &Schedule,
    cpu: Cpu,
    range: TscRange,
    conversion: TimeConversion,
) -> Vec<(ThreadId, u64)> {
    let runs = runs_on(schedule, cpu, range, conversion);
    runs.map(|(thread, on)| (thread, conversion.duration_ns(on))).collect()
}

#[cfg(test)]
mod tests;
