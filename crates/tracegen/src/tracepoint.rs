//! The kernel's tracepoints: the raw bytes of a sample, and the section that describes their layout to a reader.
//!
//! Input: a tracepoint's name and values by field. Output: raw bytes; the section `TRACING_DATA` of the tracepoints used.
//! Source: tools/perf/util/trace-event-info.c; the format files' syntax is that of `kernel/trace/trace_events.c`.

mod table;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use Layout::{I32, I64, Located, Text, U32, U64, Words};
use table::{COMMON, HEADER_EVENT, HEADER_PAGE, POINTS};

/// The fields that each tracepoint begins with take so many bytes.
const COMMON_SIZE: usize = 8;

/// Letters of a thread's state in `prev_state`, and their bits (`task_state_array`); `R+`: it could run on.
const STATES: &[(&str, u64)] = &[
    ("R", 0),
    ("S", 1),
    ("D", 2),
    ("T", 4),
    ("t", 8),
    ("X", 16),
    ("Z", 32),
    ("P", 64),
    ("I", 128),
    ("R+", 256),
];

/// How a field lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    I32,
    U32,
    I64,
    U64,
    /// Bytes of an array of characters, filled up with zeros.
    Text(usize),
    /// An array of so many 64-bit words.
    Words(usize),
    /// Length and place of a string that follows the fields (`__data_loc`).
    Located,
}

impl Layout {
    /// Size and alignment in bytes.
    fn size(self) -> (usize, usize) {
        match self {
            I32 | U32 | Located => (4, 4),
            I64 | U64 => (8, 8),
            Text(length) => (length, 1),
            Words(count) => (8 * count, 8),
        }
    }

    fn is_signed(self) -> bool {
        matches!(self, I32 | I64 | Text(_) | Located)
    }
}

/// One field: its declaration in C, its layout, its value where a scenario names none.
type Field = (&'static str, Layout, u64);

/// A tracepoint.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    /// `group:event`, as perf names it.
    pub(crate) name: &'static str,
    /// What the kernel numbers it.
    pub(crate) id: u16,
    fields: &'static [Field],
    /// The print format of the kernel's format file.
    print: &'static str,
}

impl Tracepoint {
    /// The tracepoint of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Tracepoint> {
        POINTS.iter().find(|point| point.name == name)
    }

    /// Does it have a field of this name?
    pub(crate) fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|(declaration, ..)| name_of(declaration) == field)
    }

    /// The raw bytes of a sample in the context of thread `tid`, with these `common_flags`.
    ///
    /// # Errors
    /// What is wrong with a value, in words.
    pub(crate) fn raw(
        &self,
        tid: u32,
        flags: u8,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<u8>, String> {
        if let Some(unknown) = values.keys().find(|field| !self.has(field)) {
            return Err(format!("{} has no field `{unknown}`", self.name));
        }
        let mut out = self.id.to_le_bytes().to_vec();
        out.extend([flags, 0]);
        out.extend(tid.to_le_bytes());
        let mut strings = Vec::new();
        let end = self.places().last().map_or(COMMON_SIZE, |(_, (_, layout, _), at)| at + layout.size().0);
        for (name, &(_, layout, default), at) in self.places() {
            out.resize(at, 0);
            match (layout, values.get(name).map(String::as_str)) {
                (Located, value) => {
                    let string = [value.unwrap_or_default().as_bytes(), b"\0"].concat();
                    let place = (string.len() << 16) | (end + strings.len());
                    out.extend((place as u32).to_le_bytes());
                    strings.extend(string);
                }
                (Text(length), value) => {
                    // The kernel ends each text with a zero.
                    out.extend(value.unwrap_or_default().bytes().take(length - 1));
                    out.resize(at + length, 0);
                }
                (_, None) => out.extend(&default.to_le_bytes()[..layout.size().0.min(8)]),
                (Words(count), Some(words)) => {
                    for word in words.split(',').take(count) {
                        out.extend(value(word)?.to_le_bytes());
                    }
                }
                (_, Some(number)) => out.extend(&value(number)?.to_le_bytes()[..layout.size().0]),
            }
        }
        out.resize(end, 0);
        out.extend(strings);
        Ok(out)
    }

    /// Each field's name, the field, and its offset.
    fn places(&self) -> impl Iterator<Item = (&'static str, &'static Field, usize)> {
        self.fields.iter().scan(COMMON_SIZE, |end, field| {
            let (size, alignment) = field.1.size();
            let at = end.next_multiple_of(alignment);
            *end = at + size;
            Some((name_of(field.0), field, at))
        })
    }

    /// The kernel's format file.
    fn format(&self) -> String {
        let (_, event) = self.group_and_event();
        let mut out = format!("name: {event}\nID: {}\nformat:\n{COMMON}\n", self.id);
        for (_, (declaration, layout, _), at) in self.places() {
            let (size, signed) = (layout.size().0, u8::from(layout.is_signed()));
            let _ = writeln!(out, "\tfield:{declaration};\toffset:{at};\tsize:{size};\tsigned:{signed};");
        }
        let _ = writeln!(out, "\nprint fmt: {}", self.print);
        out
    }

    fn group_and_event(&self) -> (&'static str, &'static str) {
        self.name.split_once(':').unwrap_or(("", self.name))
    }
}

/// The section `TRACING_DATA` of a perf.data file: the formats of these tracepoints.
pub(crate) fn tracing_section(points: &[&Tracepoint]) -> Vec<u8> {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for point in points {
        groups.entry(point.group_and_event().0).or_default().push(point.format());
    }
    // Magic, version, little endian, 8 bytes to a long, page size.
    let mut out = b"\x17\x08\x44tracing0.6\0\0\x08".to_vec();
    out.extend(4096u32.to_le_bytes());
    put_file(&mut out, "header_page\0", HEADER_PAGE);
    put_file(&mut out, "header_event\0", HEADER_EVENT);
    // No formats of ftrace's own.
    out.extend(0u32.to_le_bytes());
    out.extend((groups.len() as u32).to_le_bytes());
    for (group, formats) in &groups {
        out.extend([group.as_bytes(), b"\0"].concat());
        out.extend((formats.len() as u32).to_le_bytes());
        for format in formats {
            put_file(&mut out, "", format);
        }
    }
    // No kallsyms (4 bytes), no printk formats (4), no command lines (8).
    out.extend([0; 16]);
    out
}

fn put_file(out: &mut Vec<u8>, name: &str, text: &str) {
    out.extend(name.as_bytes());
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

/// `prev_comm` of `char prev_comm[16]`, `name` of `__data_loc char[] name`.
fn name_of(declaration: &str) -> &str {
    let last = declaration.rsplit(' ').next().unwrap_or(declaration);
    last.split('[').next().unwrap_or(last)
}

/// A number, a thread's state (`S`), or a device (`259:0`).
fn value(text: &str) -> Result<u64, String> {
    if let Some((_, bits)) = STATES.iter().find(|(letter, _)| *letter == text) {
        return Ok(*bits);
    }
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned)),
    };
    let device =
        || text.split_once(':').and_then(|(major, minor)| Some(number(major)? << 20 | number(minor)?));
    number(text).or_else(device).ok_or_else(|| format!("`{text}` is no number, no state and no device"))
}

#[cfg(test)]
mod tests;
