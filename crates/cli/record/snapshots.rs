//! A recording that keeps only what was slow: perf overwrites its rings until the program rings the doorbell, then they are
//! written out, and of them the slow intervals with their typical intervals are kept.
//!
//! Input: perf's command, and which intervals are slow. Output: a folder with `slow-N.data`, each a slice that carries its
//! intervals; `intervals.marks`, the program's own; `clocks`, clock pairs; `snapshots.json`, the account. Whatever is killed, a file of a final name is whole.
//! Invariant: what lies on the disk is bounded. With a trace perf writes the records as they come (`command.rs` says why): when that is
//! much and nothing was slow, perf begins another file and the old one goes.
//! Source: perf-record(1), `--overwrite`, `--snapshot` and `--switch-output`; `snapshot_sig_handler` and `record__switch_output` in
//! tools/perf/builtin-record.c: SIGUSR2 has perf copy the AUX areas, close its file and rename it, and go on with another one. perf's
//! control fifo is of no use here: `snapshot` copies the areas into a file that stays open, and is acknowledged before that is done.

mod account;
mod beside;
mod budget;
mod bundles;
mod cut;
mod delivery;
mod doorbell;
mod limits;
mod marked;
mod pairs;
mod reach;
mod ring;
mod room;
mod shell;
#[cfg(test)]
mod tests;
mod watched;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use analysis::study::BundleCounts;
use anyhow::{Context as _, Result};
use intervals::{CLOCKS, EventPair};
use rustix::process::{Pid, Signal, getpriority_process, setpriority_process};
use signal_hook::consts::SIGUSR2;

use super::clocks::Readings;
use super::code_copies::CodeCopies;
use super::perf::{self, Running};
use crate::machine::tree::Tree;
use crate::output;
use beside::Beside;
use budget::Budget;
use cut::Cutter;
use delivery::Delivery;
use doorbell::{Doorbell, Ringer};
use pairs::{Counted, Pairs};
use ring::Ring;
use watched::Watched;

use limits::Limit;

pub(crate) use bundles::Bundles;
pub(crate) use delivery::OnBundle;
pub(crate) use limits::Limits;

/// How often the doorbell, the clock and the disk are looked at.
const TURN: Duration = Duration::from_millis(20);
/// How often the size of the folder is looked at.
const SIZING: Duration = Duration::from_secs(1);
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
    /// The events that begin and end an interval, where the program marks none.
    pub(crate) pair: Option<EventPair>,
    /// Whose events pair; empty: those of all threads.
    pub(crate) tids: Vec<u32>,
    /// Snapshots a minute.
    pub(crate) a_minute: u32,
    /// A command whose lines ring, too.
    pub(crate) ring_on: Option<String>,
    /// Whether the rings are kept whole, too, and slices beside their bundles.
    pub(crate) keep: bool,
    /// What becomes of the slices; `None`: they stay.
    pub(crate) bundles: Option<Bundles>,
    /// Whether code that lies in no file is copied.
    pub(crate) copies_code: bool,
    /// Below it lie the programs that run.
    pub(crate) root: PathBuf,
    /// When the recording ends, at the latest.
    pub(crate) duration: Option<Duration>,
    /// The bytes of the folder at which it ends.
    pub(crate) most_bytes: Option<u64>,
}

impl Plan {
    /// The same with absolute folders, which are there: the program may change its folder.
    fn absolute(&self) -> Result<Plan> {
        let bundles = self.bundles.as_ref().map(Bundles::absolute).transpose()?;
        Ok(Plan { folder: fs::canonicalize(&self.folder)?, bundles, ..self.clone() })
    }

