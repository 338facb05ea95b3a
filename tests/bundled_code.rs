//! What a bundle brings along so that code and names are found elsewhere: debug files without a build ID, and a kernel
//! that was named by hand.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::captures::{Capture, emulated, tailtrace};
use crate::slices::{assert_done, run, without_capture};

fn tool(program: &str, folder: &Path, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).current_dir(folder).status().expect("binutils");
    assert!(status.success(), "{program} {arguments:?}");
}

/// The report on the recording, and that of its bundle on a machine that has nothing else.
fn both(capture: &Capture, more: &[&str]) -> (Value, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("ticket.tar.zst");
    let (intervals, out) = (capture.intervals(), bundle.to_string_lossy().into_owned());
    let chosen = [&["--intervals", &intervals, "--top", "1"], more].concat();
    let made = run("bundle", &capture.perf_data, &capture.symfs, &[&chosen[..], &["-o", &out]].concat());
    assert_done(&made);
    let json = [&chosen[..], &["--format", "json"]].concat();
    let original = run("explain", &capture.perf_data, &capture.symfs, &json);
    let mut process = tailtrace();
    process.current_dir(folder.path()).env("HOME", folder.path());
    let again =
        process.arg("explain").arg(&bundle).args(["--format", "json"]).output().expect("tailtrace runs");
    assert_done(&again);
    (without_capture(&original), without_capture(&again))
}

fn functions(report: &Value) -> BTreeSet<String> {
    let calls = report["outliers"][0]["calls"].as_array().expect("calls");
    calls.iter().map(|call| call["function"].as_str().expect("a name").to_owned()).collect()
}

/// A stripped program, its symbols in a file that only its debug link names.
#[test]
fn debug_files_without_build_id() {
    let fault = emulated("fault");
    let folder = tempfile::tempdir().expect("a folder");
    let bin = folder.path().join("symfs/bin");
    fs::create_dir_all(bin.join(".debug")).expect("a folder");
    fs::copy(fault.symfs.join("bin/fault"), bin.join("fault")).expect("copied");
    tool("objcopy", &bin, &["--only-keep-debug", "fault", ".debug/fault.debug"]);
    tool("objcopy", &bin, &["--strip-all", "--add-gnu-debuglink=.debug/fault.debug", "fault"]);
    let stripped = Capture {
        root: fault.root.clone(),
        perf_data: fault.perf_data.clone(),
        symfs: folder.path().join("symfs"),
    };
    let (original, again) = both(&stripped, &[]);
    assert!(functions(&original).contains("touch_pages"), "{:?}", functions(&original));
    assert_eq!(again, original);
}

/// The kernel's code and functions out of its copy, as a vmlinux of the recorded build ID, with what `more` of the assembler's source adds.
pub(crate) fn vmlinux(kcore_dir: &Path, folder: &Path, more: &str) -> PathBuf {
    const TEXT: u64 = 0xffff_ffff_8100_0000;
    let kcore = fs::read(kcore_dir.join("kcore")).expect("the kernel's copy");
    let word = |at: usize| u64::from_le_bytes(kcore[at..at + 8].try_into().expect("eight bytes"));
    let place = |number: u64| usize::try_from(number).expect("within the file");
    // elf(5): the program headers' place at 32, in each the file's offset at 8, the address at 16, the length at 32.
    let headers = (0..usize::from(kcore[56])).map(|index| place(word(32)) + 56 * index);
    let text = headers.into_iter().find(|&header| word(header + 16) == TEXT).expect("the kernel's text");
    let (start, length) = (place(word(text + 8)), word(text + 32));
    fs::write(folder.join("text.bin"), &kcore[start..start + place(length)]).expect("written");
    let mut source = ".text\nbase: .incbin \"text.bin\"\n".to_owned();
    let list = fs::read_to_string(kcore_dir.join("kallsyms")).expect("symbols");
    let mut known = BTreeSet::new();
    for line in list.lines() {
        let [address, kind, name] = line.split_whitespace().collect::<Vec<_>>()[..] else { continue };
        let offset = u64::from_str_radix(address, 16).expect("an address").wrapping_sub(TEXT);
        // What the assembler takes for a name.
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if "tT".contains(kind) && is_plain && offset < length && known.insert(name) {
            let _ = writeln!(source, ".globl {name}\n.type {name},@function\n{name} = base + {offset}");
        }
    }
    source.push_str(more);
    fs::write(folder.join("vmlinux.s"), source).expect("written");
    tool("as", folder, &["vmlinux.s", "-o", "vmlinux.o"]);
    let build_id = "--build-id=0x3b43fad5034874490492495d552c0af6a5fab235";
    tool("ld", folder, &[build_id, "-Ttext=0xffffffff81000000", "-e", "base", "vmlinux.o", "-o", "vmlinux"]);
    folder.join("vmlinux")
}

/// The recording without its copy of the kernel.
#[test]
fn kernels_named_by_hand() {
    let fault = emulated("fault");
    let folder = tempfile::tempdir().expect("a folder");
    let vmlinux = vmlinux(&fault.perf_data.join("kcore_dir"), folder.path(), "");
    let alone = Capture {
        root: fault.root.clone(),
        perf_data: fault.perf_data.join("data"),
        symfs: fault.symfs.clone(),
    };
    let (original, again) = both(&alone, &["--vmlinux", &vmlinux.to_string_lossy()]);
    assert!(original["outliers"][0]["causes"][0]["cause"] == "kernel.page-fault.minor", "{original}");
    assert_eq!(again["outliers"], original["outliers"]);
}
