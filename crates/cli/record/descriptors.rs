//! What descriptors of the traced processes stand for, looked at while perf records: so that "fd 7" has a name although it was opened
//! before, or by a call whose records have no name.
//!
//! Input: `/proc`: of all processes when the recording begins, then twice a second of those that perf started or is attached to. What a
//! process had open when it was last seen it had until its end.
//! Output: entries of the machine file. Files by their paths, sockets by their addresses ([`super::sockets`]); of pipes and of what has
//! no name nothing. Bounded: at most so many processes and descriptors.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use perfdata::OpenDescriptor;

use super::command::attached;
use super::perf::Running;
use super::sockets::Sockets;
use crate::machine::tree::names;

/// How often they are looked at.
const DISTANCE: Duration = Duration::from_millis(500);
/// From perf's start to the first look.
const FIRST: Duration = Duration::from_millis(50);
/// Where rings are overwritten, what was seen last so many looks ago is forgotten, a minute: no ring holds more of a busy CPU.
const RECENT: u64 = 120;
/// Most processes at once, and entries in all: the machine file has a bound, too.
const MOST_PROCESSES: usize = 1000;
const MOST: usize = 10_000;

/// What was seen.
pub(crate) struct Descriptors {
    /// By process and number, in order of time; each with the number of the look that saw it last.
    seen: BTreeMap<(i32, u32), Vec<(OpenDescriptor, u64)>>,
    entries: usize,
    looks: u64,
    /// Those that are looked at while perf records.
    watched: BTreeSet<i32>,
    /// The last look at each process that was there.
    alive: BTreeMap<i32, u64>,
    /// perf, while it runs.
    perf: Option<i32>,
    sockets: Sockets,
    attached: Vec<i32>,
    /// Where the processes are: `/proc`.
    proc: PathBuf,
}

impl Descriptors {
    /// Of all processes below `root`, before perf runs; `given` are perf's options, `--`, and the program.
    pub(crate) fn begin(root: &Path, given: &[OsString]) -> Descriptors {
        let (attached, proc) = (attached(given), root.join("proc"));
        let mut all: Vec<i32> = names(&proc).iter().filter_map(|name| name.parse().ok()).collect();
        // Those that are recorded first, then the youngest.
        all.sort_unstable_by_key(|pid| (!attached.contains(pid), -pid));
        all.truncate(MOST_PROCESSES);
        let (seen, sockets) = (BTreeMap::new(), Sockets::of(&proc));
        let watched = attached.iter().copied().collect();
        let (alive, perf) = (BTreeMap::new(), None);
        let mut descriptors =
            Descriptors { seen, entries: 0, looks: 0, watched, alive, perf, sockets, attached, proc };
        descriptors.look(all);
        descriptors
    }

    /// While perf runs.
    pub(crate) fn look_while(&mut self, running: &Running) {
        let mut wait = FIRST;
        while !running.ends_within(wait) {
            self.perf = running.number();
            self.look_again();
            wait = DISTANCE;
        }
    }

    /// The same where rings are overwritten: what they cannot hold is forgotten.
    pub(crate) fn look_at_rings(descriptors: &Mutex<Descriptors>, running: &Running) {
        let mut wait = FIRST;
        while !running.ends_within(wait) {
            let mut descriptors = descriptors.lock().unwrap_or_else(PoisonError::into_inner);
            descriptors.perf = running.number();
            descriptors.look_again();
            descriptors.forget();
            wait = DISTANCE;
        }
    }

    fn look_again(&mut self) {
        self.watched = self.attached.iter().copied().collect();
        if let Some(perf) = self.perf {
            add_children(&self.proc, perf, &mut self.watched);
        }
        self.look(self.watched.clone());
    }

    /// The entries of the machine file.
    pub(crate) fn into_entries(mut self) -> Vec<OpenDescriptor> {
        self.stay_to_the_end();
        self.seen.into_values().flatten().map(|(seen, _)| seen).collect()
    }

    /// Those of a ring that was just written: what is open now was, unless its records say otherwise.
    pub(crate) fn entries_now(&mut self) -> Vec<OpenDescriptor> {
        self.look_again();
        self.stay_to_the_end();
        self.seen.values().flatten().map(|(seen, _)| seen.clone()).collect()
    }

