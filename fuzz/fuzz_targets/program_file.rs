//! Any bytes as a program that a recording maps: names, lines and instructions of its code, and the variables of its data.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::{MapEvent, Mapping, Pid, Tsc};
use symbols::{ProcessImages, SearchPath};

const PID: Pid = Pid(1);
const MAPPED: std::ops::Range<u64> = 0x40_0000..0x40_4000;

fuzz_target!(|bytes: &[u8]| {
    let root = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(root.path().join("app"), bytes).expect("written");
    let mapping = Mapping {
        pid: PID,
        range: MAPPED,
        file_offset: 0,
        path: "/app".to_owned(),
        build_id: None,
        inode: None,
    };
    let search = SearchPath { symfs: Some(root.path().to_owned()), ..SearchPath::default() };
    let images = ProcessImages::new(search, vec![(Tsc(0), MapEvent::Map(mapping))], Vec::new());
    for address in MAPPED.step_by(0x40) {
        let function = images.function_at(PID, address, Tsc(0));
        assert!(function.as_ref().is_none_or(|function| function.start <= address));
        let _ = function.map(|function| images.is_of_library(PID, &function, Tsc(0)));
        let _ = images.resolve(PID, address, Tsc(0));
        let _ = images.variable_at(PID, address, Tsc(0));
    }
    let _ = images.lines(PID, MAPPED.start + 0x1000, Tsc(0));
    assert!(images.disassemble(PID, MAPPED.start + 0x1000, Tsc(0), 4).len() <= 4);
    let _ = (images.addresses_of(PID, "main", Tsc(0)), images.used_files(), images.diagnostics());
});
