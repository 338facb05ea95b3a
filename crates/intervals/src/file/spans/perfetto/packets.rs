//! The frame of a trace: packets one after the other, each bounded.

use std::io::{self, BufRead};

use super::PACKET_TAG;
use crate::file::spans::stream::{Stream, varint};

/// The most bytes of a packet.
const LARGEST_PACKET: u64 = 16 << 20;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    Packet {
        /// The byte that its tag has in the file.
        at: u64,
        bytes: &'a [u8],
    },
    /// What is left out. After it the next packet follows, or the end where it is not known where that is.
    Wrong {
        at: u64,
        what: String,
    },
    End,
}

pub(super) struct Packets<R> {
    stream: Stream<R>,
    buffer: Vec<u8>,
    is_over: bool,
}

/// The content of the packet that `bytes` begin with, where all of it is there and another packet, or nothing, follows.
pub(super) fn first(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = varint(bytes.strip_prefix(&[PACKET_TAG])?)?;
    let (packet, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    after.first().is_none_or(|tag| *tag == PACKET_TAG).then_some(packet)
}

/// Whether `bytes` are fields of a message.
pub(super) fn are_fields(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some(after) = after_field(bytes) else { return false };
        bytes = after;
    }
    true
}

/// What follows the field at the beginning.
fn after_field(bytes: &[u8]) -> Option<&[u8]> {
    let (tag, value) = varint(bytes)?;
    let length = match tag & 7 {
        0 => return varint(value).map(|(_, after)| after),
        1 => 8,
        2 => {
            let (length, content) = varint(value)?;
            return content.get(usize::try_from(length).ok()?..);
        }
        5 => 4,
        _ => return None,
    };
    value.get(length..).filter(|_| tag >> 3 != 0)
}

impl<R: BufRead> Packets<R> {
    pub(super) fn new(reader: R) -> Packets<R> {
        Packets { stream: Stream::new(reader), buffer: Vec::new(), is_over: false }
    }

    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Found<'_>> {
        let at = self.stream.at();
        if self.is_over {
            return Ok(Found::End);
        }
        let Some(tag) = self.stream.byte()? else { return Ok(Found::End) };
        if tag != PACKET_TAG {
            self.is_over = true;
            let what = format!(
                "a byte {tag:#04x} where a packet begins with {PACKET_TAG:#04x}: the file is read up to it"
            );
            return Ok(Found::Wrong { at, what });
        }
        let Some(length) = self.stream.varint()? else { return Ok(self.cut_off(at)) };
        if length > LARGEST_PACKET {
            if !self.stream.skip(length)? {
                return Ok(self.cut_off(at));
            }
            let what = format!("a packet of {length} bytes, more than 16 MiB: it is left out");
            return Ok(Found::Wrong { at, what });
        }
        self.buffer.clear();
        if !self.stream.block(length, &mut self.buffer)? {
            return Ok(self.cut_off(at));
        }
        Ok(Found::Packet { at, bytes: &self.buffer })
    }

    fn cut_off(&mut self, at: u64) -> Found<'static> {
        self.is_over = true;
        let what = "the file ends here, within a packet: it was cut off, or its program still writes it; the packets before are used";
        Found::Wrong { at, what: what.to_owned() }
    }
}
