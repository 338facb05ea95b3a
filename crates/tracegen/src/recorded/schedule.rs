//! Which thread ran on which CPU, from the guest's switch records.
//!
//! Input: the guest's perf.data. Output: per CPU the times (perf time, ns) at which a thread came or went.
//! Source: `linux/perf_event.h`, `PERF_RECORD_SWITCH_CPU_WIDE`.

use crate::capture::{Capture, kind};
use crate::error::Error;

/// `misc` bit of a switch out.
const SWITCH_OUT: u16 = 1 << 13;

/// A thread by process and thread id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Thread {
    pub(super) pid: u32,
    pub(super) tid: u32,
}

/// A thread came to a CPU or left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    /// Perf time, ns.
    pub(super) time: u64,
    pub(super) cpu: u32,
    pub(super) thread: Thread,
    pub(super) comes: bool,
}

/// All switches, in order of time.
#[derive(Debug, Default)]
pub(super) struct Schedule(Vec<Switch>);

impl Schedule {
    /// Reads the switches of `guest`.
    ///
    /// # Errors
    /// [`Error::Capture`] where a record is too short.
    pub(super) fn of(guest: &Capture) -> Result<Schedule, Error> {
        let mut switches = Vec::new();
        for record in guest.records.iter().filter(|record| record.kind == kind::SWITCH_CPU_WIDE) {
            let (start, stamp) = (record.place.start, guest.stamp(record));
            let (Some(tid), Some(time), Some(cpu)) = (stamp.tid, stamp.time, stamp.cpu) else { continue };
            let thread = Thread { pid: guest.u32(start + tid - 4)?, tid: guest.u32(start + tid)? };
            let comes = guest.u16(start + 4)? & SWITCH_OUT == 0;
            let (time, cpu) = (guest.u64(start + time)?, guest.u32(start + cpu)?);
            switches.push(Switch { time, cpu, thread, comes });
        }
        switches.sort_by_key(|switch| switch.time);
        Ok(Schedule(switches))
    }

    /// The thread on `cpu` at `time`: the last one that came. Where none did, the idle thread.
    pub(super) fn current(&self, cpu: u32, time: u64) -> Thread {
        let came = |switch: &&Switch| switch.cpu == cpu && switch.comes && switch.time < time;
        self.0.iter().rev().find(came).map_or(Thread::default(), |switch| switch.thread)
    }

    /// Perf times of all switches.
    pub(super) fn times(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|switch| switch.time)
    }

    /// All switches on `cpu`.
    pub(super) fn on(&self, cpu: u32) -> impl Iterator<Item = &Switch> {
        self.0.iter().filter(move |switch| switch.cpu == cpu)
    }
}
