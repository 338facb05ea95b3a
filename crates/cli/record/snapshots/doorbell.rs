//! The doorbell: a named pipe into which a line is written when something was slow.
//!
//! `tailtrace.h` writes `BEGIN END LABEL`, the times in hexadecimal; its writing thread, for ends that were not compared, `late` before them. Any line counts, so that `echo slow >doorbell` rings, too, and so
//! do the lines of a command; SIGUSR2 counts as a line without text.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::Signal;
use signal_hook::consts::SIGUSR2;
use signal_hook::flag;

use super::shell;

/// A pipe's usual capacity.
const PIPE: usize = 1 << 16;

/// The reading end. Processes of the same user ring: others could have all snapshots of a minute used up.
pub(super) struct Doorbell {
    path: PathBuf,
    pipe: File,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
    /// Whether SIGUSR2 has come.
    signalled: Arc<AtomicBool>,
}

impl Doorbell {
    /// Makes the pipe. It has a writer from its beginning, ourselves, so that it does not end when the program does.
    pub(super) fn make(path: &Path) -> Result<Doorbell> {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .with_context(|| format!("{} cannot be made", path.display()))?;
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        let pipe = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
        let pipe = pipe.with_context(|| format!("{} cannot be opened", path.display()))?;
        let signalled = Arc::new(AtomicBool::new(false));
        flag::register(SIGUSR2, Arc::clone(&signalled)).context("SIGUSR2 cannot be taken")?;
        Ok(Doorbell { path: path.to_owned(), pipe, rest: Vec::new(), signalled })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The lines that have come, at most one pipe full; waits that long where there are none.
    pub(super) fn heard(&mut self, wait: Duration) -> Vec<String> {
        let mut lines = self.read();
        if lines.is_empty() && !wait.is_zero() {
            thread::sleep(wait);
            lines = self.read();
        }
        lines
    }

    fn read(&mut self) -> Vec<String> {
        let mut buffer = vec![0; PIPE];
        let mut lines = Vec::new();
        // Once: who writes faster than is read here would never let go. An error means that the pipe is empty.
        if let Ok(length @ 1..) = self.pipe.read(&mut buffer) {
            self.rest.extend_from_slice(&buffer[..length]);
            while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                lines.push(String::from_utf8_lossy(line.trim_ascii()).into_owned());
            }
            // Who writes no line does not fill the memory.
            self.rest.truncate(PIPE);
        }
        if self.signalled.swap(false, Ordering::Relaxed) {
            lines.push(String::new());
        }
        lines
    }
}

/// A command whose lines go into the pipe; it ends with us.
pub(super) struct Ringer(Child);

impl Ringer {
    /// Runs `command` by the shell.
    pub(super) fn run(command: &str, pipe: &Path) -> Result<Ringer> {
        let output = OpenOptions::new().write(true).open(pipe)?;
        let shell = shell::running(command).stdout(output).spawn();
        Ok(Ringer(shell.with_context(|| format!("{command} cannot be run"))?))
    }
}

impl Drop for Ringer {
    fn drop(&mut self) {
        shell::send(&self.0, Signal::TERM);
        let _ = self.0.wait();
    }
}

/// The line that rings for an interval without a label.
pub(super) fn line(begin: u64, end: u64) -> String {
    format!("{begin:#x} {end:#x} ")
}

/// What a line says that the program's writing thread wrote: up to 2 ms after the end of the interval.
const LATE: &str = "late ";

/// Whether the program's writing thread wrote the line.
pub(super) fn is_late(line: &str) -> bool {
    line.starts_with(LATE) && interval_of(line).is_some()
}

/// Begin, end and label of `BEGIN END LABEL`, the numbers in hexadecimal, `late` or not. `None` of another line.
pub(super) fn interval_of(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.strip_prefix(LATE).unwrap_or(line).splitn(3, ' ');
    let mut time = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (begin, end) = (time()?, time()?);
    Some((begin, end, words.next()?))
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        // It may be gone with its folder.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_rings_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("doorbell");
        let mut bell = Doorbell::make(&path).expect("a pipe");
        assert!(bell.heard(Duration::ZERO).is_empty());
        let write = |text: &str| {
            std::io::Write::write_all(
                &mut OpenOptions::new().write(true).open(&path).expect("open"),
                text.as_bytes(),
            )
            .expect("written");
        };
        write("0x10 0x20 order\nslo");
        assert_eq!(bell.heard(Duration::ZERO), ["0x10 0x20 order"]);
        write("w\n\n");
        assert_eq!(bell.heard(Duration::ZERO), ["slow", ""]);
        let lines = ["0x10 0x20 an order", "late 0x10 0x20 late", "slow", "late b c", "0x1 0x2"];
        let interval = |label| Some((0x10, 0x20, label));
        assert_eq!(lines.map(interval_of), [interval("an order"), interval("late"), None, None, None]);
        assert_eq!(lines.map(is_late), [false, true, false, false, false]);
        let ringer = Ringer::run("echo one; echo two; sleep 1000", &path).expect("a shell");
        let mut lines = Vec::new();
        while lines.len() < 2 {
            lines.extend(bell.heard(Duration::from_millis(5)));
        }
        assert_eq!(lines, ["one", "two"]);
        drop(ringer);
        drop(bell);
        assert!(!path.exists());
    }

    /// `yes` writes two bytes a line, faster than they are read.
    #[test]
    fn who_never_stops_ringing_holds_nobody_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("doorbell");
        let mut bell = Doorbell::make(&path).expect("a pipe");
        let ringer = Ringer::run("yes", &path).expect("a shell");
        let heard: Vec<usize> = (0..50).map(|_| bell.heard(Duration::from_millis(1)).len()).collect();
        assert!(heard.iter().all(|&lines| lines <= PIPE / 2 + 1), "{heard:?}");
        assert!(heard.iter().sum::<usize>() > PIPE, "{heard:?}");
        drop(ringer);
    }

    /// Whatever the umask is.
    #[test]
    fn only_the_same_user_rings() {
        let folder = tempfile::tempdir().expect("a folder");
        let bell = Doorbell::make(&folder.path().join("doorbell")).expect("a pipe");
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(bell.path()).expect("there"));
        assert_eq!(mode & 0o777, 0o600);
    }
}
