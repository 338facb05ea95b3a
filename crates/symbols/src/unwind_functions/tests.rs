use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use object::{ObjectSymbol, SymbolKind};

use super::*;

const PROGRAM: &str = "
__attribute__((noinline)) static int first(int value) { return value * 3 + 1; }
__attribute__((noinline)) int exported(int value) { return first(value) - 7; }
int main(int count, char **arguments) { (void)arguments; return exported(count); }
";

fn run(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn build(folder: &Path) -> std::path::PathBuf {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, PROGRAM).expect("written");
    run(Command::new("gcc").args(["-O1", "-o"]).arg(&program).arg(&source));
    program
}

/// The program's own symbols, before it is stripped, are the truth.
#[test]
fn a_stripped_program_has_its_functions() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path());
    let bytes = std::fs::read(&program).expect("read");
    let whole = object::File::parse(&bytes[..]).expect("ELF");
    let of = |name: &str| {
        let symbol =
            whole.symbols().find(|symbol| symbol.name() == Ok(name) && symbol.kind() == SymbolKind::Text);
        symbol.map(|symbol| symbol.address()..symbol.address() + symbol.size()).expect("it has the symbol")
    };
    let (first, exported, main) = (of("first"), of("exported"), of("main"));
    run(Command::new("strip").arg(&program));
    let bytes = std::fs::read(&program).expect("read");
    let stripped = object::File::parse(&bytes[..]).expect("ELF");
    let found = functions(&stripped, "program", vec![exported.clone()]);
    let ranges: BTreeSet<(u64, u64)> = found.iter().map(|(range, _)| (range.start, range.end)).collect();
    for function in [&first, &main] {
        assert!(ranges.contains(&(function.start, function.end)), "{function:?} of {ranges:?}");
    }
    assert!(!ranges.contains(&(exported.start, exported.end)), "it has a name of its own");
    assert!(found.iter().any(|(_, name)| *name == format!("program+{:#x}", first.start)));
}

/// Damaged tables give fewer functions, and no end of work.
#[test]
fn a_damaged_table_is_read_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path());
    let bytes = std::fs::read(&program).expect("read");
    let (at, size) = object::File::parse(&bytes[..])
        .expect("ELF")
        .section_by_name(".eh_frame")
        .and_then(|section| section.file_range())
        .expect("it has one");
    for place in (at..at + size).step_by(3) {
        for wrong in [0x00, 0x7f, 0xff] {
            let mut damaged = bytes.clone();
            damaged[usize::try_from(place).expect("small")] = wrong;
            let parsed = object::File::parse(&damaged[..]).expect("ELF");
            assert!(functions(&parsed, "program", Vec::new()).len() <= bytes.len() / 8);
        }
    }
}
