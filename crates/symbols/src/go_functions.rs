//! Functions of a stripped Go program, by the table that its runtime cannot do without: `.gopclntab`.
//!
//! Input: an ELF file without symbol table (`go build -ldflags="-s -w"`). Output: its Go functions. Sources: Go's `runtime/symtab.go`
//! (`pcHeader`, `functab`), `runtime/runtime2.go` (`_func`), `cmd/link/internal/ld/pcln.go`; Go 1.18 and later, on x86-64.

use object::{Object, ObjectSection};

use crate::symbol_table::{Binding, RawSymbol};

/// `abi.Go118PCLnTabMagic`, `abi.Go120PCLnTabMagic`.
const MAGICS: [u32; 2] = [0xffff_fff0, 0xffff_fff1];

/// The functions of `parsed`, whose bytes are `file`.
pub(crate) fn functions(parsed: &object::File<'_>, file: &[u8]) -> Vec<RawSymbol> {
    let is_table = |name: &str| name == ".gopclntab" || name == ".data.rel.ro.gopclntab";
    let section = parsed.sections().find(|section| section.name().is_ok_and(is_table));
    let Some((at, bytes)) = section.and_then(|section| {
        let (at, size) = section.file_range()?;
        let at = usize::try_from(at).ok()?;
        Some((at, file.get(at..at.checked_add(usize::try_from(size).ok()?)?)?))
    }) else {
        return Vec::new();
    };
    let Some(table) = Table::of(bytes) else { return Vec::new() };
    let code = parsed
        .section_by_name(".text")
        .map_or(0..0, |text| text.address()..text.address().saturating_add(text.size()));
    let Some(text) = table.text(&code, parsed.entry()) else { return Vec::new() };
    table
        .functions(text)
        .map(|function| RawSymbol { name: at + function.name.start..at + function.name.end, ..function })
        .collect()
}

/// The table's parts.
struct Table<'a> {
    bytes: &'a [u8],
    /// The address of the program's first Go function, where the linker has stored it.
    text: u64,
    /// Where names begin.
    names: usize,
    /// Two numbers per function: its place, and that of more about it.
    functions: &'a [u8],
    count: usize,
}

impl<'a> Table<'a> {
    fn of(bytes: &'a [u8]) -> Option<Table<'a>> {
        let magic = u32_at(bytes, 0)?;
        // Instructions begin anywhere, and a pointer has 8 bytes.
        if !MAGICS.contains(&magic) || bytes.get(4..8)? != [0, 0, 1, 8] {
            return None;
        }
        let word = |index: usize| {
            Some(u64::from_le_bytes(bytes.get(8 + 8 * index..16 + 8 * index)?.try_into().ok()?))
        };
        let place = |index: usize| usize::try_from(word(index)?).ok();
        let functions = bytes.get(place(7)?..)?;
        // The end of the last one stands after all.
        let most = (functions.len() / 8).saturating_sub(1);
        Some(Table { bytes, text: word(2)?, names: place(3)?, functions, count: place(0)?.min(most) })
    }

    /// Where the first function lies: as the table says, else at the beginning of the code if the program's entry point is a function
    /// then. Programs with C code have that before.
    fn text(&self, code: &std::ops::Range<u64>, entry: u64) -> Option<u64> {
        if code.contains(&self.text) {
            return Some(self.text);
        }
        let wanted = u32::try_from(entry.checked_sub(code.start)?).ok()?;
        let is_one = (0..self.count).any(|index| self.place(index) == Some(wanted));
        is_one.then_some(code.start)
    }

    /// Where function `index` begins, from the first one on.
    fn place(&self, index: usize) -> Option<u32> {
        u32_at(self.functions, 8 * index)
    }

    /// All functions; names are places in the table.
    fn functions(&self, text: u64) -> impl Iterator<Item = RawSymbol> {
        (0..self.count).filter_map(move |index| {
            let (start, end) = (self.place(index)?, self.place(index + 1)?);
            let size = u64::from(end.checked_sub(start).filter(|&size| size > 0)?);
            let more = usize::try_from(u32_at(self.functions, 8 * index + 4)?).ok()?;
            let name = usize::try_from(u32_at(self.functions, more.checked_add(4)?)?).ok()?;
            let name = self.names.checked_add(name)?;
            let length = self.bytes.get(name..)?.iter().take(LONGEST_NAME).position(|&byte| byte == 0)?;
            let start = text.checked_add(u64::from(start))?;
            (length > 0).then_some(RawSymbol {
                start,
                size,
                name: name..name + length,
                binding: Binding::Local,
            })
        })
    }
}

/// A damaged table may claim endless names.
const LONGEST_NAME: usize = 4096;

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;
