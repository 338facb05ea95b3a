//! Where in a span file the reader is: a byte stream that counts bytes and lines, and bounds what one span may take.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use crate::findings::Origin;

/// The most bytes of one span.
pub(super) const LONGEST_SPAN: u64 = 16 << 20;

/// The position, shared by the reader and those who take its spans.
#[derive(Debug)]
pub(super) struct Position {
    bytes: Cell<u64>,
    line: Cell<u64>,
    /// The two bytes that were read last.
    last: Cell<[u8; 2]>,
    /// Where the span in progress must have ended.
    limit: Cell<u64>,
    exceeded: Cell<bool>,
}

/// Counts what is read.
pub(super) struct Placed<R> {
    inner: R,
    position: Rc<Position>,
    /// The `{` that was read last is to be read again.
    again: bool,
}

impl Default for Position {
    /// Before the first byte.
    fn default() -> Position {
        Position {
            bytes: Cell::new(0),
            line: Cell::new(1),
            last: Cell::new(*b"\n\n"),
            limit: Cell::new(u64::MAX),
            exceeded: Cell::new(false),
        }
    }
}

impl Position {
    /// The place of the byte that was read last.
    pub(super) fn here(&self) -> Origin {
        Origin::Text { line: self.line.get(), byte: self.bytes.get().saturating_sub(1) }
    }

    /// A span begins with the byte that was read last; its place.
    pub(super) fn begin(&self) -> Origin {
        self.limit.set(self.bytes.get().saturating_add(LONGEST_SPAN));
        self.here()
    }

    /// The span has ended; what lies between spans is skipped, not kept.
    pub(super) fn end(&self) {
        self.limit.set(u64::MAX);
    }

    /// Whether reading ended because a span was too long.
    pub(super) fn exceeded(&self) -> bool {
        self.exceeded.get()
    }
}

impl<R: BufRead> Placed<R> {
    pub(super) fn new(inner: R) -> Placed<R> {
        Placed { inner, position: Rc::default(), again: false }
    }

    pub(super) fn position(&self) -> Rc<Position> {
        Rc::clone(&self.position)
    }

    /// Skips blanks; the byte that follows, which is not taken.
    pub(super) fn next_byte(&mut self) -> io::Result<Option<u8>> {
        loop {
            if self.again {
                return Ok(Some(b'{'));
            }
            match self.inner.fill_buf()?.first() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => {}
                other => return Ok(other.copied()),
            }
            self.take_byte()?;
        }
    }

    /// After an error: skips to the next line that begins with an object; false where there is none.
    pub(super) fn skip_to_object(&mut self) -> io::Result<bool> {
        self.position.end();
        self.position.exceeded.set(false);
        // The line before stopped short, and the error is that this one begins.
        self.again = self.position.last.get() == *b"\n{";
        if self.again {
            return Ok(true);
        }
        loop {
            if self.position.last.get()[1] == b'\n' && self.inner.fill_buf()?.first() == Some(&b'{') {
                return Ok(true);
            }
            if !self.skip_line()? {
                return Ok(false);
            }
        }
    }

    /// Takes the rest of the line; false at the end of the file.
    fn skip_line(&mut self) -> io::Result<bool> {
        loop {
            let chunk = self.inner.fill_buf()?;
            if chunk.is_empty() {
                return Ok(false);
            }
            let end = memchr::memchr(b'\n', chunk);
            let taken = end.map_or(chunk.len(), |at| at + 1);
            let counted = chunk[..taken].to_vec();
            self.inner.consume(taken);
            self.count(&counted);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn take_byte(&mut self) -> io::Result<()> {
        let mut byte = [0];
        self.read(&mut byte).map(drop)
    }

    fn count(&self, taken: &[u8]) {
        let Some(&last) = taken.last() else { return };
        let position = &*self.position;
        // A line ends with its LF: that byte still belongs to it.
        let [_, before] = position.last.get();
        let begun = u64::from(position.bytes.get() > 0 && before == b'\n');
        let within = memchr::memchr_iter(b'\n', &taken[..taken.len() - 1]).count() as u64;
        position.line.set(position.line.get() + begun + within);
        position.bytes.set(position.bytes.get() + taken.len() as u64);
        let before = taken.len().checked_sub(2).map_or(before, |index| taken[index]);
        position.last.set([before, last]);
    }
}

impl<R: BufRead> Read for Placed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position.bytes.get() > self.position.limit.get() {
            self.position.exceeded.set(true);
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a span of more than 16 MiB"));
        }
        if let (true, Some(first)) = (self.again, buffer.first_mut()) {
            self.again = false;
            *first = b'{';
            return Ok(1);
        }
        let taken = self.inner.read(buffer)?;
        self.count(&buffer[..taken]);
        Ok(taken)
    }
}
