//! In which file a function is declared.
//!
//! Input: a stated address and the DWARF unit that covers it. Output: the file of the subprogram there, written as [`Lines::at`] writes files.
//! A function may begin with lines of other files, such as a library's iterator that a compiler wrote into it, yet is declared in its
//! own. Source: DWARF 5 sections 2.14 (`DW_AT_decl_file`), 3.3.8.3 (`DW_AT_abstract_origin`) and 2.13.2 (`DW_AT_specification`).

use std::borrow::Cow;
use std::sync::PoisonError;

use gimli::{AttributeValue, DebuggingInformationEntry, Reader, UnitOffset, UnitRef};

use super::Lines;
use crate::dwarf::Section;

/// More entries than any compiler makes of one function: a damaged file may claim an endless chain.
const MOST_ENTRIES: usize = 16;

/// More ranges than a compiler cuts one function into; a damaged file may claim the whole list of the file.
const MOST_RANGES: usize = 256;

impl Lines {
    /// The file in which the function that was compiled at a stated address is declared; `None` where no entry says so, or only one of another
    /// unit or file does.
    pub(crate) fn declared_in(&self, svma: u64) -> Option<String> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let mut frames = self.split.finished(tables.find_frames(svma)).ok()?;
        let mut outermost = None;
        while let Ok(Some(frame)) = frames.next() {
            outermost = frame.dw_die_offset;
        }
        let unit = self.split.finished(tables.find_dwarf_and_unit(svma))?;
        let function = unit.entry(outermost?).ok()?;
        // Another unit may claim the address, too.
        covers(unit, &function, svma).then(|| declared_by(unit, function)).flatten()
    }
}

fn covers(unit: UnitRef<'_, Section>, function: &DebuggingInformationEntry<Section>, svma: u64) -> bool {
    let Ok(mut ranges) = unit.die_ranges(function) else { return false };
    let mut one = || ranges.next().ok().flatten();
    function.tag() == gimli::DW_TAG_subprogram
        && std::iter::from_fn(&mut one)
            .take(MOST_RANGES)
            .any(|range| (range.begin..range.end).contains(&svma))
}

/// The file that `entry` states, or the entry that it refers to.
fn declared_by(unit: UnitRef<'_, Section>, mut entry: DebuggingInformationEntry<Section>) -> Option<String> {
    for _ in 0..MOST_ENTRIES {
        if let Some(AttributeValue::FileIndex(file)) = entry.attr_value(gimli::DW_AT_decl_file) {
            return file_of(unit, file);
        }
        let referred = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
        let offset = referred.into_iter().find_map(|name| offset_of(unit, &entry.attr_value(name)?))?;
        entry = unit.entry(offset).ok()?;
    }
    None
}

fn offset_of(unit: UnitRef<'_, Section>, reference: &AttributeValue<Section>) -> Option<UnitOffset> {
    match *reference {
        AttributeValue::UnitRef(offset) => Some(offset),
        AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header),
        _ => None,
    }
}

/// File `index` of the unit's line table, with its folders.
fn file_of(unit: UnitRef<'_, Section>, index: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    // Before DWARF 5 it says that there is none.
    let file = header.file(index).filter(|_| index > 0 || header.version() >= 5)?;
    let folder = (file.directory_index() != 0).then(|| file.directory(header)).flatten();
    let folder = folder.map_or(Some(String::new()), |folder| text(&unit.attr_string(folder).ok()?))?;
    let compiled_in = unit.comp_dir.as_ref().and_then(text).unwrap_or_default();
    let parts = [compiled_in, folder, text(&unit.attr_string(file.path_name()).ok()?)?];
    Some(parts.iter().fold(String::new(), |path, part| beneath(path, part)))
}

fn text(bytes: &Section) -> Option<String> {
    bytes.to_string_lossy().ok().map(Cow::into_owned)
}

fn beneath(mut path: String, part: &str) -> String {
    if part.starts_with('/') {
        return part.to_owned();
    }
    if !part.is_empty() && !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path + part
}
