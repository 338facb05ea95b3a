//! Hands bundles over: the user's command is run for each, and what it has taken is removed.
//!
//! Input: the folder of bundles, which also holds those that earlier recordings left. Output: the command's effect, once or, after a
//! failure or a crash, more than once; how often it failed. A failure is tried again after a second, then after twice as long each time
//! up to [`LONGEST_PAUSE`], for each bundle by itself. Nothing here stops a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use analysis::study::BundleCounts;
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

use super::{bundles, shell};
use crate::output;

/// How often the folder is looked at while nothing is due.
const TURN: Duration = Duration::from_secs(1);
/// The longest pause between two attempts for one bundle.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How often it is looked whether a command has ended.
const LOOKS: Duration = Duration::from_millis(20);
/// A command that is to end has so long until it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// The user's command for each bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnBundle {
    /// Run by the shell, with the bundle's path in `TAILTRACE_BUNDLE`.
    pub(crate) command: String,
    /// It is ended after this time.
    pub(crate) limit: Duration,
}

/// The bundles of a folder on their way.
pub(super) struct Delivery<'p> {
    folder: &'p Path,
    on_bundle: &'p OnBundle,
    /// Whether delivered bundles stay, under another name.
    keep: bool,
    /// Those that failed: how often, and when they are due.
    failed: BTreeMap<PathBuf, (u32, Instant)>,
    counts: BundleCounts,
}

/// What became of an attempt.
enum Attempt {
    Delivered,
    /// With what is to be said of it.
    Failed(String),
    /// Another recorder has it, or it was removed.
    Gone,
}

impl<'p> Delivery<'p> {
    /// Of the bundles in `folder`.
    pub(super) fn new(folder: &'p Path, on_bundle: &'p OnBundle, keep: bool) -> Delivery<'p> {
        Delivery { folder, on_bundle, keep, failed: BTreeMap::new(), counts: BundleCounts::default() }
    }

    /// Delivers until the sender of `ends` is gone, then what was not tried yet, up to the first failure: the rest is for the next
    /// recording. Returns how many were delivered and how often the command failed.
    pub(super) fn run(mut self, ends: &Receiver<()>) -> BundleCounts {
        loop {
            let is_idle = self.turn();
            let wait = if is_idle { TURN } else { Duration::ZERO };
            match ends.recv_timeout(wait) {
                // A bundle was written.
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let failures = self.counts.failures;
        let new = bundles::in_folder(self.folder).into_iter().filter(|path| !self.failed.contains_key(path));
        for path in new.collect::<Vec<_>>() {
            self.deliver(&path);
            if self.counts.failures > failures {
                break;
            }
        }
        self.counts
    }

    /// Delivers the oldest bundle that is due; whether there was none.
    fn turn(&mut self) -> bool {
        let now = Instant::now();
        let there = bundles::in_folder(self.folder);
        let known: BTreeSet<&PathBuf> = there.iter().collect();
        self.failed.retain(|path, _| known.contains(path));
        let is_due = |path: &&PathBuf| self.failed.get(*path).is_none_or(|&(_, due)| due <= now);
        let Some(path) = there.iter().find(is_due) else { return true };
        self.deliver(path)
    }

    /// Whether it is somebody else's.
    fn deliver(&mut self, path: &Path) -> bool {
        match self.attempt(path) {
            Attempt::Delivered => {
                self.failed.remove(path);
                self.counts.delivered += 1;
            }
            Attempt::Gone => return true,
            Attempt::Failed(why) => {
                self.counts.failures += 1;
                let times = self.failed.get(path).map_or(0, |&(times, _)| times);
                let pause = pause(times);
                self.failed.insert(path.to_owned(), (times + 1, Instant::now() + pause));
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                output::print_note(&format!(
                    "--on-bundle: {why}; {name} stays, and is tried again after {} s",
                    pause.as_secs()
                ));
            }
        }
        false
    }

    /// The bundle is locked (`flock`) during this time: of several recorders one delivers it, and none removes it.
    fn attempt(&self, path: &Path) -> Attempt {
        let Ok(file) = File::open(path) else { return Attempt::Gone };
        let is_taken = flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
        if is_taken || !path.exists() {
            return Attempt::Gone;
        }
        let status = match self.command(path) {
            Ok(Some(status)) => status,
            Ok(None) => {
                return Attempt::Failed(format!("ended after {} s", self.on_bundle.limit.as_secs_f64()));
            }
            Err(error) => return Attempt::Failed(format!("cannot be run: {error}")),
        };
        if !status.success() {
            return Attempt::Failed(status.to_string());
        }
        let gone = if self.keep { fs::rename(path, bundles::delivered(path)) } else { fs::remove_file(path) };
        match gone {
            // The command may have moved it.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Attempt::Failed(format!("cannot be removed: {error}"))
            }
            _ => Attempt::Delivered,
        }
    }

    /// Runs the command to its end; `None` where it took too long.
    fn command(&self, bundle: &Path) -> io::Result<Option<ExitStatus>> {
        let mut shell = shell::running(&self.on_bundle.command);
        // stdout is for results.
        let mut child = shell.env("TAILTRACE_BUNDLE", bundle).stdout(io::stderr()).spawn()?;
        let status = ends_within(&mut child, self.on_bundle.limit)?;
        if status.is_none() {
            end(&mut child)?;
        }
        Ok(status)
    }
}

