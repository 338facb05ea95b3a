//! Which symbol covers an address, and which of several names is kept.
#![allow(clippy::cast_possible_truncation)] // Small numbers, made here.

use proptest::prelude::*;

use super::*;

/// A table over symbols given as (start, size, binding, name).
fn table(symbols: &[(u64, u64, Binding, &str)]) -> SymbolTable {
    let mut names = Vec::new();
    let mut raw = Vec::new();
    for &(start, size, binding, name) in symbols {
        raw.push(RawSymbol { start, size, name: names.len()..names.len() + name.len(), binding });
        names.extend_from_slice(name.as_bytes());
    }
    SymbolTable::new(Arc::new(FileBytes::Owned(names)), raw)
}

fn name_at(table: &SymbolTable, address: u64) -> Option<String> {
    table.at(address).map(|found| found.name.to_string())
}

#[test]
fn keeps_the_name_that_perf_would_show() {
    use Binding::{Global, Local, Weak};
    for (symbols, best) in [
        ([(16, 0, Global, "empty"), (16, 4, Local, "sized")], "sized"),
        ([(16, 4, Weak, "memcpy"), (16, 4, Global, "__memcpy")], "__memcpy"),
        ([(16, 4, Local, "longer_local"), (16, 4, Global, "global")], "global"),
        ([(16, 4, Global, "__libc_read"), (16, 4, Global, "read")], "read"),
        ([(16, 4, Global, "read"), (16, 4, Global, "read64")], "read64"),
        ([(16, 4, Global, "SyS_read"), (16, 4, Global, "sys_read")], "sys_read"),
        ([(16, 4, Global, "b"), (16, 4, Global, "a")], "a"),
        ([(16, 4, Local, "put_all.localalias"), (16, 4, Weak, "put_all")], "put_all"),
    ] {
        let mut reversed = symbols;
        reversed.reverse();
        for symbols in [symbols, reversed] {
            assert_eq!(name_at(&table(&symbols), 17).as_deref(), Some(best), "{symbols:?}");
        }
    }
}

#[test]
fn a_symbol_without_size_reaches_to_the_next() {
    let table = table(&[(0x100, 0, Binding::Global, "first"), (0x180, 0, Binding::Global, "last")]);
    assert_eq!(table.at(0x17f).map(|found| found.range), Some(0x100..0x180));
    assert_eq!(table.at(0x180).map(|found| found.range), Some(0x180..0x2000));
    assert_eq!(name_at(&table, 0xff), None);
    assert_eq!(name_at(&table, 0x2000), None);
}

/// A damaged file states addresses far above those at which it is mapped, and a symbol that begins far before them: it does not begin
/// at the end of the address space.
#[test]
fn a_symbol_of_moved_code_stays_in_the_address_space() {
    let table = table(&[(0x100, u64::MAX - 0x200, Binding::Global, "all")]);
    let at = |stated, actual| table.at(stated).map(|found| found.moved(stated, actual).range);
    assert_eq!(at(0x200, 0x40_0200), Some(0x40_0100..u64::MAX));
    assert_eq!(at(0x80_0000, 0x40_0000), Some(0..u64::MAX - 0x40_0100));
    assert_eq!(at(0x1_0000_0000, 0x40_0000), Some(0..u64::MAX - 0xffc0_0100));
}

#[test]
fn between_sized_symbols_there_is_none() {
    let table = table(&[(0x100, 0x10, Binding::Global, "a"), (0x120, 0x10, Binding::Global, "b")]);
    assert_eq!(name_at(&table, 0x10f).as_deref(), Some("a"));
    assert_eq!(name_at(&table, 0x110), None);
}

#[test]
fn finds_both_spellings_of_a_name() {
    let table = table(&[(16, 4, Binding::Global, "_ZN3foo3barEv"), (32, 4, Binding::Global, "plain")]);
    assert_eq!(table.starts_of("foo::bar").collect::<Vec<_>>(), [16]);
    assert_eq!(table.starts_of("_ZN3foo3barEv").collect::<Vec<_>>(), [16]);
    assert_eq!(table.starts_of("plain").collect::<Vec<_>>(), [32]);
}

/// A part is another function: it begins where the function already ran, or without it.
#[test]
fn finds_the_copies_of_a_function() {
    let names = [
        "parse",
        "parse.constprop.0",
        "parse.part.0",
        "memcpy@@GLIBC_2.14",
        "memcpy@plt",
        "_ZL5parsei.isra.0",
    ];
    let symbols: Vec<_> =
        (1..).zip(names).map(|(number, name)| (16 * number, 4, Binding::Global, name)).collect();
    let table = table(&symbols);
    assert_eq!(table.starts_of("parse").collect::<Vec<_>>(), [16, 32, 96]);
    assert_eq!(table.starts_of("parse.constprop.0").collect::<Vec<_>>(), [32]);
    assert_eq!(table.starts_of("parse.part.0").collect::<Vec<_>>(), [48]);
    assert_eq!(table.starts_of("memcpy").collect::<Vec<_>>(), [64]);
}

proptest! {
    /// The innermost is the symbol that begins last among those that cover the address.
    #[test]
    fn the_innermost_symbol_has_the_address(symbols in proptest::collection::btree_map(0u64..200, 1u64..60, 0..30)) {
        let names: Vec<String> = symbols.keys().map(|start| format!("s{start}")).collect();
        let list: Vec<_> =
            symbols.iter().zip(&names).map(|((&start, &size), name)| (start, size, Binding::Global, &**name)).collect();
        let table = table(&list);
        for address in 0..300u64 {
            let inner = symbols.iter().rfind(|&(&start, &size)| start <= address && address < start + size);
            let found = table.at(address);
            prop_assert_eq!(found.as_ref().map(|found| found.range.start), inner.map(|(&start, _)| start));
            if let Some(found) = found {
                prop_assert!(found.span.contains(&address));
                for same in found.span {
                    prop_assert_eq!(table.at(same).map(|found| found.index), Some(found.index));
                }
            }
        }
    }
}
