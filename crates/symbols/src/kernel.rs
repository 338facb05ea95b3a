//! The kernel's code and symbols.
//!
//! Input: `kcore_dir`, vmlinux, kallsyms. Output: code pieces by address and one symbol table. A kcore is memory as it
//! was, patched and with its modules; a vmlinux is what the boot then patched, so it is the second choice.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Diagnostic, Mapping};

use crate::elf::CodeFile;
use crate::file_bytes::FileBytes;
use crate::kallsyms;
use crate::search::SearchPath;
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

/// The kernel, as the files show it.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    /// Ordered by address, disjoint.
    pub(crate) pieces: Vec<KernelPiece>,
    symbols: Option<SymbolTable>,
    /// What to add to an address of `symbols` to have the one of the recording (KASLR), modulo 2^64.
    slide: u64,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Kernel {
    /// Opens what there is. `text` is the recorded mapping of the kernel's own text.
    pub(crate) fn open(search: &SearchPath, text: Option<&Mapping>) -> Kernel {
        let mut kernel = Kernel::default();
        let kcore = search.kcore_dir.as_deref().map(|dir| dir.join("kcore"));
        if let Some(file) = kcore.and_then(|path| kernel.open_file(&path)) {
            kernel.add_code(&file, 0);
        }
        if let Some(file) = search.vmlinux.as_deref().and_then(|path| kernel.open_file(path)) {
            kernel.use_vmlinux(&file, text);
        }
        let listed = search.kcore_dir.as_deref().map(|dir| dir.join("kallsyms"));
        for path in [search.kallsyms.clone(), listed].into_iter().flatten() {
            if kernel.symbols.is_none() {
                kernel.read_kallsyms(&path);
            }
        }
        kernel
    }

    /// The piece that covers `address`.
    pub(crate) fn piece(&self, address: u64) -> Option<&KernelPiece> {
        let index = self.pieces.partition_point(|piece| piece.range.start <= address).checked_sub(1)?;
        self.pieces.get(index).filter(|piece| address < piece.range.end)
    }

    /// The function at `address`; the answer's ranges are actual addresses.
    pub(crate) fn function(&self, address: u64) -> Option<Found<'_>> {
        let mut found = self.symbols.as_ref()?.at(address.wrapping_sub(self.slide))?;
        for range in [&mut found.range, &mut found.span] {
            *range = range.start.wrapping_add(self.slide)..range.end.wrapping_add(self.slide);
        }
        Some(found)
    }

    /// The symbol table, and what to add to its addresses.
    pub(crate) fn symbols(&self) -> Option<(&SymbolTable, u64)> {
        self.symbols.as_ref().map(|symbols| (symbols, self.slide))
    }

    fn open_file(&mut self, path: &Path) -> Option<CodeFile> {
        match CodeFile::open(path) {
            Ok(file) => Some(file),
            Err(error) => {
                self.diagnostics.push(Diagnostic::warning(format!("{error}: no kernel code from it")));
                None
            }
        }
    }

    /// Lays the segments of `file` beneath what is there.
    fn add_code(&mut self, file: &CodeFile, slide: u64) {
        for segment in &file.segments {
            let range = segment.svma.start.wrapping_add(slide)..segment.svma.end.wrapping_add(slide);
            if range.start >= KERNEL_HALF && range.start < range.end {
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

    fn use_vmlinux(&mut self, file: &CodeFile, text: Option<&Mapping>) {
        let slide = text.and_then(|mapping| slide_of(file, mapping)).unwrap_or(0);
        if self.pieces.is_empty() && file.has_code {
            self.add_code(file, slide);
        }
        let table = SymbolTable::new(Arc::clone(&file.bytes), file.symbols());
        if table.len() > 0 {
            self.symbols = Some(table);
            self.slide = slide;
        }
    }

    fn read_kallsyms(&mut self, path: &Path) {
        let bytes = match FileBytes::open(path) {
            Ok(bytes) => Arc::new(bytes),
            Err(error) => {
                let what = format!("{}: {error}: no kernel symbols from it", path.display());
                return self.diagnostics.push(Diagnostic::warning(what));
            }
        };
        let list = kallsyms::parse(&bytes);
        if list.functions.is_empty() {
            let why =
                if list.hidden { "all addresses are hidden (kptr_restrict)" } else { "it lists no function" };
            let what = format!("{}: {why}: no kernel symbols from it", path.display());
            return self.diagnostics.push(Diagnostic::warning(what));
        }
        self.symbols = Some(SymbolTable::new(bytes, list.functions));
        self.slide = 0;
    }
}

/// How far the kernel was moved at boot: perf writes the actual address of the symbol that it names behind the bracket
/// (`[kernel.kallsyms]_text`) into the mapping's file offset.
fn slide_of(vmlinux: &CodeFile, text: &Mapping) -> Option<u64> {
    let symbol = text.path.rsplit_once(']').map(|(_, symbol)| symbol).filter(|symbol| !symbol.is_empty())?;
    Some(text.file_offset.wrapping_sub(vmlinux.symbol(symbol)?))
}
