//! Names that come from no ELF file: JIT code, functions of run time, module names.

use model::{MapEvent, Mapping};

use super::*;
use crate::search::SearchPath;

const TEXT: u64 = 0xffff_ffff_8100_0000;
const MODULE: u64 = 0xffff_ffff_c020_1000;

fn map(pid: Pid, range: Range<u64>, file_offset: u64, path: &str) -> (Tsc, MapEvent) {
    (
        Tsc(0),
        MapEvent::Map(Mapping { pid, range, file_offset, path: path.into(), build_id: None, inode: None }),
    )
}

fn symbol(at: u64, range: Range<u64>, removed: bool) -> (Tsc, MapEvent) {
    (Tsc(at), MapEvent::KernelSymbol { range, name: "bpf_prog_6deef7357e7b4530".into(), removed })
}

fn images(events: Vec<(Tsc, MapEvent)>) -> (tempfile::TempDir, ProcessImages) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(dir.path().join("tmp")).expect("written");
    std::fs::write(dir.path().join("tmp/perf-7.map"), "7f0000001000 40 LazyCompile:~tick app.js:12\n")
        .expect("written");
    let kallsyms =
        format!("{TEXT:x} T _text\n{:x} T vfs_read\n{MODULE:x} t vring\t[virtio_ring]\n", TEXT + 0x100);
    std::fs::write(dir.path().join("kallsyms"), kallsyms).expect("written");
    let search = SearchPath {
        symfs: Some(dir.path().to_owned()),
        kcore_dir: Some(dir.path().to_owned()),
        ..SearchPath::default()
    };
    let images = ProcessImages::new(search, events, Vec::new());
    (dir, images)
}

fn place(location: &Location) -> (Option<&str>, u64, &str) {
    (location.symbol.as_deref(), location.offset, &location.dso)
}

#[test]
fn jit_code_has_the_names_of_its_process() {
    let range = 0x7f00_0000_0000..0x7f00_0010_0000;
    let (_dir, images) =
        images(vec![map(Pid(7), range.clone(), 0, "//anon"), map(Pid(8), range, 0, "//anon")]);
    let location = images.resolve(Pid(7), 0x7f00_0000_1010, Tsc(1));
    assert_eq!(place(&location), (Some("tick"), 0x10, "//anon"));
    assert_eq!(location.raw_name, "LazyCompile:~tick app.js:12");
    let lines = images.lines(Pid(7), 0x7f00_0000_1010, Tsc(1));
    let lines: Vec<_> =
        lines.iter().map(|frame| (&*frame.function, frame.file.as_deref(), frame.line)).collect();
    assert_eq!(lines, [("tick", Some("app.js"), Some(12))]);
    assert_eq!((location.file_offset, location.size), (None, 0x40));
    assert_eq!(place(&images.resolve(Pid(8), 0x7f00_0000_1010, Tsc(1))), (None, 0, "//anon"));
    let function = images.function_at(Pid(7), 0x7f00_0000_1010, Tsc(1)).expect("a function");
    assert_eq!(images.name_of(function.id), Some(function.name));
    assert_eq!(images.addresses_of_any("LazyCompile:~tick app.js:12"), [(Pid(7), 0x7f00_0000_1000)]);
}

#[test]
fn kernel_code_is_named_by_time_and_module() {
    let bpf = MODULE + 0x10_0000..MODULE + 0x10_0100;
    let (_dir, images) = images(vec![
        map(Pid::KERNEL, TEXT..TEXT + 0x1000, TEXT, "[kernel.kallsyms]_text"),
        map(Pid::KERNEL, MODULE..MODULE + 0x1000, 0, "[virtio_ring]"),
        symbol(10, bpf.clone(), false),
        symbol(20, bpf.clone(), true),
    ]);
    let at = |address, time| images.resolve(Pid(1), address, Tsc(time));
    assert_eq!(place(&at(TEXT + 0x110, 0)), (Some("vfs_read"), 0x10, "[kernel.kallsyms]"));
    assert_eq!(place(&at(MODULE + 4, 0)), (Some("vring"), 4, "[virtio_ring]"));
    assert_eq!(place(&at(bpf.start + 4, 10)), (Some("bpf_prog_6deef7357e7b4530"), 4, "[unknown]"));
    assert_eq!(at(bpf.start + 4, 20).symbol, None);
    assert_eq!(
        images.function_at(Pid(1), TEXT + 0x110, Tsc(0)).map(|found| found.range),
        Some(TEXT + 0x100..TEXT + 0x1000)
    );
    assert_eq!(images.addresses_of(Pid(1), "vfs_read", Tsc(0)), [TEXT + 0x100]);
}

#[test]
fn nothing_mapped_is_unknown() {
    let (_dir, images) = images(Vec::new());
    for address in [0, 0x40_0000, 0x8000_0000_0000, u64::MAX] {
        assert_eq!(place(&images.resolve(Pid(1), address, Tsc(0))).2, "[unknown]");
        assert!(images.lines(Pid(2), address & !(1 << 63), Tsc(0)).is_empty());
    }
}
