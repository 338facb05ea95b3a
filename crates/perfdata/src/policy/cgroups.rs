//! The control groups of threads over time, from samples that carry one (`perf record --all-cgroups`) and CGROUP records.
//!
//! A sample's group is that of the thread in it, of the hierarchy of `perf_event` (`perf_prepare_sample` in `kernel/events/core.c`); a CGROUP record
//! says which path a group has below that hierarchy's root, which itself is `/`. A new thread is in its parent's group.

use std::collections::HashMap;
use std::sync::Arc;

use model::{PerfTime, Tid};

use crate::attr::sample_type;
use crate::ordered_records::OrderedRecords;
use crate::record::Record;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Cgroups {
    paths: HashMap<u64, Arc<str>>,
    /// In the order of time: since when, and in which group.
    of_threads: HashMap<Tid, Vec<(PerfTime, u64)>>,
}

impl Cgroups {
    /// By the records of a capture; they are looked at only where samples carry groups at all.
    pub(crate) fn of(records: &OrderedRecords) -> Cgroups {
        let mut groups = Cgroups::default();
        if !records.attrs.iter().any(|attr| attr.samples(sample_type::CGROUP)) {
            return groups;
        }
        for timed in records.all() {
            let time = timed.time.unwrap_or_default();
            match &timed.record {
                Record::Cgroup { id, path } => {
                    groups.paths.insert(*id, String::from_utf8_lossy(path).into());
                }
                Record::Fork { thread, parent, .. } => {
                    let inherited = groups.of_threads.get(&parent.tid).and_then(|known| known.last());
                    if let Some(&(_, group)) = inherited {
                        groups.add(thread.tid, time, group);
                    }
                }
                Record::Sample(sample) => {
                    if let (Some(thread), Some(group)) = (timed.thread, sample.cgroup()) {
                        groups.add(thread.tid, time, group);
                    }
                }
                _ => {}
            }
        }
        groups
    }

    fn add(&mut self, tid: Tid, time: PerfTime, group: u64) {
        let known = self.of_threads.entry(tid).or_default();
        if known.last().is_none_or(|last| last.1 != group) {
            known.push((time, group));
        }
    }

    /// The path of the group that `tid` was in at `time`; of the first known one before that. `None` for the idle task, too, which is on every CPU.
    pub fn at(&self, tid: Tid, time: PerfTime) -> Option<&str> {
        let known = self.of_threads.get(&tid).filter(|_| tid.0 != 0)?;
        let after = known.partition_point(|(since, _)| *since <= time);
        let (_, group) = known.get(after.saturating_sub(1))?;
        self.paths.get(group).map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use model::{PerfTime, Tid};

    use crate::bytes;
    use crate::test_file::{SAMPLE_ID_ALL, TestFile, USUAL_SAMPLE_TYPE, attr, findings, name};

    /// perf describes groups before the start (type 19) and a sample ends in its group (bit 21).
    #[test]
    fn threads_are_in_the_groups_that_their_samples_name() {
        let group = |id: u64, path: &str| [bytes![id], name(path)].concat();
        let sampled =
            |tid: i32, time: u64, group: u64| bytes![7u64, 0x40_1000u64, 20i32, tid, time, 3u32, 0u32, group];
        let fork = bytes![30i32, 20i32, 31i32, 21i32, 0u64];
        let perf_data = TestFile::default()
            .attr(attr(1, 9, USUAL_SAMPLE_TYPE | 1 << 21, SAMPLE_ID_ALL), &[7])
            .timed(19, 0, &group(5, "/web.slice"), 0)
            .timed(19, 0, &group(6, "/batch.slice"), 0)
            .record(9, 2, &sampled(21, 10, 5))
            .timed(7, 0, &fork, 15)
            .record(9, 2, &sampled(21, 20, 6))
            .record(9, 2, &sampled(22, 30, 99))
            .record(9, 1, &sampled(0, 40, 5))
            .open();
        let at = |tid, time| perf_data.cgroups().at(Tid(tid), PerfTime(time));
        assert_eq!(
            (at(21, 5), at(21, 19), at(21, 20)),
            (Some("/web.slice"), Some("/web.slice"), Some("/batch.slice"))
        );
        // The new thread is where its parent was; of group 99 no record has a path; the idle task is on every CPU.
        assert_eq!((at(31, 50), at(22, 30), at(0, 40), at(77, 1)), (Some("/web.slice"), None, None, None));
        assert_eq!(findings(&perf_data), []);
    }
}
