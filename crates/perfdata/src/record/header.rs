//! What every record begins with (`struct perf_event_header`).

use crate::bytes::Fields;

/// Length of a record's header in bytes.
pub(crate) const HEADER_SIZE: usize = 8;

/// What every record begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    /// Length with this header.
    pub(crate) size: u16,
}

impl Header {
    pub(crate) fn read(bytes: &[u8]) -> Option<Header> {
        let mut fields = Fields::new(bytes);
        Some(Header { kind: fields.u32()?, misc: fields.u16()?, size: fields.u16()? })
    }
}
