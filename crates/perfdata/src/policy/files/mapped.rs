//! Mapped files over time, by process.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use model::{PerfTime, Pid};

use super::{FilePlace, GENERATIONS, is_memory};
use crate::ordered_records::OrderedRecords;
use crate::record::{Mmap, Record};

/// What each process mapped, in the order of time.
#[derive(Debug, Default)]
pub(super) struct MappedFiles {
    changes: HashMap<Pid, Vec<(PerfTime, Change)>>,
    paths: HashSet<Arc<str>>,
}

/// A change of what a process has mapped.
#[derive(Debug)]
enum Change {
    /// Something lies here now, and hides what lay here: a place in a file, or memory.
    Map(Range<u64>, Option<FilePlace>),
    /// A copy of what the parent had.
    Fork(Pid),
    /// All went.
    Exec,
}

impl MappedFiles {
    pub(super) fn of(records: &OrderedRecords) -> MappedFiles {
        let mut files = MappedFiles::default();
        for timed in records.of_maps() {
            let time = timed.time.unwrap_or_default();
            let (pid, change) = match timed.record {
                Record::Mmap(mmap) | Record::Mmap2(mmap) => (mmap.thread.pid, files.map(&mmap)),
                // What stands at zero was written by perf for processes that ran already, with all their mappings.
                Record::Fork { thread, parent, .. } if thread.pid != parent.pid && time.0 > 0 => {
                    (thread.pid, Change::Fork(parent.pid))
                }
                Record::Comm { thread, exec: true, .. } if thread.pid.0 == thread.tid.0 => {
                    (thread.pid, Change::Exec)
                }
                _ => continue,
            };
            files.changes.entry(pid).or_default().push((time, change));
        }
        files.paths = HashSet::new();
        files
    }

    fn map(&mut self, mmap: &Mmap<'_>) -> Change {
        let path = mmap.path_text();
        let range = mmap.address..mmap.address.saturating_add(mmap.len);
        if path.is_empty() || is_memory(&path) {
            return Change::Map(range, None);
        }
        let known = self.paths.get(&*path).cloned().unwrap_or_else(|| Arc::from(&*path));
        self.paths.insert(known.clone());
        Change::Map(range, Some(FilePlace { path: known, offset: mmap.file_offset }))
    }

    /// The file at `address` of process `pid` at `time`.
    pub(super) fn at(&self, mut pid: Pid, address: u64, mut time: PerfTime) -> Option<FilePlace> {
        for _ in 0..GENERATIONS {
            let changes = self.changes.get(&pid)?;
            let before = changes[..changes.partition_point(|(since, _)| *since <= time)].iter().rev();
            let tells = |change: &Change| match change {
                Change::Map(range, _) => range.contains(&address),
                Change::Fork(_) | Change::Exec => true,
            };
            let (since, change) = before.into_iter().find(|(_, change)| tells(change))?;
            match change {
                Change::Map(range, Some(file)) => {
                    let offset = file.offset.saturating_add(address - range.start);
                    return Some(FilePlace { path: file.path.clone(), offset });
                }
                Change::Fork(parent) => (pid, time) = (*parent, *since),
                Change::Map(_, None) | Change::Exec => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
