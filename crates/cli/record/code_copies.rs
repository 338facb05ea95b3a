//! Copies of the code of the recorded processes that lies in no file: what a library makes at run time, and no jitdump has.
//!
//! Input: `/proc`: of all recorded processes when the recording begins and ends, in between again and again of those that perf started or is
//! attached to. Of their executable memory without a file ([`memory`]) the pages that are there. Output: `FILE.code`
//! (`docs/recording.md`, "Code in no file"): each distinct content of a page once, with the first and the last TSC at which it was seen.
//! Bounded: bytes and copies in all, the contents of a page, and the time of a look: the next one goes on where it ended.

mod memory;
mod notes;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use analysis::output::write_private_file;
use anyhow::{Context as _, Result};
use model::{Pid, Tsc};
use perfdata::companion;
use symbols::code_copies::{CodeCopy, MOST_COPIES, NAME, to_bytes};

use super::descriptors::add_children;
use super::perf::Running;
use super::targets::Targets;
use crate::machine::tree::names;
use crate::output;
use memory::{Gap, Memory, PAGE, Place};

/// From perf's start to the first look; the distance of two doubles, up to the longest.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_millis(500);
/// The most bytes that are kept.
const MOST_BYTES: usize = 64 << 20;
/// Of a page so many contents are kept, the first ones and the last: data that changes must not fill the room.
const MOST_CONTENTS: usize = 8;
/// The most time of a look at those that are recorded, and of one at all processes.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_AT_ALL: Duration = Duration::from_millis(500);
/// Where rings are overwritten, what was seen last so long ago is forgotten: no ring holds more of a busy CPU.
const RECENT: Duration = Duration::from_secs(60);

/// Where a process's memory begins.
const BEGIN: Place = (false, 0);

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
    targets: Targets,
    /// perf, while it runs.
    perf: Option<i32>,
    /// By process and address, in order of time.
    pages: BTreeMap<(i32, u64), Vec<Seen>>,
    contents: HashSet<Arc<[u8]>>,
    /// Zeros, which no copy has otherwise: it is not known what is there.
    nothing: Arc<[u8]>,
    bytes: usize,
    most: usize,
    /// Entries of `pages`, and the most of them.
    copies: usize,
    most_copies: usize,
    /// The most time of a look at those that are watched.
    look: Duration,
    /// Pages with a content for which there was no room; no more than copies.
    left_out: BTreeSet<(i32, u64)>,
    /// Processes that are recorded and may not be read.
    refused: BTreeSet<i32>,
    /// Those of which it is not known which pages are there.
    without_pagemap: BTreeSet<i32>,
    /// Those that were looked at from begin to end, and those for which no look had the time.
    complete: BTreeSet<i32>,
    incomplete: BTreeSet<i32>,
    /// Where a look goes on that had no time for all.
    next: (i32, Place),
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

