//! Lines of dumps made by hand: what they must say follows from the specification, and of V8 from what its versions write.

use super::*;
use crate::jitdump::tests::{debug_info, head, load, record};

fn lines_of(dump: &[u8]) -> CodeLines {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("jit-1.dump");
    std::fs::write(&path, dump).expect("written");
    CodeLines::open(&Arc::new(FileBytes::open(&path).expect("opened"))).expect("lines")
}

/// `FILE:LINE`, or the file alone; the outer one after `<`.
fn said(lines: &CodeLines, position: usize) -> String {
    let place = |frame: &Frame| {
        let line = frame.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}", frame.file.clone().unwrap_or_default())
    };
    lines.at(position as u64).iter().map(place).collect::<Vec<_>>().join(" < ")
}

/// Where the code of the function begins that stands in the dump as the `number`th.
fn code(dump: &[u8], number: usize) -> usize {
    Dump::parse(dump).expect("a dump").loads[number].code.start
}

#[test]
fn each_place_has_the_line_before_it() {
    let entries = [(0x7001, 7, "/srv/Orders.java"), (0x7004, 9, "\u{ff}"), (0x7006, 24, "Prices.java")];
    let dump =
        [head(), debug_info(0x7000, &entries), load(20, 0x7000, 1, "Orders.match", &[0x90; 8])].concat();
    let (lines, at) = (lines_of(&dump), code(&dump, 0));
    let found: Vec<String> = [0, 1, 3, 4, 5, 6, 7, 8].map(|offset| said(&lines, at + offset)).into();
    let expected = [
        "",
        "/srv/Orders.java:7",
        "/srv/Orders.java:7",
        "/srv/Orders.java:9",
        "/srv/Orders.java:9",
        "Prices.java:24",
    ];
    assert_eq!(found[..6], expected);
    assert_eq!(found[6..], ["Prices.java:24", ""]);
    assert!(lines.diagnostics("d").is_empty());
    // A discriminator is no column.
    assert_eq!(lines.at(at as u64 + 1)[0].column, None);
}

#[test]
fn lines_are_those_of_the_address_and_move_along() {
    let moves = record(1, 30, &[0x7000, 0x7000, 0x9000, 2, 1], b"");
    let dump = [
        head(),
        debug_info(0x7000, &[(0x7000, 7, "a.java")]),
        debug_info(0x8000, &[(0x8000, 8, "b.java")]),
        load(20, 0x7000, 1, "A.a", b"\x90\xc3"),
        load(21, 0x8000, 2, "B.b", b"\x90\xc3"),
        load(22, 0x8000, 3, "B.c", b"\x90\xc3"),
        moves,
    ]
    .concat();
    let lines = lines_of(&dump);
    let found = [0, 1, 2, 3].map(|number| said(&lines, code(&dump, number)));
    assert_eq!(found, ["a.java:7", "b.java:8", "", "a.java:7"]);
}

/// `total` calls `price`, which is before it in its file, and `rate` of another one; addresses are too high by 64.
#[test]
fn of_v8_the_function_that_was_compiled_is_told_from_what_was_inlined() {
    let entries = [
        (0x7040, 8, "/srv/shop.js"),
        (0x7042, 4, "\u{ff}"),
        (0x7044, 30, "file:///srv/rates.mjs"),
        (0x7047, 11, "/srv/shop.js"),
    ];
    let name = "JS:*total /srv/shop.js:8:15";
    let dump = [head(), debug_info(0x7000, &entries), load(20, 0x7000, 1, name, &[0x90; 6])].concat();
    let (lines, at) = (lines_of(&dump), code(&dump, 0));
    let found = [0, 1, 2, 3, 4, 5].map(|offset| said(&lines, at + offset));
    let (price, rate) = ("/srv/shop.js:4 < /srv/shop.js", "/srv/rates.mjs:30 < /srv/shop.js");
    assert_eq!(found, ["/srv/shop.js:8", "/srv/shop.js:8", price, price, rate, rate]);
    let frames = lines.at(at as u64 + 2);
    assert_eq!([frames[0].inlined, frames[1].inlined], [true, false]);
    assert_eq!(frames[0].column, Some(3));
}