/// How long to wait after `times` failures before this one.
fn pause(times: u32) -> Duration {
    Duration::from_secs(1 << times.min(16)).min(LONGEST_PAUSE)
}

fn ends_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= limit {
            return Ok(None);
        }
        thread::sleep(LOOKS);
    }
}

fn end(child: &mut Child) -> io::Result<()> {
    for signal in [Signal::TERM, Signal::KILL] {
        shell::send(child, signal);
        if ends_within(child, GRACE)?.is_some() {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Delivers what is in the folder until `is_done`.
    fn delivered(folder: &Path, command: &str, keep: bool, is_done: impl Fn() -> bool) -> BundleCounts {
        let on_bundle = OnBundle { command: command.to_owned(), limit: Duration::from_millis(300) };
        let (sender, ends) = mpsc::channel();
        thread::scope(|scope| {
            let delivery = Delivery::new(folder, &on_bundle, keep);
            let delivery = scope.spawn(move || delivery.run(&ends));
            let begun = Instant::now();
            while !is_done() {
                assert!(begun.elapsed() < Duration::from_secs(60), "{command}");
                thread::sleep(LOOKS);
            }
            drop(sender);
            delivery.join().expect("no panic")
        })
    }

    fn bundles(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for name in names {
            fs::write(folder.path().join(name), name).expect("written");
        }
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries =
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    const ONE: &str = "slow-0000000000001-0a.tar.zst";
    const TWO: &str = "slow-0000000000002-0b.tar.zst";

    /// Oldest first; what is no bundle of a recording stays.
    #[test]
    fn what_the_command_took_goes() {
        let folder = bundles(&[TWO, ONE, "other.tar.zst", ".slow-1.tar.zst.tailtrace-abcdef"]);
        let log = folder.path().join("log");
        let command = format!("cat \"$TAILTRACE_BUNDLE\" >>'{}'", log.display());
        let counts = delivered(folder.path(), &command, false, || names(folder.path()).len() == 3);
        assert_eq!((counts.delivered, counts.failures), (2, 0));
        assert_eq!(fs::read_to_string(log).expect("a log"), format!("{ONE}{TWO}"));
        assert_eq!(names(folder.path()), [".slow-1.tar.zst.tailtrace-abcdef", "log", "other.tar.zst"]);
    }

    /// With `keep` it stays under a name by which it is not delivered again.
    #[test]
    fn what_is_kept_has_another_name() {
        let folder = bundles(&[ONE]);
        let kept = || names(folder.path()) == ["delivered-0000000000001-0a.tar.zst"];
        assert_eq!(delivered(folder.path(), "true", true, kept).delivered, 1);
        assert_eq!(delivered(folder.path(), "true", true, || true).delivered, 0);
    }

    /// One that fails does not hold the others up, and is tried again.
    #[test]
    fn what_failed_is_tried_again() {
        let folder = bundles(&[ONE, TWO]);
        let command = format!(
            "case $TAILTRACE_BUNDLE in *-0a.*) [ -e '{0}' ] || {{ echo >'{0}'; exit 3; }};; esac",
            folder.path().join("tried").display()
        );
        let counts = delivered(folder.path(), &command, false, || names(folder.path()) == ["tried"]);
        assert_eq!((counts.delivered, counts.failures), (2, 1));
        assert_eq!([0, 1, 5, 99].map(|times| pause(times).as_secs()), [1, 2, 32, 300]);
    }

    /// It ignores SIGTERM, and so does what it runs.
    #[test]
    fn a_command_that_hangs_is_ended() {
        let folder = bundles(&[ONE]);
        let begun = Instant::now();
        let counts = delivered(folder.path(), "trap '' TERM; sleep 1000", false, || true);
        assert!(counts.failures >= 1 && counts.delivered == 0, "{counts:?}");
        assert_eq!(names(folder.path()), [ONE]);
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_another_recorder_delivers_is_left_alone() {
        let folder = bundles(&[ONE]);
        let file = File::open(folder.path().join(ONE)).expect("there");
        flock(&file, FlockOperation::NonBlockingLockExclusive).expect("locked");
        let counts = delivered(folder.path(), "true", false, || true);
        assert_eq!((counts.delivered, counts.failures, names(folder.path()).len()), (0, 0, 1));
    }
}
