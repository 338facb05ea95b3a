//! Whether the recording's copy of the kernel is whole: `perf` writes an ELF file of the running kernel's memory, `kcore_dir/kcore`.
//!
//! Of a copy that was cut short, code is missing at many addresses: one diagnostic names the file and the place where it ends.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use model::{Diagnostic, FileOffset, Place};

/// `ELF`, 64 bits, little endian.
const MAGIC: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
/// Of a program header, `PT_LOAD`; its size in a file of 64 bits; how many a kernel's copy may have.
const LOAD: u64 = 1;
const HEADER: usize = 56;
const MOST: u64 = 1 << 16;

/// That the copy in `folder` is shorter than its own headers say; `None` where it is whole, or no such file.
pub(super) fn truncated(folder: &Path) -> Option<Diagnostic> {
    let path = folder.join("kcore");
    // A link, a device or a FIFO is refused elsewhere.
    let found = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let needed = end_of_segments(&File::open(&path).ok()?)?;
    let length = found.len();
    (needed > length).then(|| {
        let what = format!(
            "the copy of the kernel is cut short: it has {length} of {needed} bytes, and code that lay in the others is a gap; copy the \
             recording again"
        );
        let place = Place {
            file: Some(path.display().to_string()),
            file_offset: Some(FileOffset(length)),
            ..Place::default()
        };
        Diagnostic { place, ..Diagnostic::warning(what) }
    })
}

/// The offset at which the last segment's bytes end.
fn end_of_segments(file: &File) -> Option<u64> {
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    let (first, size) = (number(&header, 32, 8)?, number(&header, 54, 2)?);
    if !header.starts_with(&MAGIC) || size != HEADER as u64 {
        return None;
    }
    let mut end = 0;
    for index in 0..number(&header, 56, 2)?.min(MOST) {
        let mut segment = [0; HEADER];
        let at = first.checked_add(index * HEADER as u64)?;
        if file.read_exact_at(&mut segment, at).is_err() {
            // The headers themselves are cut.
            return Some(end.max(at.saturating_add(HEADER as u64)));
        }
        if number(&segment, 0, 4)? == LOAD {
            end = end.max(number(&segment, 8, 8)?.saturating_add(number(&segment, 32, 8)?));
        }
    }
    Some(end)
}

/// The number of `length` bytes at `at`.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + length)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
