//! Code that is endless, wrong, damaged or missing: decoding ends, and the file is named.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::Ending;
use crate::captures::{bundled, emulated, repository, share_folder};

/// Where `a.out` of the capture `single` is mapped: its first byte.
const LOADED_AT: usize = 0x40_0000;
/// The first instruction that `single` executed, and the end of its function.
const CODE: std::ops::Range<usize> = 0x40_0511..0x40_0534;

/// A copy of a bundled capture, to be damaged.
struct Copy {
    folder: TempDir,
    perf_data: PathBuf,
    binaries: PathBuf,
}

impl Copy {
    fn of(name: &str) -> Copy {
        let folder = tempfile::tempdir().expect("a folder");
        let (perf_data, binaries) = (folder.path().join("perf.data"), folder.path().join("root/corpus"));
        let sound = bundled(name);
        fs::copy(&sound.perf_data, &perf_data).expect("copied");
        fs::create_dir_all(&binaries).expect("made");
        for entry in fs::read_dir(sound.symfs.join("corpus")).expect("binaries are there") {
            let entry = entry.expect("an entry");
            fs::copy(entry.path(), binaries.join(entry.file_name())).expect("copied");
        }
        Copy { folder, perf_data, binaries }
    }

    /// Changes the bytes of a binary.
    fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change_file(&self.binaries.join(name), change);
    }

    /// `dump --insns`, and how many instructions it printed.
    #[track_caller]
    fn instructions(&self, what: &str) -> (Ending, usize) {
        let (perf_data, symfs) = (self.perf_data.to_string_lossy(), self.folder.path().join("root"));
        let symfs = symfs.to_string_lossy();
        let ending =
            Ending::of(what, &["dump", "--insns", "-i", &perf_data, "--symfs", &symfs]).ends_with(0, "");
        let count = ending.stdout.lines().count();
        (ending, count)
    }
}

fn change_file(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("readable");
    change(&mut bytes);
    fs::write(path, bytes).expect("writable");
}

#[test]
fn code_without_an_end_is_left() {
    let nops_to_the_end = vec![0x90; 0x6fc - (CODE.start - LOADED_AT)];
    for (what, code) in [
        ("jmp to itself", &b"\xeb\xfe"[..]),
        ("two jumps around each other", b"\xeb\x02\x90\x90\xeb\xfa"),
        ("call of itself", b"\xe8\xfb\xff\xff\xff"),
        ("call of the next instruction, jmp back", b"\xe8\0\0\0\0\xeb\xf9"),
        ("nops to the end of the image", &nops_to_the_end),
        ("no instruction", b"\x06\x06\x06\x06"),
    ] {
        let copy = Copy::of("single");
        let at = CODE.start - LOADED_AT;
        copy.change("a.out", |bytes| bytes[at..at + code.len()].copy_from_slice(code));
        let (ending, count) = copy.instructions(what);
        assert!(ending.stderr.contains("could not be decoded"), "{what}: {}", ending.stderr);
        assert!(count < 10_000_000, "{what}: {count} instructions");
    }
}

#[test]
fn binaries_cut_anywhere_are_read_as_far_as_they_go() {
    let whole = Copy::of("single").instructions("whole").1;
    assert_eq!(whole, 21);
    for length in (0..9344).step_by(584) {
        let copy = Copy::of("single");
        copy.change("a.out", |bytes| bytes.truncate(length));
        let (ending, count) = copy.instructions(&format!("{length} bytes of a.out"));
        assert!(count == whole || ending.stderr.contains("a.out"), "{length}: {}", ending.stderr);
    }
}

#[test]
fn headers_of_binaries_may_lie() {
    // Every field of the ELF header and of the first program headers, at its limits.
    for at in (16..256).step_by(8) {
        for value in [0, u32::MAX, 0x7fff_ffff] {
            let copy = Copy::of("single");
            copy.change("a.out", |bytes| bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value)));
            let _ = copy.instructions(&format!("{value:#x} at {at:#x}"));
        }
    }
}

