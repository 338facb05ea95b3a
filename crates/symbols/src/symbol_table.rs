//! Functions by address: a flat, sorted table over names that stay in their file.
//!
//! Input: symbols in any order, overlapping, with or without sizes. Output: spans without overlap, each with the symbol
//! it belongs to (the innermost). Of several names for one address the table keeps the one that perf would show
//! (`tools/perf/util/symbol.c`: sized before unsized, strong before weak, global before local, fewer leading
//! underscores, longer name).

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::copies::original;
use crate::demangle::{demangle, nim};
use crate::file_bytes::FileBytes;
use crate::plt::Stub;

/// How strongly a symbol is bound; the larger is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Weak,
    Local,
    Global,
}

/// A symbol as its file has it.
#[derive(Clone, Debug)]
pub(crate) struct RawSymbol {
    /// First address.
    pub(crate) start: u64,
    /// In bytes; 0 where the file does not say.
    pub(crate) size: u64,
    /// Where its name stands in the file; after the file's end, in the names that were made for it.
    pub(crate) name: Range<usize>,
    /// How it is bound.
    pub(crate) binding: Binding,
}

/// A symbol of the table.
#[derive(Debug)]
struct Symbol {
    start: u64,
    end: u64,
    name: Range<usize>,
    demangled: OnceLock<Arc<str>>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    end: u64,
    symbol: u32,
}

/// Functions by address.
#[derive(Debug)]
pub(crate) struct SymbolTable {
    names: Names,
    symbols: Vec<Symbol>,
    spans: Vec<Span>,
    is_of_nim: bool,
}

/// The names of a file, and after them those that we made.
#[derive(Debug)]
struct Names {
    file: Arc<FileBytes>,
    made: String,
}

impl Names {
    fn get(&self, range: &Range<usize>) -> &[u8] {
        let found = match range.start.checked_sub(self.file.len()) {
            Some(start) => self.made.as_bytes().get(start..start + range.len()),
            None => self.file.get(range.clone()),
        };
        found.unwrap_or_default()
    }
}

/// A symbol found.
#[derive(Clone, Debug)]
pub(crate) struct Found<'a> {
    /// Its number in its table.
    pub(crate) index: u32,
    /// Its addresses.
    pub(crate) range: Range<u64>,
    /// The addresses around the requested one at which the answer is the same.
    pub(crate) span: Range<u64>,
    /// Its name for people.
    pub(crate) name: &'a Arc<str>,
}

impl Found<'_> {
    /// The same, found at `stated`, for code that lies at `actual`. A damaged file may have symbols that reach beyond the address space:
    /// they are cut there.
    pub(crate) fn moved(mut self, stated: u64, actual: u64) -> Self {
        for range in [&mut self.range, &mut self.span] {
            let (before, after) = (stated.saturating_sub(range.start), range.end.saturating_sub(stated));
            *range = actual.saturating_sub(before)..actual.saturating_add(after);
        }
        self
    }
}

/// What a symbol without size and successor is taken to cover: the rest of its page and one more, as perf does.
const LAST_SYMBOL_PAGES: u64 = 2;

impl SymbolTable {
    /// The file that holds the names.
    pub(crate) fn file(&self) -> Arc<FileBytes> {
        Arc::clone(&self.names.file)
    }

    /// Builds the table; `symbols` refer to names in `file`.
    pub(crate) fn new(file: Arc<FileBytes>, symbols: Vec<RawSymbol>) -> SymbolTable {
        SymbolTable::with_stubs(file, symbols, Vec::new())
    }

    /// The same with functions whose names are in no file.
    pub(crate) fn with_stubs(
        file: Arc<FileBytes>,
        mut symbols: Vec<RawSymbol>,
        stubs: Vec<Stub>,
    ) -> SymbolTable {
        let mut names = Names { file, made: String::new() };
        for (range, name) in stubs {
            let at = names.file.len() + names.made.len();
            names.made.push_str(&name);
            let name = at..at + name.len();
            symbols.push(RawSymbol {
                start: range.start,
                size: range.end - range.start,
                name,
                binding: Binding::Weak,
            });
        }
        SymbolTable::of(names, symbols)
    }

    fn of(names: Names, mut symbols: Vec<RawSymbol>) -> SymbolTable {
        let name_at = |range: &Range<usize>| names.get(range);
        symbols.sort_by(|a, b| {
            let key = |symbol: &RawSymbol| preference(symbol, name_at(&symbol.name));
            a.start
                .cmp(&b.start)
                .then_with(|| key(b).cmp(&key(a)))
                .then_with(|| name_at(&a.name).cmp(name_at(&b.name)))
        });
        symbols.dedup_by_key(|symbol| symbol.start);
        symbols.truncate(u32::MAX as usize);
        let ends: Vec<u64> =
            (0..symbols.len()).map(|index| end_of(&symbols[index], symbols.get(index + 1))).collect();
        let symbols: Vec<Symbol> = symbols
            .into_iter()
            .zip(ends)
            .map(|(raw, end)| Symbol { start: raw.start, end, name: raw.name, demangled: OnceLock::new() })
            .collect();
        let spans = flatten(&symbols);
        let is_of_nim = symbols.iter().any(|symbol| nim::is_of_nim(names.get(&symbol.name)));
        SymbolTable { names, symbols, spans, is_of_nim }
    }

