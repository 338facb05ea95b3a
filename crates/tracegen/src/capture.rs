//! Reads a perf.data file as far as a generator needs it: to repeat it or to damage it.
//!
//! Input: a perf.data file or directory. Output: header, attributes, features and records as places in its bytes.
//! Written for this crate alone, so that a mistake here cannot agree with the readers under test.
//! Source: tools/perf/Documentation/perf.data-file-format.txt, `linux/perf_event.h`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Record types (`perf_event_type` and perf's own).
pub(crate) mod kind {
    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const AUX: u32 = 11;
    pub(crate) const ITRACE_START: u32 = 12;
    pub(crate) const SWITCH: u32 = 14;
    pub(crate) const SWITCH_CPU_WIDE: u32 = 15;
    pub(crate) const TEXT_POKE: u32 = 20;
    pub(crate) const FIRST_OF_PERF: u32 = 64;
    pub(crate) const FINISHED_ROUND: u32 = 68;
    pub(crate) const AUXTRACE_INFO: u32 = 70;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const COMPRESSED: u32 = 81;
}

/// Bits of an attribute's `sample_type`.
pub(crate) mod sample {
    pub(crate) const IP: u64 = 1;
    pub(crate) const TID: u64 = 1 << 1;
    pub(crate) const TIME: u64 = 1 << 2;
    pub(crate) const ID: u64 = 1 << 6;
    pub(crate) const CPU: u64 = 1 << 7;
    pub(crate) const STREAM_ID: u64 = 1 << 9;
    pub(crate) const IDENTIFIER: u64 = 1 << 16;
}

/// One configured event.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) pmu: u32,
    pub(crate) config: u64,
    pub(crate) sample_type: u64,
    pub(crate) sample_id_all: bool,
    pub(crate) ids: Vec<u64>,
}

/// One record: its type and where it lies in the file (without AUX bytes that follow it).
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) kind: u32,
    pub(crate) place: Range<usize>,
}

/// What a record says about itself beside its own fields; the places count from the record's first byte.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    pub(crate) time: Option<usize>,
    pub(crate) tid: Option<usize>,
    pub(crate) cpu: Option<usize>,
}

/// A perf.data file in memory.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The file that was read (`data` inside a directory).
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) data: Range<usize>,
    pub(crate) attributes: Vec<Attribute>,
    /// Feature bit and place of its section.
    pub(crate) features: Vec<(usize, Range<usize>)>,
    pub(crate) records: Vec<Record>,
}

impl Capture {
    /// Reads `path`, a perf.data file or a directory with a file `data`.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::Capture`] if it is no seekable perf.data file or is cut short.
    pub(crate) fn read(path: &Path) -> Result<Capture, Error> {
        let path = if path.is_dir() { path.join("data") } else { path.to_owned() };
        let bytes = std::fs::read(&path).map_err(Error::file(&path))?;
        let mut capture = Capture {
            path,
            bytes,
            data: 0..0,
            attributes: Vec::new(),
            features: Vec::new(),
            records: Vec::new(),
        };
        if !capture.bytes.starts_with(b"PERFILE2") || capture.u64(8)? < 104 {
            return Err(
                capture.wrong(0, "no perf.data file with a full header (of a pipe: use perf inject first)")
            );
        }
        capture.data = capture.section(40)?;
        capture.read_attributes()?;
        capture.read_features()?;
        capture.read_records()?;
        Ok(capture)
    }

    /// An error at `offset` of this file.
    pub(crate) fn wrong(&self, offset: usize, what: &'static str) -> Error {
        Error::Capture { path: self.path.clone(), offset: offset as u64, what }
    }

