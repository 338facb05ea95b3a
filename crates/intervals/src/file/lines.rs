//! A text file line by line, each bounded: input is any byte stream, output lines with their numbers, without LF, CRLF
//! and byte order mark.

use std::io::{self, BufRead, Read};

/// The longest line that is read, in bytes.
pub(super) const LONGEST_LINE: u64 = 1 << 20;

/// A line, or what is left of one that was too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// The bytes of the line.
    Text(&'a [u8]),
    /// More than [`LONGEST_LINE`] bytes; skipped to its end.
    TooLong,
}

/// Reads lines one after the other into one buffer.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
    bytes: u64,
    /// The line before was too long, and its rest is not read yet: a device without line ends has no end either.
    rest_of_line: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Lines<R> {
        Lines { reader, buffer: Vec::new(), number: 0, bytes: 0, rest_of_line: false }
    }

    /// Number of the line that was read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// How many bytes the lines had, with their ends, where none was too long.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What was read of the line that was read last, with its end.
    pub(super) fn raw(&self) -> &[u8] {
        &self.buffer
    }

    /// What of the file is at hand before anything is read.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn beginning(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    /// All of the file, where one line at most was read.
    pub(super) fn into_whole(self) -> impl BufRead {
        let read = if self.buffer.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut begun = io::Cursor::new(self.buffer);
        begun.set_position(read);
        begun.chain(self.reader)
    }

    /// What follows the line that was read last.
    pub(super) fn into_reader(self) -> R {
        self.reader
    }

    /// The next line; `None` at the end of the file.
    pub(super) fn read(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        if std::mem::take(&mut self.rest_of_line) {
            self.skip_to_line_end()?;
        }
        let taken = (&mut self.reader).take(LONGEST_LINE + 1).read_until(b'\n', &mut self.buffer)?;
        if taken == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += taken as u64;
        if self.buffer.last() != Some(&b'\n') && self.buffer.len() as u64 > LONGEST_LINE {
            self.rest_of_line = true;
            return Ok(Some(Line::TooLong));
        }
        let mut text = self.buffer.as_slice();
        text = text.strip_suffix(b"\n").unwrap_or(text);
        text = text.strip_suffix(b"\r").unwrap_or(text);
        if self.number == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        Ok(Some(Line::Text(text)))
    }

    fn skip_to_line_end(&mut self) -> io::Result<()> {
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                return Ok(());
            }
            if let Some(at) = memchr::memchr(b'\n', chunk) {
                self.reader.consume(at + 1);
                return Ok(());
            }
            let all = chunk.len();
            self.reader.consume(all);
        }
    }
}
