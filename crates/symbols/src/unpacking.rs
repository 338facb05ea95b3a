//! Compressed sections of an ELF file, unpacked within bounds.
//!
//! Input: sections of anything (`SHF_COMPRESSED`, `.zdebug_*`). Output: their bytes, or nothing where too much would come out:
//! three megabytes of zlib can hold three gigabytes of zeros. Formats: System V ABI, "Section Compression".

use std::io::{self, Read};

use object::{CompressedData, CompressionFormat, Object, ObjectSection};

/// So much may come out of however little.
const FREE: u64 = 64 << 20;
/// How many bytes may come out of each packed byte, above [`FREE`]. Debug information comes down to a third or a fifth.
const RATIO: u64 = 32;
/// What one file may unpack to in all.
const MOST: u64 = 8 << 30;
/// The two bounds above, as a message names them.
pub(crate) const BOUNDS: &str = "32 times its packed size and 64 MiB, 8 GiB at most";
/// zstd's window, as a power of two: so much memory the unpacking takes.
const WINDOW_LOG: u32 = 27;

/// What was unpacked of one file so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    packed: u64,
    unpacked: u64,
}

impl Budget {
    /// The bytes of `section` where it is compressed; `None` where it is damaged or the file's budget is spent.
    pub(crate) fn unpack(&mut self, section: &CompressedData<'_>) -> Option<Vec<u8>> {
        if !self.take(section) {
            return None;
        }
        // The file states this size; what really comes out may be less, and is cut where it would be more.
        let size = section.uncompressed_size;
        let mut bytes = Vec::new();
        let read = match section.format {
            CompressionFormat::Zlib => {
                flate2::read::ZlibDecoder::new(section.data).take(size).read_to_end(&mut bytes)
            }
            CompressionFormat::Zstandard => unpack_zstd(section.data, size, &mut bytes),
            _ => return None,
        };
        (read.is_ok() && bytes.len() as u64 == size).then_some(bytes)
    }

    /// Counts `section`; whether it is still within bounds.
    fn take(&mut self, section: &CompressedData<'_>) -> bool {
        self.packed = self.packed.saturating_add(section.data.len() as u64);
        self.unpacked = self.unpacked.saturating_add(section.uncompressed_size);
        self.unpacked <= FREE.saturating_add(self.packed.saturating_mul(RATIO)).min(MOST)
    }
}

fn unpack_zstd(packed: &[u8], size: u64, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
    decoder.window_log_max(WINDOW_LOG)?;
    decoder.take(size).read_to_end(into)
}

/// Whether all compressed sections of `file` together are within bounds, by the sizes that they state.
pub(crate) fn is_within_bounds(file: &object::File<'_>) -> bool {
    let mut budget = Budget::default();
    let compressed = file.sections().filter_map(|section| section.compressed_data().ok());
    compressed.filter(|data| data.format != CompressionFormat::None).all(|data| budget.take(&data))
}

#[cfg(test)]
mod tests;
