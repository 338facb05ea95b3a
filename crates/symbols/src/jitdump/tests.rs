//! Dumps made by hand, as the specification has them.

use proptest::prelude::*;

use super::lines::Entries;
use super::*;

/// A dump of a little-endian machine whose times are of the TSC.
pub(super) fn head() -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in [0x4a69_5444u32, 1, 40, 62, 0, 100] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend([7u64.to_le_bytes(), 1u64.to_le_bytes()].concat());
    bytes
}

pub(super) fn record(kind: u32, time: u64, fields: &[u64], rest: &[u8]) -> Vec<u8> {
    let size = u32::try_from(24 + 8 * fields.len() + rest.len()).expect("a small record");
    let mut bytes = [kind.to_le_bytes(), size.to_le_bytes()].concat();
    bytes.extend(time.to_le_bytes());
    // pid and tid
    bytes.extend([100u32.to_le_bytes(), 101u32.to_le_bytes()].concat());
    bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend(rest);
    bytes
}

pub(super) fn load(time: u64, address: u64, index: u64, name: &str, code: &[u8]) -> Vec<u8> {
    let rest = [name.as_bytes(), &[0], code].concat();
    record(0, time, &[address, address, code.len() as u64, index], &rest)
}

/// The record of the lines of the function at `address`: address, line and file, `\u{ff}` for the byte 0xff; the discriminator is 3.
pub(super) fn debug_info(address: u64, entries: &[(u64, u32, &str)]) -> Vec<u8> {
    let mut rest = Vec::new();
    for (address, line, file) in entries {
        rest.extend(address.to_le_bytes());
        rest.extend([line.to_le_bytes(), 3u32.to_le_bytes()].concat());
        rest.extend(if *file == "\u{ff}" { b"\xff" } else { file.as_bytes() });
        rest.push(0);
    }
    let size = u32::try_from(32 + rest.len()).expect("a small record");
    let mut bytes = [2u32.to_le_bytes(), size.to_le_bytes()].concat();
    bytes.extend([10, address, entries.len() as u64].map(u64::to_le_bytes).concat());
    bytes.extend(rest);
    bytes
}

#[test]
fn functions_are_found_with_name_and_code() {
    let bytes = [head(), load(20, 0x7000, 1, "Orders.match", b"\x90\xc3"), record(3, 30, &[], b"")].concat();
    let dump = Dump::parse(&bytes).expect("a dump");
    assert!(dump.is_tsc && dump.broken_at.is_none());
    let [found] = dump.loads.as_slice() else { panic!("{dump:?}") };
    assert_eq!((found.time, found.address), (20, 0x7000));
    assert_eq!(
        (&bytes[found.name.clone()], &bytes[found.code.clone()]),
        (&b"Orders.match"[..], &b"\x90\xc3"[..])
    );
}

#[test]
fn code_that_moves_keeps_its_name_and_bytes() {
    let moves = record(1, 30, &[0x7000, 0x7000, 0x9000, 2, 1], b"");
    let bytes = [head(), load(20, 0x7000, 1, "f", b"\x90\xc3"), moves].concat();
    let dump = Dump::parse(&bytes).expect("a dump");
    let [before, after] = dump.loads.as_slice() else { panic!("{dump:?}") };
    assert_eq!((after.time, after.address), (30, 0x9000));
    assert_eq!((&after.name, &after.code), (&before.name, &before.code));
}

#[test]
fn a_record_that_is_not_possible_ends_the_dump() {
    let good = load(20, 0x7000, 1, "f", b"\xc3");
    let whole = [head(), good.clone(), good.clone()].concat();
    let cut = Dump::parse(&whole[..whole.len() - 1]).expect("a dump");
    assert_eq!((cut.loads.len(), cut.broken_at), (1, Some(40 + good.len())));
    let mut lying = whole.clone();
    lying[44..48].copy_from_slice(&0u32.to_le_bytes());
    assert_eq!(Dump::parse(&lying).expect("a dump").broken_at, Some(40));
    // More code than the record holds: the function is left out, the next one counts.
    let mut lying = whole;
    lying[80..88].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(Dump::parse(&lying).expect("a dump").loads.len(), 1);
}

#[test]
fn what_is_no_dump_is_refused() {
    assert_eq!(Dump::parse(b"\x7fELF"), Err(NoDump::Magic));
    let mut later = head();
    later[4] = 2;
    assert_eq!(Dump::parse(&later), Err(NoDump::Version(2)));
}

#[test]
fn dumps_are_known_by_their_name() {
    assert!(is_path("/tmp/jit-100.dump") && is_path("jit-1.dump"));
    assert!(!is_path("/tmp/jit-.dump") && !is_path("/tmp/jit-x.dump") && !is_path("/tmp/jit-100.dump.old"));
}

proptest! {
    #[test]
    fn places_lie_in_the_file(noise in proptest::collection::vec(any::<u8>(), 0..400), at in 0usize..220, byte: u8) {
        let lines = debug_info(2, &[(2, 7, "a.js"), (3, 8, "\u{ff}")]);
        let mut bytes = [head(), lines, load(1, 2, 3, "f", b"\xc3"), load(2, 3, 4, "g", b"\xc3"), noise].concat();
        bytes[at] = byte;
        if let Ok(dump) = Dump::parse(&bytes) {
            for load in dump.loads {
                prop_assert!(load.name.end < load.code.start && load.code.end <= bytes.len());
                for entry in Entries::of(&bytes, &load) {
                    let record = load.lines.clone().expect("a record");
                    prop_assert!(record.start < entry.name.start && entry.name.end < record.end);
                }
            }
        }
    }
}
