//! Plays a full trace back as the snapshots that `perf record -S --switch-output=signal` would have written of the same run.
//!
//! Input: a full trace of CPUs, a moment (perf time), the size of each CPU's ring. Output: one perf.data of the records since the
//! moment before and of the last bytes of each ring, which begin in the middle of a packet.
//! As perf does it: names and mappings are synthesized anew for each file, with time 0; samples are not looked at, so there are no build
//! IDs and no times of the first and the last one; the AUX record of a ring that is overwritten gives the place of its newest byte.
//! Source: `record__switch_output` and `snapshot_sig_handler` in tools/perf/builtin-record.c, `__auxtrace_mmap__read` in
//! tools/perf/util/auxtrace.c, `perf_aux_output_end` in `kernel/events/ring_buffer.c`, Linux 6.1.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::capture::{Capture, Record, kind};
use crate::container::{ATTRIBUTE, Container, Origin, Record as Written, Taken, feature};
use crate::error::Error;
use crate::packet::{Walk, Walked};

/// `priv` words of an `AUXTRACE_INFO` record of Intel PT, counted from the record's first byte.
const PMU: usize = 16;
const TIME_SHIFT: usize = 24;
const TIME_MULT: usize = 32;
const TIME_ZERO: usize = 40;
const SNAPSHOT: usize = 80;

/// `PERF_AUX_FLAG_OVERWRITE`.
const OVERWRITE: u64 = 2;
/// The section of build IDs.
const BUILD_IDS: usize = 2;
/// perf's numbers of mappings: with and without protection.
const MMAP: u32 = 1;
/// Where a FORK holds a time of its own.
const FORK_TIME: usize = 24;

/// When a snapshot is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The moment before, nanoseconds of perf time: the file has the records since then. 0 for the first one.
    pub after_ns: u64,
    /// The moment itself.
    pub at_ns: u64,
    /// The size of each CPU's ring.
    pub ring_bytes: usize,
}

/// Writes into the directory `output` what perf would have written at `moment` of the run that `input` holds, a full trace of CPUs.
///
/// # Errors
/// [`Error::File`] where reading or writing fails; [`Error::Capture`] if the input is no full trace of CPUs by Intel PT.
pub fn snapshot(input: &Path, output: &Path, moment: Moment) -> Result<(), Error> {
    let capture = Capture::read(input)?;
    let clock = PerfClock::of(&capture)?;
    let mut out = Container::default();
    out.taken = attributes(&capture)?;
    for record in &capture.records {
        if let Some(bytes) = record_at(&capture, record, moment)? {
            out.push_bytes(&bytes);
        }
    }
    for ring in rings(&capture)? {
        ring.put(&mut out, &capture, clock, moment)?;
    }
    out.push(&Written::finished_round());
    for (number, place) in &capture.features {
        match *number {
            feature::AUXTRACE | BUILD_IDS => {}
            feature::SAMPLE_TIME => out.features.push((*number, vec![0; 16])),
            _ => out.features.push((*number, capture.bytes[place.clone()].to_vec())),
        }
    }
    fs::create_dir_all(output).map_err(Error::file(output))?;
    let path = output.join("data");
    fs::write(&path, out.finish()).map_err(Error::file(&path))
}

/// TSC to nanoseconds of perf time.
#[derive(Clone, Copy)]
struct PerfClock {
    shift: u64,
    mult: u64,
    zero: u64,
    /// The number of Intel PT's PMU.
    pmu: u64,
}

impl PerfClock {
    fn of(capture: &Capture) -> Result<PerfClock, Error> {
        let info = capture.records.iter().find(|record| record.kind == kind::AUXTRACE_INFO);
        let start = info.map_or(0, |record| record.place.start);
        if info.is_none() || capture.u64(start + SNAPSHOT)? != 0 {
            return Err(capture.wrong(start, "no full trace by Intel PT: nothing to play back"));
        }
        Ok(PerfClock {
            shift: capture.u64(start + TIME_SHIFT)?,
            mult: capture.u64(start + TIME_MULT)?,
            zero: capture.u64(start + TIME_ZERO)?,
            pmu: capture.u64(start + PMU)?,
        })
    }

    fn nanoseconds(self, tsc: u64) -> u64 {
        let product = u128::from(tsc) * u128::from(self.mult);
        self.zero.wrapping_add((product >> self.shift.min(127)) as u64)
    }
}

/// The attributes as they are.
fn attributes(capture: &Capture) -> Result<Vec<Taken>, Error> {
    let (size, start) = (capture.u64(16)?, capture.u64(24)? as usize);
    if size != ATTRIBUTE + 16 {
        return Err(capture.wrong(16, "attributes of another size than perf 6.1 writes"));
    }
    let bytes = |number: usize| {
        let at = start + number * size as usize;
        capture.bytes[at..at + ATTRIBUTE as usize].to_vec()
    };
    let numbered = capture.attributes.iter().enumerate();
    Ok(numbered.map(|(number, attribute)| (bytes(number), attribute.ids.clone())).collect())
}

