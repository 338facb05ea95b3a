//! Makes a capture of any size by repeating a small one with shifted times.
//!
//! Input: a perf.data file or directory, how often, which sideband to repeat. Output: one of the same kind, written front to
//! back in constant memory (beside the input), and its interval file extended alike.
//! Invariant: window `w` of the input and window `w` + n periods of the output hold the same instructions.

mod clock;
mod intervals;
mod output;
mod stream;

use std::path::Path;

use crate::capture::{Capture, Record, Stamp, kind};
use crate::error::Error;
use clock::PeriodClock;
use output::Output;
use stream::Stream;

pub use intervals::repeat_intervals;

/// Which records the repetitions after the first one carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sideband {
    /// All of them, except that no process is born or dies twice.
    All,
    /// Only what says which thread ran where, and with which code: each window still decodes.
    Switches,
    /// None: the output has the sideband of the input. Only the first repetition decodes user code rightly where
    /// several programs share a CPU.
    Once,
}

/// How large the output becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many repetitions; the first one is the input itself.
    Times(u64),
    /// As many repetitions as reach this many bytes.
    Bytes(u64),
}

/// What [`repeat`] does.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How often.
    pub amount: Amount,
    /// What of the sideband.
    pub sideband: Sideband,
    /// AUXTRACE records hold at most so many bytes, unless one PSB period is longer. `perf script --time` (6.1) starts too late in
    /// some windows without a word, the more often the larger they are: with 8 MiB it lost whole windows of 100 us, with
    /// 256 KiB parts of some. With the window begun 500 us earlier it finds every instruction.
    pub buffer_bytes: usize,
}

/// What [`repeat`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Number of repetitions, the first one included.
    pub times: u64,
    /// TSC ticks from one repetition to the next.
    pub period_ticks: u64,
    /// The same in nanoseconds of perf time; repetition `n` is shifted by `n` times the exact quotient, rounded down.
    pub period_ns: u64,
    /// Size of the written perf.data file.
    pub bytes: u64,
}

/// Writes `plan` of the capture `input` to `output`.
///
/// # Errors
/// [`Error::File`] where reading or writing fails; [`Error::Capture`] if the input is no full-trace Intel PT capture.
pub fn repeat(input: &Path, output: &Path, plan: Plan) -> Result<Repeated, Error> {
    let capture = Capture::read(input)?;
    let streams = Stream::of(&capture)?;
    let clock = PeriodClock::of(&capture)?;
    let repeater = Repeater::new(&capture, clock, streams, plan)?;
    let mut out = Output::create(input, output, &capture, plan.buffer_bytes)?;
    for turn in 0..repeater.times {
        repeater.write_records(turn, &mut out)?;
        for stream in 0..repeater.streams.len() {
            let ticks = turn * repeater.clock.period;
            out.append_stream(stream, &repeater.streams[stream], ticks)?;
        }
    }
    repeater.write_closing_aux(&mut out)?;
    let last_shift = repeater.clock.nanoseconds(repeater.times - 1);
    let bytes = out.finish(&capture, &repeater.streams, last_shift)?;
    let period_ns = repeater.clock.nanoseconds(1);
    Ok(Repeated { times: repeater.times, period_ticks: repeater.clock.period, period_ns, bytes })
}

/// The input, taken apart.
struct Repeater<'a> {
    capture: &'a Capture,
    clock: PeriodClock,
    streams: Vec<Stream>,
    sideband: Sideband,
    times: u64,
    /// Record, where its time stands, and that time; 0 for records that perf made up before the start.
    records: Vec<(Record, Stamp, u64)>,
}

