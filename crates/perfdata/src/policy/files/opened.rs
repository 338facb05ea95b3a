//! Names of open files over time, by process and descriptor.
//!
//! A system call's records have a pointer where the name is. The probe that `perf trace` uses records it (`perf probe
//! 'vfs_getname=getname_flags:LINE pathname=result->name:string'`): its last record before the end of an `open` names
//! the descriptor that this returns, until that is closed. Without records of closes a name might be that of a file
//! closed since, so then there is none.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use model::{PerfTime, Pid, Tid};

use super::{GENERATIONS, number};
use crate::ordered_records::OrderedRecords;
use crate::record::{Record, Sample, SystemCall, SystemCallStep};
use crate::tracepoint::FieldValue;

/// The field of the probe that holds the name.
pub(crate) const NAME_FIELD: &str = "pathname";
/// What the kernel writes where it could not read the name.
const UNREADABLE: &str = "(fault)";

/// `CLOSE_RANGE_CLOEXEC`: nothing is closed yet.
const ONLY_AT_EXEC: u64 = 4;

/// An open file, its process' and the number that the process knows it by.
type Descriptor = (Pid, u32);

/// What descriptors stood for.
#[derive(Debug, Default)]
pub(super) struct OpenedFiles {
    /// In the order of time.
    descriptors: HashMap<Descriptor, Vec<(PerfTime, Change)>>,
    /// What changed many descriptors of a process at once, in the order of time.
    processes: HashMap<Pid, Vec<(PerfTime, Sweep)>>,
    /// When records were lost: what was closed since then is unknown.
    losses: Vec<PerfTime>,
}

#[derive(Debug)]
enum Change {
    /// It was opened by this name, which a record gave at that time.
    Opened(Arc<str>, PerfTime),
    /// It stands for something else, or nothing.
    Gone,
}

#[derive(Debug)]
enum Sweep {
    /// All are copies of the parent's.
    Fork(Pid),
    /// Which of them the new program has is not known.
    Exec,
    /// These stand for nothing.
    Closed(RangeInclusive<u32>),
}

/// An answer, and the times of the records that it rests on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) times: Vec<PerfTime>,
}

/// The bytes of the name in a record of the probe.
pub(crate) fn told_name<'a>(sample: &Sample<'a>) -> Option<&'a [u8]> {
    sample.event_name().filter(|name| name.starts_with("probe:vfs_getname"))?;
    match sample.field(NAME_FIELD)? {
        FieldValue::Text(name) => Some(name),
        _ => None,
    }
}

impl OpenedFiles {
    pub(super) fn of(records: &OrderedRecords) -> OpenedFiles {
        let mut reader = Reader::default();
        let is_recorded = |wanted: &dyn Fn(&str) -> bool| {
            records.attrs.iter().filter_map(|attr| attr.name.as_deref()).any(wanted)
        };
        let names_are = is_recorded(&|name| name.starts_with("probe:vfs_getname"));
        let ends_are =
            is_recorded(&|name| name == "raw_syscalls:sys_enter" || name == "syscalls:sys_enter_close");
        if names_are && ends_are {
            records.all().for_each(|timed| {
                let time = timed.time.unwrap_or_default();
                match &timed.record {
                    Record::Sample(sample) => {
                        if let Some(thread) = timed.thread {
                            reader.sample(sample, thread.pid, thread.tid, time);
                        }
                    }
                    record => reader.other(record, time),
                }
            });
        }
        reader.files
    }

    /// What descriptor `number` of process `pid` stood for at `time`.
    pub(super) fn at(&self, mut pid: Pid, number: u32, mut time: PerfTime) -> Answer {
        let last_loss = up_to(&self.losses, time, |loss| *loss).last().copied();
        for _ in 0..GENERATIONS {
            let own = self.descriptors.get(&(pid, number)).map_or(&[][..], Vec::as_slice);
            let own = up_to(own, time, |(since, _)| *since).last();
            let swept = self.processes.get(&pid).map_or(&[][..], Vec::as_slice);
            let swept = up_to(swept, time, |(since, _)| *since).iter().rev();
            let swept = swept.into_iter().find(|(_, sweep)| match sweep {
                Sweep::Closed(numbers) => numbers.contains(&number),
                Sweep::Fork(_) | Sweep::Exec => true,
            });
            let own = own.filter(|own| swept.is_none_or(|swept| swept.0 <= own.0));
            let Some(since) = own.map(|own| own.0).or(swept.map(|swept| swept.0)) else { break };
            if let Some(loss) = last_loss.filter(|&loss| loss >= since) {
                return Answer { name: None, times: vec![loss] };
            }
            match (own, swept) {
                (Some((_, Change::Opened(name, told))), _) => {
                    return Answer { name: Some(name.clone()), times: vec![*told, since] };
                }
                (Some((_, Change::Gone)), _) | (None, Some((_, Sweep::Closed(_)))) => {
                    return Answer { name: None, times: vec![since] };
                }
                (None, Some((_, Sweep::Fork(parent)))) => (pid, time) = (*parent, since),
                // Records of execs are in every slice.
                (None, Some((_, Sweep::Exec)) | None) => break,
            }
        }
        Answer::default()
    }
}

