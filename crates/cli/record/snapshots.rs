//! A recording that keeps only what was slow: perf overwrites its rings until the program rings the doorbell, then they are
//! written out, and of them the slow intervals with their typical intervals are kept.
//!
//! Input: perf's command, and which intervals are slow. Output: a folder with `slow-N.data`, each a slice that carries its
//! intervals; `intervals.marks`, the program's own; `snapshots.json`, the account. Whatever is killed, a file of a final name is whole.
//! Invariant: what lies on the disk is bounded. With a trace perf writes the records as they come (`command.rs` says why): when that is
//! much and nothing was slow, perf begins another file and the old one goes.
//! Source: perf-record(1), `--overwrite`, `--snapshot` and `--switch-output`; `snapshot_sig_handler` and `record__switch_output` in
//! tools/perf/builtin-record.c: SIGUSR2 has perf copy the AUX areas, close its file and rename it, and go on with another one. perf's
//! control fifo is of no use here: `snapshot` copies the areas into a file that stays open, and is acknowledged before that is done.

mod account;
mod budget;
mod cut;
mod doorbell;
mod limits;
mod reach;
mod ring;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Signal, setpriority_process};
use signal_hook::consts::SIGUSR2;

use super::perf::{self, Running};
use crate::output;
use account::Watched;
use budget::Budget;
use cut::Cutter;
use doorbell::{Doorbell, Ringer};
use ring::Ring;

use limits::Limit;
pub(crate) use limits::Limits;

/// How often the doorbell, the clock and the disk are looked at.
const TURN: Duration = Duration::from_millis(20);
/// From the doorbell to the snapshot: by then the program's writer thread has written the marks, and what follows an interval is
/// recorded, too.
const SETTLES: Duration = Duration::from_millis(20);
/// The same, while perf writes.
const TURN_OF_WRITING: Duration = Duration::from_millis(2);
/// perf writes some ten MiB to a disk. Where it takes longer it is asked again: what comes while it writes, or before its events run,
/// it ignores.
const WRITES: Duration = Duration::from_secs(10);
/// The bytes of perf's open file at which it goes, if nothing was slow.
const MOST_WAITING: u64 = 256 << 20;

/// What is to be kept, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Where.
    pub(crate) folder: PathBuf,
    /// From when on an interval is slow.
    pub(crate) limits: Limits,
    /// Snapshots a minute.
    pub(crate) a_minute: u32,
    /// A command whose lines ring, too.
    pub(crate) ring_on: Option<String>,
    /// Whether the rings are kept whole, too.
    pub(crate) keep: bool,
    /// Below it lie the programs that run.
    pub(crate) root: PathBuf,
    /// When the recording ends, at the latest.
    pub(crate) duration: Option<Duration>,
    /// The bytes of the folder at which it ends.
    pub(crate) most_bytes: Option<u64>,
}

impl Plan {
    /// The program's marks.
    fn marks(&self) -> PathBuf {
        self.folder.join("intervals.marks")
    }

    /// What the program is run with: tailtrace.h reads it.
    fn environment(&self, bell: &Path) -> Vec<(&'static str, OsString)> {
        vec![
            ("TAILTRACE_FILE", self.marks().into_os_string()),
            ("TAILTRACE_DOORBELL", bell.as_os_str().to_owned()),
            ("TAILTRACE_OVER", self.limits.for_program().into()),
        ]
    }
}

/// Where perf writes.
pub(crate) fn output(folder: &Path) -> PathBuf {
    folder.join(ring::OPEN)
}

/// Runs perf's command `words`, and keeps what `plan` says. `machine` is the text of the machine file. Returns perf's exit code.
///
/// # Errors
/// Where the folder cannot be made, or perf cannot be run.
pub(crate) fn run(words: &[OsString], plan: &Plan, machine: &str) -> Result<u8> {
    fs::create_dir(&plan.folder).with_context(|| {
        format!("{} cannot be made: name a folder that is not there yet with -o", plan.folder.display())
    })?;
    // Absolute: the program may change its folder.
    let plan = &Plan { folder: fs::canonicalize(&plan.folder)?, ..plan.clone() };
    let doorbell = Doorbell::make(&plan.folder.join("doorbell"))?;
    let ringer = plan.ring_on.as_deref().map(|command| Ringer::run(command, doorbell.path())).transpose()?;
    let environment = plan.environment(doorbell.path());
    let (rings, cut) = mpsc::channel();
    let watch = Watch::new(plan, doorbell, rings);
    account::begin(plan)?;
    let mut cutter = Cutter::new(plan, machine);
    let mut watched = Watched::default();
    let code = perf::run(words, &environment, &[SIGUSR2], |running| {
        thread::scope(|scope| {
            // perf does not wait: a ring that is not written in time is overwritten.
            scope.spawn(|| {
                step_back();
                for ring in cut {
                    cutter.take(&ring);
                }
            });
            watched = watch.over(running);
        });
    })?;
    drop(ringer);
    ring::remove_open(&plan.folder);
    account::end(plan, &watched, &cutter.finish(&watched.slow)?)?;
    Ok(code)
}

/// Gives this thread, and those that it starts, what CPU time others leave: perf has to write a ring before it is overwritten.
fn step_back() {
    // Without it only the cutting is faster.
    let _ = setpriority_process(None, 19);
}

