//! Numbers and texts of a chunk.

use std::rc::Rc;

/// Why a chunk cannot be read further.
pub(super) type Broken = String;

/// A place in a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
    /// Where what is read ends: the event's end, or the chunk's.
    end: usize,
    is_compressed: bool,
    /// How many values without a byte were met.
    empty: u32,
}

/// The most values without a byte in an event: a damaged class could have any number.
const MOST_EMPTY: u32 = 64;

/// A text, or a reference to one in the pool of `java.lang.String`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    None,
    Here(Rc<str>),
    Pooled(u64),
}

impl<'a> Bytes<'a> {
    pub(super) fn new(all: &'a [u8], at: usize, is_compressed: bool) -> Bytes<'a> {
        Bytes { all, at, end: all.len(), is_compressed, empty: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    /// The size and type of the event here, and what follows them up to its end. This goes on after it.
    pub(super) fn event(&mut self) -> Result<(u64, Bytes<'a>), Broken> {
        let begin = self.at;
        let size = usize::try_from(self.whole(4)?).unwrap_or(usize::MAX);
        let kind = self.whole(8)?;
        let end = begin.checked_add(size).filter(|end| *end <= self.end && *end >= self.at);
        let end = end.ok_or_else(|| format!("an event of {size} bytes, which the chunk does not hold"))?;
        let content = Bytes { end, ..*self };
        self.at = end;
        Ok((kind, content))
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Broken> {
        let taken = self.all.get(..self.end).and_then(|all| all.get(self.at..)?.get(..length));
        let taken = taken.ok_or_else(|| "an event ends within a value".to_owned())?;
        self.at += length;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Broken> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// A whole number of so many bytes; a varint where the chunk has those: seven bits in each byte, eight in the ninth.
    pub(super) fn whole(&mut self, width: usize) -> Result<u64, Broken> {
        if !self.is_compressed {
            return Ok(self.take(width)?.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)));
        }
        let mut number = 0;
        for index in 0..9 {
            let byte = self.byte()?;
            let bits = if index == 8 { byte } else { byte & 0x7f };
            number |= u64::from(bits) << (7 * index);
            if index == 8 || byte & 0x80 == 0 {
                break;
            }
        }
        Ok(number)
    }

    /// A value without a byte.
    pub(super) fn nothing(&mut self) -> Result<(), Broken> {
        self.empty += 1;
        if self.empty > MOST_EMPTY {
            Err("more than 64 values without content in an event".to_owned())
        } else {
            Ok(())
        }
    }

    /// How many elements follow; each has a byte at least.
    pub(super) fn count(&mut self) -> Result<usize, Broken> {
        let count = self.whole(4)?;
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.left())
            .ok_or_else(|| format!("an array of {count} elements, which its event does not hold"))
    }

    pub(super) fn text(&mut self) -> Result<Text, Broken> {
        Ok(match self.byte()? {
            0 => Text::None,
            1 => Text::Here(Rc::from("")),
            2 => Text::Pooled(self.whole(8)?),
            3 => {
                let length = self.count()?;
                Text::Here(String::from_utf8_lossy(self.take(length)?).into())
            }
            4 => {
                let units: Result<Vec<u16>, Broken> = (0..self.count()?).map(|_| self.unit()).collect();
                Text::Here(String::from_utf16_lossy(&units?).into())
            }
            5 => {
                let length = self.count()?;
                Text::Here(self.take(length)?.iter().map(|byte| char::from(*byte)).collect::<String>().into())
            }
            other => return Err(format!("a text of the unknown form {other}")),
        })
    }

    /// A `char` of Java.
    fn unit(&mut self) -> Result<u16, Broken> {
        let unit = self.whole(2)?;
        u16::try_from(unit).map_err(|_| format!("a character {unit:#x} of more than 16 bits"))
    }
}
