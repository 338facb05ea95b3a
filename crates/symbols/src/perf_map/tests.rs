//! Perf maps, by hand.

use super::*;

#[test]
fn reads_names_with_spaces_and_keeps_the_later_of_two() {
    let text = b"7f00 10 int Foo::bar(a, b)\nnonsense\n0x7f10 8 first\n7f10 20 second\r\n7f80 0 empty\n";
    let file = Arc::new(FileBytes::Owned(text.to_vec()));
    let table = SymbolTable::new(Arc::clone(&file), parse(&file));
    let found: Vec<_> = table.iter().collect();
    assert_eq!(found, [(0x7f00..0x7f10, "int Foo::bar(a, b)"), (0x7f10..0x7f30, "second")]);
}
