//! Writes the repeated perf.data front to back.
//!
//! Input: records and streams, repetition by repetition. Output: the file; its header's sizes, the AUXTRACE index and the time range
//! are set at the end. Held in memory: one AUXTRACE buffer per stream and the index.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Stream, add, put};
use crate::capture::{Capture, kind};
use crate::error::Error;
use crate::tree;

/// Feature bits.
const AUXTRACE_FEATURE: usize = 18;
const SAMPLE_TIME_FEATURE: usize = 21;

/// Size of an AUXTRACE record without its bytes; perf's index names this, not the size with them.
const AUXTRACE_RECORD: u64 = 48;

/// Ticks of a TSC packet: 56 bits.
const TSC_MASK: u64 = (1 << 56) - 1;

/// One AUXTRACE buffer that is being filled.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// Offset of its first byte in the stream.
    offset: u64,
    reference: u64,
}

/// The file that is being written.
pub(super) struct Output {
    path: PathBuf,
    file: BufWriter<File>,
    position: u64,
    data_start: u64,
    buffer_bytes: usize,
    buffers: Vec<Buffer>,
    /// File offsets of the AUXTRACE records.
    index: Vec<u64>,
}

impl Output {
    /// Creates `output` as a file, or as a directory with what `input` has beside its `data`, and writes the front part.
    pub(super) fn create(
        input: &Path,
        output: &Path,
        capture: &Capture,
        buffer_bytes: usize,
    ) -> Result<Output, Error> {
        let path = tree::prepare(input, output)?;
        let file = File::create(&path).map_err(Error::file(&path))?;
        let mut out = Output {
            path,
            file: BufWriter::with_capacity(1 << 20, file),
            position: 0,
            data_start: capture.data.start as u64,
            buffer_bytes,
            buffers: Vec::new(),
            index: Vec::new(),
        };
        out.write(&capture.bytes[..capture.data.start])?;
        Ok(out)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.position += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::file(&self.path))
    }

    /// Appends one repetition of `stream` (number `at`), its times `ticks` later.
    pub(super) fn append_stream(&mut self, at: usize, stream: &Stream, ticks: u64) -> Result<(), Error> {
        if self.buffers.len() <= at {
            self.buffers.resize_with(at + 1, Buffer::default);
        }
        let mut packets = stream.tsc_packets.iter().copied().peekable();
        for (number, &start) in stream.sync_points.iter().enumerate() {
            let end = stream.sync_points.get(number + 1).copied().unwrap_or(stream.bytes.len());
            let filled = self.buffers[at].bytes.len();
            if filled != 0 && filled + (end - start) > self.buffer_bytes {
                self.flush(at, stream)?;
            }
            let buffer = &mut self.buffers[at];
            if buffer.bytes.is_empty() && stream.reference != 0 {
                buffer.reference = stream.reference.wrapping_add(ticks);
            }
            let base = buffer.bytes.len();
            buffer.bytes.extend_from_slice(&stream.bytes[start..end]);
            while let Some(packet) = packets.next_if(|&packet| packet < end) {
                shift_tsc(&mut buffer.bytes[base + packet - start..], ticks);
            }
        }
        Ok(())
    }

    /// Writes buffer `at` as an AUXTRACE record.
    fn flush(&mut self, at: usize, stream: &Stream) -> Result<(), Error> {
        let mut buffer = std::mem::take(&mut self.buffers[at]);
        if buffer.bytes.is_empty() {
            return Ok(());
        }
        self.index.push(self.position);
        let mut record = Vec::with_capacity(48);
        record.extend(kind::AUXTRACE.to_le_bytes());
        record.extend(((AUXTRACE_RECORD) << 16).to_le_bytes().iter().take(4));
        for field in [buffer.bytes.len() as u64, buffer.offset, buffer.reference] {
            record.extend(field.to_le_bytes());
        }
        for field in [stream.index, stream.tid, stream.cpu, 0] {
            record.extend(field.to_le_bytes());
        }
        self.write(&record)?;
        self.write(&buffer.bytes)?;
        let offset = buffer.offset + buffer.bytes.len() as u64;
        buffer.bytes.clear();
        self.buffers[at] = Buffer { bytes: buffer.bytes, offset, reference: 0 };
        Ok(())
    }

    /// Writes what is left, the features and the header's sizes; returns the file's size.
    pub(super) fn finish(
        mut self,
        capture: &Capture,
        streams: &[Stream],
        last_shift: u64,
    ) -> Result<u64, Error> {
        for (at, stream) in streams.iter().enumerate() {
            self.flush(at, stream)?;
        }
        self.write(&[68, 0, 0, 0, 0, 0, 8, 0])?;
        let data_size = self.position - self.data_start;
        let features = self.features(capture, last_shift);
        let mut offset = self.position + 16 * features.len() as u64;
        let mut bits = [0u8; 32];
        for (bit, bytes) in &features {
            bits[bit / 8] |= 1 << (bit % 8);
            self.write(&offset.to_le_bytes())?;
            self.write(&(bytes.len() as u64).to_le_bytes())?;
            offset += bytes.len() as u64;
        }
        for (_, bytes) in &features {
            self.write(bytes)?;
        }
        let size = self.position;
        self.patch(48, &data_size.to_le_bytes())?;
        self.patch(72, &bits)?;
        self.file.flush().map_err(Error::file(&self.path))?;
        Ok(size)
    }

    /// The input's feature sections, with the AUXTRACE index and the time range of the output.
    fn features(&self, capture: &Capture, last_shift: u64) -> Vec<(usize, Vec<u8>)> {
        let kept = capture.features.iter().filter(|(bit, _)| *bit != AUXTRACE_FEATURE);
        let mut features: Vec<_> =
            kept.map(|(bit, place)| (*bit, capture.bytes[place.clone()].to_vec())).collect();
        if let Some((_, range)) = features.iter_mut().find(|(bit, _)| *bit == SAMPLE_TIME_FEATURE) {
            add(range, 8, last_shift);
        }
        let mut index = vec![0; 8 + 16 * self.index.len()];
        put(&mut index, 0, self.index.len() as u64);
        for (number, &offset) in self.index.iter().enumerate() {
            put(&mut index, 8 + 16 * number, offset);
            put(&mut index, 16 + 16 * number, AUXTRACE_RECORD);
        }
        features.push((AUXTRACE_FEATURE, index));
        features.sort_by_key(|&(bit, _)| bit);
        features
    }

    fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(at)).map_err(Error::file(&self.path))?;
        self.file.write_all(bytes).map_err(Error::file(&self.path))
    }
}

/// Adds `ticks` to the TSC packet at the front of `packet`.
fn shift_tsc(packet: &mut [u8], ticks: u64) {
    let mut tsc = [0; 8];
    tsc[..7].copy_from_slice(&packet[1..8]);
    let later = u64::from_le_bytes(tsc).wrapping_add(ticks) & TSC_MASK;
    packet[1..8].copy_from_slice(&later.to_le_bytes()[..7]);
}