/// Those of `changes`, which are in order, up to `time`.
fn up_to<T>(changes: &[T], time: PerfTime, since: impl Fn(&T) -> PerfTime) -> &[T] {
    &changes[..changes.partition_point(|change| since(change) <= time)]
}

/// Reads records in the order of time.
#[derive(Default)]
struct Reader {
    files: OpenedFiles,
    /// The last name recorded for each thread in its system call.
    told: HashMap<Tid, (Arc<str>, PerfTime)>,
    names: HashSet<Arc<str>>,
}

impl Reader {
    fn sample(&mut self, sample: &Sample<'_>, pid: Pid, tid: Tid, time: PerfTime) {
        if let Some(name) = told_name(sample) {
            let name = String::from_utf8_lossy(name);
            let known = self.names.get(&*name).cloned().unwrap_or_else(|| Arc::from(&*name));
            self.names.insert(known.clone());
            self.told.insert(tid, (known, time));
            return;
        }
        let Some(SystemCall { number, step }) = sample.system_call() else { return };
        let told = self.told.remove(&tid);
        match step {
            SystemCallStep::Enter(arguments) => match (number, &arguments[..]) {
                (number::CLOSE, [descriptor, ..]) => self.forget((pid, low_half(*descriptor)), time),
                (number::CLOSE_RANGE, [first, last, flags, ..]) if flags & ONLY_AT_EXEC == 0 => {
                    self.sweep(pid, Sweep::Closed(low_half(*first)..=low_half(*last)), time);
                }
                _ => {}
            },
            SystemCallStep::Exit(returned) => {
                let Some(descriptor) = returned.and_then(|returned| u32::try_from(returned).ok()) else {
                    return;
                };
                let told = told.filter(|(name, _)| !name.is_empty() && **name != *UNREADABLE);
                match told.filter(|_| number::OPEN.contains(&number)) {
                    Some((name, at)) => {
                        let changes = self.files.descriptors.entry((pid, descriptor)).or_default();
                        changes.push((time, Change::Opened(name, at)));
                    }
                    None if number::OPEN.contains(&number) || number::OTHERS.contains(&number) => {
                        self.forget((pid, descriptor), time);
                    }
                    None => {}
                }
            }
        }
    }

    fn other(&mut self, record: &Record<'_>, time: PerfTime) {
        match record {
            Record::Lost { lost: 1.., .. } => self.files.losses.push(time),
            Record::Fork { thread, parent, .. } if thread.pid != parent.pid && time.0 > 0 => {
                self.sweep(thread.pid, Sweep::Fork(parent.pid), time);
            }
            Record::Comm { thread, exec: true, .. } if thread.pid.0 == thread.tid.0 => {
                self.sweep(thread.pid, Sweep::Exec, time);
            }
            _ => {}
        }
    }

    fn sweep(&mut self, pid: Pid, sweep: Sweep, time: PerfTime) {
        self.files.processes.entry(pid).or_default().push((time, sweep));
    }

    /// What has no name, in this process or a parent's, needs no end.
    fn forget(&mut self, descriptor: Descriptor, time: PerfTime) {
        if self.files.at(descriptor.0, descriptor.1, time).name.is_some() {
            self.files.descriptors.entry(descriptor).or_default().push((time, Change::Gone));
        }
    }
}

/// The kernel takes the low 32 bits of the register.
fn low_half(register: u64) -> u32 {
    (register & 0xffff_ffff) as u32
}

#[cfg(test)]
mod tests;
