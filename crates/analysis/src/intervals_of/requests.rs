//! Intervals from a server's system calls: the requests that it read and answered.
//!
//! Input: the records, and which threads are meant. Output: an interval for each request, labelled by the socket that listened, and what is
//! not among them. Where there is none, the error names the threads that answered requests.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use attribution::{AnsweredRequest, LeftOut, Requests};
use intervals::{Findings, IntervalSet, Origin};
use model::{Counter, Interval, IntervalId, Severity, ThreadId, Tsc};

use crate::capture::Capture;
use crate::error::{Error, Result};
use crate::request::Server;

/// How many threads an error names.
const MOST_NAMED: usize = 20;

/// The requests of `servers`.
pub(super) fn of(capture: &Capture<'_>, servers: &[Server]) -> Result<IntervalSet> {
    let conversion = capture.conversion().ok_or_else(intervals::Error::no_conversion)?;
    let is_meant = |thread: ThreadId, at: Tsc| {
        let name = || capture.perf().comm_at(thread.tid, conversion.to_perf_time(at));
        servers.iter().any(|server| match server {
            Server::Process(pid) => thread.pid == *pid,
            Server::Comm(comm) => name() == Some(comm),
        })
    };
    let found = attribution::requests(capture.perf(), conversion, &is_meant);
    if found.answered.is_empty() {
        let meant: Vec<String> = servers.iter().map(ToString::to_string).collect();
        return Err(Error::NoRequests { meant: meant.join(","), why: why_none(capture, &found) });
    }
    let mut findings = Findings::new();
    tell(&found, &mut findings);
    let intervals = (0..).zip(found.answered).map(|(number, request)| interval(number, &request)).collect();
    Ok(findings.into_set(intervals))
}

/// Labels are those of listening sockets, so that different services are not compared with each other; the key is the connection.
fn interval(number: u64, request: &AnsweredRequest) -> Interval {
    let label = match request.listening {
        Some(descriptor) => format!("request:fd{descriptor}"),
        None => "request".to_owned(),
    };
    let counter = |name: &str, bytes: u64| Counter { name: name.to_owned(), value: bytes.into() };
    let mut interval = Interval::new(IntervalId(number), label, request.range, Some(request.reader));
    interval.stop_thread = Some(request.writer);
    interval.key = Some(format!("fd {}", request.descriptor));
    interval.counters = vec![counter("bytes_in", request.bytes.0), counter("bytes_out", request.bytes.1)];
    interval.record = Some(request.record);
    interval.connection = Some(request.descriptor);
    interval
}

/// What is not among the intervals.
fn tell(found: &Requests, findings: &mut Findings) {
    let LeftOut { at_end, closed, begun_before, across_loss } = found.left_out;
    for (count, what) in [
        (at_end, "had no answer yet when the recording ended"),
        (closed, "had no answer when the connection was closed"),
        (begun_before, "may have been read before the recording: only the answer is in it"),
        (across_loss, "had begun where records were lost"),
    ] {
        if count > 0 {
            findings.add(Severity::Warning, "requests left out", Origin::Unknown, || match count {
                1 => format!("1 request {what}: it is left out"),
                _ => format!("{count} requests {what}: they are left out"),
            });
        }
    }
    for (call, count) in &found.unseen {
        findings.add(Severity::Warning, "calls that are not followed", Origin::Unknown, || {
            format!("{call}() was called {count} times: the records do not show what it read and wrote, so requests may be missing")
        });
    }
}

/// Why there is none, and who answered requests.
fn why_none(capture: &Capture<'_>, found: &Requests) -> String {
    if !capture.recorded().kinds.syscalls {
        return "the capture has no records of system calls: record with -e 'raw_syscalls:*'".to_owned();
    }
    let mut threads: BTreeMap<(String, i32), u64> = BTreeMap::new();
    for (&thread, &(count, last)) in &found.readers {
        let name = capture.comm(thread, last).unwrap_or_else(|| format!("tid {}", thread.tid));
        *threads.entry((name, thread.pid.0)).or_default() += count;
    }
    if threads.is_empty() {
        return "no thread read from a connection and answered there".to_owned();
    }
    let mut threads: Vec<((String, i32), u64)> = threads.into_iter().collect();
    threads.sort_by_key(|&(_, count)| Reverse(count));
    let more = threads.len().saturating_sub(MOST_NAMED);
    let names = threads.iter().take(MOST_NAMED);
    let names: Vec<String> =
        names.map(|((name, pid), count)| format!("{name} (pid {pid}) {count}")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("no such thread answered a request; these did: {}{more}", names.join(", "))
}
