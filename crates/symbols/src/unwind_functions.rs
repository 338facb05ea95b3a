//! Functions of a stripped file, by its unwind tables: `nginx+0x1a2b40`.
//!
//! Input: an ELF file without symbol table. Output: the addresses of each function that no symbol names, with a name made of the file's
//! and its position. `.eh_frame` stays in a stripped file, and has an entry per function (System V ABI for AMD64, 4.2.4; Linux Standard
//! Base, "Exception Frames"). What compilers move apart has an entry of its own, and is called `F.cold`, as compilers do, by the function
//! that it jumps back to.

use std::collections::BTreeMap;
use std::ops::Range;

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use object::{Object, ObjectSection};

use crate::plt::Stub;
use crate::split_parts;

/// More bytes of code than compilers move away from the functions of a file; what comes after them keeps a name of its own.
const MOST_MOVED: u64 = 32 << 20;

/// A function that a symbol names.
pub(crate) type Named<'a> = (Range<u64>, &'a str);

/// The functions of `parsed` that do not touch one of `named`, each called by `file` and its stated address (SVMA).
pub(crate) fn functions(parsed: &object::File<'_>, file: &str, mut named: Vec<Named<'_>>) -> Vec<Stub> {
    named.sort_unstable_by_key(|(range, _)| range.start);
    // The farthest end so far: of nested symbols the outer one ends last.
    let mut farthest = 0;
    for (range, _) in &mut named {
        farthest = range.end.max(farthest);
        range.end = farthest;
    }
    let symbol_of = |function: &Range<u64>| {
        let before = named.partition_point(|(range, _)| range.start < function.end);
        before.checked_sub(1).map(|last| &named[last]).filter(|(range, _)| range.end > function.start)
    };
    let mut entries = entries(parsed);
    entries.sort_unstable_by_key(|entry| entry.range.start);
    let name_of = |function: &Range<u64>| match symbol_of(function) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("{file}+{:#x}", function.start),
    };
    let found = entries.iter().filter(|entry| symbol_of(&entry.range).is_none());
    let mut left = MOST_MOVED;
    found
        .map(|entry| {
            let rest = left.checked_sub(entry.range.end - entry.range.start).filter(|_| entry.is_part);
            left = rest.unwrap_or(left);
            let whole = rest.and_then(|_| whole_of(entry, &entries, parsed));
            let name = whole.map(|whole| format!("{}.cold", name_of(&whole.range)));
            (entry.range.clone(), name.unwrap_or_else(|| name_of(&entry.range)))
        })
        .collect()
}

/// The function that `part` jumps into most often, not to its beginning: that would be a call.
fn whole_of<'a>(part: &Entry, entries: &'a [Entry], parsed: &object::File<'_>) -> Option<&'a Entry> {
    let length = part.range.end - part.range.start;
    let code = parsed.sections().find_map(|section| section.data_range(part.range.start, length).ok()?)?;
    let mut jumps: BTreeMap<usize, usize> = BTreeMap::new();
    for target in split_parts::jumps_out(code, &part.range) {
        let after = entries.partition_point(|entry| entry.range.start < target);
        let holds = |entry: &&Entry| !entry.is_part && entry.range.contains(&target);
        if let Some(last) =
            after.checked_sub(1).filter(|&last| entries.get(last).is_some_and(|entry| holds(&entry)))
        {
            *jumps.entry(last).or_default() += 1;
        }
    }
    let (&whole, _) = jumps.iter().max_by_key(|&(_, count)| count)?;
    entries.get(whole)
}

/// An entry of the unwind tables.
struct Entry {
    range: Range<u64>,
    is_part: bool,
}

/// All entries; those after one that cannot be read are left out.
fn entries(parsed: &object::File<'_>) -> Vec<Entry> {
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
            found.push(Entry { range: start..end, is_part: split_parts::is_part(&function, &table, &bases) });
        }
    }
    found
}

#[cfg(test)]
mod tests;
