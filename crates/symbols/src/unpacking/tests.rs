//! What comes out of compressed sections, and what is too much.

use std::io::Write;

use super::*;

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn section(format: CompressionFormat, data: &[u8], uncompressed_size: u64) -> CompressedData<'_> {
    CompressedData { format, data, uncompressed_size }
}

#[test]
fn a_section_comes_out_as_it_was() {
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let size = bytes.len() as u64;
    let packed = zlib(&bytes);
    let out = Budget::default().unpack(&section(CompressionFormat::Zlib, &packed, size));
    assert_eq!(out.as_deref(), Some(&bytes[..]));
    let packed = zstd::encode_all(&bytes[..], 3).expect("memory");
    let out = Budget::default().unpack(&section(CompressionFormat::Zstandard, &packed, size));
    assert_eq!(out.as_deref(), Some(&bytes[..]));
}

#[test]
fn what_would_be_too_much_is_not_unpacked() {
    let zeros = vec![0; 256 << 20];
    let packed = [
        (CompressionFormat::Zlib, zlib(&zeros)),
        (CompressionFormat::Zstandard, zstd::encode_all(&zeros[..], 3).expect("memory")),
    ];
    for (format, packed) in &packed {
        let size = zeros.len() as u64;
        assert!(packed.len() as u64 * RATIO + FREE < size, "no bomb: {}", packed.len());
        assert_eq!(Budget::default().unpack(&section(*format, packed, size)), None);
        // A size that is too small does no harm either: it is a damaged section.
        let cut = Budget::default().unpack(&section(*format, packed, 1000));
        assert_eq!(cut.map(|bytes| bytes.len()), Some(1000));
    }
}

#[test]
fn sections_of_one_file_share_its_budget() {
    let packed = zlib(&vec![0; 40 << 20]);
    let section = section(CompressionFormat::Zlib, &packed, 40 << 20);
    let mut budget = Budget::default();
    assert!(budget.unpack(&section).is_some());
    assert!(budget.unpack(&section).is_none(), "80 MiB out of {} bytes", 2 * packed.len());
}

#[test]
fn a_size_that_is_too_large_is_a_damaged_section() {
    let packed = zlib(b"text");
    assert_eq!(Budget::default().unpack(&section(CompressionFormat::Zlib, &packed, 5)), None);
    assert_eq!(Budget::default().unpack(&section(CompressionFormat::Zlib, &packed, u64::MAX)), None);
    assert_eq!(Budget::default().unpack(&section(CompressionFormat::Zlib, b"no zlib", 4)), None);
}
