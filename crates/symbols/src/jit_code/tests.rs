//! Code by dump and time, and the diagnostic where the dump cannot be used.

use std::fs;

use model::{CodeBytes, MapEvent, Mapping, Pid, Tsc};

use crate::{Monotonic, ProcessImages, SearchPath};

const PID: Pid = Pid(100);
const CODE: u64 = 0x7000;

/// The spaces of a process that wrote `dump` and mapped a page of it at time 5.
fn images(dump: &[u8], folder: &tempfile::TempDir) -> ProcessImages {
    images_by(dump, folder, &[], Err("no clock pair"))
}

/// The same; `later` is when it changed the protection of its code, and `monotonic` its dump's clock.
fn images_by(
    dump: &[u8],
    folder: &tempfile::TempDir,
    later: &[u64],
    monotonic: Result<Monotonic<'_>, &str>,
) -> ProcessImages {
    fs::write(folder.path().join("jit-100.dump"), dump).expect("written");
    let map = |range, path: &str| {
        MapEvent::Map(Mapping {
            pid: PID,
            range,
            file_offset: 0,
            path: path.to_owned(),
            build_id: None,
            inode: None,
        })
    };
    let mut events =
        vec![(Tsc(5), map(0x1000..0x2000, "/run/jit-100.dump")), (Tsc(6), map(0x7000..0x8000, "//anon"))];
    events.extend(later.iter().map(|&at| (Tsc(at), map(0x7000..0x8000, "//anon"))));
    let search = SearchPath { symfs: Some(folder.path().to_owned()), ..SearchPath::default() };
    ProcessImages::with_clock(search, events, Vec::new(), monotonic)
}

/// A dump in which `f` (0xcc) lies at [`CODE`] from time 10 on and `g` (0xc3) from time 20 on.
fn dump(flags: u64) -> Vec<u8> {
    let mut bytes = b"DTiJ".to_vec();
    bytes.extend([1u32, 40, 62, 0, 100].map(u32::to_le_bytes).concat());
    bytes.extend([0, flags].map(u64::to_le_bytes).concat());
    for (time, name, code) in [(10u64, b'f', 0xcc), (20, b'g', 0xc3)] {
        bytes.extend([0u32.to_le_bytes(), 59u32.to_le_bytes()].concat());
        bytes.extend([time, 100, CODE, CODE, 1, time].map(u64::to_le_bytes).concat());
        bytes.extend([name, 0, code]);
    }
    bytes
}

fn byte(images: &ProcessImages, at: u64) -> Option<u8> {
    let mut byte = [0];
    (images.read(PID, CODE, Tsc(at), &mut byte) == 1).then_some(byte[0])
}

#[test]
fn the_code_at_an_address_is_that_of_the_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let images = images(&dump(1), &folder);
    assert_eq!([7, 10, 19, 20].map(|at| byte(&images, at)), [None, Some(0xcc), Some(0xcc), Some(0xc3)]);
    let name = |at| images.function_at(PID, CODE, Tsc(at)).map(|function| function.name.to_string());
    assert_eq!([name(10), name(20)], [Some("f".to_owned()), Some("g".to_owned())]);
    assert_eq!(images.addresses_of(PID, "g", Tsc(30)), [CODE]);
    assert!(images.diagnostics().iter().all(|note| !note.what.contains("jit-100.dump")));
}

/// `f` has lines from 10 to 20, `g` after it none; `f` moves to where nothing was, with its lines.
#[test]
fn lines_are_those_of_the_time_and_move_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |kind: u32, time: u64, rest: &[u8]| {
        let size = u32::try_from(16 + rest.len()).expect("small");
        [&kind.to_le_bytes()[..], &size.to_le_bytes(), &time.to_le_bytes(), rest].concat()
    };
    let numbers = |of: &[u64]| of.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let entry = [&numbers(&[CODE])[..], &7u32.to_le_bytes(), &0u32.to_le_bytes(), b"Orders.java\0"].concat();
    let lines = record(2, 10, &[numbers(&[CODE, 1]), entry].concat());
    let whole = dump(1);
    // The number of `f` is 10; pid and tid are one field here.
    let moves = record(1, 30, &numbers(&[100, CODE, CODE, CODE + 0x100, 1, 10]));
    let images = images(&[&whole[..40], &lines, &whole[40..], &moves].concat(), &folder);
    let line = |address, at| {
        let [frame] = &images.lines(PID, address, Tsc(at))[..] else { return None };
        Some((frame.function.clone(), frame.file.clone(), frame.line))
    };
    let f = Some(("f".to_owned(), Some("Orders.java".to_owned()), Some(7)));
    assert_eq!([line(CODE, 15), line(CODE + 0x100, 35)], [f.clone(), f]);
    assert_eq!(line(CODE, 25), Some(("g".to_owned(), None, None)));
    assert_eq!(line(CODE + 0x100, 25), None);
}

#[test]
fn times_of_the_monotonic_clock_are_converted() {
    let folder = tempfile::tempdir().expect("a folder");
    // Its second is the 900th of the TSC.
    let tsc = |ns: u64| Tsc(ns * 10 + 800);
    let images = images_by(&dump(0), &folder, &[], Ok(Monotonic { tsc: &tsc, how: "3 clock pairs" }));
    assert_eq!([899, 900, 999, 1000].map(|at| byte(&images, at)), [None, Some(0xcc), Some(0xcc), Some(0xc3)]);
    let notes: String = images.diagnostics().iter().map(|note| note.what.clone()).collect();
    assert!(notes.contains("3 clock pairs") && !notes.contains("unknown"), "{notes}");
}

#[test]
fn code_of_unknown_time_is_there_with_that_doubt() {
    let folder = tempfile::tempdir().expect("a folder");
    let images = images_by(&dump(0), &folder, &[50], Err("no clock pair"));
    assert_eq!([4, 5, 15, 60].map(|at| byte(&images, at)), [None, Some(0xc3), Some(0xc3), Some(0xc3)]);
    let notes: String = images.diagnostics().iter().map(|note| note.what.clone()).collect();
    let said = ["is unknown (no clock pair)", "1 of its 2 functions lay where another one came later"];
    assert!(said.iter().all(|said| notes.contains(said)), "{notes}");
}

#[test]
fn code_stays_where_its_memory_changed_protection() {
    let folder = tempfile::tempdir().expect("a folder");
    let images = images_by(&dump(1), &folder, &[15, 25], Err("no clock pair"));
    assert_eq!(
        [12, 17, 22, 30].map(|at| byte(&images, at)),
        [Some(0xcc), Some(0xcc), Some(0xc3), Some(0xc3)]
    );
}

#[test]
fn what_a_dump_cannot_give_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |dump: &[u8]| {
        let images = images(dump, &folder);
        let found = byte(&images, 20);
        (found, images.diagnostics().iter().map(|note| note.what.clone()).collect::<String>())
    };
    let (code, notes) = said(b"DTiJ");
    assert!(code.is_none() && notes.contains("does not begin like a jitdump"), "{notes}");
    let whole = dump(1);
    let (code, notes) = said(&whole[..whole.len() - 1]);
    assert!(code == Some(0xcc) && notes.contains("damaged at offset 0x63"), "{notes}");
}