    pub(crate) fn u16(&self, at: usize) -> Result<u16, Error> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&self, at: usize) -> Result<u32, Error> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&self, at: usize) -> Result<u64, Error> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// The attribute of the event with this id, else the first one.
    fn attribute(&self, id: Option<u64>) -> Option<&Attribute> {
        let named = |id| self.attributes.iter().find(|attribute| attribute.ids.contains(&id));
        id.and_then(named).or(self.attributes.first())
    }

    /// Where `record` keeps its time, thread and CPU.
    pub(crate) fn stamp(&self, record: &Record) -> Stamp {
        let with_identifier = self.attributes.iter().all(|a| a.sample_type & sample::IDENTIFIER != 0);
        let id_at = if record.kind == kind::SAMPLE { record.place.start + 8 } else { record.place.end - 8 };
        let id = if with_identifier { self.u64(id_at).ok() } else { None };
        let Some(attribute) = self.attribute(id) else { return Stamp::default() };
        if record.kind == kind::SAMPLE {
            return front_stamp(attribute.sample_type);
        }
        if record.kind >= kind::FIRST_OF_PERF || !attribute.sample_id_all {
            return Stamp::default();
        }
        back_stamp(attribute.sample_type, record.place.len())
    }

    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], Error> {
        let end = at.checked_add(N).ok_or_else(|| self.wrong(at, "an offset that lies outside the file"))?;
        let slice = self.bytes.get(at..end).and_then(|slice| slice.try_into().ok());
        slice.ok_or_else(|| self.wrong(at, "the file ends here: it was cut short"))
    }

    /// The section whose offset and size stand at `at`.
    fn section(&self, at: usize) -> Result<Range<usize>, Error> {
        let (offset, size) = (self.u64(at)?, self.u64(at + 8)?);
        let end = offset.checked_add(size).filter(|&end| end <= self.bytes.len() as u64);
        match (usize::try_from(offset), end.map(usize::try_from)) {
            (Ok(start), Some(Ok(end))) => Ok(start..end),
            _ => Err(self.wrong(at, "a section that lies outside the file")),
        }
    }

    fn read_attributes(&mut self) -> Result<(), Error> {
        let entry = usize::try_from(self.u64(16)?).unwrap_or(0);
        let attributes = self.section(24)?;
        if !(80..4096).contains(&entry) {
            return Err(self.wrong(16, "an attribute size that no perf writes"));
        }
        for start in attributes.step_by(entry) {
            let ids = self.section(start + entry - 16)?;
            let ids = ids.step_by(8).map(|at| self.u64(at)).collect::<Result<Vec<_>, _>>()?;
            self.attributes.push(Attribute {
                pmu: self.u32(start)?,
                config: self.u64(start + 8)?,
                sample_type: self.u64(start + 24)?,
                sample_id_all: self.u64(start + 40)? >> 18 & 1 == 1,
                ids,
            });
        }
        Ok(())
    }

    fn read_features(&mut self) -> Result<(), Error> {
        let mut at = self.data.end;
        for bit in 0..256 {
            if self.u64(72 + bit / 64 * 8)? >> (bit % 64) & 1 == 1 {
                let section = self.section(at)?;
                self.features.push((bit, section));
                at += 16;
            }
        }
        Ok(())
    }

    fn read_records(&mut self) -> Result<(), Error> {
        let mut at = self.data.start;
        while at < self.data.end {
            let kind = self.u32(at)?;
            let end = at + usize::from(self.u16(at + 6)?);
            if end < at + 8 || end > self.data.end {
                return Err(self.wrong(at, "a record whose size is not possible"));
            }
            self.records.push(Record { kind, place: at..end });
            let aux_bytes = if kind == kind::AUXTRACE { self.u64(at + 8)? } else { 0 };
            let rest = (self.data.end - end) as u64;
            if aux_bytes > rest {
                return Err(self.wrong(at, "an AUXTRACE record that reaches beyond the data"));
            }
            at = end + usize::try_from(aux_bytes).unwrap_or(0);
        }
        Ok(())
    }
}

/// Places in a SAMPLE: IDENTIFIER, IP, TID, TIME come first.
fn front_stamp(sample_type: u64) -> Stamp {
    let mut at = 8;
    let mut next = |bit: u64| {
        let here = (sample_type & bit != 0).then_some(at);
        at += if here.is_some() { 8 } else { 0 };
        here
    };
    next(sample::IDENTIFIER);
    next(sample::IP);
    let tid = next(sample::TID).map(|at| at + 4);
    Stamp { time: next(sample::TIME), tid, cpu: None }
}

/// Places in the trailer of any other kernel record: TID, TIME, ID, `STREAM_ID`, CPU, IDENTIFIER come last.
fn back_stamp(sample_type: u64, size: usize) -> Stamp {
    let mut at = size;
    let mut previous = |bit: u64| {
        let here = (sample_type & bit != 0).then(|| at.checked_sub(8)).flatten();
        at = here.unwrap_or(at);
        here
    };
    previous(sample::IDENTIFIER);
    let cpu = previous(sample::CPU);
    previous(sample::STREAM_ID);
    previous(sample::ID);
    let time = previous(sample::TIME);
    Stamp { time, tid: previous(sample::TID).map(|at| at + 4), cpu }
}
