//! Addresses to names and names to addresses.
//!
//! [`ProcessImages::function_at`] is called for every block of a flow: four binary searches, no allocation.

use std::ops::Range;
use std::sync::Arc;

use model::{Pid, Tsc};

use super::ProcessImages;
use crate::image::ImageKind;
use crate::symbol_table::{Found, SymbolTable};
use crate::timeline::KERNEL_HALF;

/// Names a function of one DSO within one [`ProcessImages`]; the same function mapped twice has one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(u64);

/// Numbers beyond those of images: the kernel's symbol tables, and its functions of run time.
const KERNEL_IMAGES: u32 = u32::MAX - 0xff;
const RUN_TIME_IMAGE: u32 = KERNEL_IMAGES - 1;

impl FunctionId {
    fn new(image: u32, symbol: u32) -> FunctionId {
        FunctionId(u64::from(image) << 32 | u64::from(symbol))
    }

    #[allow(clippy::cast_possible_truncation)] // Splits what `new` combined.
    pub(super) fn parts(self) -> (u32, u32) {
        ((self.0 >> 32) as u32, self.0 as u32)
    }
}

/// A function around an address.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Function<'a> {
    /// Its identity.
    pub id: FunctionId,
    /// Its first address (AVMA).
    pub start: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The addresses (AVMA) around the requested one that have the same answer: one may keep the answer for them.
    pub range: Range<u64>,
    /// Its name, demangled.
    pub name: &'a Arc<str>,
}

/// All that is known of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// The function, demangled.
    pub symbol: Option<Arc<str>>,
    /// The function as its file spells it; empty where there is none.
    pub raw_name: String,
    /// Bytes from the function's start.
    pub offset: u64,
    /// The function's size in bytes; 0 where there is none.
    pub size: u64,
    /// The file as the recording names it, `[unknown]` where nothing was mapped.
    pub dso: Arc<str>,
    /// Position in that file, for user code.
    pub file_offset: Option<u64>,
    /// Stated address (SVMA) in that file, for user code whose file is there.
    pub svma: Option<u64>,
}

impl ProcessImages {
    /// The function at `address` in `pid`'s address space at `at`.
    pub fn function_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<Function<'_>> {
        if address >= KERNEL_HALF {
            return self.kernel_function(address, at);
        }
        let piece = self.user_piece(pid, address, at)?;
        if piece.image.kind == ImageKind::Anonymous {
            let (number, names) = self.perf_map(pid)?;
            return Some(function(number, &names.at(address)?, piece.range));
        }
        piece.image.note_ran();
        let file = piece.image.code(&self.search)?;
        let svma = file.svma(piece.file_offset(address), &piece.mapped())?;
        let found = piece.image.symbols(&self.search)?.at(svma)?.moved(svma, address);
        Some(function(piece.index, &found, piece.range))
    }

    /// The name of a function that [`Self::function_at`] found.
    pub fn name_of(&self, id: FunctionId) -> Option<&Arc<str>> {
        let (image, symbol) = id.parts();
        match image {
            RUN_TIME_IMAGE => self.timelines.run_time_names.get(symbol as usize),
            image => self.table(image)?.name(symbol),
        }
    }

    /// All that is known of `address` in `pid`'s address space at `at`.
    pub fn resolve(&self, pid: Pid, address: u64, at: Tsc) -> Location {
        let function = self.function_at(pid, address, at);
        let piece = if address < KERNEL_HALF { self.user_piece(pid, address, at) } else { None };
        let file_offset = piece.filter(|piece| piece.image.kind != ImageKind::Anonymous);
        let file_offset = file_offset.map(|piece| piece.file_offset(address));
        let file = piece.and_then(|piece| piece.image.code(&self.search));
        Location {
            symbol: function.as_ref().map(|function| Arc::clone(function.name)),
            raw_name: function
                .as_ref()
                .map_or_else(String::new, |function| self.raw_name(function.id).to_owned()),
            offset: function.as_ref().map_or(0, |function| address.wrapping_sub(function.start)),
            size: function.as_ref().map_or(0, |function| function.size),
            dso: piece.map_or_else(|| self.kernel_dso(address, at), |piece| Arc::clone(&piece.image.name)),
            file_offset,
            svma: piece.zip(file).and_then(|(piece, file)| file.svma(file_offset?, &piece.mapped())),
        }
    }

    pub(super) fn raw_name(&self, id: FunctionId) -> &str {
        let (image, symbol) = id.parts();
        match image {
            RUN_TIME_IMAGE => self.timelines.run_time_names.get(symbol as usize).map_or("", |name| &**name),
            image => self.table(image).map_or("", |symbols| symbols.raw_name(symbol)),
        }
    }

    /// The file that holds `function`, as the recording names it; `None` for the kernel's and for code without a file.
    pub fn file_of(&self, function: &Function<'_>) -> Option<&Arc<str>> {
        let (image, _) = function.id.parts();
        self.images.get(image as usize).map(|image| &image.name)
    }

    /// The symbol table with this number.
    fn table(&self, image: u32) -> Option<&SymbolTable> {
        if let Some(number) = image.checked_sub(KERNEL_IMAGES) {
            return self.kernel().table(number as usize);
        }
        match self.images.get(image as usize) {
            Some(image) => image.symbols(&self.search),
            None => self.perf_map_number(image),
        }
    }

    fn kernel_function(&self, address: u64, at: Tsc) -> Option<Function<'_>> {
        if let Some((range, &index)) = self.timelines.run_time_symbols.at(at).pieces.get(address) {
            let name = self.timelines.run_time_names.get(index as usize)?;
            let id = FunctionId::new(RUN_TIME_IMAGE, index);
            return Some(Function {
                id,
                start: range.start,
                size: range.end - range.start,
                range: range.clone(),
                name,
            });
        }
        let (number, found) = self.kernel().function(address)?;
        let image = KERNEL_IMAGES.checked_add(u32::try_from(number).ok()?)?;
        let everywhere = KERNEL_HALF..u64::MAX;
        let (mapping, _) = self.timelines.kernel.at(at).pieces.get(address).unzip();
        Some(function(image, &found, mapping.unwrap_or(&everywhere)))
    }

    /// `[kernel.kallsyms]` without the symbol that perf appends, `[module]`, or `[unknown]`.
    fn kernel_dso(&self, address: u64, at: Tsc) -> Arc<str> {
        let (_, mapping) = self.timelines.kernel.at(at).pieces.get(address).unzip();
        let mapping = mapping.and_then(|&mapping| self.timelines.mappings.get(mapping as usize));
        let path = mapping.map_or("[unknown]", |mapping| mapping.path.as_str());
        match path.split_once(']') {
            Some((name, _)) if path.starts_with('[') => format!("{name}]").into(),
            _ => path.into(),
        }
    }
}

/// The range that shares the answer ends with the piece.
fn function<'a>(image: u32, found: &Found<'a>, piece: &Range<u64>) -> Function<'a> {
    Function {
        id: FunctionId::new(image, found.index),
        start: found.range.start,
        size: found.range.end - found.range.start,
        range: found.span.start.max(piece.start)..found.span.end.min(piece.end),
        name: found.name,
    }
}

#[cfg(test)]
mod tests;
