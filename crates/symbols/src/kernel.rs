//! The kernel's code and symbols.
//!
//! Input: kcore, kallsyms, vmlinux, and the recorded kernel mappings that they must agree with. Output: code pieces by
//! address and symbol tables. A kcore is memory as it was, patched and with its modules, so it is the first choice; a
//! vmlinux is what the boot then patched. Module files hold unrelocated code, in which a decoder would get lost: unused.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{BuildId, Diagnostic};

use crate::debug_file;
use crate::elf::{CodeFile, same_build};
use crate::error::Error;
use crate::file_bytes::FileBytes;
use crate::kallsyms::{self, Kallsyms};
use crate::kcore_dir;
use crate::lines::Lines;
use crate::recorded_kernel::RecordedKernel;
use crate::search::{CacheEntry, SearchPath};
use crate::symbol_table::{Found, SymbolTable};
use crate::timeline::KERNEL_HALF;

/// A run of kernel code and the file that holds it.
#[derive(Clone, Debug)]
pub(crate) struct KernelPiece {
    /// Actual addresses (AVMA).
    pub(crate) range: Range<u64>,
    pub(crate) path: Arc<PathBuf>,
    pub(crate) bytes: Arc<FileBytes>,
    /// Position in the file of the first byte.
    pub(crate) file_offset: u64,
}

/// A symbol table, and what to add to its addresses to have those of the recording (KASLR), modulo 2^64.
type Moved<T> = (T, u64);

