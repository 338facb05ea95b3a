//! The names and processes of threads over time, from COMM and FORK records.

use std::collections::HashMap;
use std::sync::Arc;

use model::{PerfTime, Pid, ThreadId, Tid};

use crate::ordered_records::OrderedRecords;
use crate::record::Record;

/// Names and processes of threads over time.
#[derive(Clone, Debug, Default)]
pub struct ThreadNames {
    /// In the order of time.
    names: HashMap<Tid, Vec<(PerfTime, Arc<str>)>>,
    processes: HashMap<Tid, Vec<(PerfTime, Pid)>>,
}

impl ThreadNames {
    pub(crate) fn of(records: &OrderedRecords) -> ThreadNames {
        let mut names = ThreadNames::default();
        for record in records.of_maps() {
            let time = record.time.unwrap_or_default();
            match record.record {
                Record::Comm { thread, name, .. } => {
                    names.add(thread.tid, time, String::from_utf8_lossy(name).into());
                    names.add_process(thread, time);
                }
                // A new thread has its parent's name until it says otherwise.
                Record::Fork { thread, parent, .. } => {
                    names.add_process(thread, time);
                    if let Some(name) = names.latest(parent.tid).cloned() {
                        names.add(thread.tid, time, name);
                    }
                }
                _ => {}
            }
        }
        names
    }

    fn add(&mut self, tid: Tid, time: PerfTime, name: Arc<str>) {
        let names = self.names.entry(tid).or_default();
        if names.last().is_none_or(|last| last.1 != name) {
            names.push((time, name));
        }
    }

    fn add_process(&mut self, thread: ThreadId, time: PerfTime) {
        let processes = self.processes.entry(thread.tid).or_default();
        if processes.last().is_none_or(|last| last.1 != thread.pid) {
            processes.push((time, thread.pid));
        }
    }

    fn latest(&self, tid: Tid) -> Option<&Arc<str>> {
        self.names.get(&tid)?.last().map(|(_, name)| name)
    }

    /// The name that `tid` had at `time`; the first known one before that; `swapper` for the idle task.
    pub fn at(&self, tid: Tid, time: PerfTime) -> Option<&str> {
        if tid.0 == 0 {
            return Some("swapper");
        }
        let names = self.names.get(&tid)?;
        let after = names.partition_point(|(since, _)| *since <= time);
        names.get(after.saturating_sub(1)).map(|(_, name)| name.as_ref())
    }

    /// The process that `tid` belonged to at `time`; the first known one before that. Numbers of threads are used again.
    pub fn process(&self, tid: Tid, time: PerfTime) -> Option<Pid> {
        let processes = self.processes.get(&tid)?;
        let after = processes.partition_point(|(since, _)| *since <= time);
        processes.get(after.saturating_sub(1)).map(|(_, pid)| *pid)
    }

    /// All names of a thread: (since when, name).
    pub fn of_thread(&self, tid: Tid) -> impl Iterator<Item = (PerfTime, &str)> {
        self.names.get(&tid).into_iter().flatten().map(|(time, name)| (*time, name.as_ref()))
    }

    /// All threads that have a name.
    pub fn threads(&self) -> impl Iterator<Item = Tid> {
        self.names.keys().copied()
    }
}
