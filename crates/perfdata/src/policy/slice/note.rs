//! The feature section of a slice's maker. perf skips sections whose number it does not know.
//!
//! Layout, little-endian: the magic, u32 version, u32 flags, u64 length of the maker's words, the words; then, for each
//! record in the order of the slice, where it stood in the recording: LEB128 of the zigzag difference to the one before.

use model::FileOffset;

use crate::bytes::Fields;
use crate::header::Header;

/// The last number there is (`HEADER_FEAT_BITS` is 256): perf counts up from 0 and is at 31.
pub(super) const FEATURE: u32 = 255;
const MAGIC: &[u8; 16] = b"tailtrace slice\0";
const VERSION: u32 = 1;
/// The recording was a snapshot itself.
const WAS_SNAPSHOT: u32 = 1;

/// What the maker of a slice adds for its reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceNote {
    /// Whether the recording was a snapshot. A slice says so of itself where its PT bytes have holes.
    pub was_snapshot: bool,
    /// The maker's own words.
    pub bytes: Vec<u8>,
    /// Where each record stood in the recording, in the order of the slice; AUXTRACE records are not among them.
    pub(crate) origins: Vec<FileOffset>,
}

impl SliceNote {
    /// The note in a file with this header, if there is one.
    pub(crate) fn of(file: &[u8], header: &Header) -> Option<SliceNote> {
        let (_, section) = header.features.iter().find(|(bit, _)| *bit == FEATURE)?;
        SliceNote::parse(&file[section.clone()])
    }

    /// Reads the section; `None` where it is somebody else's or of a version that is not known.
    fn parse(section: &[u8]) -> Option<SliceNote> {
        let mut fields = Fields::new(section);
        if fields.bytes(MAGIC.len())? != MAGIC || fields.u32()? != VERSION {
            return None;
        }
        let was_snapshot = fields.u32()? & WAS_SNAPSHOT != 0;
        let length = fields.u64()?;
        let bytes = fields.counted_bytes(length)?.to_vec();
        Some(SliceNote { was_snapshot, bytes, origins: read_origins(fields)? })
    }

    /// The section.
    pub(crate) fn section(&self) -> Vec<u8> {
        let flags = if self.was_snapshot { WAS_SNAPSHOT } else { 0 };
        let length = self.bytes.len() as u64;
        let mut section =
            [&MAGIC[..], &VERSION.to_le_bytes(), &flags.to_le_bytes(), &length.to_le_bytes()].concat();
        section.extend_from_slice(&self.bytes);
        let mut before = 0;
        for origin in &self.origins {
            let difference = origin.0.wrapping_sub(before).cast_signed();
            write_number(&mut section, (difference << 1 ^ difference >> 63).cast_unsigned());
            before = origin.0;
        }
        section
    }
}

fn read_origins(mut fields: Fields<'_>) -> Option<Vec<FileOffset>> {
    let mut origins = Vec::new();
    let mut at = 0u64;
    while !fields.is_empty() {
        let number = read_number(&mut fields)?;
        let difference = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
        at = at.wrapping_add(difference.cast_unsigned());
        origins.push(FileOffset(at));
    }
    Some(origins)
}

/// LEB128, as DWARF has it.
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn read_number(fields: &mut Fields<'_>) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = fields.u8()?;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
