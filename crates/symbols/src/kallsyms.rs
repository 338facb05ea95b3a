//! The kernel's own symbol list.
//!
//! Input: lines `ADDRESS TYPE NAME[\t[MODULE]]` (`/proc/kallsyms`, proc(5)). Output: the functions. Lines that are none
//! are skipped; names stay in the file.

use std::collections::HashSet;
use std::ops::Range;

use crate::symbol_table::{Binding, RawSymbol};
use crate::timeline::KERNEL_HALF;

/// The functions of a kallsyms file.
#[derive(Debug, Default)]
pub(crate) struct Kallsyms {
    /// In the order of the file. Without sizes.
    pub(crate) functions: Vec<RawSymbol>,
    /// Where functions of modules begin.
    pub(crate) in_modules: HashSet<u64>,
    text: Option<u64>,
    stext: Option<u64>,
    /// Whether all addresses were zero: `kptr_restrict` hid them.
    pub(crate) hidden: bool,
}

impl Kallsyms {
    /// Address of one of the two symbols that perf refers to.
    pub(crate) fn reference(&self, name: &str) -> Option<u64> {
        match name {
            "_text" => self.text,
            "_stext" => self.stext,
            _ => None,
        }
    }
}

/// Reads the list.
pub(crate) fn parse(file: &[u8]) -> Kallsyms {
    let mut found = Kallsyms::default();
    let (mut zeros, mut lines) = (0u64, 0u64);
    let mut position = 0;
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        let start = position;
        position += line.len();
        let Some((address, kind, name)) = fields(line) else { continue };
        lines += 1;
        zeros += u64::from(address == 0);
        let name_bytes = line.get(name.clone()).unwrap_or_default();
        match name_bytes {
            b"_text" => found.text = Some(address),
            b"_stext" => found.stext = Some(address),
            _ => {}
        }
        if let Some(binding) = function_binding(kind).filter(|_| address >= KERNEL_HALF) {
            if line.trim_ascii_end().ends_with(b"]") {
                found.in_modules.insert(address);
            }
            let name = start + name.start..start + name.end;
            found.functions.push(RawSymbol { start: address, size: 0, name, binding });
        }
    }
    found.hidden = lines > 0 && zeros == lines;
    found
}

/// Whether `line` is one of such a list.
pub(crate) fn is_symbol(line: &[u8]) -> bool {
    fields(line).is_some()
}

fn function_binding(kind: u8) -> Option<Binding> {
    match kind {
        b'T' => Some(Binding::Global),
        b't' => Some(Binding::Local),
        b'W' | b'w' => Some(Binding::Weak),
        _ => None,
    }
}

/// Address, type and the name's place in the line.
fn fields(line: &[u8]) -> Option<(u64, u8, Range<usize>)> {
    let digits = line.iter().position(|&byte| byte == b' ')?;
    let address = std::str::from_utf8(line.get(..digits)?).ok()?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let kind = *line.get(digits + 1)?;
    if line.get(digits + 2) != Some(&b' ') {
        return None;
    }
    let start = digits + 3;
    let rest = line.get(start..)?;
    let length =
        rest.iter().position(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' ')).unwrap_or(rest.len());
    (length > 0).then_some((address, kind, start..start + length))
}

#[cfg(test)]
mod tests;
