//! Copies of the code of the recorded processes that lies in no file: what a library makes at run time, and no jitdump has.
//!
//! Input: `/proc`: of all recorded processes when the recording begins and ends, in between again and again of those that perf started or is
//! attached to. Of their executable memory without a file ([`memory`]) the pages that are there. Output: `FILE.code`
//! (`docs/recording.md`, "Code in no file"): each distinct content of a page once, with the first and the last TSC at which it was seen.
//! Bounded: bytes in all, and the time of a look, which the next one goes on with.

mod memory;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use analysis::output::write_file;
use anyhow::{Context as _, Result};
use model::{Pid, Tsc};
use perfdata::companion;
use symbols::code_copies::{CodeCopy, NAME, to_bytes};

use super::command::{attached, is_of_whole_machine};
use super::descriptors::add_children;
use super::perf::Running;
use crate::machine::tree::names;
use crate::output;
use memory::Memory;

/// From perf's start to the first look; the distance of two doubles, up to the longest.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_millis(500);
/// The most bytes that are kept.
const MOST_BYTES: usize = 64 << 20;
/// The most time of a look at those that are recorded, and of one at all processes.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_AT_ALL: Duration = Duration::from_millis(500);
/// Where rings are overwritten, what was seen last so long ago is forgotten: no ring holds more of a busy CPU.
const RECENT: Duration = Duration::from_secs(60);

/// The copies of a recording: one thread looks, another one may write what there is.
pub(crate) struct CodeCopies(Option<Mutex<Kept>>);

/// A page's content, and when it was there.
struct Seen {
    from: u64,
    to: u64,
    /// When it was seen last.
    last: Instant,
    bytes: Arc<[u8]>,
}

struct Kept {
    /// Where the processes are: `/proc`.
    proc: PathBuf,
    attached: Vec<i32>,
    /// Whether others are recorded, too.
    is_of_all: bool,
    /// perf, while it runs.
    perf: Option<i32>,
    /// By process and address, in order of time.
    pages: BTreeMap<(i32, u64), Vec<Seen>>,
    contents: HashSet<Arc<[u8]>>,
    bytes: usize,
    most: usize,
    /// The most time of a look at those that are watched.
    look: Duration,
    /// Pages with a content for which there was no room.
    left_out: BTreeSet<(i32, u64)>,
    /// Processes that are recorded and may not be read.
    refused: BTreeSet<i32>,
    /// Where a look goes on that had no time for all.
    next: i32,
}

impl CodeCopies {
    /// None are taken.
    pub(crate) fn none() -> CodeCopies {
        CodeCopies(None)
    }

    /// Of the processes below `root`, before perf runs; `given` are perf's options, `--`, and the program.
    pub(crate) fn begin(root: &Path, given: &[OsString]) -> CodeCopies {
        let mut kept = Kept::of(root, given);
        kept.look_at_all();
        CodeCopies(Some(Mutex::new(kept)))
    }

    /// While perf runs, and when it has ended.
    pub(crate) fn look_while(&self, running: &Running) {
        self.look_until(running, None);
        if let Some(mut kept) = self.kept() {
            kept.look_at_all();
        }
    }

    /// While rings are overwritten: what they cannot hold is forgotten.
    pub(crate) fn look_at_rings(&self, running: &Running) {
        self.look_until(running, Some(RECENT));
    }

    fn look_until(&self, running: &Running, recent: Option<Duration>) {
        let mut wait = FIRST;
        while self.0.is_some() && !running.ends_within(wait) {
            if let Some(mut kept) = self.kept() {
                kept.perf = running.number();
                kept.look_at_watched();
                kept.forget(recent);
            }
            wait = (wait * 2).min(LONGEST);
        }
    }

