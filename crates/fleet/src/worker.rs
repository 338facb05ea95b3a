//! A capture explained by a process of its own, with limits: what is wrong with a file ends that process and nothing else.
//!
//! Input: a command that prints a line `{"capture":ID}` and then [`Rows::to_json_lines`]. Output: the rows; where the process exceeds its time or
//! memory, dies or prints something else, the one row that says so.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use serde_json::{Value as Json, json};

use crate::explained::{Delivery, without_rows};
use crate::rows::Rows;

/// More bytes of rows are no explanation of a capture.
const MOST_BYTES: u64 = 1 << 30;
/// Bytes of a process's messages that are kept.
const MESSAGES: u64 = 1 << 12;
/// Lines that are read ahead.
const AHEAD: usize = 1000;

/// How much a capture may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the process's start to its end.
    pub time: Duration,
    /// Bytes of memory that the process may have for itself; what it maps of the capture is not counted.
    pub memory: u64,
}

/// In the process that explains: from now on it has no more memory than `bytes` for itself, and does not outlive its parent.
///
/// # Errors
/// What the operating system says.
pub fn confine(bytes: u64) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let allowed = getrlimit(Resource::Data).maximum;
    let limit = allowed.map_or(bytes, |allowed| allowed.min(bytes));
    Ok(setrlimit(Resource::Data, Rlimit { current: Some(limit), maximum: allowed })?)
}

/// What the process prints before it decodes anything.
pub fn announced(capture: &str) -> String {
    format!("{}\n", json!({ "capture": capture }))
}

/// Runs `command` for `delivery`. Where its capture is not `wanted`, the process is ended, and there are no rows.
pub fn supervised(
    delivery: &Delivery,
    mut command: Command,
    limits: &Limits,
    wanted: impl FnOnce(&str) -> bool,
) -> Option<Rows> {
    let failed = |status: &str, why: &str| Some(without_rows(delivery, status, why));
    let until = Instant::now() + limits.time;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = match command.spawn() {
        Ok(child) => Ended(child),
        Err(error) => return failed("unreadable", &format!("no process can be started for it: {error}")),
    };
    let (sender, lines) = sync_channel(AHEAD);
    let (output, messages) = (process.0.stdout.take(), process.0.stderr.take());
    thread::spawn(move || output.map(|output| read_lines(BufReader::new(output), &sender)));
    let messages = thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut from) = messages {
            // What cannot be read is left out.
            let _ = from.by_ref().take(MESSAGES).read_to_end(&mut text);
            let _ = std::io::copy(&mut from, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let seconds = limits.time.as_secs();
    let rows = match rows_until(&lines, until, wanted) {
        Got::Rows(rows) => rows,
        Got::Unwanted => return None,
        Got::Late => return failed("timeout", &format!("not explained within {seconds} s")),
        Got::Wrong(why) => return failed("unreadable", &why),
    };
    let Some(status) = process.wait_until(until) else {
        return failed("timeout", &format!("not explained within {seconds} s"));
    };
    if status.success() && rows.is_whole() {
        return Some(rows);
    }
    let messages = messages.join().unwrap_or_default();
    let (status, why) = reason(status, &messages, limits);
    failed(status, &why)
}

/// A process that is ended and reaped when this is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Ended {
    /// How it ended; `None` where it has not by then.
    fn wait_until(&mut self, until: Instant) -> Option<ExitStatus> {
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status),
                _ if Instant::now() >= until => return None,
                // It has closed its output: what is left takes no time.
                _ => thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

/// What came of a process's output.
enum Got {
    Rows(Rows),
    Unwanted,
    Late,
    Wrong(String),
}

fn rows_until(lines: &Receiver<String>, until: Instant, wanted: impl FnOnce(&str) -> bool) -> Got {
    let (mut rows, mut wanted, mut bytes) = (Rows::default(), Some(wanted), 0_u64);
    loop {
        let line = match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Got::Rows(rows),
            Err(RecvTimeoutError::Timeout) => return Got::Late,
        };
        bytes += line.len() as u64;
        if bytes > MOST_BYTES {
            return Got::Wrong(format!("more than {} MiB of rows", MOST_BYTES >> 20));
        }
        if let Some(capture) = announcement(&line) {
            if wanted.take().is_some_and(|wanted| !wanted(&capture)) {
                return Got::Unwanted;
            }
        } else if let Err(error) = rows.add_json_line(&line) {
            return Got::Wrong(error.to_string());
        }
    }
}

/// The capture that a line announces.
fn announcement(line: &str) -> Option<String> {
    let value: Json = line.starts_with("{\"capture\"").then(|| serde_json::from_str(line).ok()).flatten()?;
    value["capture"].as_str().map(str::to_owned)
}

/// Sends lines until there is no more, or no one takes them.
fn read_lines(mut from: impl std::io::BufRead, into: &SyncSender<String>) {
    loop {
        let mut line = String::new();
        let read = from.by_ref().take(MOST_BYTES).read_line(&mut line);
        if !matches!(read, Ok(1..)) || into.send(line).is_err() {
            return;
        }
    }
}

/// Status and error of a process that gave no rows.
fn reason(ended: ExitStatus, messages: &str, limits: &Limits) -> (&'static str, String) {
    let last = messages.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // Of the allocator; the kernel's killer of processes that take too much memory has no words.
    if messages.contains("memory allocation of") || ended.signal() == Some(Signal::KILL.as_raw()) {
        return ("too-large", format!("it takes more than {} MiB of memory", limits.memory >> 20));
    }
    match ended.signal() {
        Some(signal) => ("unreadable", format!("explaining it ended by signal {signal}: {last}")),
        None => ("unreadable", format!("explaining it failed: {last}")),
    }
}

#[cfg(test)]
mod tests;