struct Watch<'p> {
    plan: &'p Plan,
    doorbell: Doorbell,
    budget: Budget,
    /// Who cuts slices.
    rings: Sender<Ring>,
    /// Rings that were handed over.
    seen: BTreeSet<PathBuf>,
    /// Whether something rang since the last snapshot.
    rung: bool,
    /// What perf was asked to write and has not written yet.
    asked: Option<Asked>,
    /// Whether the last that rang did so while the snapshots of the minute were used up.
    is_limited: bool,
    watched: Watched,
    begun: Instant,
}

/// A ring that perf is to write. One at a time: the next one is requested when it is there.
struct Asked {
    at: Instant,
    /// The same by the time-stamp counter.
    tsc: u64,
    /// For what rang; else it only makes room on the disk.
    is_wanted: bool,
}

impl<'p> Watch<'p> {
    /// Nothing has rung; `rings` takes what perf writes.
    fn new(plan: &'p Plan, doorbell: Doorbell, rings: Sender<Ring>) -> Watch<'p> {
        Watch {
            plan,
            doorbell,
            budget: Budget::of(plan.a_minute),
            rings,
            seen: BTreeSet::new(),
            rung: false,
            asked: None,
            is_limited: false,
            watched: Watched::default(),
            begun: Instant::now(),
        }
    }

    /// While perf runs.
    fn over(mut self, running: &Running) -> Watched {
        let mut is_told_to_end = false;
        while !running.has_ended() {
            let lines = self.hear(if self.asked.is_some() { TURN_OF_WRITING } else { TURN });
            self.turn(&lines, running);
            if !is_told_to_end && self.is_over() {
                is_told_to_end = true;
                running.send(Signal::INT);
            }
        }
        // perf has written its last ring: what rang, or was to wait for its turn, may be in it.
        self.hear(Duration::ZERO);
        self.rung = true;
        if !self.hand_over()
            && let Some(asked) = &self.asked
        {
            self.watched.writing.add(asked.tsc, marks::tsc());
        }
        self.watched
    }

    fn turn(&mut self, lines: &[String], running: &Running) {
        if self.asked.is_some() {
            self.wait_for_ring(running);
        } else if self.rung && !output(&self.plan.folder).exists() {
            // perf takes signals from before it makes its file; earlier ones would end it.
        } else if self.rung && self.budget.takes(Instant::now()) {
            self.is_limited = false;
            thread::sleep(SETTLES);
            self.hear(Duration::ZERO);
            self.rung = false;
            self.ask(running, true);
        } else if self.rung {
            self.refuse(lines);
        } else if ring::bytes_below(&output(&self.plan.folder)) >= MOST_WAITING {
            // perf goes on with another file. What rings until then may be in the old one.
            self.ask(running, false);
        }
    }

    /// Waits for the doorbell, and empties it.
    fn hear(&mut self, wait: Duration) -> Vec<String> {
        let lines = self.doorbell.heard(wait);
        self.rung |= !lines.is_empty();
        self.watched.rung += lines.len() as u64;
        let by_percentile =
            |&(_, _, label): &(u64, u64, &str)| self.plan.limits.of(label) == Some(Limit::Percentile);
        let intervals = lines.iter().filter_map(|line| doorbell::interval_of(line)).filter(by_percentile);
        self.watched.slow.extend(intervals.map(|(begin, ..)| begin));
        lines
    }

    /// The snapshots of the minute are used up. A later one holds what the rings hold then, if something rings again.
    fn refuse(&mut self, lines: &[String]) {
        self.rung = false;
        for line in lines {
            self.watched.limited.extend(
                doorbell::interval_of(line).map_or_else(marks::tsc, |(_, end, _)| end),
                self.is_limited,
            );
            self.is_limited = true;
        }
    }

    /// Has perf write its rings. What rings from now on may end after them.
    fn ask(&mut self, running: &Running, is_wanted: bool) {
        self.asked = Some(Asked { at: Instant::now(), tsc: marks::tsc(), is_wanted });
        running.send(Signal::USR2);
    }

    /// perf writes, however long: what rings until then requests the next ring.
    fn wait_for_ring(&mut self, running: &Running) {
        if !self.hand_over()
            && let Some(asked) = self.asked.as_mut().filter(|asked| asked.at.elapsed() >= WRITES)
        {
            asked.at = Instant::now();
            running.send(Signal::USR2);
        }
    }

    /// Hands over the rings that perf has written: it renames a file that is complete. False where there is none.
    fn hand_over(&mut self) -> bool {
        let rings = ring::written(&self.plan.folder, &self.seen);
        if rings.is_empty() {
            return false;
        }
        self.hear(Duration::ZERO);
        let asked = self.asked.take();
        if let Some(asked) = &asked {
            self.watched.writing.add(asked.tsc, marks::tsc());
        }
        let is_wanted = self.rung || asked.is_some_and(|asked| asked.is_wanted);
        let marks_end = fs::metadata(self.plan.marks()).map_or(0, |marks| marks.len());
        for path in &rings {
            self.watched.snapshots += u64::from(is_wanted);
            let rung = std::mem::take(&mut self.watched.slow);
            // The receiver lives until the sender is gone.
            let _ = self.rings.send(Ring { path: path.clone(), marks_end, is_wanted, rung });
        }
        self.seen.extend(rings);
        true
    }

    /// Whether time or disk are used up.
    fn is_over(&self) -> bool {
        let late = self.plan.duration.is_some_and(|duration| self.begun.elapsed() >= duration);
        let full = self.plan.most_bytes.is_some_and(|most| ring::bytes_below(&self.plan.folder) >= most);
        if full && !late {
            output::print_note("the recording ends: its folder has reached --max-size");
        }
        late || full
    }
}
