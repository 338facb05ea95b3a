//! Names of descriptors that the recording saved beside the capture, as far as they hold at a time.
//!
//! ```text
//! looked at     ·────────name────────·           ·───other───·
//! calls                                 close open
//! the name holds  from the last call before, to the next one after
//! ```
//!
//! Between two looks with the same name a descriptor may have been another: where a call that closes or makes it is recorded, the name
//! holds up to that alone. Where such calls are not recorded it holds between the looks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::{PerfTime, Pid, TimeConversion, Tsc};

use super::number;
use crate::ordered_records::OrderedRecords;
use crate::policy::machine::OpenDescriptor;
use crate::record::{Record, SystemCall, SystemCallStep};

/// What was saved of a descriptor.
#[derive(Debug)]
struct Looked {
    from: PerfTime,
    to: PerfTime,
    name: Arc<str>,
}

/// What was saved, and when calls changed it.
#[derive(Debug, Default)]
pub(super) struct SavedNames {
    looked: HashMap<(Pid, u32), Vec<Looked>>,
    changes: HashMap<(Pid, u32), Vec<PerfTime>>,
    /// Whether calls are recorded.
    has_calls: bool,
    /// When records were lost, or a process executed another program: any call may be missing.
    breaks: Vec<(Option<Pid>, PerfTime)>,
}

impl SavedNames {
    /// Of `descriptors`, whose times `conversion` makes those of the records.
    pub(super) fn of(
        records: &OrderedRecords,
        descriptors: &[OpenDescriptor],
        conversion: TimeConversion,
    ) -> SavedNames {
        let mut saved = SavedNames::default();
        for one in descriptors {
            let time = |tsc| conversion.to_perf_time(Tsc(tsc));
            let looked = Looked { from: time(one.from), to: time(one.to), name: one.name.as_str().into() };
            saved.looked.entry((Pid(one.pid), one.fd)).or_default().push(looked);
        }
        saved.looked.values_mut().for_each(|looked| looked.sort_by_key(|one| one.from));
        let is_call = |name: &str| name == "raw_syscalls:sys_enter";
        saved.has_calls = records.attrs.iter().filter_map(|attr| attr.name.as_deref()).any(is_call);
        if saved.has_calls && !saved.looked.is_empty() {
            saved.read(records);
        }
        saved
    }

    fn read(&mut self, records: &OrderedRecords) {
        let pids: HashSet<Pid> = self.looked.keys().map(|&(pid, _)| pid).collect();
        for timed in records.all() {
            let time = timed.time.unwrap_or_default();
            match &timed.record {
                Record::Lost { lost: 1.., .. } => self.breaks.push((None, time)),
                Record::Comm { thread, exec: true, .. } => self.breaks.push((Some(thread.pid), time)),
                Record::Sample(sample) => {
                    let Some(pid) = timed.thread.map(|thread| thread.pid).filter(|pid| pids.contains(pid))
                    else {
                        continue;
                    };
                    match sample.system_call() {
                        Some(SystemCall { number: number::CLOSE_RANGE, .. }) => {
                            self.breaks.push((Some(pid), time));
                        }
                        Some(SystemCall {
                            number: number::CLOSE,
                            step: SystemCallStep::Enter(arguments),
                        }) => {
                            let descriptor = arguments.first().map(|first| (first & 0xffff_ffff) as u32);
                            self.change(pid, descriptor, time);
                        }
                        Some(SystemCall { number, step: SystemCallStep::Exit(returned) })
                            if number::OPEN.contains(&number) || number::OTHERS.contains(&number) =>
                        {
                            let made = returned.and_then(|returned| u32::try_from(returned).ok());
                            self.change(pid, made, time);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    fn change(&mut self, pid: Pid, descriptor: Option<u32>, time: PerfTime) {
        if let Some(key) = descriptor.map(|fd| (pid, fd)).filter(|key| self.looked.contains_key(key)) {
            self.changes.entry(key).or_default().push(time);
        }
    }

    /// What the descriptor stood for at `time`.
    pub(super) fn at(&self, pid: Pid, descriptor: u32, time: PerfTime) -> Option<Arc<str>> {
        let key = (pid, descriptor);
        let looked = self.looked.get(&key)?;
        let holds = |one: &&Looked| {
            if one.from <= time && time <= one.to {
                return self.is_same(key, one.from, time) || self.is_same(key, time, one.to);
            }
            let (first, last) = if time < one.from { (time, one.from) } else { (one.to, time) };
            self.has_calls && self.is_same(key, first, last)
        };
        looked.iter().find(holds).map(|one| Arc::clone(&one.name))
    }

    /// Whether no call changed it after `first`, up to `last`.
    fn is_same(&self, (pid, descriptor): (Pid, u32), first: PerfTime, last: PerfTime) -> bool {
        let within = |time: PerfTime| first < time && time <= last;
        let changes = self.changes.get(&(pid, descriptor)).map_or(&[][..], Vec::as_slice);
        !changes.iter().any(|&time| within(time))
            && !self.breaks.iter().any(|&(of, time)| of.is_none_or(|of| of == pid) && within(time))
    }
}

#[cfg(test)]
mod tests;
