//! A smaller copy of the kernel: some pages of its code as a kcore, with the lists that belong to it.
//!
//! Input: pages that a flow ran through. Output: the files of a `kcore_dir`. perf reads any ELF core file whose segments
//! lie at the kernel's addresses; it takes the segment that holds `_stext` for the kernel itself (`dso__load_kcore` in
//! `tools/perf/util/symbol.c`), so its first pages are always among them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use super::ProcessImages;
use crate::file_bytes::FileBytes;
use crate::kallsyms;
use crate::kcore_dir;
use crate::kernel::{Kernel, KernelPiece};

/// Bytes of a page, the unit in which code is copied.
const PAGE: u64 = 4096;
const PAGE_BYTES: usize = 4096;
/// Lengths of an ELF header and of a program header.
const ELF_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
/// So far from the kernel's first page `__switch_to` is looked for: 2 MiB.
const FIRST_PAGES: u64 = 512;
/// Holes of so many pages are filled: fewer segments.
const FILLED: u64 = 2;

/// The files of a `kcore_dir`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCopy {
    /// Code, as an ELF core file.
    pub kcore: Vec<u8>,
    /// Symbols: the list beside the copy that was recorded, else a list of vmlinux's.
    pub kallsyms: Option<Vec<u8>>,
    /// Modules and where they lie.
    pub modules: Option<Vec<u8>>,
}

impl KernelCopy {
    /// The files' names and contents.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let lists = [("kallsyms", &self.kallsyms), ("modules", &self.modules)];
        let lists = lists.into_iter().filter_map(|(name, list)| Some((name, list.as_deref()?)));
        std::iter::once(("kcore", &self.kcore[..])).chain(lists)
    }
}

impl ProcessImages {
    /// A copy of the kernel that holds the pages of `addresses`; `None` where no code of the kernel is known.
    pub fn kernel_copy(&self, addresses: &BTreeSet<u64>) -> Option<KernelCopy> {
        let kernel = self.kernel();
        let of_recording = kernel.pieces.first()?.path.parent()?;
        let is_copy = kernel.pieces[0].path.file_name().is_some_and(|name| name == "kcore");
        let beside =
            |name: &str, is_line: fn(&[u8]) -> bool| list(of_recording, name, is_line).filter(|_| is_copy);
        Some(KernelCopy {
            kcore: core_file(&segments(kernel, addresses)),
            kallsyms: beside("kallsyms", kallsyms::is_symbol).or_else(|| symbol_list(kernel)),
            modules: beside("modules", kcore_dir::is_module),
        })
    }
}

/// The kernel's functions as `/proc/kallsyms` lists them; `None` where none is known.
fn symbol_list(kernel: &Kernel) -> Option<Vec<u8>> {
    let mut list = String::new();
    for (address, name) in kernel.functions().filter(|(_, name)| !name.contains(char::is_whitespace)) {
        let _ = writeln!(list, "{address:016x} T {name}");
    }
    (!list.is_empty()).then(|| list.into_bytes())
}

/// The lines of a list beside the kcore that are such lines; `None` where it is no plain file or larger than any kernel's.
fn list(dir: &Path, name: &str, is_line: fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    const LARGEST: usize = 256 << 20;
    let bytes = FileBytes::open(&dir.join(name)).ok().filter(|bytes| bytes.len() <= LARGEST)?;
    let lines = bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| is_line(line));
    Some(lines.flatten().copied().collect())
}

/// Code at an address.
struct CodeRun<'a> {
    address: u64,
    bytes: &'a [u8],
}

/// The pages of `addresses`, and the kernel's first ones; these come last, for perf takes the program headers from the end
/// and drops what overlaps the kernel's old map until it has met the segment that replaces it.
fn segments<'a>(kernel: &'a Kernel, addresses: &BTreeSet<u64>) -> Vec<CodeRun<'a>> {
    let mut pages: BTreeSet<u64> = addresses.iter().map(|address| address / PAGE).collect();
    let first = first_pages(kernel);
    pages.extend(first.clone());
    let mut segments = Vec::new();
    for piece in &kernel.pieces {
        let within = pages.range(piece.range.start / PAGE..piece.range.end.div_ceil(PAGE));
        for run in runs(within.copied()) {
            segments.extend(segment(piece, run));
        }
    }
    segments.sort_by_key(|segment| segment.address / PAGE == first.start);
    segments
}

/// From the kernel's first page, that of `_stext`, to `__switch_to`, which lies near it: perf sees switches in the trace only if the kernel's own segment
/// holds that function (`intel_pt_switch_ip` in `tools/perf/util/intel-pt.c`).
fn first_pages(kernel: &Kernel) -> Range<u64> {
    let switch = kernel.addresses_of("__switch_to").into_iter().next();
    let piece = switch.and_then(|address| kernel.piece(address)).or(kernel.pieces.first());
    let Some(start) = piece.map(|piece| piece.range.start / PAGE) else { return 0..0 };
    let end = switch.map(|address| address / PAGE);
    let end = end.filter(|end| (start..start + FIRST_PAGES).contains(end));
    start..end.unwrap_or(start) + 1
}

/// Pages that follow one another, small holes filled.
fn runs(pages: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for page in pages {
        match runs.last_mut() {
            Some(run) if page <= run.end + FILLED => run.end = page + 1,
            _ => runs.push(page..page + 1),
        }
    }
    runs
}

fn segment(piece: &KernelPiece, pages: Range<u64>) -> Option<CodeRun<'_>> {
    let start = (pages.start * PAGE).max(piece.range.start);
    let end = pages.end.saturating_mul(PAGE).min(piece.range.end);
    let from = usize::try_from(piece.file_offset.checked_add(start - piece.range.start)?).ok()?;
    let length = usize::try_from(end.checked_sub(start)?).ok()?;
    let file: &[u8] = &piece.bytes;
    let bytes = file.get(from..from.checked_add(length)?.min(file.len()))?;
    (!bytes.is_empty()).then_some(CodeRun { address: start, bytes })
}

/// An ELF core file (`ET_CORE`, x86-64) with a `PT_LOAD` for each segment. Source: elf(5).
fn core_file(segments: &[CodeRun<'_>]) -> Vec<u8> {
    let count = u16::try_from(segments.len()).unwrap_or(u16::MAX - 1);
    let segments = &segments[..usize::from(count)];
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    put16(&mut file, &[4, 62]);
    file.extend(1u32.to_le_bytes());
    put64(&mut file, &[0, ELF_HEADER, 0]);
    file.extend(0u32.to_le_bytes());
    put16(&mut file, &[64, 56, count, 0, 0, 0]);
    let mut at = (ELF_HEADER + PROGRAM_HEADER * u64::from(count)).next_multiple_of(PAGE);
    for segment in segments {
        let length = segment.bytes.len() as u64;
        // PT_LOAD, readable and executable.
        file.extend(1u32.to_le_bytes());
        file.extend(5u32.to_le_bytes());
        // A position in the file that agrees with the address within its page.
        put64(&mut file, &[at + segment.address % PAGE, segment.address, 0, length, length, PAGE]);
        at = (at + segment.address % PAGE + length).next_multiple_of(PAGE);
    }
    for segment in segments {
        let within = usize::try_from(segment.address % PAGE).unwrap_or(0);
        let start = file.len().next_multiple_of(PAGE_BYTES) + within;
        file.resize(start, 0);
        file.extend_from_slice(segment.bytes);
    }
    file
}

fn put16(file: &mut Vec<u8>, words: &[u16]) {
    file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn put64(file: &mut Vec<u8>, words: &[u64]) {
    file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}
