//! Names of JIT code: `/tmp/perf-PID.map`.
//!
//! Input: lines `START SIZE NAME`, numbers in hexadecimal (`tools/perf/Documentation/jit-interface.txt`). Output: the
//! functions; where an address was used twice, the later one. The file holds no code and no time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Pid;

use crate::file_bytes::FileBytes;
use crate::search::{SearchPath, beneath};
use crate::symbol_table::{Binding, RawSymbol, SymbolTable};

/// The table of the process, if it wrote one.
pub(crate) fn open(pid: Pid, search: &SearchPath) -> Option<SymbolTable> {
    let bytes = Arc::new(FileBytes::open_stored(&path_of(pid, search)?).ok()?.0);
    let functions = parse(&bytes);
    (!functions.is_empty()).then(|| SymbolTable::new(bytes, functions))
}

/// Its name on the recorded machine.
pub(crate) fn name_of(pid: Pid) -> String {
    format!("/tmp/perf-{pid}.map")
}

/// Where it is looked for here.
pub(crate) fn path_of(pid: Pid, search: &SearchPath) -> Option<PathBuf> {
    match &search.symfs {
        Some(root) => beneath(root, Path::new(&name_of(pid))),
        None => Some(PathBuf::from(name_of(pid))).filter(|_| !search.contained),
    }
}

/// The lines of `file` that name a function.
pub(crate) fn lines(file: &[u8]) -> Vec<u8> {
    let lines = file.split_inclusive(|&byte| byte == b'\n').filter(|line| symbol(line, 0).is_some());
    lines.flatten().copied().collect()
}

fn parse(file: &[u8]) -> Vec<RawSymbol> {
    let mut by_start = BTreeMap::new();
    let mut position = 0;
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        if let Some(symbol) = symbol(line, position) {
            by_start.insert(symbol.start, symbol);
        }
        position += line.len();
    }
    by_start.into_values().collect()
}

/// The function of one line, which begins at `position` in the file.
fn symbol(line: &[u8], position: usize) -> Option<RawSymbol> {
    let mut fields = line.splitn(3, |&byte| byte == b' ');
    let (start, size, name) = (hex(fields.next()?)?, hex(fields.next()?)?, fields.next()?);
    let name_at = position + (line.len() - name.len());
    let length = name.trim_ascii_end().len();
    if length == 0 || size == 0 {
        return None;
    }
    Some(RawSymbol { start, size, name: name_at..name_at + length, binding: Binding::Global })
}

fn hex(digits: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
}

#[cfg(test)]
mod tests;
