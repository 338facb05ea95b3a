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

const CODE: u64 = 0x7f00_0000_1010;

/// The name at [`CODE`] in each process of `pids`, which all made code; the folder has the lists `perf-N.map` of `lists`. And the notes.
fn named_by(pids: &[i32], dumps: &[(i32, &str)], lists: &[i32]) -> (Vec<Option<String>>, String) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(dir.path().join("tmp")).expect("made");
    for number in lists {
        let path = dir.path().join(format!("tmp/perf-{number}.map"));
        std::fs::write(path, format!("7f0000001000 40 of{number}\n")).expect("written");
    }
    let code = |&pid: &i32| map(Pid(pid), 0x7f00_0000_0000..0x7f00_0010_0000, 0, "//anon");
    let dump = |&(pid, path): &(i32, &str)| map(Pid(pid), 0x1000..0x2000, 0, path);
    let events = pids.iter().map(code).chain(dumps.iter().map(dump)).collect();
    let search = SearchPath { symfs: Some(dir.path().to_owned()), ..SearchPath::default() };
    let images = ProcessImages::new(search, events, Vec::new());
    let name = |&pid: &i32| images.function_at(Pid(pid), CODE, Tsc(1)).map(|found| found.name.to_string());
    let notes = images.diagnostics().into_iter().map(|note| note.what).filter(|what| what.contains("perf-"));
    (pids.iter().map(name).collect(), notes.collect())
}

/// Processes 100 and 200 of two containers call themselves 7 and 8: no record says so.
#[test]
fn a_process_in_a_pid_namespace_may_have_its_own_number() {
    let of = |number| Some(format!("of{number}"));
    // Its dump has that number in its name: no doubt.
    let (names, notes) = named_by(&[100, 200], &[(100, "/tmp/jit-7.dump")], &[7, 200]);
    assert_eq!((names, &*notes), (vec![of(7), of(200)], ""));
    // The only list, and the only process without one.
    let (names, notes) = named_by(&[100, 200], &[], &[7, 200]);
    assert_eq!(names, [of(7), of(200)]);
    assert!(notes.contains("taken for the list of process 100"), "{notes}");
    // Either may be of either.
    let (names, notes) = named_by(&[100, 200], &[], &[7, 8]);
    assert_eq!(names, [None, None]);
    assert!(notes.contains("perf-7.map and 1 more: no recorded process has this number"), "{notes}");
    // The list of another recorded process is that one's.
    assert_eq!(named_by(&[100, 7], &[(100, "/tmp/jit-7.dump")], &[7]).0, [None, of(7)]);
    // The recorded number goes first.
    assert_eq!(named_by(&[100], &[(100, "/tmp/jit-7.dump")], &[7, 100]).0, [of(100)]);
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
