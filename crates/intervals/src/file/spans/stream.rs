//! Binary files front to back: bytes, varints and blocks, with the place of each.

use std::io::{self, BufRead, Read as _};

/// The most bytes of a varint: 64 bits, seven in each.
const LONGEST_VARINT: usize = 10;

/// A file and how far it was read.
pub(super) struct Stream<R> {
    reader: R,
    at: u64,
}

/// The varint at the beginning, least significant bits first, and what follows it.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().take(LONGEST_VARINT).position(|byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at(length);
    let value = number.iter().rev().fold(0, |value, byte| (value << 7) | u64::from(byte & 0x7f));
    Some((value, rest))
}

impl<R: BufRead> Stream<R> {
    pub(super) fn new(reader: R) -> Stream<R> {
        Stream { reader, at: 0 }
    }

    /// The byte that comes next.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn byte(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        let read = (&mut self.reader).take(1).read(&mut byte)?;
        self.at += read as u64;
        Ok((read == 1).then_some(byte[0]))
    }

    /// A varint; `None` where the file ends in it, or it has no end.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn varint(&mut self) -> io::Result<Option<u64>> {
        let mut bytes = Vec::with_capacity(LONGEST_VARINT);
        while bytes.len() < LONGEST_VARINT {
            let Some(byte) = self.byte()? else { return Ok(None) };
            bytes.push(byte);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(varint(&bytes).map(|(number, _)| number))
    }

    /// Appends so many bytes to `buffer`; false where the file ends before. Allocates what is there, not what is claimed.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn block(&mut self, length: u64, buffer: &mut Vec<u8>) -> io::Result<bool> {
        let read = (&mut self.reader).take(length).read_to_end(buffer)? as u64;
        self.at += read;
        Ok(read == length)
    }

    /// Skips so many bytes; false where the file ends before.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn skip(&mut self, length: u64) -> io::Result<bool> {
        let skipped = io::copy(&mut (&mut self.reader).take(length), &mut io::sink())?;
        self.at += skipped;
        Ok(skipped == length)
    }
}

#[cfg(test)]
pub(super) mod written {
    //! What tests read is written here.

    /// A varint.
    pub(in crate::file::spans) fn varint(mut value: u64) -> Vec<u8> {
        let mut written = Vec::new();
        loop {
            let byte = u8::try_from(value & 0x7f).expect("seven bits");
            value >>= 7;
            written.push(byte | if value == 0 { 0 } else { 0x80 });
            if value == 0 {
                return written;
            }
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let bytes = [varint(value), vec![7]].concat();
            assert_eq!(super::varint(&bytes), Some((value, &[7][..])));
        }
        assert_eq!(super::varint(&[0x80; 9]), None);
        assert_eq!(super::varint(&[0x80; 11]), None);
    }
}
