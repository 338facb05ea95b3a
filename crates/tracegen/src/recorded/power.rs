//! What the machine model did that the guest could not record: the states in which its CPUs idled, and the frequencies requested for them.
//!
//! Input: the halts and requests of the log, the guest's perf.data. Output: its `power:cpu_idle` records with the model's states, and
//! `power:cpu_frequency` records. The guest has no idle driver but HLT, which it records as state 1, and no frequency driver at all. Both
//! records have the same fields, so that one of the one kind is the pattern for the other.
//! Source: `include/trace/events/power.h`, class `cpu`; tools/perf/Documentation/perf.data-file-format.txt, `HEADER_EVENT_DESC`.

use super::clock::PerfTime;
use super::schedule::Schedule;
use crate::capture::{Capture, Record, kind, sample};
use crate::container::feature;
use crate::error::Error;

/// What perf 6.1 writes of a tracepoint with `-a`, and where in such a sample its parts lie.
const SAMPLE_TYPE: u64 =
    sample::IDENTIFIER | sample::IP | sample::TID | sample::TIME | sample::CPU | 1 << 8 | 1 << 10;
const ID: usize = 8;
const TID: usize = 24;
const TIME: usize = 32;
const CPU: usize = 40;
const TRACEPOINT: usize = 60;
const COMMON_PID: usize = 64;
const STATE: usize = 68;
const OF_CPU: usize = 72;

/// The state with which `power:cpu_idle` says that a CPU is awake.
const AWAKE: u32 = u32::MAX;

/// A ratio of 1, in the unit of `power:cpu_frequency`.
const KILOHERTZ: u32 = 100_000;

/// Halts with their state, and requests.
#[derive(Clone, Debug, Default)]
pub(super) struct PowerEvents {
    /// CPU, guest TSC, the model's state.
    halts: Vec<(u32, u64, u8)>,
    requests: Vec<Request>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    /// Where it was made, and when.
    on: u32,
    tsc: u64,
    cpu: u32,
    ratio: u8,
}

impl PowerEvents {
    pub(super) fn idle(&mut self, cpu: usize, tsc: u64, state: u8) {
        if state != 0 {
            self.halts.push((cpu as u32, tsc, state));
        }
    }

    pub(super) fn request(&mut self, on: usize, tsc: u64, cpu: u32, ratio: u8) {
        self.requests.push(Request { on: on as u32, tsc, cpu, ratio });
    }

    pub(super) fn extend(&mut self, other: PowerEvents) {
        self.halts.extend(other.halts);
        self.requests.extend(other.requests);
    }
}

/// The guest's records as the modelled machine would have written them.
#[derive(Debug, Default)]
pub(super) struct PowerRecords {
    /// Offset of a `power:cpu_idle` record in the guest's file, and its state; sorted.
    states: Vec<(usize, u32)>,
    /// `power:cpu_frequency` records with their perf time.
    pub(super) requests: Vec<(u64, Vec<u8>)>,
}

/// One `power:cpu_idle` record.
#[derive(Clone, Copy)]
struct IdleRecord {
    cpu: u32,
    time: u64,
    state: u32,
    offset: usize,
}

impl PowerRecords {
    /// The records for `events`.
    ///
    /// # Errors
    /// [`Error::Capture`] where there are requests and no event or pattern for their records.
    pub(super) fn of(
        events: &PowerEvents,
        guest: &Capture,
        schedule: &Schedule,
        time: PerfTime,
    ) -> Result<PowerRecords, Error> {
        let idle = idle_records(guest)?;
        let mut states = Vec::new();
        for pair in idle.windows(2).filter(|pair| pair[0].cpu == pair[1].cpu) {
            let [entered, next] = [pair[0], pair[1]];
            let halted = |&&(cpu, tsc, _): &&(u32, u64, u8)| {
                cpu == entered.cpu && (entered.time..next.time).contains(&time.nanoseconds(tsc))
            };
            if let Some(&(.., state)) = events.halts.iter().find(halted).filter(|_| entered.state != AWAKE) {
                states.push((entered.offset, u32::from(state)));
            }
        }
        states.sort_unstable();
        let mut records = PowerRecords { states, requests: Vec::new() };
        if !events.requests.is_empty() {
            records.requests = requests(events, guest, (schedule, time), idle.first())?;
        }
        Ok(records)
    }

