//! Functions of a stripped file, by its unwind tables: `nginx+0x1a2b40`.
//!
//! Input: an ELF file without symbol table. Output: the addresses of each function that no symbol names, with a name made of the file's
//! and its position. `.eh_frame` stays in a stripped file, and has an entry per function (System V ABI for AMD64, 4.2.4; Linux Standard
//! Base, "Exception Frames"). What compilers move apart (`F.cold`) has an entry of its own.

use std::ops::Range;

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use object::{Object, ObjectSection};

use crate::plt::Stub;

/// The functions of `parsed` that do not touch one of `named`, each called by `file` and its stated address (SVMA).
pub(crate) fn functions(parsed: &object::File<'_>, file: &str, mut named: Vec<Range<u64>>) -> Vec<Stub> {
    named.sort_unstable_by_key(|range| range.start);
    // The farthest end so far: of nested symbols the outer one ends last.
    let mut farthest = 0;
    for range in &mut named {
        farthest = range.end.max(farthest);
        range.end = farthest;
    }
    let is_named = |function: &Range<u64>| {
        let before = named.partition_point(|range| range.start < function.end);
        before.checked_sub(1).is_some_and(|last| named[last].end > function.start)
    };
    let found = ranges(parsed).into_iter().filter(|function| !is_named(function));
    found.map(|function| (function.clone(), format!("{file}+{:#x}", function.start))).collect()
}

/// The addresses of all entries; those after one that cannot be read are left out.
fn ranges(parsed: &object::File<'_>) -> Vec<Range<u64>> {
    let Some(section) = parsed.section_by_name(".eh_frame") else { return Vec::new() };
    let Ok(bytes) = section.data() else { return Vec::new() };
    let address_of = |name| parsed.section_by_name(name).map_or(0, |section| section.address());
    let bases = BaseAddresses::default()
        .set_eh_frame(section.address())
        .set_text(address_of(".text"))
        .set_got(address_of(".got"));
    let table = EhFrame::new(bytes, LittleEndian);
    let mut entries = table.entries(&bases);
    let mut found = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(function) = partial.parse(EhFrame::cie_from_offset) else { continue };
        let start = function.initial_address();
        if let Some(end) = start.checked_add(function.len()).filter(|&end| end > start) {
            found.push(start..end);
        }
    }
    found
}

#[cfg(test)]
mod tests;
