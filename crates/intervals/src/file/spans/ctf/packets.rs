//! The frame of a trace: metadata, then packets one after the other, of all streams; each begins with a number that no text has.

use std::io::{self, BufRead, Read as _};

use crate::findings::Origin;

/// What a packet begins with, and one of metadata.
pub(super) const PACKET: u32 = 0xc1fc_1fc1;
pub(super) const METADATA: u32 = 0x75d1_1d57;
/// The most bytes of a packet.
pub(super) const LARGEST: u64 = 64 << 20;
/// The most bytes of metadata: a kernel's with all tracepoints has 2 MiB.
const MOST_METADATA: u64 = 8 << 20;
/// The head of a packet of metadata.
const HEAD: usize = 37;

/// A file and what was read ahead of it.
pub(super) struct Packets<R> {
    reader: R,
    ahead: Vec<u8>,
    /// Where in it the bytes begin that come next.
    from: usize,
    at: u64,
    /// Which file of a folder it is.
    part: Option<u32>,
}

/// Whether these bytes begin with the number, in either order of bytes.
pub(super) fn begin_with(bytes: &[u8], number: u32) -> bool {
    let first = bytes.first_chunk::<4>();
    first.is_some_and(|first| [u32::from_le_bytes(*first), u32::from_be_bytes(*first)].contains(&number))
}

impl<R: BufRead> Packets<R> {
    pub(super) fn new(reader: R) -> Packets<R> {
        Packets { reader, ahead: Vec::new(), from: 0, at: 0, part: None }
    }

    /// Those of a file of a folder.
    pub(super) fn of_part(reader: R, part: u32) -> Packets<R> {
        Packets { part: Some(part), ..Packets::new(reader) }
    }

    /// The place of a byte.
    pub(super) fn origin(&self, byte: u64) -> Origin {
        self.part.map_or(Origin::Byte(byte), |part| Origin::Part { part, byte })
    }

    /// The byte that comes next.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The next bytes, fewer at the end.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn ahead(&mut self, count: u64) -> io::Result<&[u8]> {
        let missing = count.saturating_sub(self.left().len() as u64);
        (&mut self.reader).take(missing).read_to_end(&mut self.ahead)?;
        let left = self.left();
        Ok(&left[..usize::try_from(count).unwrap_or(usize::MAX).min(left.len())])
    }

    fn left(&self) -> &[u8] {
        &self.ahead[self.from..]
    }

    pub(super) fn skip(&mut self, count: usize) {
        let count = count.min(self.left().len());
        self.from += count;
        self.at += count as u64;
        // What is left moves only where it is the smaller part: each byte once, on average.
        if self.from > self.ahead.len() / 2 {
            self.ahead.drain(..self.from);
            self.from = 0;
        }
    }

    /// Skips to where a packet begins; false where none does.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn skip_to_packet(&mut self) -> io::Result<bool> {
        const STEP: u64 = 64 << 10;
        loop {
            let bytes = self.ahead(STEP)?;
            let length = bytes.len();
            let found = bytes.windows(4).position(|four| begin_with(four, PACKET));
            self.skip(found.unwrap_or(length.saturating_sub(3)));
            if found.is_some() {
                return Ok(true);
            }
            if (length as u64) < STEP {
                return Ok(false);
            }
        }
    }

    /// Where the first packet begins, in what was read ahead.
    fn end_of_text(&mut self) -> io::Result<usize> {
        let mut length = 64 << 10;
        loop {
            let bytes = self.ahead(length)?;
            if let Some(end) = bytes.windows(4).position(|four| begin_with(four, PACKET)) {
                return Ok(end);
            }
            if (bytes.len() as u64) < length || length >= MOST_METADATA {
                return Ok(bytes.len());
            }
            length *= 2;
        }
    }

    /// The text of the metadata, which the file begins with; why there is none.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn metadata(&mut self) -> io::Result<Result<String, String>> {
        let mut text = Vec::new();
        if !begin_with(self.ahead(4)?, METADATA) {
            let end = self.end_of_text()?;
            text.extend_from_slice(&self.left()[..end]);
            self.skip(end);
        }
        while begin_with(self.ahead(4)?, METADATA) {
            let head = self.ahead(HEAD as u64)?;
            let is_big = head.starts_with(&METADATA.to_be_bytes());
            let Some((content, size)) = sizes(head, is_big) else {
                let what = "a packet of metadata is too short or too long, compressed or encrypted";
                return Ok(Err(format!("byte {}: {what}", self.at)));
            };
            let packet = self.ahead(size as u64)?;
            let Some(content) = packet.get(HEAD..content) else {
                return Ok(Err(format!("byte {}: the metadata ends within a packet", self.at)));
            };
            if (text.len() + content.len()) as u64 > MOST_METADATA {
                let what = "more metadata than any tracer writes";
                return Ok(Err(format!("byte {}: {what}: {MOST_METADATA} bytes at most", self.at)));
            }
            text.extend_from_slice(content);
            self.skip(size);
        }
        Ok(String::from_utf8(text)
            .map_err(|error| format!("its byte {} is no text in UTF-8", error.utf8_error().valid_up_to())))
    }
}

/// Bytes of a metadata packet: its content with the head, and all.
fn sizes(head: &[u8], is_big: bool) -> Option<(usize, usize)> {
    let number = |at: usize| {
        let bytes = *head.get(at..)?.first_chunk::<4>()?;
        Some(if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let is_plain = head.get(32..34)? == [0, 0];
    let (content, size) = (number(24)? as usize / 8, number(28)? as usize / 8);
    let is_right = is_plain && (HEAD..=size).contains(&content) && size as u64 <= LARGEST;
    is_right.then_some((content, size))
}
