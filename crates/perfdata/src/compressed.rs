//! Unpacks COMPRESSED records (`perf record -z`): one zstd stream, cut into pieces, that holds further records.

use std::ops::Range;

use model::Diagnostic;

/// What came out.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    /// Records, one behind the other across the borders of COMPRESSED records.
    pub(crate) bytes: Vec<u8>,
    /// (first byte in `bytes`, offset of the COMPRESSED record it came from).
    pub(crate) origins: Vec<(usize, u64)>,
}

/// Unpacks the COMPRESSED records at `records` of a file.
pub(crate) fn unpack(_file: &[u8], records: &[Range<usize>], diagnostics: &mut Vec<Diagnostic>) -> Unpacked {
    let what = format!("{} COMPRESSED records cannot be read", records.len());
    diagnostics.push(Diagnostic::error(what));
    Unpacked::default()
}
