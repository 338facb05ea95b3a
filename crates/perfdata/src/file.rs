//! The bytes of a capture: the mapped file, the further files of a perf.data directory, decompressed records.
//!
//! A position in any of them is one [`FileOffset`]: the file `data` itself occupies the numbers that
//! `perf script -D` prints, each further piece begins at a multiple of [`PIECE`].

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap, MmapOptions};
use model::FileOffset;

use crate::Error;

/// Distance between the first offsets of two pieces: more than any file has.
const PIECE: u64 = 1 << 48;

/// Where a [`FileOffset`] lies for somebody with other tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// The file.
    pub path: PathBuf,
    /// Byte in that file; for a record that came out of a COMPRESSED record, that record's.
    pub offset: u64,
}

#[derive(Debug)]
enum Backing {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Backing {
    fn bytes(&self) -> &[u8] {
        match self {
            Backing::Mapped(mapped) => mapped,
            Backing::Owned(bytes) => bytes,
        }
    }
}

#[derive(Debug)]
struct Piece {
    path: PathBuf,
    backing: Backing,
    /// Decompressed records: (first byte in this piece, offset of the COMPRESSED record it came from).
    origins: Vec<(usize, u64)>,
}

/// All pieces; the first is the file `data`, further ones follow in the order of their addition.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: Vec<Piece>,
}

impl Pieces {
    /// Maps a file and returns the number of its piece.
    pub(crate) fn map(&mut self, path: &Path) -> Result<usize, Error> {
        let backing = Backing::Mapped(map_file(path)?);
        Ok(self.add(Piece { path: path.to_path_buf(), backing, origins: Vec::new() }))
    }

    pub(crate) fn own(&mut self, path: &Path, bytes: Vec<u8>, origins: Vec<(usize, u64)>) -> usize {
        self.add(Piece { path: path.to_path_buf(), backing: Backing::Owned(bytes), origins })
    }

    fn add(&mut self, piece: Piece) -> usize {
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// How many pieces there are.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The bytes of a piece; none where there is no such piece.
    pub(crate) fn bytes(&self, piece: usize) -> &[u8] {
        self.pieces.get(piece).map_or(&[], |piece| piece.backing.bytes())
    }

    pub(crate) fn path(&self, piece: usize) -> Option<&Path> {
        self.pieces.get(piece).map(|piece| piece.path.as_path())
    }

    /// The bytes from `offset` to the end of its piece.
    pub(crate) fn from(&self, offset: FileOffset) -> &[u8] {
        let (piece, at) = split(offset);
        self.bytes(piece).get(at..).unwrap_or(&[])
    }

    pub(crate) fn slice(&self, offset: FileOffset, length: u64) -> Option<&[u8]> {
        self.from(offset).get(..usize::try_from(length).ok()?)
    }

    pub(crate) fn position(&self, offset: FileOffset) -> Option<FilePosition> {
        let (number, at) = split(offset);
        let piece = self.pieces.get(number)?;
        let after = piece.origins.partition_point(|&(start, _)| start <= at);
        let origin = after.checked_sub(1).map(|index| piece.origins[index].1);
        Some(FilePosition { path: piece.path.clone(), offset: origin.unwrap_or(at as u64) })
    }

    /// Tells the kernel how a range of a mapped piece will be read. Advice only: a refusal changes nothing.
    pub(crate) fn advise(&self, piece: usize, advice: Advice, range: Range<usize>) {
        if let Some(Piece { backing: Backing::Mapped(mapped), .. }) = self.pieces.get(piece) {
            let end = range.end.min(mapped.len());
            if range.start < end {
                mapped.advise_range(advice, range.start, end - range.start).ok();
            }
        }
    }
}

/// The offset of byte `at` of a piece.
pub(crate) fn offset_in(piece: usize, at: usize) -> FileOffset {
    FileOffset(piece as u64 * PIECE + at as u64)
}

/// The piece of an offset, and the byte in it.
pub(crate) fn split(offset: FileOffset) -> (usize, usize) {
    let number = usize::try_from(offset.0 / PIECE).unwrap_or(usize::MAX);
    (number, usize::try_from(offset.0 % PIECE).unwrap_or(usize::MAX))
}

// The one place of this crate that cannot be written without: there is no safe way to map a file.
#[allow(unsafe_code)]
fn map_file(path: &Path) -> Result<Mmap, Error> {
    let refused = |source| Error::Io { path: path.to_path_buf(), source };
    // Before opening: a FIFO would block until somebody writes to it, a device cannot be mapped.
    if !fs::metadata(path).map_err(refused)?.is_file() {
        return Err(refused(io::Error::new(
            io::ErrorKind::InvalidInput,
            "neither a regular file nor a directory",
        )));
    }
    let file = File::open(path).map_err(refused)?;
    // SAFETY: the mapping is private and read-only, and nothing of ours writes to the file. If another process
    // truncates it while we read, the kernel ends ours with SIGBUS; perf itself has the same exposure.
    let mapped = unsafe { MmapOptions::new().map(&file) }.map_err(refused)?;
    // Read-ahead would drag in AUX payloads. What is read in sequence is asked for explicitly.
    mapped.advise(Advice::Random).ok();
    Ok(mapped)
}
