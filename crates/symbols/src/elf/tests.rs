//! ELF files, whole and damaged.

use proptest::prelude::*;

use super::*;

fn this_program() -> Vec<u8> {
    std::fs::read("/bin/true").or_else(|_| std::fs::read("/usr/bin/env")).expect("test input")
}

fn file_of(bytes: Vec<u8>) -> Result<CodeFile, Error> {
    CodeFile::of(Arc::new(PathBuf::from("test")), Arc::new(FileBytes::Owned(bytes)))
}

/// Reads all that there is.
fn read_all(bytes: Vec<u8>) {
    let Ok(file) = file_of(bytes) else { return };
    let length = file.bytes.len() as u64;
    for segment in &file.segments {
        assert!(segment.svma.start < segment.svma.end);
        assert!(segment.file_offset + (segment.svma.end - segment.svma.start) <= length);
        assert!(file.svma(segment.file_offset, &(0..length)).is_some());
    }
    for symbol in file.symbols().iter().chain(&file.dynamic_symbols()) {
        assert!(symbol.name.end <= file.bytes.len());
    }
    file.stubs();
    file.symbol("main");
    file.has_lines();
}

#[test]
fn a_system_program_has_code() {
    let file = file_of(this_program()).expect("test input");
    assert!(file.has_code && file.segments.iter().any(|segment| segment.executable));
    let code = file.segments.iter().find(|segment| segment.executable).expect("test input");
    let mapped = code.file_offset..code.file_offset + 0x1000;
    assert_eq!(file.svma(code.file_offset + 5, &mapped), Some(code.svma.start + 5));
    assert_eq!(file.file_offset(code.svma.start + 5, &mapped), Some(code.file_offset + 5));
    assert_eq!(file.svma(u64::MAX, &(u64::MAX - 1..u64::MAX)), None);
}

/// As lld lays them out: the code begins in the middle of a page that also ends the read-only segment.
#[test]
fn a_page_of_two_segments_is_seen_as_code() {
    let mut file = file_of(Vec::new()).expect("plain bytes");
    file.segments = vec![
        LoadSegment { svma: 0..0x1240, file_offset: 0, executable: false },
        LoadSegment { svma: 0x2240..0x3000, file_offset: 0x1240, executable: true },
    ];
    let mapped = 0x1000..0x2000;
    assert_eq!(file.svma(0x1000, &mapped), Some(0x2000));
    assert_eq!(file.svma(0x1240, &mapped), Some(0x2240));
    assert_eq!(file.file_offset(0x2250, &mapped), Some(0x1250));
    assert_eq!(file.file_offset(0x1100, &mapped), None, "shown by the other mapping only");
    assert_eq!(file.file_offset(0x1100, &(0..0x1000)), None);
    assert_eq!(file.svma(0x100, &(0..0x1000)), Some(0x100));
}

#[test]
fn what_is_no_elf_file_is_plain_bytes() {
    let file = file_of(b"#!/bin/sh\n".to_vec()).expect("test input");
    assert!(file.segments.is_empty() && file.symbols().is_empty() && file.has_code);
    assert!(matches!(file_of(b"\x7fELF\x02".to_vec()), Err(Error::DamagedElf { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_damage_makes_it_fail(
        cut in 0usize..40_000,
        flips in proptest::collection::vec((0usize..40_000, any::<u8>()), 0..40),
        head in proptest::collection::vec((0usize..0x400, any::<u8>()), 0..8),
    ) {
        let mut bytes = this_program();
        bytes.truncate(bytes.len().saturating_sub(cut / 2));
        for (at, value) in flips.into_iter().chain(head) {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        read_all(bytes);
    }
}
