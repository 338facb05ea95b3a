//! The bits of a packet, from its begin on, and how much work a trace may make.

use std::cell::Cell;

/// How many values may be read in all: some, and so many for each byte of the trace. A value of a bit is eight to a byte, and heads are read twice.
/// `None`: it is used up, and nothing is allowed any more.
#[derive(Debug)]
pub(super) struct Work(Cell<Option<u64>>);

const AT_FIRST: u64 = 1 << 22;
const EACH_BYTE: u64 = 64;

impl Work {
    pub(super) fn new() -> Work {
        Work(Cell::new(Some(AT_FIRST)))
    }

    /// So many bytes were passed.
    pub(super) fn allow(&self, bytes: u64) {
        let more = bytes.saturating_mul(EACH_BYTE);
        self.0.set(self.0.get().map(|left| left.saturating_add(more)));
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.0.get().is_none()
    }

    fn take(&self, count: u64) -> Option<()> {
        let left = self.0.get().and_then(|left| left.checked_sub(count));
        self.0.set(left);
        left.map(drop)
    }
}

/// A place in a packet.
#[derive(Clone, Debug)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: u64,
    /// The first bit after what is read.
    end: u64,
    /// The trace's integers have their most significant byte first.
    is_big: bool,
    /// How many values may still be read: those without a size have no end.
    steps: u64,
    work: &'a Work,
}

/// So many values are looked through as fast as one is read.
const LOOKED_THROUGH: u64 = 256;

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8], is_big: bool, work: &'a Work) -> Bits<'a> {
        let end = 8 * bytes.len() as u64;
        Bits { bytes, at: 0, end, is_big, steps: 4096 + end, work }
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Only so many bits are content.
    pub(super) fn end_at(&mut self, end: u64) {
        self.end = self.end.min(end);
    }

    /// Before each value; `None` where there are too many.
    pub(super) fn step(&mut self) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        self.work.take(1)
    }

    /// After so many values were looked through.
    pub(super) fn looked_through(&mut self, values: usize) -> Option<()> {
        self.work.take(values as u64 / LOOKED_THROUGH)
    }

    pub(super) fn is_over(&self) -> bool {
        self.at >= self.end
    }

    /// Skips to a multiple of `align` bits.
    pub(super) fn align(&mut self, align: u64) -> Option<()> {
        let at = self.at.checked_next_multiple_of(align.max(1))?;
        self.at = at;
        Some(())
    }

    /// The next bits, 1 to 64.
    pub(super) fn take(&mut self, count: u32, is_big: Option<bool>) -> Option<u64> {
        let (from, to) = (self.at, self.at.checked_add(count.into())?);
        if to > self.end {
            return None;
        }
        self.at = to;
        let (first, last) = (usize::try_from(from / 8).ok()?, usize::try_from(to.div_ceil(8)).ok()?);
        let bytes = self.bytes.get(first..last)?;
        // At most nine bytes.
        let join = |all: u128, byte: &u8| all << 8 | u128::from(*byte);
        let mask = u128::from(u64::MAX) >> (64 - count);
        let value = if is_big.unwrap_or(self.is_big) {
            bytes.iter().fold(0, join) >> (8 * last as u64 - to)
        } else {
            bytes.iter().rev().fold(0, join) >> (from % 8)
        };
        u64::try_from(value & mask).ok()
    }

    /// The bytes up to a zero, which is passed over.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let (from, end) = (usize::try_from(self.at / 8).ok()?, usize::try_from(self.end / 8).ok()?);
        let rest = self.bytes.get(from..end)?;
        let length = memchr::memchr(0, rest)?;
        self.at += 8 * (length as u64 + 1);
        Some(&rest[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the bits of `0xa5`, 1 0 1 0 0 1 0 1, and `0x3c`, 0 0 1 1 1 1 0 0, counted by hand.
    #[test]
    fn bits_come_from_the_end_that_the_order_says() {
        let work = Work::new();
        let mut little = Bits::new(&[0xa5, 0x3c], false, &work);
        assert_eq!([5, 7].map(|count| little.take(count, None)), [Some(0b0_0101), Some(0b110_0101)]);
        assert_eq!((little.take(5, None), little.take(4, None)), (None, Some(0b0011)));
        let mut big = Bits::new(&[0xa5, 0x3c], true, &work);
        assert_eq!([5, 7].map(|count| big.take(count, None)), [Some(0b1_0100), Some(0b101_0011)]);
        assert_eq!(Bits::new(&[1; 9], false, &work).take(64, None), Some(0x0101_0101_0101_0101));
    }

    #[test]
    fn a_text_ends_with_a_zero() {
        let work = Work::new();
        let mut bits = Bits::new(b"ab\0cd", false, &work);
        assert_eq!((bits.text(), bits.text()), (Some(&b"ab"[..]), None));
    }
}
