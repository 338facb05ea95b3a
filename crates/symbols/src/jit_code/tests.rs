//! Code by dump and time, and the diagnostic where the dump cannot be used.

use std::fs;

use model::{CodeBytes, MapEvent, Mapping, Pid, Tsc};

use crate::{ProcessImages, SearchPath};

const PID: Pid = Pid(100);
const CODE: u64 = 0x7000;

/// The spaces of a process that wrote `dump` and mapped a page of it at time 5.
fn images(dump: &[u8], folder: &tempfile::TempDir) -> ProcessImages {
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
    let events =
        vec![(Tsc(5), map(0x1000..0x2000, "/run/jit-100.dump")), (Tsc(6), map(0x7000..0x8000, "//anon"))];
    let search = SearchPath { symfs: Some(folder.path().to_owned()), ..SearchPath::default() };
    ProcessImages::new(search, events, Vec::new())
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

#[test]
fn what_a_dump_cannot_give_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |dump: &[u8]| {
        let images = images(dump, &folder);
        let found = byte(&images, 20);
        (found, images.diagnostics().iter().map(|note| note.what.clone()).collect::<String>())
    };
    let (code, notes) = said(&dump(0));
    assert!(code.is_none() && notes.contains("CLOCK_MONOTONIC"), "{notes}");
    let whole = dump(1);
    let (code, notes) = said(&whole[..whole.len() - 1]);
    assert!(code == Some(0xcc) && notes.contains("damaged at offset 0x63"), "{notes}");
}
