//! The frame of a trace: batches one after the other, each of one thread and one generation.

use std::io::{self, BufRead};

use super::HEADER_BYTES;
use super::events::{END_OF_GENERATION, EVENT_BATCH, EXPERIMENTAL_BATCH};
use crate::file::spans::stream::Stream;

/// Go's `tracev2.MaxBatchSize`.
const LARGEST_BATCH: u64 = 64 << 10;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    Batch {
        /// The byte of its type in the file.
        at: u64,
        generation: u64,
        /// The kernel's number of the thread; all ones for none.
        thread: u64,
        /// Ticks before its first event.
        time: u64,
        bytes: &'a [u8],
    },
    /// Why the file is not read further.
    Wrong {
        at: u64,
        what: String,
    },
    End,
}

pub(super) struct Batches<R> {
    stream: Stream<R>,
    buffer: Vec<u8>,
    is_over: bool,
}

/// Why a batch cannot be read.
enum Broken {
    CutOff,
    Other(String),
}

impl<R: BufRead> Batches<R> {
    pub(super) fn new(reader: R) -> Batches<R> {
        Batches { stream: Stream::new(reader), buffer: Vec::new(), is_over: false }
    }

    /// What the file begins with.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn header(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut header = Vec::new();
        let is_whole = self.stream.block(HEADER_BYTES as u64, &mut header)?;
        Ok(is_whole.then_some(header))
    }

    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Found<'_>> {
        loop {
            let at = self.stream.at();
            let Some(kind) = self.stream.byte()?.filter(|_| !self.is_over) else { return Ok(Found::End) };
            let is_experimental = kind == EXPERIMENTAL_BATCH;
            let batch = match kind {
                END_OF_GENERATION => continue,
                EVENT_BATCH => self.batch()?,
                EXPERIMENTAL_BATCH => match self.stream.byte()? {
                    Some(_experiment) => self.batch()?,
                    None => Err(Broken::CutOff),
                },
                other => Err(Broken::Other(format!("a byte {other:#04x} where a batch begins"))),
            };
            match batch {
                Ok(_) if is_experimental => {}
                Ok([generation, thread, time]) => {
                    return Ok(Found::Batch { at, generation, thread, time, bytes: &self.buffer });
                }
                Err(broken) => {
                    self.is_over = true;
                    let what = match broken {
                        Broken::CutOff => "the file ends here, within a batch: it was cut off, or its program still writes it; the batches before are used".to_owned(),
                        Broken::Other(what) => format!("{what}: the file is read up to it"),
                    };
                    return Ok(Found::Wrong { at, what });
                }
            }
        }
    }

    /// Generation, thread and time; its content is in the buffer.
    fn batch(&mut self) -> io::Result<Result<[u64; 3], Broken>> {
        let mut numbers = [0; 4];
        for number in &mut numbers {
            match self.stream.varint()? {
                Some(read) => *number = read,
                None => return Ok(Err(Broken::CutOff)),
            }
        }
        let [generation, thread, time, length] = numbers;
        if length > LARGEST_BATCH {
            return Ok(Err(Broken::Other(format!("a batch of {length} bytes, more than 64 KiB"))));
        }
        self.buffer.clear();
        let is_whole = self.stream.block(length, &mut self.buffer)?;
        Ok(if is_whole { Ok([generation, thread, time]) } else { Err(Broken::CutOff) })
    }
}
