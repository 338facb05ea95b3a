//! Which files the kernel is taken from, and which are refused.

use model::Mapping;

use super::*;

const TEXT: u64 = 0xffff_ffff_8100_0000;
const MODULE: u64 = 0xffff_ffff_c020_1000;

fn mapping(path: &str, start: u64, file_offset: u64) -> Mapping {
    Mapping {
        pid: model::Pid::KERNEL,
        range: start..start + 0x1000,
        file_offset,
        path: path.into(),
        build_id: None,
        inode: None,
    }
}

/// Opens a kernel recorded with its text at `text` from a folder with these files.
fn open(text: u64, files: &[(&str, String)], kallsyms_given: bool) -> Kernel {
    let dir = tempfile::tempdir().expect("test input");
    for (name, content) in files {
        std::fs::write(dir.path().join(name), content).expect("test input");
    }
    let mut search = SearchPath { symfs: Some(dir.path().to_owned()), ..SearchPath::default() };
    if kallsyms_given {
        search.kallsyms = Some(dir.path().join("kallsyms"));
    } else {
        search.kcore_dir = Some(dir.path().to_owned());
    }
    let mappings = [mapping("[kernel.kallsyms]_text", text, text), mapping("[virtio_ring]", MODULE, 0)];
    let mappings: Vec<&Mapping> = mappings.iter().collect();
    Kernel::open(&search, RecordedKernel { mappings: &mappings, build_id: None })
}

fn kallsyms() -> (&'static str, String) {
    let text =
        format!("{TEXT:x} T _text\n{:x} T function\n{MODULE:x} t vring\t[virtio_ring]\n", TEXT + 0x100);
    ("kallsyms", text)
}

fn name_at(kernel: &Kernel, address: u64) -> Option<String> {
    kernel.function(address).map(|(_, found)| found.name.to_string())
}

fn said(kernel: &Kernel) -> String {
    kernel.diagnostics.iter().map(|diagnostic| diagnostic.what.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn names_come_from_the_copy_of_the_recorded_boot() {
    let kernel = open(TEXT, &[kallsyms()], false);
    assert_eq!(name_at(&kernel, TEXT + 0x180).as_deref(), Some("function"));
    assert_eq!(name_at(&kernel, MODULE).as_deref(), Some("vring"));
    assert_eq!(kernel.addresses_of("function"), [TEXT + 0x100]);
}

#[test]
fn a_copy_of_another_boot_is_refused() {
    let kernel = open(TEXT + 0x20_0000, &[kallsyms()], false);
    assert_eq!(name_at(&kernel, TEXT + 0x20_0180), None);
    assert!(said(&kernel).contains("another boot"), "{}", said(&kernel));
    let moved = ("modules", format!("virtio_ring 49152 3 virtio, Live {:#018x}\n", MODULE + 0x1000));
    let kernel = open(TEXT, &[kallsyms(), moved], false);
    assert_eq!(name_at(&kernel, TEXT + 0x180), None);
    assert!(said(&kernel).contains("virtio_ring"), "{}", said(&kernel));
}

#[test]
fn a_list_of_another_boot_is_moved_and_loses_its_modules() {
    let slide = 0x20_0000;
    let kernel = open(TEXT + slide, &[kallsyms()], true);
    assert_eq!(name_at(&kernel, TEXT + slide + 0x180).as_deref(), Some("function"));
    assert_eq!(
        kernel.function(TEXT + slide + 0x100).map(|(_, found)| found.range.start),
        Some(TEXT + slide + 0x100)
    );
    assert_eq!(kernel.addresses_of("vring"), []);
    assert!(said(&kernel).contains("0x200000"), "{}", said(&kernel));
}

#[test]
fn hidden_and_damaged_files_are_named() {
    let hidden = ("kallsyms", "0000000000000000 T _text\n".to_owned());
    let damaged = ("kcore", "\x7fELF\x02 not".to_owned());
    let kernel = open(TEXT, &[hidden, damaged], false);
    assert!(
        said(&kernel).contains("kptr_restrict") && said(&kernel).contains("damaged ELF"),
        "{}",
        said(&kernel)
    );
    assert!(kernel.missing(None).what.contains("--kcore"));
}