/// The record as the file of `moment` has it; `None` if it has not.
fn record_at(capture: &Capture, record: &Record, moment: Moment) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = capture.bytes[record.place.clone()].to_vec();
    match record.kind {
        kind::AUXTRACE | kind::AUX | kind::FINISHED_ROUND => return Ok(None),
        kind::AUXTRACE_INFO => put(&mut bytes, SNAPSHOT, 1),
        _ => {}
    }
    let Some(at) = capture.stamp(record).time else { return Ok(Some(bytes)) };
    let time = capture.u64(record.place.start + at)?;
    if time > moment.at_ns {
        return Ok(None);
    }
    if time > moment.after_ns || time == 0 {
        return Ok(Some(bytes));
    }
    // What lives is synthesized.
    let is_state = matches!(record.kind, kind::COMM | kind::FORK | kind::MMAP2 | MMAP);
    put(&mut bytes, at, 0);
    if record.kind == kind::FORK {
        put(&mut bytes, FORK_TIME, 0);
    }
    Ok(is_state.then_some(bytes))
}

fn put(record: &mut [u8], at: usize, value: u64) {
    if let Some(bytes) = record.get_mut(at..at + 8) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}

/// All that one CPU's ring ever held.
struct Ring {
    index: u32,
    cpu: u32,
    bytes: Vec<u8>,
    /// Offset of each PSB, and the TSC that follows it.
    sync_points: Vec<(usize, u64)>,
}

/// The rings, in the order of their numbers.
fn rings(capture: &Capture) -> Result<Vec<Ring>, Error> {
    let mut rings: BTreeMap<u32, Ring> = BTreeMap::new();
    for record in capture.records.iter().filter(|record| record.kind == kind::AUXTRACE) {
        let at = record.place.start;
        let (index, cpu) = (capture.u32(at + 32)?, capture.u32(at + 40)?);
        let size = capture.u64(at + 8)? as usize;
        let empty = Ring { index, cpu, bytes: Vec::new(), sync_points: Vec::new() };
        let ring = rings.entry(index).or_insert(empty);
        if cpu == u32::MAX || capture.u64(at + 16)? != ring.bytes.len() as u64 {
            return Err(capture.wrong(at, "no trace of a CPU without holes"));
        }
        ring.bytes.extend_from_slice(&capture.bytes[record.place.end..record.place.end + size]);
    }
    let mut rings: Vec<Ring> = rings.into_values().collect();
    rings.iter_mut().for_each(Ring::find_sync_points);
    Ok(rings)
}

impl Ring {
    fn find_sync_points(&mut self) {
        let mut psb = None;
        for (offset, _, walked) in Walk::new(&self.bytes) {
            match walked {
                Walked::Psb => psb = Some(offset),
                Walked::Tsc => {
                    let mut tsc = [0; 8];
                    tsc[..7].copy_from_slice(&self.bytes[offset + 1..offset + 8]);
                    let tsc = u64::from_le_bytes(tsc);
                    self.sync_points.extend(psb.take().map(|psb| (psb, tsc)));
                }
                _ => {}
            }
        }
    }

    /// The newest byte at a time: tracing is switched off a little later than the signal comes, here at the next sync point. The second
    /// one is its time.
    fn newest(&self, clock: PerfClock, at_ns: u64) -> (usize, u64) {
        let later = self.sync_points.iter().find(|&&(_, tsc)| clock.nanoseconds(tsc) > at_ns);
        let last = || (self.bytes.len(), self.sync_points.last().map_or(0, |&(_, tsc)| tsc));
        later.copied().unwrap_or_else(last)
    }

    /// Adds the AUX record and the ring's bytes.
    fn put(
        &self,
        out: &mut Container,
        capture: &Capture,
        clock: PerfClock,
        moment: Moment,
    ) -> Result<(), Error> {
        let (end, tsc) = self.newest(clock, moment.at_ns);
        // A ring that was not full yet is copied from where the last snapshot ended, one that was as a whole.
        let since = if moment.after_ns > 0 { self.newest(clock, moment.after_ns).0 } else { 0 };
        let begin = end.checked_sub(moment.ring_bytes).filter(|&begin| begin > 0).unwrap_or(since);
        let (size, newest) = (moment.ring_bytes as u64, (end % moment.ring_bytes.max(1)) as u64);
        let trace = capture.attributes.iter().find(|attribute| u64::from(attribute.pmu) == clock.pmu);
        let id = trace.and_then(|trace| trace.ids.get(self.index as usize));
        let id = *id.ok_or_else(|| capture.wrong(0, "no event of Intel PT on each CPU"))?;
        let origin = Origin { pid: 0, tid: 0, time: moment.at_ns, cpu: self.cpu, id };
        out.push(&Written::aux(newest, size, OVERWRITE, origin));
        if begin < end {
            // The record's size is a whole number of words.
            let mut bytes = self.bytes[begin..end].to_vec();
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let place = (self.index, u32::MAX, self.cpu);
            out.push_aux(&Written::auxtrace(bytes.len() as u64, begin as u64, tsc, place), &bytes);
        }
        Ok(())
    }
}