#[test]
fn what_is_no_file_is_a_missing_binary() {
    for (what, replace) in [
        ("missing", (|_| ()) as fn(&Path)),
        ("a directory", |path| fs::create_dir(path).expect("made")),
        ("a dangling link", |path| symlink("nowhere", path).expect("made")),
        ("a link to itself", |path| symlink("a.out", path).expect("made")),
        ("the process' memory", |path| symlink("/proc/self/mem", path).expect("made")),
        ("an endless device", |path| symlink("/dev/zero", path).expect("made")),
        ("a FIFO", make_fifo),
        ("empty", |path| fs::write(path, "").expect("written")),
    ] {
        let copy = Copy::of("single");
        let path = copy.binaries.join("a.out");
        fs::remove_file(&path).expect("removed");
        replace(&path);
        let (ending, count) = copy.instructions(what);
        assert_eq!(count, 0, "{what}");
        assert!(ending.stderr.contains("/corpus/a.out"), "{what}: {}", ending.stderr);
    }
}

pub(super) fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

/// Gives the MMAP2 record of `name` this build ID, as `perf record --buildid-mmap` writes it.
fn record_build_id(perf_data: &mut [u8], name: &[u8], build_id: [u8; 20]) {
    let path = perf_data.windows(name.len()).position(|bytes| bytes == name).expect("mapped");
    let record = path - 72;
    assert_eq!(perf_data[record], 10, "MMAP2");
    perf_data[record + 5] |= 0x40;
    perf_data[record + 40..record + 44].copy_from_slice(&[20, 0, 0, 0]);
    perf_data[record + 44..record + 64].copy_from_slice(&build_id);
    // Its events request them: `build_id` is bit 34 of the flags, at byte 40 of each `perf_event_attr`.
    let word = |at: usize| u64::from_le_bytes(perf_data[at..at + 8].try_into().expect("eight bytes"));
    let [entry, begin, length] = [16, 24, 32].map(|at| usize::try_from(word(at)).expect("a place"));
    for attr in (begin..begin + length).step_by(entry) {
        perf_data[attr + 40 + 4] |= 1 << 2;
    }
}

#[test]
fn another_build_is_refused() {
    let copy = Copy::of("single");
    // What `readelf -n` says of a.out.
    let right = *b"\x6a\xa9\xa4\xe2\x6f\x28\x2f\x33\x37\x7d\x59\xfe\xce\x87\x4c\x71\x5b\x41\x26\x1a";
    change_file(&copy.perf_data, |bytes| record_build_id(bytes, b"/corpus/a.out", right));
    let (ending, count) = copy.instructions("the recorded build");
    assert_eq!(count, 21, "{}", ending.stderr);
    change_file(&copy.perf_data, |bytes| record_build_id(bytes, b"/corpus/a.out", [7; 20]));
    let (ending, count) = copy.instructions("another build");
    assert_eq!(count, 0);
    assert!(ending.stderr.contains("6aa9a4e26f282f33377d59fece874c715b41261a"), "{}", ending.stderr);
}

#[test]
fn swapped_binaries_are_refused_where_their_builds_are_known() {
    let copy = Copy::of("multifile");
    let id = |digits: u128, last: u32| {
        let mut id = [0; 20];
        id[..16].copy_from_slice(&digits.to_be_bytes());
        id[16..].copy_from_slice(&last.to_be_bytes());
        id
    };
    // What `readelf -n` says of libbar.so and libfoo.so.
    let bar = id(0x6633_b038_ea73_d1a6_ff9a_7d0c_0edf_733d, 0x95fe_a2cc);
    let foo = id(0xb30f_feda_8bb2_3d08_4580_c593_7ed1_1e2b, 0x21be_778c);
    change_file(&copy.perf_data, |bytes| {
        record_build_id(bytes, b"/corpus/libbar.so", bar);
        record_build_id(bytes, b"/corpus/libfoo.so", foo);
    });
    let (ending, count) = copy.instructions("the recorded builds");
    assert_eq!(count, 45, "{}", ending.stderr);
    let (one, other) = (copy.binaries.join("libfoo.so"), copy.binaries.join("libbar.so"));
    fs::rename(&one, copy.binaries.join("third")).expect("renamed");
    fs::rename(&other, &one).expect("renamed");
    fs::rename(copy.binaries.join("third"), &other).expect("renamed");
    let (ending, count) = copy.instructions("swapped");
    assert!(count < 45, "{count} instructions of wrong code");
    for name in ["libfoo.so", "libbar.so"] {
        let refused = |line: &str| line.contains(name) && line.contains("refused");
        assert!(ending.stderr.lines().any(refused), "{name}: {}", ending.stderr);
    }
}