/// The kernel, as the files show it.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    /// Ordered by address, disjoint.
    pub(crate) pieces: Vec<KernelPiece>,
    /// Best first.
    tables: Vec<Moved<SymbolTable>>,
    lines: Option<Moved<Lines>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Kernel {
    /// Opens what there is.
    pub(crate) fn open(search: &SearchPath, recorded: RecordedKernel<'_>) -> Kernel {
        let mut kernel = Kernel::default();
        let mut vmlinux = match &search.vmlinux {
            Some(path) => kernel.named_vmlinux(path, recorded),
            None => recorded.build_id.and_then(|id| debug_file::local_kernel(id, search)),
        };
        kernel.use_vmlinux_symbols(vmlinux.as_ref(), search, recorded);
        if let Some(path) = &search.kallsyms {
            kernel.use_kallsyms(path, recorded);
        }
        for dir in kcore_dir::candidates(search, recorded.build_id) {
            if kernel.pieces.is_empty() {
                kernel.use_kcore_dir(&dir, recorded);
            }
        }
        let cached = recorded.build_id.map(|id| search.cached(id, CacheEntry::Kallsyms)).unwrap_or_default();
        for path in cached.iter().filter(|path| path.is_file()) {
            if kernel.tables.is_empty() {
                kernel.use_kallsyms(path, recorded);
            }
        }
        if kernel.pieces.is_empty() && vmlinux.is_none() {
            // Perhaps a download: only where nothing here serves.
            vmlinux = recorded.build_id.and_then(|id| debug_file::any_kernel(id, search));
            kernel.use_vmlinux_symbols(
                vmlinux.as_ref().filter(|_| kernel.tables.is_empty()),
                search,
                recorded,
            );
        }
        if let Some(file) = vmlinux.filter(|file| kernel.pieces.is_empty() && file.has_code) {
            kernel.use_vmlinux_code(&file, recorded);
        }
        kernel
    }

    /// The piece that covers `address`.
    pub(crate) fn piece(&self, address: u64) -> Option<&KernelPiece> {
        let index = self.pieces.partition_point(|piece| piece.range.start <= address).checked_sub(1)?;
        self.pieces.get(index).filter(|piece| address < piece.range.end)
    }

    /// The function at `address` and the number of its table; its ranges are actual addresses.
    pub(crate) fn function(&self, address: u64) -> Option<(usize, Found<'_>)> {
        self.tables.iter().enumerate().find_map(|(number, (table, slide))| {
            let stated = address.wrapping_sub(*slide);
            Some((number, table.at(stated)?.moved(stated, address)))
        })
    }

    /// The symbol table with a number that [`Self::function`] gave.
    pub(crate) fn table(&self, number: usize) -> Option<&SymbolTable> {
        self.tables.get(number).map(|(table, _)| table)
    }

    /// Where functions called `name` begin.
    pub(crate) fn addresses_of(&self, name: &str) -> Vec<u64> {
        let in_table = |(table, slide): &Moved<SymbolTable>| -> Vec<u64> {
            table.starts_of(name).map(|start| start.wrapping_add(*slide)).collect()
        };
        self.tables.iter().flat_map(in_table).collect()
    }

    /// All of its symbol tables, the best first.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &SymbolTable> {
        self.tables.iter().map(|(table, _)| table)
    }

    /// All functions with their actual addresses, those of the best table first.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (u64, &str)> {
        self.tables.iter().flat_map(|(table, slide)| {
            table.iter().map(|(range, name)| (range.start.wrapping_add(*slide), name))
        })
    }

    /// The line tables of vmlinux, and what to add to their addresses.
    pub(crate) fn lines(&self) -> Option<(&Lines, u64)> {
        self.lines.as_ref().map(|(lines, slide)| (lines, *slide))
    }

    /// What to say where kernel code was needed and not there.
    pub(crate) fn missing(&self, build_id: Option<&BuildId>) -> Diagnostic {
        let identity = build_id.map_or_else(String::new, |id| format!(" (build ID {id})"));
        let what = if self.pieces.is_empty() { "no copy of" } else { "not all of" };
        Diagnostic::warning(format!(
            "{what} the recorded kernel's code{identity} is here: its flow is a gap, sideband still shows switches and \
             interrupts; record with `perf record --kcore`, or give the matching --vmlinux"
        ))
    }

    fn warn(&mut self, what: String) {
        self.diagnostics.push(Diagnostic::warning(what));
    }

    fn open_file(&mut self, path: &Path) -> Option<CodeFile> {
        match CodeFile::open(path) {
            Ok(file) => Some(file),
            Err(error) => {
                self.warn(format!("{error}: nothing of the kernel is read from it"));
                None
            }
        }
    }

    /// A copy of the running kernel: taken only if its kernel and modules lie where the recording has them.
    fn use_kcore_dir(&mut self, dir: &Path, recorded: RecordedKernel<'_>) {
        if let Some(link) = kcore_dir::link_in(dir) {
            self.warn(format!(
                "{} is a link: nothing is read from that copy of the kernel; put the file itself there",
                link.display()
            ));
            return;
        }
        let path = dir.join("kallsyms");
        let list = self.open_kallsyms(&path);
        if let Some(why) = kcore_dir::disagreement(dir, list.as_ref().map(|(_, list)| list), recorded) {
            self.warn(format!(
                "{}: {why}: the copy of the kernel is of another boot, refused; kernel code is a gap",
                dir.display()
            ));
            return;
        }
        if let Some(file) = self.open_file(&dir.join("kcore")) {
            self.add_code(&file, 0);
        }
        if let Some((bytes, list)) = list {
            self.tables.push((SymbolTable::new(bytes, list.functions), 0));
        }
    }

    /// Lays the segments of `file` beneath what is there.
    fn add_code(&mut self, file: &CodeFile, slide: u64) {
        for segment in &file.segments {
            let range = segment.svma.start.wrapping_add(slide)..segment.svma.end.wrapping_add(slide);
            if segment.svma.start >= KERNEL_HALF && range.start >= KERNEL_HALF && range.start < range.end {
                self.pieces.push(KernelPiece {
                    range,
                    path: Arc::clone(&file.path),
                    bytes: Arc::clone(&file.bytes),
                    file_offset: segment.file_offset,
                });
            }
        }
        self.pieces.sort_by_key(|piece| piece.range.start);
        self.drop_overlaps();
    }

    /// A segment that begins inside another one is cut at its front.
    fn drop_overlaps(&mut self) {
        let mut covered = 0;
        self.pieces.retain_mut(|piece| {
            let hidden = piece.range.start.max(covered) - piece.range.start;
            covered = covered.max(piece.range.end);
            piece.range.start = piece.range.start.saturating_add(hidden);
            piece.file_offset = piece.file_offset.saturating_add(hidden);
            piece.range.start < piece.range.end
        });
    }

    /// The vmlinux that was named.
    fn named_vmlinux(&mut self, path: &Path, recorded: RecordedKernel<'_>) -> Option<CodeFile> {
        let file = self.open_file(path)?;
        let differs = |id: &&BuildId| !file.build_id.as_ref().is_some_and(|found| same_build(found, id));
        if let Some(id) = recorded.build_id.filter(differs) {
            let error =
                Error::OtherBuild { path: path.to_owned(), recorded: id.clone(), found: file.build_id };
            self.warn(format!("{error}; give the vmlinux of the recorded kernel"));
            return None;
        }
        Some(file)
    }

    /// Symbols and lines of a vmlinux that was named, or lies where its build ID says.
    fn use_vmlinux_symbols(
        &mut self,
        vmlinux: Option<&CodeFile>,
        search: &SearchPath,
        recorded: RecordedKernel<'_>,
    ) {
        let Some(file) = vmlinux else { return };
        let slide = slide_of(recorded, |name| file.symbol(name));
        self.lines = Lines::open(file, search).map(|lines| (lines, slide));
        let symbols = file.symbols();
        if !symbols.is_empty() {
            self.tables.push((SymbolTable::new(Arc::clone(&file.bytes), symbols), slide));
        }
    }

    fn use_vmlinux_code(&mut self, file: &CodeFile, recorded: RecordedKernel<'_>) {
        self.add_code(file, slide_of(recorded, |name| file.symbol(name)));
        self.warn(format!(
            "{}: kernel code from this file lacks what the boot patched (alternatives, static calls, ftrace) and all \
             modules: expect gaps; record with `perf record --kcore`",
            file.path.display()
        ));
    }

    /// A list that was named, or one by build ID: of the same kernel, but perhaps of another boot.
    fn use_kallsyms(&mut self, path: &Path, recorded: RecordedKernel<'_>) {
        let Some((bytes, mut list)) = self.open_kallsyms(path) else { return };
        let slide = slide_of(recorded, |name| list.reference(name));
        if slide != 0 {
            self.warn(format!(
                "{}: of another boot than the recording: the kernel's names are moved by {slide:#x}, those of modules \
                 are left out",
                path.display()
            ));
            list.functions.retain(|function| !list.in_modules.contains(&function.start));
        }
        self.tables.push((SymbolTable::new(bytes, list.functions), slide));
    }

    fn open_kallsyms(&mut self, path: &Path) -> Option<(Arc<FileBytes>, Kallsyms)> {
        let bytes = match FileBytes::open(path) {
            Ok(bytes) => Arc::new(bytes),
            Err(error) => {
                self.warn(format!("{}: {error}: no kernel symbols from it", path.display()));
                return None;
            }
        };
        let list = kallsyms::parse(&bytes);
        if list.functions.is_empty() {
            let why =
                if list.hidden { "all addresses are hidden (kptr_restrict)" } else { "it lists no function" };
            self.warn(format!("{}: {why}: no kernel symbols from it", path.display()));
            return None;
        }
        Some((bytes, list))
    }
}

/// How far the kernel was moved at boot, against a file in which `address_of` finds symbols.
fn slide_of(recorded: RecordedKernel<'_>, address_of: impl Fn(&str) -> Option<u64>) -> u64 {
    let slide =
        recorded.reference().and_then(|(symbol, actual)| Some(actual.wrapping_sub(address_of(symbol)?)));
    slide.unwrap_or(0)
}

#[cfg(test)]
mod tests;