    /// Whether it is that of a program of Nim, whose names look like those of other languages.
    pub(crate) fn is_of_nim(&self) -> bool {
        self.is_of_nim
    }

    /// The symbol that covers `address`.
    pub(crate) fn at(&self, address: u64) -> Option<Found<'_>> {
        let index = self.spans.partition_point(|span| span.start <= address).checked_sub(1)?;
        let span = self.spans.get(index).filter(|span| address < span.end)?;
        let symbol = self.symbols.get(span.symbol as usize)?;
        Some(Found {
            index: span.symbol,
            range: symbol.start..symbol.end,
            span: span.start..span.end,
            name: self.demangled(symbol),
        })
    }

    /// How many symbols there are.
    pub(crate) fn count(&self) -> usize {
        self.symbols.len()
    }

    /// The name for people of the symbol with this number.
    pub(crate) fn name(&self, index: u32) -> Option<&Arc<str>> {
        self.symbols.get(index as usize).map(|symbol| self.demangled(symbol))
    }

    /// The name that the file has for the symbol with this number.
    pub(crate) fn raw_name(&self, index: u32) -> &str {
        self.symbols.get(index as usize).map_or("", |symbol| self.raw(symbol))
    }

    /// Where symbols begin that the file, or people, call `name`, and the copies of such.
    pub(crate) fn starts_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u64> + 'a {
        let is_name = move |called: &str| called == name || original(called) == name;
        let is_called = move |symbol: &&Symbol| is_name(self.raw(symbol)) || is_name(self.demangled(symbol));
        self.symbols.iter().filter(is_called).map(|symbol| symbol.start)
    }

    /// The symbols' addresses and raw names, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Range<u64>, &str)> {
        self.symbols.iter().map(|symbol| (symbol.start..symbol.end, self.raw(symbol)))
    }

    /// All names for people.
    pub(crate) fn spoken_names(&self) -> impl Iterator<Item = &str> {
        self.symbols.iter().map(|symbol| &**self.demangled(symbol))
    }

    fn raw(&self, symbol: &Symbol) -> &str {
        let bytes = self.names.get(&symbol.name);
        match std::str::from_utf8(bytes) {
            Ok(name) => name,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    fn demangled<'a>(&self, symbol: &'a Symbol) -> &'a Arc<str> {
        let of_nim = |name| if self.is_of_nim { nim::demangle(name) } else { None };
        let plain = |name| of_nim(name).unwrap_or_else(|| demangle(name));
        symbol.demangled.get_or_init(|| plain(self.raw(symbol)).into())
    }
}

/// The larger is preferred.
fn preference(symbol: &RawSymbol, name: &[u8]) -> impl Ord + use<> {
    let underscores = name.iter().take_while(|&&byte| byte == b'_').count();
    // Old kernels have `SyS_read` beside `sys_read` for one address.
    let is_syscall_alias = name.starts_with(b"SyS") || name.starts_with(b"compat_SyS");
    // GCC's name for calls within the file stands beside the function's own, which is weak where it is a template's.
    let is_local_alias = name.ends_with(b".localalias");
    let strength = (symbol.binding != Binding::Weak, symbol.binding == Binding::Global);
    (
        symbol.size > 0,
        !is_local_alias,
        strength,
        std::cmp::Reverse(underscores),
        name.len(),
        !is_syscall_alias,
    )
}

/// A symbol without a size reaches to the next one, the last one to the end of the next page.
fn end_of(symbol: &RawSymbol, next: Option<&RawSymbol>) -> u64 {
    match (symbol.size, next) {
        (0, Some(next)) => next.start,
        (0, None) => (symbol.start & !0xfff).saturating_add(LAST_SYMBOL_PAGES * 0x1000),
        (size, _) => symbol.start.saturating_add(size),
    }
}

/// Cuts symbols, ordered by start, into spans: where several cover an address, the one that begins last has it.
fn flatten(symbols: &[Symbol]) -> Vec<Span> {
    let mut spans = Vec::with_capacity(symbols.len());
    let mut open: Vec<u32> = Vec::new();
    let mut position = 0;
    for (symbol, index) in symbols.iter().zip(0u32..) {
        close_until(symbol.start, symbols, &mut open, &mut position, &mut spans);
        position = symbol.start;
        open.push(index);
    }
    close_until(u64::MAX, symbols, &mut open, &mut position, &mut spans);
    spans
}

/// Writes the spans from `position` to `until`; symbols that end before it leave `open`.
fn close_until(
    until: u64,
    symbols: &[Symbol],
    open: &mut Vec<u32>,
    position: &mut u64,
    spans: &mut Vec<Span>,
) {
    while let Some(&symbol) = open.last() {
        let end = symbols[symbol as usize].end;
        if *position < end.min(until) {
            spans.push(Span { start: *position, end: end.min(until), symbol });
            *position = end.min(until);
        }
        if end > until {
            return;
        }
        open.pop();
    }
}

#[cfg(test)]
mod tests;
