//! What servers were asked, by system calls alone: each request from the read that brought it to the write of its answer.
//!
//! Input: the records, and which threads are meant. Output: a request per turn of each connection, from the return of the first read that
//! brought bytes of it to the return of the last write of its answer; and what could not be used, counted. `docs/recording.md` has the
//! rules. Buffers are not recorded, so two requests that one read brings are one.

mod conversation;
mod processes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::{FileOffset, ThreadId, TimeConversion, Tsc, TscRange};
use perfdata::{PerfData, Record, SystemCall, SystemCallStep};

use processes::Processes;

/// A request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredRequest {
    /// From the return of the first read to the return of the last write.
    pub range: TscRange,
    /// Who read first.
    pub reader: ThreadId,
    /// Who wrote last.
    pub writer: ThreadId,
    /// The descriptor of the connection.
    pub descriptor: u32,
    /// The descriptor of the socket that listened for the connection; `None` where its `accept` is not recorded.
    pub listening: Option<u32>,
    /// Bytes that were read, and that were written.
    pub bytes: (u64, u64),
    /// The record of the last write's return.
    pub record: FileOffset,
}

/// The requests of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Those of the threads that are meant, in the order of their starts.
    pub answered: Vec<AnsweredRequest>,
    /// How many of theirs are not among them.
    pub left_out: LeftOut,
    /// Calls of theirs that move bytes in a way that the records do not show, by name.
    pub unseen: BTreeMap<&'static str, u64>,
    /// Who answered requests, whether they are meant or not: how many, and when last.
    pub readers: BTreeMap<ThreadId, (u64, Tsc)>,
}

/// Requests that cannot be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// They had no answer yet when the recording ended.
    pub at_end: u64,
    /// Their connection was closed before an answer.
    pub closed: u64,
    /// They were read before the recording.
    pub begun_before: u64,
    /// They were open where records were lost.
    pub across_loss: u64,
}

/// The requests that threads read which are `meant`, in all of `perf`.
pub fn requests(
    perf: &PerfData,
    conversion: TimeConversion,
    meant: &dyn Fn(ThreadId, Tsc) -> bool,
) -> Requests {
    let mut processes = Processes::new(meant);
    for timed in perf.records() {
        let Some(time) = timed.time else { continue };
        let at = conversion.to_tsc(time);
        match (&timed.record, timed.thread) {
            (Record::Sample(sample), Some(thread)) => match sample.system_call() {
                Some(SystemCall { number, step: SystemCallStep::Enter(arguments) }) => {
                    processes.entered(thread, at, number, arguments.first().copied());
                }
                Some(SystemCall { number, step: SystemCallStep::Exit(result) }) => {
                    processes.returned(thread, at, number, result.unwrap_or(0), timed.offset);
                }
                None => {}
            },
            (Record::Lost { lost: 1.., .. } | Record::LostSamples { lost: 1.. }, _) => {
                processes.records_lost();
            }
            (Record::Fork { thread, parent, .. }, _) if thread.pid != parent.pid => {
                processes.process_ended(thread.pid);
            }
            (Record::Comm { thread, exec: true, .. }, _) => processes.process_ended(thread.pid),
            (Record::Exit { thread, .. }, _) => processes.thread_ended(*thread),
            _ => {}
        }
    }
    processes.finish()
}