/// Node.js 20.20 and 22.23: twelve bytes of freed memory in place of `/srv/shop.js`, zero bytes among them.
#[test]
fn freed_memory_in_place_of_a_name_has_its_length() {
    let freed: &[u8] = b"\x48\xc9\x03\x00\x00\x00\x00\x00\xc6\xf9\xb0\x1f";
    let entry = |address: u64, line: u32, name: &[u8]| {
        [&address.to_le_bytes()[..], &line.to_le_bytes(), &3u32.to_le_bytes(), name, &[0]].concat()
    };
    let own = [entry(0x7040, 8, freed), entry(0x7044, 9, freed), entry(0x7045, 11, freed)].concat();
    let other = [entry(0x8040, 5, b"\0\x01"), entry(0x8043, 6, b"\0\x01")].concat();
    let debug = |at: u64, count: u64, entries: &[u8]| {
        let mut record = [&at.to_le_bytes()[..], &count.to_le_bytes(), entries].concat();
        record.resize(record.len().next_multiple_of(8), 0);
        let size = u32::try_from(16 + record.len()).expect("small");
        [&2u32.to_le_bytes()[..], &size.to_le_bytes(), &1u64.to_le_bytes(), &record].concat()
    };
    let names = ["JS:^total /srv/shop.js:8:15", "JS:^rate /srv/rates.js:1:15"];
    let dump = [
        head(),
        debug(0x7000, 3, &own),
        load(20, 0x7000, 1, names[0], &[0x90; 6]),
        debug(0x8000, 2, &other),
        load(21, 0x8000, 2, names[1], &[0x90; 6]),
    ]
    .concat();
    let lines = lines_of(&dump);
    let found = [0, 3, 4, 5].map(|offset| said(&lines, code(&dump, 0) + offset));
    assert_eq!(found, ["/srv/shop.js:8", "/srv/shop.js:8", "/srv/shop.js:9", "/srv/shop.js:11"]);
    // Of two bytes no file has its name.
    assert_eq!(said(&lines, code(&dump, 1) + 3), "");
    let [note] = &lines.diagnostics("jit-1.dump")[..] else { panic!("{:?}", lines.diagnostics("")) };
    assert!(note.what.contains("2 of its 2 functions") && note.what.contains("offset 0x28"), "{note:?}");
    // Two files with names as long: none is meant.
    let doubt = [dump, load(22, 0x9000, 3, "JS:^f /srv/mall.js:1:1", b"\xc3")].concat();
    assert_eq!(said(&lines_of(&doubt), code(&doubt, 0)), "");
}

#[test]
fn damage_has_a_place_and_the_rest_goes_on() {
    let good = debug_info(0x8000, &[(0x8000, 8, "b.java")]);
    let mut lying = debug_info(0x7000, &[(0x7000, 7, "a.java"), (0x7002, 9, "a.java")]);
    lying[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    let loads = [load(20, 0x7000, 1, "A.a", &[0x90; 4]), load(21, 0x8000, 2, "B.b", b"\xc3")].concat();
    let dump = [head(), good.clone(), lying, loads.clone()].concat();
    let lines = lines_of(&dump);
    let found = [code(&dump, 0), code(&dump, 0) + 3, code(&dump, 1)].map(|at| said(&lines, at));
    assert_eq!(found, ["a.java:7", "a.java:9", "b.java:8"]);
    let [note] = &lines.diagnostics("jit-1.dump")[..] else { panic!("{:?}", lines.diagnostics("")) };
    let at =
        format!("1 of its 2 functions that have some are damaged, first at offset {:#x}", 40 + good.len());
    assert!(note.what.contains(&at), "{note:?}");
    // An address far away is none of the function's.
    let far = debug_info(0x7000, &[(0x7000, 7, "a.java"), (1, 8, "x.java"), (2, 9, "x.java")]);
    let dump = [head(), far, loads.clone()].concat();
    assert_eq!(said(&lines_of(&dump), code(&dump, 0) + 3), "a.java:7");
    // A name without an end.
    let mut cut = debug_info(0x7000, &[(0x7000, 7, "a.java"), (0x7002, 9, "a.java")]);
    let last = cut.len() - 1;
    cut[last] = b'!';
    let dump = [head(), cut, loads].concat();
    let lines = lines_of(&dump);
    assert_eq!([0, 3].map(|offset| said(&lines, code(&dump, 0) + offset)), ["a.java:7", "a.java:7"]);
    assert_eq!(lines.diagnostics("").len(), 1);
}
