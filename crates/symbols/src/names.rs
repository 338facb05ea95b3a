//! Addresses to names and names to addresses.
//!
//! [`ProcessImages::function_at`] is asked for every block of a flow: four binary searches, no allocation.

use std::ops::Range;
use std::sync::Arc;

use model::{Pid, Tsc};

use crate::image::ImageKind;
use crate::process_images::ProcessImages;
use crate::symbol_table::Found;
use crate::timeline::KERNEL_HALF;

/// Names a function of one DSO within one [`ProcessImages`]; the same function mapped twice has one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(u64);

/// The parts of an id: an image's number, or one of these, above a symbol's number.
const KERNEL_IMAGE: u32 = u32::MAX;
const RUN_TIME_IMAGE: u32 = u32::MAX - 1;

impl FunctionId {
    fn new(image: u32, symbol: u32) -> FunctionId {
        FunctionId(u64::from(image) << 32 | u64::from(symbol))
    }
}

/// A function around an address.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Its identity.
    pub id: FunctionId,
    /// Its first address (AVMA).
    pub start: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The addresses (AVMA) around the one asked for that have the same answer: one may keep the answer for them.
    pub range: Range<u64>,
    /// Its name, demangled.
    pub name: &'a Arc<str>,
}

/// All that is known of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let file = piece.image.code(&self.search)?;
        let svma = file.svma(piece.file_offset(address))?;
        let found = piece.image.symbols(&self.search)?.at(svma)?;
        Some(function(piece.index, found, address.wrapping_sub(svma), piece.range))
    }

    /// The name of a function that [`Self::function_at`] found.
    pub fn name_of(&self, id: FunctionId) -> Option<&Arc<str>> {
        let (image, symbol) = ((id.0 >> 32) as u32, id.0 as u32);
        match image {
            KERNEL_IMAGE => self.kernel().symbols()?.0.name(symbol),
            RUN_TIME_IMAGE => self.timelines.run_time_names.get(symbol as usize),
            image => self.images.get(image as usize)?.symbols(&self.search)?.name(symbol),
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
            svma: file.zip(file_offset).and_then(|(file, offset)| file.svma(offset)),
        }
    }

    /// Where functions called `name` (mangled or not) begin in `pid`'s address space at `at`, kernel included.
    pub fn addresses_of(&self, pid: Pid, name: &str, at: Tsc) -> Vec<u64> {
        let mut addresses = Vec::new();
        for (range, &mapping) in self.timelines.process(pid).at(at).pieces.iter() {
            let Some(piece) = self.piece_of(range, mapping) else { continue };
            let Some(file) = piece.image.code(&self.search) else { continue };
            let Some(svma) = file.svma(piece.file_offset(range.start)) else { continue };
            let Some(symbols) = piece.image.symbols(&self.search) else { continue };
            let here =
                symbols.starts_of(name).map(|start| start.wrapping_sub(svma).wrapping_add(range.start));
            addresses.extend(here.filter(|address| range.contains(address)));
        }
        addresses.extend(self.kernel_addresses_of(name));
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    fn kernel_addresses_of(&self, name: &str) -> Vec<u64> {
        let Some((symbols, slide)) = self.kernel().symbols() else { return Vec::new() };
        symbols.starts_of(name).map(|start| start.wrapping_add(slide)).collect()
    }

    fn raw_name(&self, id: FunctionId) -> &str {
        let (image, symbol) = ((id.0 >> 32) as u32, id.0 as u32);
        match image {
            KERNEL_IMAGE => self.kernel().symbols().map_or("", |(symbols, _)| symbols.raw_name(symbol)),
            RUN_TIME_IMAGE => self.timelines.run_time_names.get(symbol as usize).map_or("", |name| &**name),
            image => {
                let symbols = self.images.get(image as usize).and_then(|image| image.symbols(&self.search));
                symbols.map_or("", |symbols| symbols.raw_name(symbol))
            }
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
        let found = self.kernel().function(address)?;
        let everywhere = KERNEL_HALF..u64::MAX;
        let (mapping, _) = self.timelines.kernel.at(at).pieces.get(address).unzip();
        Some(function(KERNEL_IMAGE, found, 0, mapping.unwrap_or(&everywhere)))
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

/// `bias` turns the table's addresses into actual ones; the range that shares the answer ends with the piece.
fn function<'a>(image: u32, found: Found<'a>, bias: u64, piece: &Range<u64>) -> Function<'a> {
    let span = found.span.start.wrapping_add(bias)..found.span.end.wrapping_add(bias);
    Function {
        id: FunctionId::new(image, found.index),
        start: found.range.start.wrapping_add(bias),
        size: found.range.end - found.range.start,
        range: span.start.max(piece.start)..span.end.min(piece.end),
        name: found.name,
    }
}
