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
    let found = functions(&stripped, "program", vec![(exported.clone(), "exported")]);
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

/// What the compiler moves apart jumps back to its function. The unstripped file's symbols are the truth.
#[test]
fn parts_have_the_names_of_their_functions() {
    const SPLIT: &str = "
__attribute__((noinline, cold)) int fail(int);
__attribute__((noinline)) int check(int *all, int count) {
    int sum = 0;
    for (int at = 0; at < count; at++) {
        if (all[at] < 0) { sum += fail(all[at]); sum *= fail(sum); }
        sum += all[at] * sum;
    }
    return sum;
}
int fail(int value) { return value * 3; }
int main(int count, char **arguments) { (void)arguments; return check(&count, 1); }
";
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("split.c"), folder.path().join("split"));
    std::fs::write(&source, SPLIT).expect("written");
    // The rarely called function changes registers, so that `check` saves them.
    let options = [
        "-O2",
        "-fno-ipa-ra",
        "-fno-ipa-cp",
        "-fno-ipa-pure-const",
        "-fno-shrink-wrap",
        "-freorder-blocks-and-partition",
        "-o",
    ];
    run(Command::new("gcc").args(options).arg(&program).arg(&source));
    let start_of = |name: &str| {
        let bytes = std::fs::read(&program).expect("read");
        let whole = object::File::parse(&bytes[..]).expect("ELF");
        let symbol = whole.symbols().find(|symbol| symbol.name() == Ok(name));
        symbol.map(|symbol| symbol.address()..symbol.address() + symbol.size())
    };
    let check = start_of("check").expect("its function");
    let cold = start_of("check.cold").expect("the compiler moved what is unlikely");
    run(Command::new("strip").arg(&program));
    let bytes = std::fs::read(&program).expect("read");
    let stripped = object::File::parse(&bytes[..]).expect("ELF");
    let name_of = |named: Vec<Named<'_>>| {
        let found = functions(&stripped, "split", named);
        found.into_iter().find(|(range, _)| range.start == cold.start).map(|(_, name)| name)
    };
    assert_eq!(name_of(vec![(check.clone(), "check")]).as_deref(), Some("check.cold"));
    assert_eq!(name_of(Vec::new()), Some(format!("split+{:#x}.cold", check.start)));
}

/// Its frame is spelled out, as compilers never do where a function begins; it jumps into the middle of another one.
#[test]
fn a_function_with_a_frame_spelled_out_is_no_part() {
    const SPELLED: &str = r#"
int inner(int value) { return value * 3 + 1; }
__asm__(".text\n.type outer, @function\nouter:\n.cfi_startproc\n.cfi_def_cfa %rsp, 8\nnop\njmp inner+4\n.cfi_endproc\n.size outer, .-outer");
int outer(int);
int main(int count, char **arguments) { (void)arguments; return outer(count); }
"#;
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("spelled.c"), folder.path().join("spelled"));
    std::fs::write(&source, SPELLED).expect("written");
    run(Command::new("gcc").args(["-O0", "-o"]).arg(&program).arg(&source));
    let bytes = std::fs::read(&program).expect("read");
    let whole = object::File::parse(&bytes[..]).expect("ELF");
    let outer = whole.symbols().find(|symbol| symbol.name() == Ok("outer")).expect("it").address();
    run(Command::new("strip").arg(&program));
    let bytes = std::fs::read(&program).expect("read");
    let stripped = object::File::parse(&bytes[..]).expect("ELF");
    let found = functions(&stripped, "spelled", Vec::new());
    let (_, name) = found.iter().find(|(range, _)| range.start == outer).expect("its entry");
    assert_eq!(*name, format!("spelled+{outer:#x}"));
}
