//! Waits and device accesses over many intervals, by records alone.
//!
//! Input: the capture's records; no trace is decoded, so thousands of intervals cost little. Output: for a stay off the
//! CPU what was waited for ([`wait_of_stay`]), for a range of time what each block device did ([`accesses`]), for a CPU
//! who ran on it ([`ran_on`]). What a wait is called follows the rules of an interval's own segments, without the way
//! through the kernel that only a flow tells.

mod access;
mod waits;

use model::{Cpu, ThreadId, TimeConversion, Tsc, TscRange};
use perfdata::Schedule;

use crate::files::{Files, NoFiles};
use crate::offcpu::{Comms, Context, runs_within};
use crate::sideband::Sideband;

pub use access::{Access, Direction, accesses};
pub use waits::{ObjectWait, WaitObject, wait_of_stay};

/// Names nobody: the view keeps threads, and its reader names them.
struct Nameless;

impl Comms for Nameless {
    fn comm(&self, _: ThreadId, _: Tsc) -> String {
        String::new()
    }
}

/// Who ran on `cpu` within `range` and for how many nanoseconds, run by run, the idle task included.
pub fn ran_on(
    schedule: &Schedule,
    cpu: Cpu,
    range: TscRange,
    conversion: TimeConversion,
) -> Vec<(ThreadId, u64)> {
    let sideband = Sideband::default();
    runs_within(cpu, range, &context(&sideband, schedule, conversion, &NoFiles)).collect()
}

/// What is known without a flow.
fn context<'a>(
    sideband: &'a Sideband,
    schedule: &'a Schedule,
    conversion: TimeConversion,
    files: &'a dyn Files,
) -> Context<'a> {
    let (calls, faults) = (Vec::new(), Vec::new());
    Context { schedule, conversion, sideband, calls, faults, comms: &Nameless, files }
}

#[cfg(test)]
mod tests;