/// A capture whose files are links to those of `fault`, but for one of `kcore_dir`.
fn with_kcore(name: &str, replace: impl FnOnce(&Path, &Path)) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let sound = emulated("fault").perf_data;
    let kcore = folder.path().join("kcore_dir");
    symlink(sound.join("data"), folder.path().join("data")).expect("linked");
    share_folder(&sound.join("kcore_dir"), &kcore);
    fs::remove_file(kcore.join(name)).expect("it was there");
    replace(&sound.join("kcore_dir").join(name), &kcore.join(name));
    folder
}

#[test]
fn a_damaged_copy_of_the_kernel_leaves_a_report() {
    let capture = emulated("fault");
    let (symfs, intervals) = (capture.symfs.to_string_lossy(), capture.intervals());
    let cut = |to: u64| {
        move |from: &Path, into: &Path| {
            fs::copy(from, into).expect("copied");
            fs::OpenOptions::new().write(true).open(into).expect("opened").set_len(to).expect("cut");
        }
    };
    let report = |what: &str, folder: &TempDir| {
        let path = folder.path().to_string_lossy();
        Ending::of(
            what,
            &[
                "explain",
                "-i",
                &path,
                "--symfs",
                &symfs,
                "--intervals",
                &intervals,
                "--top",
                "1",
                "--format",
                "json",
            ],
        )
    };
    for (name, to) in
        [("kcore", 0), ("kcore", 63), ("kcore", 5000), ("kallsyms", 0), ("kallsyms", 777), ("modules", 3)]
    {
        let ending = report(&format!("{name} of {to} bytes"), &with_kcore(name, cut(to))).ends_with(0, "");
        assert_eq!(ending.report()["outliers"].as_array().map(Vec::len), Some(1));
    }
    // What is missing is said once, with its place, and not for each of its instructions.
    for to in [5000, 2_000_003, 7_471_103] {
        let folder = with_kcore("kcore", cut(to));
        let ending = report(&format!("kcore of {to} bytes"), &folder).ends_with(0, "");
        let place = folder.path().join("kcore_dir/kcore");
        let said = format!("it has {to} of 14942208 bytes");
        let lines: Vec<&str> = ending.stderr.lines().filter(|line| line.contains(&said)).collect();
        assert!(lines.len() == 1 && lines[0].contains(&*place.to_string_lossy()), "{}", ending.stderr);
        assert!(!ending.stderr.contains("no code bytes at 0xffff"), "{}", ending.stderr);
        let dumped = Ending::of(
            "insns",
            &["dump", "--insns", "-i", &folder.path().to_string_lossy(), "--symfs", &symfs],
        );
        assert!(
            dumped.stderr.contains(&said) && !dumped.stderr.contains("no code bytes at 0xffff"),
            "{}",
            dumped.stderr
        );
    }
    for name in ["kcore", "kallsyms", "modules"] {
        let _ = report(&format!("no {name}"), &with_kcore(name, |_, _| ())).ends_with(0, "");
        let fifo = |_: &Path, into: &Path| make_fifo(into);
        let _ = report(&format!("{name} is a FIFO"), &with_kcore(name, fifo)).ends_with(0, "");
        let foreign = |_: &Path, into: &Path| {
            symlink(repository().join("Cargo.toml"), into).expect("linked");
        };
        let _ = report(&format!("{name} is another file"), &with_kcore(name, foreign)).ends_with(0, "");
    }
}