impl<'a> Repeater<'a> {
    fn new(
        capture: &'a Capture,
        mut clock: PeriodClock,
        streams: Vec<Stream>,
        plan: Plan,
    ) -> Result<Repeater<'a>, Error> {
        let mut records = Vec::with_capacity(capture.records.len());
        for record in capture.records.iter().filter(|record| record.kind != kind::AUXTRACE) {
            let stamp = capture.stamp(record);
            let time = match stamp.time {
                Some(at) if at + 8 <= record.place.len() => capture.u64(record.place.start + at)?,
                _ => 0,
            };
            records.push((record.clone(), stamp, time));
        }
        let timed = |&(_, _, time): &(Record, Stamp, u64)| (time != 0).then_some(time);
        let ends = (records.iter().filter_map(timed).min(), records.iter().filter_map(timed).max());
        let nanoseconds = if let (Some(first), Some(last)) = ends { last - first } else { 0 };
        clock.choose_period(nanoseconds, &streams);
        let mut repeater = Repeater { capture, clock, streams, sideband: plan.sideband, times: 0, records };
        repeater.times = repeater.turns(plan.amount);
        Ok(repeater)
    }

    fn turns(&self, amount: Amount) -> u64 {
        let wanted = match amount {
            Amount::Times(times) => return times.max(1),
            Amount::Bytes(bytes) => bytes,
        };
        let bytes_of = |turn| {
            let records = self.records.iter().filter(|record| self.keeps(record, turn, u64::MAX));
            records.map(|(record, ..)| record.place.len() as u64).sum::<u64>()
        };
        let aux = self.streams.iter().map(|stream| stream.bytes.len() as u64).sum::<u64>();
        1 + wanted.saturating_sub(bytes_of(0) + aux).div_ceil((bytes_of(1) + aux).max(1))
    }

    /// Does repetition `turn` of `times` carry this record?
    fn keeps(&self, (record, _, time): &(Record, Stamp, u64), turn: u64, times: u64) -> bool {
        let lives = record.kind == kind::FORK || record.kind == kind::EXIT;
        match (turn, self.sideband) {
            // Threads that end stay alive until the last repetition, which needs them.
            (0, Sideband::All | Sideband::Switches) => times == 1 || record.kind != kind::EXIT || *time == 0,
            (0, Sideband::Once) => true,
            // The threads that ran when the trace began, so that kernel code and a program alone on its CPU decode on.
            (1, Sideband::Once) => record.kind == kind::ITRACE_START,
            (_, Sideband::Once) => false,
            _ if record.kind == kind::FINISHED_ROUND => true,
            _ if *time == 0 => false,
            _ if lives => record.kind == kind::EXIT && turn + 1 == times,
            (_, Sideband::All) => true,
            (_, Sideband::Switches) => matches!(
                record.kind,
                kind::AUX
                    | kind::ITRACE_START
                    | kind::SWITCH
                    | kind::SWITCH_CPU_WIDE
                    | kind::TEXT_POKE
                    | kind::MMAP2
                    | kind::COMM
            ),
        }
    }

    fn write_records(&self, turn: u64, out: &mut Output) -> Result<(), Error> {
        let mut copy = Vec::new();
        for entry in self.records.iter().filter(|entry| self.keeps(entry, turn, self.times)) {
            let (record, stamp, time) = entry;
            copy.clear();
            copy.extend_from_slice(&self.capture.bytes[record.place.clone()]);
            if record.kind == kind::AUX {
                self.shift_aux(&mut copy, *stamp, turn);
            }
            self.shift_time(&mut copy, record.kind, *stamp, *time, turn);
            out.write(&copy)?;
        }
        Ok(())
    }

    fn shift_time(&self, copy: &mut [u8], record: u32, stamp: Stamp, time: u64, turn: u64) {
        let shift = self.clock.nanoseconds(turn);
        if time != 0 && shift != 0 {
            if let Some(at) = stamp.time {
                add(copy, at, shift);
            }
            if record == kind::FORK || record == kind::EXIT {
                // pid, ppid, tid, ptid, then a time of their own.
                add(copy, 24, shift);
            }
        }
    }

    /// Moves the AUX range of an AUX record to where repetition `turn` has these bytes.
    fn shift_aux(&self, copy: &mut [u8], stamp: Stamp, turn: u64) {
        let Some(stream) = self.streams.iter().find(|stream| stream.owns(copy, stamp)) else { return };
        let offset = get(copy, 8);
        let begin = stream.translate(offset);
        let end = stream.translate(offset.saturating_add(get(copy, 16)));
        put(copy, 8, turn * stream.bytes.len() as u64 + begin);
        put(copy, 16, end - begin);
    }

    /// With the sideband written once, one AUX record per stream announces all later repetitions.
    fn write_closing_aux(&self, out: &mut Output) -> Result<(), Error> {
        if self.sideband != Sideband::Once || self.times == 1 {
            return Ok(());
        }
        for stream in &self.streams {
            let owned = |record: &Record, stamp: Stamp| {
                record.kind == kind::AUX && stream.owns(&self.capture.bytes[record.place.clone()], stamp)
            };
            let last = self.records.iter().rfind(|(record, stamp, _)| owned(record, *stamp));
            let Some((record, stamp, time)) = last else { continue };
            let mut copy = self.capture.bytes[record.place.clone()].to_vec();
            put(&mut copy, 8, stream.bytes.len() as u64);
            put(&mut copy, 16, (self.times - 1) * stream.bytes.len() as u64);
            self.shift_time(&mut copy, kind::AUX, *stamp, *time, self.times - 1);
            out.write(&copy)?;
        }
        Ok(())
    }
}

/// Reads eight bytes of a record; 0 if it is too short.
fn get(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u64::from_le_bytes)
}

/// Writes eight bytes of a record, if it is long enough.
fn put(record: &mut [u8], at: usize, value: u64) {
    if let Some(bytes) = record.get_mut(at..at + 8) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}

fn add(record: &mut [u8], at: usize, value: u64) {
    put(record, at, get(record, at).wrapping_add(value));
}
