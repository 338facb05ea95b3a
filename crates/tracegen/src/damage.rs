//! Damages captures: one named damage, its places decided by a seed.
//!
//! Input: a sound perf.data file or directory. Output: a copy with the damage, and in a line what was done and where.
//! Invariant: the same input, damage and seed give the same bytes.

use std::path::Path;

use crate::capture::{Capture, Record, kind};
use crate::dice::Dice;
use crate::error::Error;
use crate::tree;

/// Where a program's code usually begins in its file, and how much of it is changed.
const PAGE: usize = 4096;

/// What is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Damage {
    /// The file ends in the middle of a record.
    Cut,
    /// The file ends between two records.
    CutBetween,
    /// Sixteen bits of the PT bytes are flipped.
    FlipAux,
    /// Sixteen bits of the records are flipped.
    FlipRecords,
    /// Up to 4 KiB of PT bytes are overwritten with foreign ones.
    ForeignAux,
    /// A record says that it is larger or smaller than it is.
    RecordSize,
    /// Every other AUX record names a range that overlaps another or lies outside.
    AuxRange,
    /// An AUXTRACE record says more bytes than follow.
    AuxtraceSize,
    /// Eight pairs of adjacent records change places.
    Swap,
    /// No record says which thread ran where.
    LoseSwitches,
    /// No record says which code was mapped where.
    LoseMappings,
    /// Every other sample is gone.
    LoseSamples,
    /// From some record on the clock is a second ahead.
    ClockStep,
    /// From some record on the clock is a second slow.
    ClockBack,
    /// A section lies elsewhere than the header says.
    Header,
}

/// Writes a copy of `input` with `damage` to `output`; says what was done.
///
/// # Errors
/// [`Error::File`]; [`Error::Capture`] if the input has nothing of the kind to damage.
pub fn damage(damage: Damage, input: &Path, output: &Path, seed: u64) -> Result<String, Error> {
    let dice = Dice::new(seed);
    let capture = Capture::read(input)?;
    let path = tree::prepare(input, output)?;
    let mut hurt = Hurt { bytes: capture.bytes.clone(), capture: &capture, dice };
    let said = match damage {
        Damage::Cut => hurt.cut(1),
        Damage::CutBetween => hurt.cut(0),
        Damage::FlipAux => hurt.flip(true)?,
        Damage::FlipRecords => hurt.flip(false)?,
        Damage::ForeignAux => hurt.overwrite_aux()?,
        Damage::RecordSize => hurt.lie_about_record()?,
        Damage::AuxRange => hurt.lie_about_aux()?,
        Damage::AuxtraceSize => hurt.lie_about_auxtrace()?,
        Damage::Swap => hurt.swap(),
        Damage::LoseSwitches => {
            hurt.lose(1, |kind| matches!(kind, kind::SWITCH | kind::SWITCH_CPU_WIDE | kind::ITRACE_START))?
        }
        Damage::LoseMappings => hurt.lose(1, |kind| kind == kind::MMAP2)?,
        Damage::LoseSamples => hurt.lose(2, |kind| kind == kind::SAMPLE)?,
        Damage::ClockStep => hurt.step_clock(1_000_000_000)?,
        Damage::ClockBack => hurt.step_clock(-1_000_000_000)?,
        Damage::Header => hurt.move_section(),
    };
    std::fs::write(&path, &hurt.bytes).map_err(Error::file(&path))?;
    Ok(said)
}

/// Writes a copy of the program `input` whose code is another one: its second page rotated; headers, symbols and build ID stay.
///
/// # Errors
/// [`Error::File`].
pub fn wrong_code(input: &Path, output: &Path, seed: u64) -> Result<String, Error> {
    let mut bytes = std::fs::read(input).map_err(Error::file(input))?;
    let (start, end) = (PAGE.min(bytes.len()), (2 * PAGE).min(bytes.len()));
    let by = 1 + Dice::new(seed).below((end - start).max(2) as u64 - 1) as usize;
    if end > start {
        bytes[start..end].rotate_left(by % (end - start));
    }
    std::fs::write(output, &bytes).map_err(Error::file(output))?;
    Ok(format!("code from {start:#x} to {end:#x} rotated by {by}"))
}

/// A capture's bytes while they are damaged; the capture still says where things were.
struct Hurt<'a> {
    capture: &'a Capture,
    bytes: Vec<u8>,
    dice: Dice,
}