    /// Who delivers bundles.
    fn delivery(&self) -> Option<Delivery<'_>> {
        let bundles = self.bundles.as_ref()?;
        Some(Delivery::new(&bundles.to, bundles.on_bundle.as_ref()?, self.keep))
    }

    /// The program's marks.
    fn marks(&self) -> PathBuf {
        self.folder.join("intervals.marks")
    }

    /// The names of the events that pair.
    pub(crate) fn events(&self) -> impl Iterator<Item = &str> {
        self.pair.iter().flat_map(|pair| [pair.begin.name.as_str(), pair.end.name.as_str()])
    }

    /// The clock pairs.
    fn clocks(&self) -> PathBuf {
        self.folder.join(CLOCKS)
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

/// Runs perf's command `words`, and keeps what `plan` says. `given` are perf's options, `--`, and the program. Returns perf's exit code.
///
/// # Errors
/// Where the folder cannot be made, or perf cannot be run.
pub(crate) fn run(words: &[OsString], plan: &Plan, given: &[OsString]) -> Result<u8> {
    let readings = Readings::begin();
    let pairs = match &plan.pair {
        Some(pair) => Some(Pairs::watch(pair, &plan.limits, &Tree::new(&plan.root)?, &plan.tids, &readings)?),
        None => None,
    };
    fs::create_dir(&plan.folder).with_context(|| {
        format!("{} cannot be made: name a folder that is not there yet with -o", plan.folder.display())
    })?;
    let plan = &plan.absolute()?;
    let doorbell = Doorbell::make(&plan.folder.join("doorbell"))?;
    let ringer = plan.ring_on.as_deref().map(|command| Ringer::run(command, doorbell.path())).transpose()?;
    let environment = plan.environment(doorbell.path());
    let (rings, cut) = mpsc::channel();
    let watch = Watch::new(plan, doorbell, pairs, rings);
    account::begin(plan)?;
    if let Some(bundles) = &plan.bundles {
        room::remove_drafts(&bundles.to);
    }
    let copies = if plan.copies_code { CodeCopies::begin(&plan.root, given) } else { CodeCopies::none() };
    let beside = Beside::begin(&plan.root, given, copies)?;
    let mut cutter = Cutter::new(plan, &beside, &readings);
    let mut watched = Watched::default();
    let (written, of_written) = mpsc::channel();
    let delivery = plan.delivery();
    let mut delivered = BundleCounts::default();
    let usual = getpriority_process(None).unwrap_or(0);
    let code = perf::run(words, &environment, &[SIGUSR2], |running| {
        thread::scope(|scope| {
            // perf does not wait: a ring that is not written in time is overwritten.
            let cutter = &mut cutter;
            scope.spawn(move || {
                step_back();
                for ring in cut {
                    cutter.take(ring);
                    // Who delivers looks again; there may be no one.
                    let _ = written.send(());
                }
            });
            if let Some(delivery) = delivery {
                let delivered = &mut delivered;
                scope.spawn(move || {
                    step_back();
                    *delivered = delivery.run(&of_written);
                });
            }
            scope.spawn(|| readings.take_while(running));
            scope.spawn(|| beside.look_while(running));
            scope.spawn(|| beside.copies.look_at_rings(running));
            watched = watch.over(running);
            step_forward(usual);
        });
    })?;
    drop(ringer);
    ring::remove_open(&plan.folder);
    readings.write_until_now(&plan.clocks())?;
    beside.copies.print_notes(&plan.folder);
    account::end(plan, &cutter.finish(watched)?, delivered)?;
    Ok(code)
}

/// Gives this thread, and those that it starts, what CPU time others leave: perf has to write a ring before it is overwritten.
fn step_back() {
    // Without it only the cutting is faster.
    let _ = setpriority_process(None, 19);
}

/// Gives all threads the priority `usual` again: perf has ended, and a user waits for the rest. An unprivileged process may not, and is as
/// slow as it was.
fn step_forward(usual: i32) {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let numbers = threads.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    for thread in numbers {
        let _ = setpriority_process(Some(thread), usual);
    }
}

struct Watch<'p> {
    plan: &'p Plan,
    doorbell: Doorbell,
    /// Pairs of events that ring.
    pairs: Option<Pairs<'p>>,
    budget: Budget,
    /// Who cuts slices.
    rings: Sender<Ring>,
    /// Rings that were handed over.
    seen: BTreeSet<PathBuf>,
    /// The first and the last end of the intervals that rang since the last snapshot was requested.
    rung: Option<(u64, u64)>,
    /// What perf was asked to write and has not written yet.
    asked: Option<Asked>,
    /// Before perf began the file that it writes now.
    file_begins: SystemTime,
    /// Whether the last that rang did so while the snapshots of the minute were used up.
    is_limited: bool,
    watched: Watched,
    begun: Instant,
    /// When the folder's size is looked at again.
    sized: Instant,
}

/// A ring that perf is to write. One at a time: the next one is requested when it is there.
struct Asked {
    at: Instant,
    /// The same by the time-stamp counter.
    tsc: u64,
    /// The same by the clock of file systems.
    utc: SystemTime,
    /// For what rang; else it only makes room on the disk.
    is_wanted: bool,
}