fn is_nothing(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

impl Kept {
    fn of(root: &Path, given: &[OsString]) -> Kept {
        Kept {
            proc: root.join("proc"),
            targets: Targets::of(root, given),
            perf: None,
            pages: BTreeMap::new(),
            contents: HashSet::new(),
            bytes: 0,
            most: MOST_BYTES,
            copies: 0,
            // After each may come one that says that it ended.
            most_copies: MOST_COPIES / 2,
            nothing: vec![0; PAGE].into(),
            look: LOOK,
            left_out: BTreeSet::new(),
            refused: BTreeSet::new(),
            without_pagemap: BTreeSet::new(),
            complete: BTreeSet::new(),
            incomplete: BTreeSet::new(),
            next: (0, BEGIN),
        }
    }

    /// Those that perf started or is attached to.
    fn watched(&self) -> BTreeSet<i32> {
        let mut watched: BTreeSet<i32> = self.targets.processes.iter().copied().collect();
        if let Some(perf) = self.perf {
            add_children(&self.proc, perf, &mut watched);
        }
        watched
    }

    /// Returns which they are.
    fn look_at_watched(&mut self) -> BTreeSet<i32> {
        let watched = self.watched();
        // What a look had no time for comes first in the next one.
        let (next, from) = std::mem::replace(&mut self.next, (0, BEGIN));
        let (before, after): (Vec<i32>, Vec<i32>) = watched.iter().partition(|pid| **pid < next);
        let end = Instant::now() + self.look;
        let mut is_late = false;
        for pid in after.into_iter().chain(before) {
            let from = if pid == next { from } else { BEGIN };
            let rest = if is_late || Instant::now() >= end {
                Some(from)
            } else {
                self.look_at(pid, true, from, end)
            };
            let Some(rest) = rest else {
                continue;
            };
            if !std::mem::replace(&mut is_late, true) {
                self.next = (pid, rest);
            }
            if !self.complete.contains(&pid) {
                self.incomplete.insert(pid);
            }
        }
        let unknown = |pid: &i32| {
            ![&self.complete, &self.refused, &self.without_pagemap].iter().any(|known| known.contains(pid))
        };
        let unknown: Vec<i32> = watched.iter().copied().filter(unknown).collect();
        for pid in unknown.into_iter().take_while(|_| Instant::now() < end) {
            match Memory::gap(&self.proc, pid) {
                Some(Gap::Refused) => drop(self.refused.insert(pid)),
                Some(Gap::NoPagemap) => drop(self.without_pagemap.insert(pid)),
                None => {}
            }
        }
        watched
    }

    /// All that are recorded: those that are watched, then the youngest.
    fn look_at_all(&mut self) {
        let watched = self.look_at_watched();
        if !self.targets.is_all {
            return;
        }
        let mut others: Vec<i32> = names(&self.proc).iter().filter_map(|name| name.parse().ok()).collect();
        others.retain(|pid| !watched.contains(pid));
        others.sort_unstable_by_key(|pid| -pid);
        let end = Instant::now() + LOOK_AT_ALL;
        for pid in others.into_iter().take_while(|_| Instant::now() < end) {
            self.look_at(pid, false, BEGIN, end);
        }
    }

    /// One that is watched has all the room, but for deleted files; what others have, and these, must not fill it. Returns where it goes on, if
    /// there was no time for all.
    fn look_at(&mut self, pid: i32, is_watched: bool, from: Place, end: Instant) -> Option<Place> {
        // What is still there was so when the look began.
        let begin = marks::tsc();
        let Some(mut memory) = Memory::of(&self.proc, pid, is_watched, from) else {
            self.incomplete.remove(&pid);
            return None;
        };
        let (mut new, mut unknown, last) = (Vec::new(), Vec::new(), Instant::now());
        while let Some((address, is_deleted, bytes)) = memory.next_page(end) {
            let page = (pid, address);
            let seen = self.pages.get_mut(&page).map(Vec::as_mut_slice).unwrap_or_default();
            let is_one_more = seen.len() < MOST_CONTENTS;
            if let Some(seen) = seen.last_mut().filter(|seen| *seen.bytes == *bytes) {
                seen.to = seen.to.max(begin);
                seen.last = last;
                continue;
            }
            let has_all_room = is_watched && !is_deleted;
            let most = if has_all_room { self.most } else { self.most / 2 };
            let is_room = !is_one_more || self.copies + new.len() < self.most_copies;
            let at = marks::tsc();
            if let Some(bytes) = is_room.then(|| self.keep(bytes, most)).flatten() {
                new.push((page, Seen { from: at, to: at, last, bytes }));
                continue;
            }
            unknown.push((page, at));
            if has_all_room && self.left_out.len() < MOST_COPIES {
                self.left_out.insert(page);
            }
        }
        for (page, at) in unknown {
            self.end_at(page, at, last);
        }
        for (page, seen) in new {
            self.add(page, seen);
        }
        let rest = memory.rest();
        if rest.is_none() {
            self.complete.insert(pid);
            self.incomplete.remove(&pid);
        }
        rest
    }

    /// One more content of a page, or another one in place of its last.
    fn add(&mut self, page: (i32, u64), new: Seen) {
        let seen = self.pages.entry(page).or_default();
        let is_full = seen.len() >= MOST_CONTENTS;
        let replaced = if is_full { seen.split_off(MOST_CONTENTS - 2) } else { Vec::new() };
        // What was there between is not known, nor what came after a content without room.
        if is_full || seen.last().is_some_and(|last| is_nothing(&last.bytes)) {
            self.end_at(page, new.from, new.last);
        }
        self.pages.entry(page).or_default().push(new);
        self.copies = self.copies + 1 - replaced.len();
        for seen in replaced {
            self.release(seen);
        }
    }

    /// From `at` on it is not known what the page has, if it was known before.
    fn end_at(&mut self, page: (i32, u64), at: u64, last: Instant) {
        let Some(seen) = self.pages.get_mut(&page) else { return };
        match seen.last_mut() {
            Some(end) if is_nothing(&end.bytes) => (end.to, end.last) = (at, last),
            _ => {
                seen.push(Seen { from: at, to: at, last, bytes: Arc::clone(&self.nothing) });
                self.copies += 1;
            }
        }
    }

    fn release(&mut self, Seen { bytes, .. }: Seen) {
        // This one, and that of all contents.
        if Arc::strong_count(&bytes) == 2 && self.contents.remove(&bytes) {
            self.bytes -= bytes.len();
        }
    }

    /// The one copy of these bytes; `None` where there is no room for another one.
    fn keep(&mut self, bytes: &[u8], most: usize) -> Option<Arc<[u8]>> {
        if let Some(known) = self.contents.get(bytes) {
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
        self.copies = self.pages.values().map(Vec::len).sum();
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
        write_private_file(path, &to_bytes(copies.iter().map(|(copy, bytes)| (copy, *bytes))))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