impl<'a> Hurt<'a> {
    /// A record of a kind that `wanted` accepts.
    fn record(&mut self, wanted: impl Fn(u32) -> bool) -> Result<&'a Record, Error> {
        let records: Vec<_> = self.capture.records.iter().filter(|record| wanted(record.kind)).collect();
        let chosen = self.dice.below(records.len() as u64) as usize;
        let missing = "no record of the kind that this damage needs";
        records.get(chosen).copied().ok_or_else(|| self.capture.wrong(self.capture.data.start, missing))
    }

    /// Offset and size of all PT bytes.
    fn aux(&self) -> Result<Vec<(usize, usize)>, Error> {
        let records = self.capture.records.iter().filter(|record| record.kind == kind::AUXTRACE);
        let size = |record: &Record| self.capture.u64(record.place.start + 8);
        records.map(|record| Ok((record.place.end, size(record)? as usize))).collect()
    }

    /// Ends the file at a record, `into` the record or before it.
    fn cut(&mut self, into: usize) -> String {
        let records = &self.capture.records;
        let chosen = &records[self.dice.below(records.len() as u64) as usize].place;
        let end = chosen.start + into * self.dice.below(chosen.len() as u64 - 1) as usize + into;
        self.bytes.truncate(end);
        format!("cut at {end:#x}")
    }

    fn flip(&mut self, aux: bool) -> Result<String, Error> {
        let mut places = Vec::new();
        for _ in 0..16 {
            let (start, size) = if aux {
                let all = self.aux()?;
                let chosen = self.dice.below(all.len() as u64) as usize;
                all.get(chosen).copied().ok_or_else(|| self.capture.wrong(0, "no AUXTRACE record"))?
            } else {
                let place = &self.record(|_| true)?.place;
                (place.start, place.len())
            };
            let place = start + self.dice.below(size as u64) as usize;
            if let Some(byte) = self.bytes.get_mut(place) {
                *byte ^= 1 << self.dice.below(8);
                places.push(format!("{place:#x}"));
            }
        }
        Ok(format!("bits flipped at {}", places.join(" ")))
    }

    fn overwrite_aux(&mut self) -> Result<String, Error> {
        let all = self.aux()?;
        let chosen = self.dice.below(all.len() as u64) as usize;
        let (start, size) = *all.get(chosen).ok_or_else(|| self.capture.wrong(0, "no AUXTRACE record"))?;
        let from = self.dice.below(size as u64) as usize;
        let length = (1 + self.dice.below(4096) as usize).min(size - from);
        for byte in &mut self.bytes[start + from..start + from + length] {
            *byte = self.dice.below(256) as u8;
        }
        Ok(format!("{length} foreign bytes at {:#x}", start + from))
    }

    fn lie_about_record(&mut self) -> Result<String, Error> {
        let record = self.record(|kind| kind != kind::AUXTRACE)?;
        let size = self.dice.below(1 << 16) as u16;
        let at = record.place.start + 6;
        self.bytes[at..at + 2].copy_from_slice(&size.to_le_bytes());
        Ok(format!("the record at {:#x} says {size} bytes", record.place.start))
    }

    fn lie_about_aux(&mut self) -> Result<String, Error> {
        self.record(|kind| kind == kind::AUX)?;
        let mut places = Vec::new();
        let records = self.capture.records.iter().filter(|record| record.kind == kind::AUX);
        for record in records.step_by(2) {
            let (offset, size) = match self.dice.below(3) {
                0 => (self.dice.next(), self.dice.next()),
                1 => (0, self.dice.below(1 << 32)),
                _ => (u64::MAX - 7, 8),
            };
            self.put(record.place.start + 8, offset);
            self.put(record.place.start + 16, size);
            places.push(format!("{:#x}", record.place.start));
        }
        Ok(format!("wrong ranges in the AUX records at {}", places.join(" ")))
    }

    fn lie_about_auxtrace(&mut self) -> Result<String, Error> {
        let start = self.record(|kind| kind == kind::AUXTRACE)?.place.start;
        let size = if self.dice.below(2) == 0 { self.dice.next() } else { self.dice.below(1 << 40) };
        self.put(start + 8, size);
        Ok(format!("the AUXTRACE record at {start:#x} says {size:#x} bytes"))
    }

    fn swap(&mut self) -> String {
        let records = &self.capture.records;
        // Records that touch each other: no AUX bytes between.
        let neighbours: Vec<_> =
            records.windows(2).filter(|two| two[0].place.end == two[1].place.start).collect();
        let mut places = Vec::new();
        let mut last = 0;
        for _ in 0..8 {
            let chosen = self.dice.below(neighbours.len() as u64) as usize;
            let Some([first, second]) = neighbours.get(chosen) else { break };
            if first.place.start < last {
                continue;
            }
            self.bytes[first.place.start..second.place.end].rotate_left(first.place.len());
            last = second.place.end;
            places.push(format!("{:#x}", first.place.start));
        }
        format!("swapped with the next: the records at {}", places.join(" "))
    }

    /// Gives every `nth` record of a kind the type of one that says nothing (THROTTLE).
    fn lose(&mut self, nth: usize, of_kind: impl Fn(u32) -> bool) -> Result<String, Error> {
        self.record(&of_kind)?;
        let lost = self.capture.records.iter().filter(|record| of_kind(record.kind)).step_by(nth);
        let mut count = 0;
        for record in lost {
            self.bytes[record.place.start..record.place.start + 4].copy_from_slice(&5u32.to_le_bytes());
            count += 1;
        }
        Ok(format!("{count} records are gone"))
    }

    /// Moves the times of all later records by so many nanoseconds.
    fn step_clock(&mut self, by: i64) -> Result<String, Error> {
        let from = self.record(|kind| kind < kind::FIRST_OF_PERF)?.place.start;
        let later = self.capture.records.iter().filter(|record| record.place.start >= from);
        for record in later {
            let Some(at) = self.capture.stamp(record).time.map(|time| record.place.start + time) else {
                continue;
            };
            let time = self.capture.u64(at)?;
            if time != 0 {
                self.put(at, time.wrapping_add_signed(by));
            }
        }
        Ok(format!("{by} ns from {from:#x} on"))
    }

    /// Attributes, data or event types: offset or size.
    fn move_section(&mut self) -> String {
        let at = 24 + 8 * self.dice.below(4) as usize;
        let value = match self.dice.below(3) {
            0 => self.dice.next(),
            1 => self.dice.below(self.bytes.len() as u64),
            _ => u64::MAX,
        };
        self.put(at, value);
        format!("the header says {value:#x} at {at:#x}")
    }

    fn put(&mut self, at: usize, value: u64) {
        if let Some(bytes) = self.bytes.get_mut(at..at + 8) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests;
