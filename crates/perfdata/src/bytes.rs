//! Reads little-endian fields one after the other, never beyond the end.
//!
//! Every read answers `None` where the bytes do not suffice, so a lying length cannot do harm: `?` ends the parse.

/// What is left to read of a piece of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { rest: bytes }
    }

    /// The bytes not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    /// As many bytes as a 64-bit field of the file says.
    pub(crate) fn counted_bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        self.bytes(usize::try_from(count).ok()?)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A count that says how many items of at least `item_size` bytes follow; `None` where that many cannot.
    ///
    /// The check before any allocation by a count out of the file.
    pub(crate) fn count(&self, count: u64, item_size: usize) -> Option<usize> {
        let count = usize::try_from(count).ok()?;
        (count.checked_mul(item_size)? <= self.rest.len()).then_some(count)
    }

    /// Bytes up to a NUL, which is skipped; all that is left where there is none.
    pub(crate) fn c_string(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let text = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
        text
    }

    /// A string of the feature sections: 32-bit length, padded bytes with a NUL.
    pub(crate) fn string(&mut self) -> Option<String> {
        let length = self.u32()?;
        let padded = self.counted_bytes(length.into())?;
        Some(text(padded))
    }

    /// A counted list of such strings.
    pub(crate) fn strings(&mut self) -> Option<Vec<String>> {
        let count = self.u32()?;
        (0..self.count(count.into(), 4)?).map(|_| self.string()).collect()
    }
}

/// Bytes up to the first NUL as text; what is not UTF-8 becomes U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(Fields::new(bytes).c_string()).into_owned()
}

/// The 64-bit number at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&chunk| u64::from_le_bytes(chunk))
}
