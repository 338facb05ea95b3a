//! The rule on a small crate made up for it.

use super::Floors;
use crate::layering::made_up::imports_of;

const TABLE: Floors = Floors {
    root: "src/lib.rs",
    table: &[("left", &[]), ("right", &["left"]), ("right/inner", &["left", "right"])],
};

/// What breaks the table where `left/a.rs` holds `text`.
fn found(text: &str) -> Vec<String> {
    TABLE.violations(&imports_of(&[
        ("src/lib.rs", "mod left; mod right; pub struct Thing; pub use right::c::C;"),
        ("src/left.rs", "mod a; mod b;"),
        ("src/left/a.rs", text),
        ("src/left/b.rs", ""),
        ("src/right.rs", "mod c; mod inner;"),
        ("src/right/c.rs", "use crate::left::b::B;"),
        ("src/right/inner.rs", "use super::c::C; use crate::left::b::B;"),
    ]))
}

#[test]
fn an_import_to_the_right_is_found_however_it_is_written() {
    for text in [
        "use crate::right::c::Thing;",
        "use crate::{left::b::Other, right::{self, c::{Thing as Named, More}}};",
        "pub(crate) use super::super::right::c::*;",
        "fn f() -> crate::right::Thing { todo!() }",
        "fn f<'a>(c: &'a char) { if *c == '\"' || *c == '\\'' { crate::right::c::g() } }",
        "#[cfg(test)]\nmod tests;\nuse crate::right::c::Thing;",
    ] {
        let found = found(text);
        assert!(!found.is_empty(), "{text}");
        assert!(
            found.iter().all(|line| line.contains("left/a.rs (left) imports src/right")),
            "{text}: {found:?}"
        );
    }
    let root = ["src/left/a.rs (left) imports src/lib.rs of the crate's root by `crate::Thing`"];
    assert_eq!(found("use crate::Thing;"), root);
}

#[test]
fn an_import_to_the_left_a_comment_and_a_test_keep_the_rule() {
    for text in [
        "use super::b::Other; use crate::left::b; use std::fmt; use model::right::c;",
        "// use crate::right::c::Thing;\n/// [`crate::right::c::Thing`]\nfn f() { g(\"of crate::right::c\") }",
        "#[cfg(test)]\nmod tests { use crate::right::c::Thing; }",
        "#[cfg(test)]\nuse crate::right::c::Thing;\nfn f() {}",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

/// A folder in a folder has a row of its own: the outer one may not import it, not by its short path either.
#[test]
fn an_inner_folder_is_a_folder() {
    let found = TABLE.violations(&imports_of(&[
        ("src/lib.rs", "mod right;"),
        ("src/right.rs", "mod inner; fn f() { inner::g() }"),
        ("src/right/inner.rs", ""),
    ]));
    assert_eq!(found, ["src/right.rs (right) imports src/right/inner.rs of right/inner by `inner::g`"]);
}

#[test]
fn a_table_that_leads_to_the_right_and_a_file_outside_the_table_are_found() {
    let table = Floors { table: &[("left", &["right"]), ("right", &[])], ..TABLE };
    let imports = imports_of(&[
        ("src/lib.rs", "mod new; mod right;"),
        ("src/new.rs", "use crate::right::R;"),
        ("src/right.rs", ""),
    ]);
    let expected =
        ["the table: right is not to the left of left", "src/new.rs lies in no folder of the table"];
    assert_eq!(table.violations(&imports), expected);
}