    /// What processes that have ended had open when they were last seen was open until now, as far as is known.
    fn stay_to_the_end(&mut self) {
        let now = marks::tsc();
        for (&(pid, _), seen) in &mut self.seen {
            let Some((last, look)) = seen.last_mut() else { continue };
            if self.alive.get(&pid) == Some(look) && !self.proc.join(pid.to_string()).exists() {
                last.to = now;
            }
        }
    }

    fn forget(&mut self) {
        let oldest = self.looks.saturating_sub(RECENT);
        self.seen.retain(|_, seen| {
            seen.retain(|&(_, look)| look >= oldest);
            !seen.is_empty()
        });
        self.alive.retain(|_, look| *look >= oldest);
        self.entries = self.seen.values().map(Vec::len).sum();
    }

    fn look(&mut self, pids: impl IntoIterator<Item = i32>) {
        self.looks += 1;
        for pid in pids {
            let folder = self.proc.join(format!("{pid}/fd"));
            let open = names(&folder);
            if !open.is_empty() {
                self.alive.insert(pid, self.looks);
            }
            for name in open {
                let Ok(fd) = name.parse() else { continue };
                // It may be closed by now.
                let Ok(target) = fs::read_link(folder.join(&name)) else { continue };
                let target = target.to_string_lossy();
                let named = match target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) {
                    Some(inode) => inode.parse().ok().and_then(|inode| self.sockets.name(pid, inode)),
                    None => target.starts_with('/').then(|| target.into_owned()),
                };
                if let Some(name) = named {
                    self.keep(pid, fd, name);
                }
            }
        }
    }

    fn keep(&mut self, pid: i32, fd: u32, name: String) {
        let now = marks::tsc();
        let seen = self.seen.entry((pid, fd)).or_default();
        match seen.last_mut().filter(|(last, _)| last.name == name) {
            Some((last, look)) => (last.to, *look) = (now, self.looks),
            None if self.entries < MOST => {
                self.entries += 1;
                seen.push((OpenDescriptor { pid, fd, name, from: now, to: now }, self.looks));
            }
            None => {}
        }
    }
}

/// Adds the processes below `pid`, as far as the kernel lists them (`CONFIG_PROC_CHILDREN`).
pub(super) fn add_children(proc: &Path, pid: i32, pids: &mut BTreeSet<i32>) {
    for task in names(&proc.join(format!("{pid}/task"))) {
        let children =
            fs::read_to_string(proc.join(format!("{pid}/task/{task}/children"))).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|word| word.parse().ok()) {
            if pids.len() < MOST_PROCESSES && pids.insert(child) {
                add_children(proc, child, pids);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of process 7 below `root`, which closed fd 3 after the first look and then opened fd 4.
    fn of_two_files(root: &Path) -> Descriptors {
        let open = root.join("proc/7/fd");
        fs::create_dir_all(&open).expect("made");
        let link = |fd: &str, name: &str| std::os::unix::fs::symlink(name, open.join(fd)).expect("linked");
        link("3", "/var/log/app");
        let descriptors = Descriptors::begin(root, &["-p", "7"].map(OsString::from));
        fs::remove_file(open.join("3")).expect("closed");
        link("4", "/srv/data");
        descriptors
    }

    #[test]
    fn what_was_open_last_was_open_to_the_end() {
        let root = tempfile::tempdir().expect("a folder");
        let mut descriptors = of_two_files(root.path());
        descriptors.look_again();
        fs::remove_dir_all(root.path().join("proc/7")).expect("ended");
        let ended = marks::tsc();
        let entries = descriptors.entries_now();
        let until_the_end: Vec<_> = entries.iter().filter(|one| one.to >= ended).map(|one| one.fd).collect();
        assert_eq!((entries.len(), until_the_end), (2, vec![4]));
    }

    /// A ring of a minute later has the other file alone.
    #[test]
    fn what_no_ring_can_hold_is_forgotten() {
        let root = tempfile::tempdir().expect("a folder");
        let mut descriptors = of_two_files(root.path());
        let names = |entries: Vec<OpenDescriptor>| {
            entries.into_iter().map(|entry| (entry.fd, entry.name)).collect::<Vec<_>>()
        };
        let both = [(3, "/var/log/app".to_owned()), (4, "/srv/data".to_owned())];
        assert_eq!(names(descriptors.entries_now()), both);
        for _ in 0..RECENT {
            assert_eq!(names(descriptors.entries_now()).len(), 2);
            descriptors.forget();
        }
        assert_eq!(names(descriptors.entries_now()), both[1..]);
    }
}
