//! One field of a tracepoint's payload: where it lies and how to read it.

use std::ops::Range;

use crate::bytes::Fields;

/// A field's value, borrowed from the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// An unsigned number, an enumeration or an address.
    Unsigned(u64),
    /// A signed number.
    Signed(i64),
    /// Text without its NUL; bytes, because names in the kernel need not be UTF-8.
    Text(&'a [u8]),
    /// Anything else: arrays of numbers, structures.
    Bytes(&'a [u8]),
}

impl FieldValue<'_> {
    /// The number, where it is one and not negative.
    pub fn as_u64(self) -> Option<u64> {
        match self {
            FieldValue::Unsigned(value) => Some(value),
            FieldValue::Signed(value) => u64::try_from(value).ok(),
            FieldValue::Text(_) | FieldValue::Bytes(_) => None,
        }
    }

    /// The number, where it is one that fits.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            FieldValue::Unsigned(value) => i64::try_from(value).ok(),
            FieldValue::Signed(value) => Some(value),
            FieldValue::Text(_) | FieldValue::Bytes(_) => None,
        }
    }

    /// The text, where it is one; what is not UTF-8 becomes U+FFFD.
    pub fn as_text(self) -> Option<String> {
        match self {
            FieldValue::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }
}

/// How a field's bytes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// In place.
    Fixed,
    /// A 32-bit word in place: length << 16 | offset in the payload (`__data_loc`).
    Data,
    /// The same with the offset counted from the end of the word (`__rel_loc`).
    Relative,
}

/// One field of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointField {
    pub(super) name: String,
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) signed: bool,
    pub(super) array: bool,
    pub(super) text: bool,
    pub(super) location: Location,
}

impl TracepointField {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its first byte in the payload.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Its length in the payload in bytes; of a `__data_loc` field, the length of the word that points to it.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether a number in it is signed.
    pub fn is_signed(&self) -> bool {
        self.signed
    }

    /// Whether it is an array of any kind, dynamic ones included.
    pub fn is_array(&self) -> bool {
        self.array
    }

    /// Reads it out of a payload; `None` where the payload is too short.
    pub fn value<'a>(&self, payload: &'a [u8]) -> Option<FieldValue<'a>> {
        let bytes = self.bytes(payload)?;
        if self.text {
            return Some(FieldValue::Text(Fields::new(bytes).c_string()));
        }
        if self.array || self.location != Location::Fixed {
            return Some(FieldValue::Bytes(bytes));
        }
        Some(number(bytes, self.signed).unwrap_or(FieldValue::Bytes(bytes)))
    }

    /// `payload` with `text` in this field, and what it held zeroed. What has no room is cut off; what would lie further
    /// away than a `__data_loc` reaches is left empty.
    pub(crate) fn with_text(&self, payload: &[u8], text: &[u8]) -> Option<Vec<u8>> {
        let place = self.place(payload)?;
        let mut new = payload.to_vec();
        new[place.clone()].fill(0);
        if self.location == Location::Fixed {
            let length = text.len().min(place.len().saturating_sub(1));
            new[place.start..place.start + length].copy_from_slice(&text[..length]);
            return Some(new);
        }
        let base = if self.location == Location::Relative { self.offset + self.size } else { 0 };
        let (length, at) = (u16::try_from(text.len() + 1), u16::try_from(new.len().saturating_sub(base)));
        if let (Ok(length), Ok(at)) = (length, at) {
            new.extend_from_slice(text);
            new.push(0);
            let word = u32::from(length) << 16 | u32::from(at);
            new[self.offset..self.offset + 4].copy_from_slice(&word.to_le_bytes());
        }
        Some(new)
    }

    fn bytes<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        payload.get(self.place(payload)?)
    }

    /// Where its value lies in `payload`.
    fn place(&self, payload: &[u8]) -> Option<Range<usize>> {
        let end = self.offset.checked_add(self.size)?;
        let in_place = payload.get(self.offset..end)?;
        if self.location == Location::Fixed {
            return Some(self.offset..end);
        }
        let word = Fields::new(in_place).u32()?;
        let (length, offset) = ((word >> 16) as usize, (word & 0xffff) as usize);
        let start = if self.location == Location::Relative { end.checked_add(offset)? } else { offset };
        let stop = start.checked_add(length)?;
        (stop <= payload.len()).then_some(start..stop)
    }
}

#[allow(clippy::cast_possible_wrap)] // Reinterprets the bits, as the format says they are signed.
fn number(bytes: &[u8], signed: bool) -> Option<FieldValue<'static>> {
    let mut fields = Fields::new(bytes);
    let (value, unused_bits) = match bytes.len() {
        1 => (u64::from(fields.u8()?), 56),
        2 => (u64::from(fields.u16()?), 48),
        4 => (u64::from(fields.u32()?), 32),
        8 => (fields.u64()?, 0),
        _ => return None,
    };
    if signed {
        return Some(FieldValue::Signed((value << unused_bits) as i64 >> unused_bits));
    }
    Some(FieldValue::Unsigned(value))
}