    /// Puts the model's state into `bytes`, a copy of `record`.
    pub(super) fn restate(&self, record: &Record, bytes: &mut [u8]) {
        let found = self.states.binary_search_by_key(&record.place.start, |&(offset, _)| offset);
        if let (Ok(at), Some(state)) = (found, bytes.get_mut(STATE..STATE + 4)) {
            state.copy_from_slice(&self.states[at].1.to_le_bytes());
        }
    }
}

/// All `power:cpu_idle` records, by CPU and time.
fn idle_records(guest: &Capture) -> Result<Vec<IdleRecord>, Error> {
    let Some(event) = event(guest, "power:cpu_idle")? else { return Ok(Vec::new()) };
    let ids = &guest.attributes[event].ids;
    let mut found = Vec::new();
    for record in guest.records.iter().filter(|record| record.kind == kind::SAMPLE) {
        let start = record.place.start;
        if ids.contains(&guest.u64(start + ID)?) {
            let (cpu, state) = (guest.u32(start + OF_CPU)?, guest.u32(start + STATE)?);
            found.push(IdleRecord { cpu, time: guest.u64(start + TIME)?, state, offset: start });
        }
    }
    found.sort_by_key(|record| (record.cpu, record.time));
    Ok(found)
}

/// The requests as records: the thread that was on the CPU wrote each.
fn requests(
    events: &PowerEvents,
    guest: &Capture,
    (schedule, time): (&Schedule, PerfTime),
    pattern: Option<&IdleRecord>,
) -> Result<Vec<(u64, Vec<u8>)>, Error> {
    let what = "requests of a frequency, and no record of power:cpu_idle or no event power:cpu_frequency: trace both";
    let wrong = || guest.wrong(0, what);
    let event = event(guest, "power:cpu_frequency")?.ok_or_else(wrong)?;
    let pattern = pattern.ok_or_else(wrong)?.offset;
    let size = usize::from(guest.u16(pattern + 6)?);
    let attribute = &guest.attributes[event];
    let mut records = Vec::new();
    for request in &events.requests {
        let mut bytes = guest.bytes[pattern..pattern + size].to_vec();
        let at = time.nanoseconds(request.tsc);
        let thread = schedule.current(request.on, at);
        let id = attribute.ids.get(request.on as usize).ok_or_else(wrong)?;
        let fields: [(usize, &[u8]); 9] = [
            (ID, &id.to_le_bytes()),
            (TID, &thread.pid.to_le_bytes()),
            (TID + 4, &thread.tid.to_le_bytes()),
            (TIME, &at.to_le_bytes()),
            (CPU, &request.on.to_le_bytes()),
            (TRACEPOINT, &(attribute.config as u16).to_le_bytes()),
            (COMMON_PID, &thread.tid.to_le_bytes()),
            (STATE, &(u32::from(request.ratio) * KILOHERTZ).to_le_bytes()),
            (OF_CPU, &request.cpu.to_le_bytes()),
        ];
        for (place, field) in fields {
            let field_in_record = bytes.get_mut(place..place + field.len());
            field_in_record.ok_or_else(wrong)?.copy_from_slice(field);
        }
        records.push((at, bytes));
    }
    Ok(records)
}

/// The number of the event called `name`.
///
/// # Errors
/// [`Error::Capture`] where its samples hold other fields than perf 6.1 writes.
fn event(guest: &Capture, name: &str) -> Result<Option<usize>, Error> {
    let Some((_, section)) = guest.features.iter().find(|(bit, _)| *bit == feature::EVENT_DESCRIPTION) else {
        return Ok(None);
    };
    let (count, size) = (guest.u32(section.start)?, guest.u32(section.start + 4)? as usize);
    let mut at = section.start + 8;
    for number in 0..(count as usize).min(guest.attributes.len()) {
        at += size;
        let (ids, length) = (guest.u32(at)? as usize, guest.u32(at + 4)? as usize);
        let text = guest.bytes.get(at + 8..at + 8 + length).unwrap_or_default();
        if text.split(|&byte| byte == 0).next() == Some(name.as_bytes()) {
            if guest.attributes[number].sample_type != SAMPLE_TYPE {
                return Err(guest.wrong(at, "a tracepoint with other fields than perf 6.1 writes"));
            }
            return Ok(Some(number));
        }
        at += 8 + length + ids * 8;
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