impl<'p> Watch<'p> {
    /// Nothing has rung; `rings` takes what perf writes.
    fn new(plan: &'p Plan, doorbell: Doorbell, pairs: Option<Pairs<'p>>, rings: Sender<Ring>) -> Watch<'p> {
        Watch {
            plan,
            doorbell,
            pairs,
            budget: Budget::of(plan.a_minute),
            rings,
            seen: BTreeSet::new(),
            rung: None,
            asked: None,
            file_begins: SystemTime::now(),
            is_limited: false,
            watched: Watched::default(),
            begun: Instant::now(),
            sized: Instant::now(),
        }
    }

    /// While perf runs.
    fn over(mut self, running: &Running) -> Watched {
        let mut is_told_to_end = false;
        while !running.has_ended() {
            self.hear(if self.asked.is_some() { TURN_OF_WRITING } else { TURN });
            self.turn(running);
            if !is_told_to_end && self.is_over() {
                is_told_to_end = true;
                running.send(Signal::INT);
            }
        }
        // perf has written its last ring: what rang, or was to wait for its turn, may be in it.
        self.hear(Duration::ZERO);
        if let Some(ends) = self.rung.filter(|_| !self.budget.takes(Instant::now())) {
            self.refuse(ends);
        }
        self.rung.get_or_insert((0, 0));
        if !self.hand_over()
            && let Some(asked) = &self.asked
        {
            self.watched.writing.add(asked.tsc, marks::tsc());
        }
        self.take_watched()
    }

    fn turn(&mut self, running: &Running) {
        if self.asked.is_some() {
            self.wait_for_ring(running);
        } else if self.rung.is_some() && !output(&self.plan.folder).exists() {
            // perf takes signals from before it makes its file; earlier ones would end it.
        } else if self.rung.is_some() && self.budget.takes(Instant::now()) {
            self.is_limited = false;
            thread::sleep(SETTLES);
            self.hear(Duration::ZERO);
            self.rung = None;
            self.ask(running, true);
        } else if let Some(ends) = self.rung.take() {
            self.refuse(ends);
        } else if ring::bytes_below(&output(&self.plan.folder)) >= MOST_WAITING {
            // perf goes on with another file. What rings until then may be in the old one.
            self.ask(running, false);
        }
    }

    /// Waits for the doorbell, and empties it.
    fn hear(&mut self, wait: Duration) {
        let mut lines = self.doorbell.heard(wait);
        let by_percentile =
            |&(_, _, label): &(u64, u64, &str)| self.plan.limits.of(label) == Some(Limit::Percentile);
        let intervals = lines.iter().filter_map(|line| doorbell::interval_of(line)).filter(by_percentile);
        self.watched.slow.extend(intervals.map(|(begin, ..)| begin));
        let paired = self.pairs.as_mut().map(Pairs::heard).unwrap_or_default();
        lines.extend(paired.iter().map(|paired| doorbell::line(paired.begin, paired.end)));
        self.watched.paired.extend(paired);
        self.watched.rung += lines.len() as u64;
        self.watched.late += lines.iter().filter(|line| doorbell::is_late(line)).count() as u64;
        for line in &lines {
            let end = doorbell::interval_of(line).map_or_else(marks::tsc, |(_, end, _)| end);
            let (first, last) = self.rung.unwrap_or((end, end));
            self.rung = Some((first.min(end), last.max(end)));
        }
    }

    /// The snapshots of the minute are used up. A later one holds what the rings hold then, if something rings again.
    fn refuse(&mut self, (first, last): (u64, u64)) {
        self.watched.limited.extend(first, self.is_limited);
        self.watched.limited.extend(last, true);
        self.is_limited = true;
    }

    /// Has perf write its rings. What rings from now on may end after them.
    fn ask(&mut self, running: &Running, is_wanted: bool) {
        let (at, tsc, utc) = (Instant::now(), marks::tsc(), SystemTime::now());
        self.asked = Some(Asked { at, tsc, utc, is_wanted });
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
        let now = marks::tsc();
        if let Some(asked) = &asked {
            self.watched.writing.add(asked.tsc, now);
        }
        let marked_until = asked.as_ref().map_or(now, |asked| asked.tsc);
        let next_begins = asked.as_ref().map_or(self.file_begins, |asked| asked.utc);
        let is_wanted = self.rung.is_some() || asked.is_some_and(|asked| asked.is_wanted);
        let marks_end = fs::metadata(self.plan.marks()).map_or(0, |marks| marks.len());
        for path in &rings {
            self.watched.snapshots += u64::from(is_wanted);
            let watched = self.take_watched();
            // The receiver lives until the sender is gone.
            let _ = self.rings.send(Ring {
                path: path.clone(),
                marks_end,
                is_wanted,
                marked_until,
                watched,
                mapped_since: self.file_begins,
            });
        }
        self.seen.extend(rings);
        self.file_begins = next_begins;
        true
    }

    /// What was heard since the last time.
    fn take_watched(&mut self) -> Watched {
        let Counted { pairs, losses, lost } = self.pairs.as_mut().map(Pairs::counted).unwrap_or_default();
        Watched { pairs, losses, lost, ..std::mem::take(&mut self.watched) }
    }

    /// Whether time or disk are used up.
    fn is_over(&mut self) -> bool {
        let late = self.plan.duration.is_some_and(|duration| self.begun.elapsed() >= duration);
        let full = self.plan.most_bytes.is_some_and(|most| self.holds(most));
        if full && !late {
            output::print_note("the recording ends: its folder has reached --max-size");
        }
        late || full
    }

    /// Whether the folder has so many bytes, as far as that was looked at: it may hold thousands of files.
    fn holds(&mut self, most: u64) -> bool {
        let is_due = self.sized.elapsed() >= SIZING;
        if is_due {
            self.sized = Instant::now();
        }
        is_due && ring::bytes_below(&self.plan.folder) >= most
    }
}
