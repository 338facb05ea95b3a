//! Source lines of JIT code: the debug records of a dump.
//!
//! Input: the bytes of a dump, nothing of them trusted. Output: file and line of each place in its code. A record lists entries, each an
//! address, a line, a number that V8 uses for the column, and the file's name up to a zero byte; `\xff` stands for the name before. No entry
//! says into which function its line was inlined: it is the innermost one's. Source: `tools/perf/Documentation/jitdump-specification.txt`,
//! `tools/perf/util/genelf_debug.c`.
//!
//! V8 writes freed memory in place of the names of the program's own files (Node.js 20 and 22), of the right length. Such a name may hold zero
//! bytes: it ends where a possible entry follows.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use model::Diagnostic;

use super::{Dump, Load, u32_at, u64_at};
use crate::demangle::v8;
use crate::file_bytes::FileBytes;
use crate::frame::Frame;

/// What stands in a record before its entries, and in an entry before its name.
pub(super) const HEAD: usize = 32;
const ENTRY: usize = 16;
/// The name that stands for the one before.
const SAME: &[u8] = b"\xff";
/// V8 writes addresses as they are in the ELF file that perf once made of a function, with the code after the header.
const ELF_HEADER: u64 = 0x40;
/// Longer names are no path's (`PATH_MAX`).
const LONGEST_NAME: usize = 4096;
/// Records are filled up to a multiple of this.
const ALIGNMENT: usize = 8;

/// From an address on the code is of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Bytes from where the record says that the function begins; more than the function has where the record is wrong.
    pub offset: u64,
    /// The line.
    pub line: u32,
    /// The column where V8 wrote the dump, else a discriminator.
    pub discriminator: u32,
    /// Where the name of its file stands in the dump.
    pub name: Range<usize>,
}

/// Reads the entries of a debug record.
#[derive(Debug)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    /// How many are still to come.
    left: u64,
    /// Where the record says that the code lies, and how far its addresses may reach.
    code: Range<u64>,
    before: Option<Range<usize>>,
    /// Whether addresses lie where they should.
    is_orderly: bool,
}

impl<'a> Entries<'a> {
    /// Of `load`, which `bytes` holds; none where that has no lines.
    pub fn of(bytes: &'a [u8], load: &Load) -> Entries<'a> {
        let record = load.lines.clone().unwrap_or_default();
        let field = |at| u64_at(bytes.get(record.clone()).unwrap_or_default(), at).unwrap_or(0);
        let (start, left) = (field(16), field(24));
        let end = start.saturating_add(load.code.len() as u64).saturating_add(ELF_HEADER);
        let at = record.start + HEAD.min(record.len());
        Entries { bytes, at, end: record.end, left, code: start..end, before: None, is_orderly: true }
    }

    /// Whether entries are missing that the record announces: true or false only at the end.
    fn is_short(&self) -> bool {
        self.left > 0
    }

    /// Where the name ends that begins at `start`.
    fn name_end(&mut self, start: usize) -> Option<usize> {
        let rest = self.bytes.get(start..self.end)?;
        let first = memchr::memchr(0, rest)?;
        if self.left == 1 {
            return Some(
                start + self.last_length(rest).filter(|_| !is_name(&rest[..first])).unwrap_or(first),
            );
        }
        if self.is_orderly {
            let near = rest.get(..LONGEST_NAME).unwrap_or(rest);
            let mut ends = memchr::memchr_iter(0, near);
            let follows = |end: &usize| u64_at(rest, end + 1).is_some_and(|next| self.code.contains(&next));
            if let Some(end) = ends.find(follows) {
                return Some(start + end);
            }
            // An address of elsewhere follows: then each name ends with its first zero byte.
            self.is_orderly = false;
        }
        Some(start + first)
    }

    /// The length of the last name, which is the rest of the record but for what fills that up, where it is that of the one before.
    fn last_length(&self, rest: &[u8]) -> Option<usize> {
        let length = self.before.as_ref()?.len();
        let after = rest.get(length..)?;
        (after.len() <= ALIGNMENT && after.iter().all(|&byte| byte == 0)).then_some(length)
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let head = self.bytes.get(self.at..self.end).filter(|_| self.left > 0)?;
        let (address, line, discriminator) = (u64_at(head, 0)?, u32_at(head, 8)?, u32_at(head, 12)?);
        let start = self.at + ENTRY;
        let end = self.name_end(start)?;
        let own = start..end;
        let is_same = self.bytes.get(own.clone()) == Some(SAME);
        let name = self.before.clone().filter(|_| is_same).unwrap_or(own);
        self.before = Some(name.clone());
        self.at = end + 1;
        self.left -= 1;
        Some(Entry { offset: address.wrapping_sub(self.code.start), line, discriminator, name })
    }
}

fn is_name(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes);
    text.is_ok_and(|text| !text.is_empty() && !text.chars().any(char::is_control))
}

/// Debug records that cannot be used as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Damage {
    /// Where the first of them stands in the dump.
    first: usize,
    records: usize,
}

/// The lines of a dump's code.
#[derive(Debug)]
pub(crate) struct CodeLines {
    bytes: Arc<FileBytes>,
    /// Functions with lines, by where their code stands in the dump.
    functions: Vec<Load>,
    /// By how much addresses are too high.
    shift: u64,
    /// By the length of a name the file of the program's that has it, `None` where several have.
    files: HashMap<usize, Option<Arc<str>>>,
    /// Records that end before the last entry.
    short: Option<Damage>,
    /// Records with names that are none.
    nameless: Option<Damage>,
}

