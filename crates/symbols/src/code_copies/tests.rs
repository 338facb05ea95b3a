//! Files of copies as they are written, and what is left of damaged and hostile ones.

use super::*;

fn copy_of(pid: i32, address: u64, seen: Range<u64>, bytes: Range<usize>) -> CodeCopy {
    CodeCopy { pid: Pid(pid), address, from: Tsc(seen.start), to: Tsc(seen.end), bytes }
}

/// Byte by byte, as `docs/recording.md` has it: process 7, two bytes at 0x5000, seen from 10 to 20.
fn literal() -> Vec<u8> {
    let mut file = b"tailtrace-code/1\x01\0\0\0\0\0\0\0\x07\0\0\0\x02\0\0\0".to_vec();
    for number in [0x5000u64, 10, 20, 64] {
        file.extend(number.to_le_bytes());
    }
    file.extend(b"\x90\xc3");
    file
}

#[test]
fn a_file_is_what_its_description_says() {
    let read = CodeCopies::parse(&literal()).expect("copies");
    assert_eq!(read, CodeCopies { copies: vec![copy_of(7, 0x5000, 10..20, 64..66)], left_out: 0 });
    assert_eq!(to_bytes([(&read.copies[0], &b"\x90\xc3"[..])]), literal());
}

#[test]
fn equal_bytes_are_written_once() {
    let (first, second) = (copy_of(7, 0x5000, 10..20, 0..0), copy_of(8, 0x6000, 30..30, 0..0));
    let file = to_bytes([(&second, &b"abc"[..]), (&first, b"abc")]);
    assert_eq!(file.len(), 24 + 2 * 40 + 3);
    let read = CodeCopies::parse(&file).expect("copies").copies;
    assert_eq!(read, [copy_of(7, 0x5000, 10..20, 104..107), copy_of(8, 0x6000, 30..30, 104..107)]);
}

#[test]
fn what_is_not_possible_is_left_out() {
    let with = |at: usize, bytes: &[u8]| {
        let mut file = literal();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        CodeCopies::parse(&file).map(|read| (read.copies.len(), read.left_out))
    };
    for (at, bytes) in [
        (24, &0i32.to_le_bytes()[..]),
        (24, &(-1i32).to_le_bytes()),
        (28, &0u32.to_le_bytes()),
        (28, &u32::MAX.to_le_bytes()),
        // It ends with the file, and there are no more bytes.
        (28, &3u32.to_le_bytes()),
        (32, &(1u64 << 63).to_le_bytes()),
        (32, &u64::MAX.to_le_bytes()),
        (40, &21u64.to_le_bytes()),
        (56, &u64::MAX.to_le_bytes()),
        (56, &65u64.to_le_bytes()),
    ] {
        assert_eq!(with(at, bytes), Ok((0, 1)), "{bytes:?} at {at}");
    }
    // More than there are.
    assert_eq!(with(16, &u64::MAX.to_le_bytes()), Ok((1, u64::MAX - 1)));
    assert_eq!(with(15, b"2"), Err(NoCopies));
    assert_eq!(CodeCopies::parse(&literal()[..20]), Err(NoCopies));
    let cut = CodeCopies::parse(&literal()[..60]).expect("a begin");
    assert_eq!((cut.copies.len(), cut.left_out), (0, 1));
}

/// Ranges that overlap without being equal would be written again in full: more than the file has.
#[test]
fn overlapping_bytes_take_no_more_than_the_file_has() {
    let length = u32::try_from(LONGEST).expect("64 KiB");
    let entries = 1000;
    let mut file = [&MAGIC[..], &u64::to_le_bytes(entries)].concat();
    for entry in 0..entries {
        file.extend(1_i32.to_le_bytes());
        file.extend(length.to_le_bytes());
        file.extend([0x7000, entry, entry, 24 + entry].map(u64::to_le_bytes).as_flattened());
    }
    file.resize(file.len() + LONGEST, 0x90);
    let found = CodeCopies::parse(&file).expect("copies");
    let taken: usize = found.copies.iter().map(|copy| copy.bytes.len()).sum();
    assert!(taken <= file.len() && !found.copies.is_empty(), "{taken} of {}", file.len());
    assert_eq!(found.left_out, entries - found.copies.len() as u64);
}
