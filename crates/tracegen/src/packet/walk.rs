//! Where each packet of a PT byte stream begins.
//!
//! Input: the bytes of one AUX buffer. Output: packets in order with offset, length and kind, as far as a repeater or a
//! damage kit needs them. Bytes that are no packet are skipped up to the next PSB; the walk always moves on.
//! Source: Intel SDM vol. 3, chapter "Intel Processor Trace".

use memchr::memmem;

/// What a packet is, as far as copying and shifting a trace needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// A sync point.
    Psb,
    /// End of the packets that follow a PSB.
    PsbEnd,
    /// A time stamp: seven payload bytes follow the first byte.
    Tsc,
    /// Tracing begins.
    TipPge,
    /// Tracing ends.
    TipPgd,
    /// An address: inside PSB+ it says that tracing is on.
    Fup,
    /// Any other packet.
    Other,
    /// Bytes that are no packet, up to the next PSB or the end.
    Foreign,
}

/// Sixteen bytes that occur in no other place of a valid stream.
pub(crate) const PSB: [u8; 16] = *b"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82";

/// Iterates over `(offset, length, kind)` of the packets in a byte stream, starting at offset 0.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// Item size while inside a block of PEBS items.
    block_item: Option<usize>,
}

impl<'a> Walk<'a> {
    /// Starts at the first byte of `bytes`, which should be the first byte of a packet.
    pub fn new(bytes: &'a [u8]) -> Self {
        Walk { bytes, offset: 0, block_item: None }
    }

    /// Length and kind of the packet at the front of `rest`; `None` if it is none or cut short.
    fn packet(&mut self, rest: &[u8]) -> Option<(usize, Walked)> {
        let first = *rest.first()?;
        if let (Some(item), 0x04) = (self.block_item, first & 0x07) {
            return Some((1 + item, Walked::Other));
        }
        match first {
            0x00 => Some((1, Walked::Other)),
            0x02 => self.extended(rest),
            0x19 => Some((8, Walked::Tsc)),
            0xd9 => Some((if *rest.get(1)? & 0x40 == 0 { 3 } else { 5 }, Walked::Other)),
            0x59 | 0x99 => Some((2, Walked::Other)),
            _ if first & 0x03 == 0x03 => Some((cyc_length(rest)?, Walked::Other)),
            _ if first & 0x01 == 0 => Some((1, Walked::Other)),
            _ => {
                let payload = [0, 2, 4, 6, 6, usize::MAX, 8, usize::MAX][usize::from(first >> 5)];
                let kind = match first & 0x1f {
                    0x0d => Walked::Other,
                    0x11 => Walked::TipPge,
                    0x01 => Walked::TipPgd,
                    0x1d => Walked::Fup,
                    _ => return None,
                };
                Some((payload.checked_add(1)?, kind))
            }
        }
    }

    /// Packets whose first byte is 0x02.
    fn extended(&mut self, rest: &[u8]) -> Option<(usize, Walked)> {
        let second = *rest.get(1)?;
        let found = match second {
            0x82 => return rest.starts_with(&PSB).then_some((16, Walked::Psb)),
            0x23 => (2, Walked::PsbEnd),
            0x83 | 0x62 | 0xe2 => (2, Walked::Other),
            0x33 | 0xb3 | 0xf3 => {
                // A block ends with BEP, and with an overflow.
                self.block_item = None;
                (2, Walked::Other)
            }
            0x63 => {
                self.block_item = Some(if *rest.get(2)? & 0x80 == 0 { 8 } else { 4 });
                (3, Walked::Other)
            }
            0x03 | 0x22 | 0x13 => (4, Walked::Other),
            0x73 | 0xa2 | 0xc8 => (7, Walked::Other),
            0x43 | 0xa3 => (8, Walked::Other),
            0xc2 => (10, Walked::Other),
            0x53 | 0xc3 => (11, Walked::Other),
            _ if second & 0x7f == 0x12 => (6, Walked::Other),
            _ if second & 0x7f == 0x32 => (10, Walked::Other),
            _ => return None,
        };
        Some(found)
    }
}

impl Iterator for Walk<'_> {
    type Item = (usize, usize, Walked);

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.offset;
        let rest = self.bytes.get(offset..).filter(|rest| !rest.is_empty())?;
        let found = self.packet(rest).filter(|&(length, _)| length <= rest.len());
        let (length, kind) = found.unwrap_or_else(|| {
            self.block_item = None;
            (1 + memmem::find(&rest[1..], &PSB).unwrap_or(rest.len() - 1), Walked::Foreign)
        });
        self.offset += length;
        Some((offset, length, kind))
    }
}

/// Length of a CYC packet; `None` if it is cut short or longer than 64 bits of payload need.
fn cyc_length(rest: &[u8]) -> Option<usize> {
    if rest[0] & 0x04 == 0 {
        return Some(1);
    }
    let more = rest[1..].iter().take(9).position(|byte| byte & 1 == 0)?;
    Some(more + 2)
}
