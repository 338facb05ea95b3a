//! The bytes of a capture: the mapped file, the further files of a perf.data directory, decompressed records.
//!
//! A position in any of them is one [`FileOffset`]: the file `data` itself occupies the numbers that
//! `perf script -D` prints, each further piece begins at a multiple of [`PIECE`].

use std::fs::{self, File};
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap, MmapOptions};
use model::FileOffset;
use rustix::fs::OFlags;
use rustix::io::{ReadWriteFlags, preadv2};

use crate::error::Error;
use crate::stretches::{LastFound, Stretches};

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
    Mapped(Mmap, File),
    Owned(Vec<u8>),
}

impl Backing {
    fn bytes(&self) -> &[u8] {
        match self {
            Backing::Mapped(mapped, _) => mapped,
            Backing::Owned(bytes) => bytes,
        }
    }
}

#[derive(Debug)]
struct FilePiece {
    path: PathBuf,
    backing: Backing,
    /// Decompressed records: (first byte in this piece, offset of the COMPRESSED record it came from).
    origins: Vec<(usize, u64)>,
    /// Copies of records.
    stretches: Stretches,
}

/// All pieces; the first is the file `data`, further ones follow in the order of their addition.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: Vec<FilePiece>,
}

impl Pieces {
    /// Maps a file and returns the number of its piece.
    pub(crate) fn map(&mut self, path: &Path) -> Result<usize, Error> {
        let (mapped, file) = map_file(path)?;
        Ok(self.add(path, Backing::Mapped(mapped, file), Vec::new()))
    }

    pub(crate) fn own(&mut self, path: &Path, bytes: Vec<u8>, origins: Vec<(usize, u64)>) -> usize {
        self.add(path, Backing::Owned(bytes), origins)
    }

    fn add(&mut self, path: &Path, backing: Backing, origins: Vec<(usize, u64)>) -> usize {
        let stretches = Stretches::default();
        self.pieces.push(FilePiece { path: path.to_path_buf(), backing, origins, stretches });
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

    /// The bytes from the record at `offset` on; the record is whole if it is so in the file.
    pub(crate) fn record(&self, offset: FileOffset) -> &[u8] {
        self.record_near(offset, &mut LastFound::default())
    }

    /// The same for a reader that has read others before.
    pub(crate) fn record_near(&self, offset: FileOffset, last: &mut LastFound) -> &[u8] {
        let (piece, at) = split(offset);
        let copied = self.pieces.get(piece).and_then(|piece| piece.stretches.record(at, last));
        copied.unwrap_or_else(|| self.from(offset))
    }

    /// Keeps copies of records of a piece.
    pub(crate) fn keep(&mut self, piece: usize, stretches: Stretches) {
        if let Some(piece) = self.pieces.get_mut(piece) {
            piece.stretches = stretches;
        }
    }

    /// Fills `bytes` from byte `at` of a piece on, without touching the mapping; false where that fails.
    pub(crate) fn read(&self, piece: usize, at: usize, bytes: &mut [u8]) -> bool {
        self.read_by(piece, at, bytes, |file, at, bytes| file.read_exact_at(bytes, at).is_ok())
    }

    /// The same without waiting for a device: false where the bytes are not in memory, or where that is not known.
    pub(crate) fn read_cached(&self, piece: usize, at: usize, bytes: &mut [u8]) -> bool {
        self.read_by(piece, at, bytes, |file, at, bytes| {
            let wanted = bytes.len();
            let buffers = &mut [IoSliceMut::new(bytes)];
            preadv2(file, buffers, at, ReadWriteFlags::NOWAIT).is_ok_and(|read| read == wanted)
        })
    }

    fn read_by(
        &self,
        piece: usize,
        at: usize,
        bytes: &mut [u8],
        of_file: impl FnOnce(&File, u64, &mut [u8]) -> bool,
    ) -> bool {
        match self.pieces.get(piece).map(|piece| &piece.backing) {
            Some(Backing::Mapped(_, file)) => of_file(file, at as u64, bytes),
            Some(Backing::Owned(all)) => {
                let wanted = at.checked_add(bytes.len()).and_then(|end| all.get(at..end));
                wanted.map(|wanted| bytes.copy_from_slice(wanted)).is_some()
            }
            None => false,
        }
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

    /// Advises the kernel how a range of a mapped piece will be read. Advice only: a refusal changes nothing.
    pub(crate) fn advise(&self, piece: usize, advice: Advice, range: Range<usize>) {
        if let Some(FilePiece { backing: Backing::Mapped(mapped, _), .. }) = self.pieces.get(piece) {
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

/// Opens a regular file; anything else is refused before a byte of it is read.
///
/// # Errors
/// What the operating system says; `InvalidInput` where it is no regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, "neither a regular file nor a directory");
    // Before opening, which alone has an effect on some devices.
    if !fs::metadata(path)?.is_file() {
        return Err(refused());
    }
    // A FIFO that came in its place would block until somebody writes to it; a regular file does not know the flag.
    let file = File::options().read(true).custom_flags(NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused()) }
}

/// `O_NONBLOCK`.
const NONBLOCK: i32 = OFlags::NONBLOCK.bits().cast_signed();

// The one place of this crate that cannot be written without: there is no safe way to map a file.
#[allow(unsafe_code)]
fn map_file(path: &Path) -> Result<(Mmap, File), Error> {
    let refused = |source| Error::Io { path: path.to_path_buf(), source };
    let file = open_regular(path).map_err(refused)?;
    // SAFETY: the mapping is private and read-only, and nothing of ours writes to the file. If another process
    // truncates it while it is read, the kernel sends SIGBUS: no byte is made up. The binary takes that signal and ends with a
    // message (`crates/cli/ending/fault.rs`); a program that uses this crate alone is ended by it, as perf is.
    let mapped = unsafe { MmapOptions::new().map(&file) }.map_err(refused)?;
    // Read-ahead would drag in AUX payloads. What is read in sequence is requested explicitly.
    mapped.advise(Advice::Random).ok();
    Ok((mapped, file))
}