impl CodeLines {
    /// Of the dump in `bytes`, if it has any.
    pub(crate) fn open(bytes: &Arc<FileBytes>) -> Option<CodeLines> {
        let mut all = Dump::parse(bytes).ok()?.loads;
        let files = files_of(bytes, &all);
        all.retain(|load| load.lines.is_some());
        all.sort_by_key(|load| load.code.start);
        // What moved has its code and lines in one place.
        all.dedup_by_key(|load| load.code.start);
        let bytes = Arc::clone(bytes);
        let mut lines = CodeLines { bytes, functions: all, shift: 0, files, short: None, nameless: None };
        lines.look_through();
        (!lines.functions.is_empty()).then_some(lines)
    }

    /// Counts damage, and finds by how much addresses are too high: no entry lies within the header, and some lie after the code.
    fn look_through(&mut self) {
        let (mut is_below, mut is_beyond) = (false, false);
        for load in &self.functions {
            let at = load.lines.as_ref().map_or(0, |record| record.start);
            let mut is_nameless = false;
            let mut entries = Entries::of(&self.bytes, load);
            for entry in entries.by_ref() {
                is_below |= entry.offset < ELF_HEADER;
                is_beyond |= entry.offset > load.code.len() as u64;
                is_nameless |= !self.bytes.get(entry.name).is_some_and(is_name);
            }
            if entries.is_short() {
                count(&mut self.short, at);
            }
            if is_nameless {
                count(&mut self.nameless, at);
            }
        }
        self.shift = if is_beyond && !is_below { ELF_HEADER } else { 0 };
    }

    /// What is wrong with the lines of the dump that is recorded as `name`.
    pub(crate) fn diagnostics(&self, name: &str) -> Vec<Diagnostic> {
        let all = self.functions.len();
        let short = self.short.map(|Damage { first, records }| {
            Diagnostic::warning(format!(
                "{name}: the source lines of {records} of its {all} functions that have some are damaged, first at offset {first:#x}: \
                 code of these may be without a line"
            ))
        });
        let nameless = self.nameless.map(|Damage { first, records }| {
            Diagnostic::note(format!(
                "{name}: the lines of {records} of its {all} functions that have some do not name their file (V8 writes them so), first \
                 at offset {first:#x}: it is taken for the only file of the program's whose name is as long, else they have none"
            ))
        });
        short.into_iter().chain(nameless).collect()
    }

    /// The frames at a position in the dump, without names of functions; none where no line is known.
    pub(crate) fn at(&self, position: u64) -> Vec<Frame> {
        self.frames(position).unwrap_or_default()
    }

    fn frames(&self, position: u64) -> Option<Vec<Frame>> {
        let position = usize::try_from(position).ok()?;
        let next = self.functions.partition_point(|load| load.code.start <= position);
        let load = self.functions.get(next.checked_sub(1)?).filter(|load| load.code.contains(&position))?;
        let offset = (position - load.code.start) as u64 + self.shift;
        let before = Entries::of(&self.bytes, load).filter(|entry| entry.offset <= offset);
        let entry = before.max_by_key(|entry| entry.offset).filter(|entry| entry.line > 0)?;
        let file = self.file(&entry.name)?;
        let own = name_of(&self.bytes, load).and_then(v8::parts).map(|(_, place)| place);
        let column = own.map(|_| entry.discriminator).filter(|&column| column > 0);
        // V8 says where the function itself begins.
        let outer = own.filter(|own| own.file != &*file || entry.line < own.line);
        let frame = |file: &str, line, column, inlined| Frame {
            function: String::new(),
            file: Some(file.to_owned()),
            line,
            column,
            inlined,
        };
        let innermost = frame(&file, Some(entry.line), column, outer.is_some());
        // At which line of its own the inlined function was called is not known.
        Some([innermost].into_iter().chain(outer.map(|own| frame(own.file, None, None, false))).collect())
    }

    /// The file that an entry names, or the only one of the program's with a name of that length.
    fn file(&self, name: &Range<usize>) -> Option<Arc<str>> {
        let bytes = self.bytes.get(name.clone())?;
        if is_name(bytes) {
            let text = std::str::from_utf8(bytes).ok()?;
            return Some(v8::path(text).into());
        }
        self.files.get(&bytes.len())?.clone()
    }
}

fn count(damage: &mut Option<Damage>, at: usize) {
    let known = damage.get_or_insert(Damage { first: at, records: 0 });
    known.first = known.first.min(at);
    known.records += 1;
}

fn name_of<'a>(bytes: &'a [u8], load: &Load) -> Option<&'a str> {
    std::str::from_utf8(bytes.get(load.name.clone())?).ok()
}

/// The files in V8's names of functions, by the length of their own names.
fn files_of(bytes: &[u8], loads: &[Load]) -> HashMap<usize, Option<Arc<str>>> {
    let mut files: HashMap<usize, Option<Arc<str>>> = HashMap::new();
    for name in loads.iter().filter_map(|load| name_of(bytes, load)) {
        let Some((_, place)) = v8::parts(name) else { continue };
        let length = place.file.len() + if place.is_url { v8::SCHEME.len() } else { 0 };
        let known = files.entry(length).or_insert_with(|| Some(place.file.into()));
        if known.as_ref().is_some_and(|known| &**known != place.file) {
            *known = None;
        }
    }
    files
}

#[cfg(test)]
mod tests;
