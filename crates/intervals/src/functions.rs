//! A function's entry and its return become an interval, found in the decoded flow.
//!
//! Input: the flow of each CPU, through one [`FunctionCalls`] per stream or window, and the function's entry addresses.
//! Output: its calls, matched across CPUs per thread. Frames are matched by return address; recursion nests, a tail call
//! into the function begins in its caller's frame and ends with it. A call that is left by longjmp, an exception or the
//! end of the thread has no return of its own: it is counted, not guessed. Kernel functions that switch stacks
//! (`__switch_to`) are followed only as far as return addresses show.

mod cache;
mod sink;
mod stack;

use std::collections::BTreeMap;

use model::{Cpu, Interval, IntervalId, Label, Severity, ThreadId, Tsc, TscRange};

use crate::findings::{Findings, Origin};
use crate::interval_set::IntervalSet;
pub use cache::{MarkCache, NAME as CACHE_NAME};
pub use sink::{EntryPoint, FunctionCalls, Stretch};
use stack::{Finished, Stack};

/// One call of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// From its first block to the caller's next one.
    pub range: TscRange,
    /// Who called it.
    pub thread: Option<ThreadId>,
    /// Trace was lost in between: its return may be that of a later call from the same place.
    pub crossed_gap: bool,
}

/// All calls that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundCalls {
    /// In order of their starts.
    pub calls: Vec<Call>,
    /// Entries without a return: open at the end, or left by longjmp or an exception.
    pub unfinished: u64,
}

/// Joins what was found on each CPU: a thread may enter on one and return on another.
pub fn join_calls(stretches: impl IntoIterator<Item = Stretch>) -> FoundCalls {
    let mut threads: BTreeMap<(Option<ThreadId>, Option<Cpu>), Vec<Stretch>> = BTreeMap::new();
    for stretch in stretches {
        // A CPU whose threads are not known is followed as if it were one thread.
        let cpu = if stretch.thread.is_none_or(ThreadId::is_idle) { stretch.cpu } else { None };
        threads.entry((stretch.thread, cpu)).or_default().push(stretch);
    }
    let mut found = FoundCalls::default();
    for ((thread, _), mut stretches) in threads {
        stretches.sort_by_key(|stretch| stretch.start);
        let (mut user, mut kernel) = (Stack::default(), Stack::default());
        for stretch in stretches {
            user.continue_with(stretch.user, stretch.gap);
            kernel.continue_with(stretch.kernel, stretch.gap);
        }
        found.take(user, thread);
        found.take(kernel, thread);
    }
    found.calls.sort_by_key(|call| (call.range.start, call.range.stop, call.thread));
    found
}

impl FoundCalls {
    fn take(&mut self, mut stack: Stack, thread: Option<ThreadId>) {
        for Finished { entry, stop } in std::mem::take(&mut stack.finished) {
            let range = TscRange::new(entry.start, stop);
            self.calls.push(Call { range, thread, crossed_gap: entry.crossed_gap });
        }
        self.unfinished += stack.unfinished;
        self.unfinished += stack.into_frames().iter().filter(|frame| frame.entry.is_some()).count() as u64;
    }

    /// The calls as intervals labelled `symbol`.
    pub fn into_intervals(self, symbol: &str) -> IntervalSet {
        let mut findings = Findings::new();
        if self.calls.is_empty() {
            findings.add(Severity::Warning, "functions without calls", Origin::Unknown, || {
                format!("no call of {symbol} from entry to return lies in the trace")
            });
        }
        if self.unfinished > 0 {
            let (calls, they_are) = counted(self.unfinished);
            findings.add(Severity::Warning, "unfinished calls", Origin::Unknown, || {
                format!(
                    "no return lies in the trace for {calls} of {symbol} (still open, longjmp, exception, or lost): \
                     {they_are} left out"
                )
            });
        }
        let timeless = self.calls.iter().filter(|call| call.range.start == Tsc(0)).count() as u64;
        if timeless > 0 {
            let (calls, they_are) = counted(timeless);
            findings.add(Severity::Warning, "calls without time", Origin::Unknown, || {
                format!("no timing packet lies before {calls} of {symbol}: {they_are} left out")
            });
        }
        let label = Label::from(symbol);
        let mut intervals = Vec::with_capacity(self.calls.len());
        for (number, call) in (0..).zip(&self.calls) {
            if call.range.start == Tsc(0) {
                continue;
            }
            if call.crossed_gap {
                findings.add(Severity::Warning, "calls across lost trace", Origin::Unknown, || {
                    format!("trace was lost during call {number} of {symbol}: its return may be that of a later call")
                });
            }
            intervals.push(Interval::new(IntervalId(number), label.clone(), call.range, call.thread));
        }
        findings.into_set(intervals)
    }
}

/// `1 call` and `it is`, `2 calls` and `they are`.
fn counted(calls: u64) -> (String, &'static str) {
    if calls == 1 { ("1 call".to_owned(), "it is") } else { (format!("{calls} calls"), "they are") }
}

#[cfg(test)]
mod tests;
