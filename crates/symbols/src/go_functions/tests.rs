use std::path::Path;
use std::process::Command;

use object::{ObjectSymbol, SymbolKind};

use super::*;

/// A table by hand: two functions at 0x20 and 0x60 of the code, which ends at 0x90.
fn table(text: u64) -> Vec<u8> {
    let names = b"main.main\0main.parse\0";
    let mut bytes = 0xffff_fff1_u32.to_le_bytes().to_vec();
    bytes.extend([0, 0, 1, 8]);
    let header = 8 + 8 * 8;
    let functions = header + names.len() as u64;
    for word in [2, 0, text, header, 0, 0, 0, functions] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(names);
    // What there is about a function follows the list: its place, and its name's.
    let more = [28_u32, 36];
    for number in [0x20, more[0], 0x60, more[1], 0x90, 0, 0, 0x20, 0, 0x60, 10] {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

fn found(bytes: &[u8], text: u64) -> Vec<(u64, u64, String)> {
    let table = Table::of(bytes).expect("a table");
    let name = |range: std::ops::Range<usize>| String::from_utf8_lossy(&bytes[range]).into_owned();
    table.functions(text).map(|function| (function.start, function.size, name(function.name))).collect()
}

#[test]
fn functions_have_their_names() {
    let bytes = table(0);
    let expected = vec![(0x1020, 0x40, "main.main".to_owned()), (0x1060, 0x30, "main.parse".to_owned())];
    assert_eq!(found(&bytes, 0x1000), expected);
}

/// Names at wrong addresses would be worse than none.
#[test]
fn where_the_first_function_lies_is_never_guessed() {
    let code = 0x1000..0x2000;
    let text = |stored: u64, entry: u64| {
        let bytes = table(stored);
        Table::of(&bytes).and_then(|table| table.text(&code, entry))
    };
    assert_eq!(text(0x1400, 0), Some(0x1400));
    assert_eq!(text(0, 0x1060), Some(0x1000));
    assert_eq!(text(0, 0x1000), None, "it enters in no function of the table");
    assert_eq!(text(0, 0), None);
}

#[test]
fn a_damaged_table_is_read_as_far_as_it_goes() {
    let whole = table(0);
    for length in 0..whole.len() {
        if let Some(table) = Table::of(&whole[..length]) {
            assert!(table.functions(0).count() <= 2);
        }
    }
    let mut lying = whole.clone();
    lying[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(found(&lying, 0x1000).len(), 2);
    let mut outside = whole;
    let last = outside.len() - 4;
    outside[last..].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(found(&outside, 0x1000).len(), 1);
}

/// The symbols that the linker leaves out of a stripped program are the truth; they say the same of the program that has them.
#[test]
fn a_stripped_go_program_has_its_functions() {
    let go = Path::new("/usr/local/go/bin/go");
    if !go.exists() {
        eprintln!("a_stripped_go_program_has_its_functions: not run: there is no {}", go.display());
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("program.go");
    std::fs::write(&source, "package main\n\nfunc main() { println(work(7)) }\n\n//go:noinline\nfunc work(n int) int { return n * 3 }\n")
        .expect("written");
    let build = |flags: &str, name: &str| {
        let program = folder.path().join(name);
        let mut command = Command::new(go);
        command.args(["build", "-ldflags", flags, "-o"]).arg(&program).arg(&source).env("CGO_ENABLED", "0");
        let output = command.env("GOCACHE", folder.path().join("cache")).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(program).expect("read")
    };
    let (whole, stripped) = (build("", "whole"), build("-s -w", "stripped"));
    let parsed = object::File::parse(&stripped[..]).expect("ELF");
    assert_eq!(parsed.symbols().count(), 0);
    let found: std::collections::BTreeMap<u64, String> = functions(&parsed, &stripped)
        .into_iter()
        .map(|function| (function.start, String::from_utf8_lossy(&stripped[function.name]).into_owned()))
        .collect();
    let parsed = object::File::parse(&whole[..]).expect("ELF");
    let of_symbols = parsed.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let of_symbols: Vec<(u64, String)> =
        of_symbols.map(|symbol| (symbol.address(), symbol.name().expect("text").to_owned())).collect();
    let wanted = |name: &str| name.starts_with("main.") || name.starts_with("runtime.chan");
    let mut compared = 0;
    for (start, name) in of_symbols.iter().filter(|(_, name)| wanted(name)) {
        assert_eq!(found.get(start), Some(name));
        compared += 1;
    }
    assert!(compared > 8, "{compared}");
}