    /// Looks once more, and writes the file beside `capture`; true where there is one.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn write_now(&self, capture: &Path) -> Result<bool> {
        let Some(mut kept) = self.kept() else { return Ok(false) };
        kept.look_at_all();
        kept.write_to(&companion(capture, NAME))
    }

    /// Writes the file beside `capture` and says so, or removes the one that another recording left.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn write(&self, capture: &Path) -> Result<()> {
        let path = companion(capture, NAME);
        let kept = self.kept();
        let is_written = kept.as_ref().map(|kept| kept.write_to(&path)).transpose()?;
        if is_written != Some(true) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    let what = || format!("{} is another recording's and stays", path.display());
                    return Err(error).with_context(what);
                }
                _ => {}
            }
        }
        for note in kept.iter().flat_map(|kept| kept.notes(&path)) {
            output::print_note(&note);
        }
        Ok(())
    }

    /// What could not be copied, for who writes no file in the end.
    pub(crate) fn print_notes(&self, folder: &Path) {
        for note in self.kept().iter().flat_map(|kept| kept.notes(folder)) {
            output::print_note(&note);
        }
    }

    fn kept(&self) -> Option<MutexGuard<'_, Kept>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn of(root: &Path, given: &[OsString]) -> Kept {
        Kept {
            proc: root.join("proc"),
            attached: attached(given),
            is_of_all: is_of_whole_machine(given),
            perf: None,
            pages: BTreeMap::new(),
            contents: HashSet::new(),
            bytes: 0,
            most: MOST_BYTES,
            look: LOOK,
            left_out: BTreeSet::new(),
            refused: BTreeSet::new(),
            next: 0,
        }
    }

    /// Those that perf started or is attached to.
    fn watched(&self) -> BTreeSet<i32> {
        let mut watched: BTreeSet<i32> = self.attached.iter().copied().collect();
        if let Some(perf) = self.perf {
            add_children(&self.proc, perf, &mut watched);
        }
        watched
    }

    fn look_at_watched(&mut self) {
        let watched = self.watched();
        // What a look had no time for comes first in the next one.
        let (before, from): (Vec<i32>, Vec<i32>) = watched.iter().partition(|pid| **pid < self.next);
        self.next = 0;
        let end = Instant::now() + self.look;
        for pid in from.into_iter().chain(before) {
            if Instant::now() >= end {
                self.next = pid;
                break;
            }
            self.look_at(pid, true, end);
            if Memory::is_refused(&self.proc, pid) {
                self.refused.insert(pid);
            }
        }
    }

    /// All that are recorded: those that are watched, then the youngest.
    fn look_at_all(&mut self) {
        self.look_at_watched();
        if !self.is_of_all {
            return;
        }
        let watched = self.watched();
        let mut others: Vec<i32> = names(&self.proc).iter().filter_map(|name| name.parse().ok()).collect();
        others.retain(|pid| !watched.contains(pid));
        others.sort_unstable_by_key(|pid| -pid);
        let end = Instant::now() + LOOK_AT_ALL;
        for pid in others.into_iter().take_while(|_| Instant::now() < end) {
            self.look_at(pid, false, end);
        }
    }

    /// One that is watched has all the room, but for deleted files; what others have, and these, must not fill it.
    fn look_at(&mut self, pid: i32, is_watched: bool, end: Instant) {
        // All pages of a look count as read at one time: it begins before the first and ends after the last.
        let begin = marks::tsc();
        let Some(mut memory) = Memory::of(&self.proc, pid, is_watched) else { return };
        let (mut new, last) = (Vec::new(), Instant::now());
        while let Some((address, bytes)) = memory.next_page(end) {
            let bytes = bytes.to_vec();
            let has_all_room = is_watched && !memory.is_of_deleted_file();
            let seen = self.pages.get_mut(&(pid, address)).and_then(|seen| seen.last_mut());
            match seen {
                Some(seen) if seen.bytes[..] == bytes => {
                    seen.to = seen.to.max(begin);
                    seen.last = last;
                }
                _ => new.push((address, bytes, has_all_room)),
            }
        }
        let read = marks::tsc();
        for (address, bytes, has_all_room) in new {
            let most = if has_all_room { self.most } else { self.most / 2 };
            let page = (pid, address);
            match self.keep(bytes, most) {
                Some(bytes) => {
                    self.pages.entry(page).or_default().push(Seen { from: read, to: read, last, bytes });
                }
                None if has_all_room => drop(self.left_out.insert(page)),
                None => {}
            }
        }
    }

    /// The one copy of these bytes; `None` where there is no room for another one.
    fn keep(&mut self, bytes: Vec<u8>, most: usize) -> Option<Arc<[u8]>> {
        if let Some(known) = self.contents.get(&bytes[..]) {
            return Some(Arc::clone(known));
        }
        if self.bytes + bytes.len() > most {
            return None;
        }
        self.bytes += bytes.len();
        let bytes: Arc<[u8]> = bytes.into();
        self.contents.insert(Arc::clone(&bytes));
        Some(bytes)
    }

    fn forget(&mut self, recent: Option<Duration>) {
        let Some(recent) = recent else { return };
        self.pages.retain(|_, seen| {
            seen.retain(|seen| seen.last.elapsed() < recent);
            !seen.is_empty()
        });
        self.contents.retain(|bytes| Arc::strong_count(bytes) > 1);
        self.bytes = self.contents.iter().map(|bytes| bytes.len()).sum();
    }

    /// False, and no file, where there is nothing to write.
    fn write_to(&self, path: &Path) -> Result<bool> {
        if self.pages.is_empty() {
            return Ok(false);
        }
        let all = self.pages.iter().flat_map(|(key, seen)| seen.iter().map(move |seen| (key, seen)));
        let copies: Vec<(CodeCopy, &[u8])> = all
            .map(|(&(pid, address), seen)| {
                let (from, to) = (Tsc(seen.from), Tsc(seen.to));
                (CodeCopy { pid: Pid(pid), address, from, to, bytes: 0..0 }, &*seen.bytes)
            })
            .collect();
        write_file(path, &to_bytes(copies.iter().map(|(copy, bytes)| (copy, *bytes))))?;
        Ok(true)
    }

    fn notes(&self, path: &Path) -> Vec<String> {
        let mut notes = Vec::new();
        let processes: BTreeSet<i32> = self.pages.keys().map(|(pid, _)| *pid).collect();
        if !processes.is_empty() {
            notes.push(format!(
                "{}: {} of code that lies in no file, of {}",
                path.display(),
                report::counted(self.pages.len() as u64, "page"),
                report::counted(processes.len() as u64, "program"),
            ));
        }
        if !self.left_out.is_empty() {
            notes.push(format!(
                "code that lies in no file: {} MiB of it are copied; for some of {} there was no room, and where that ran the flow ends",
                self.most >> 20,
                report::counted(self.left_out.len() as u64, "page"),
            ));
        }
        if let Some(first) = self.refused.first() {
            notes.push(format!(
                "the memory of process {first}{} may not be read: its code that lies in no file is a gap (ptrace(2), \"Ptrace access mode \
                 checking\")",
                match self.refused.len() {
                    1 => String::new(),
                    count => format!(" and {} more", count - 1),
                }
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests;
