//! The rule on small crates made up for it.

use std::path::Path;

use super::LARGEST_CIRCLE;
use crate::layering::made_up::imports_of;

/// The circles that break the rule, each as the names of its files.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let imports = imports_of(files);
    let name = |file: &&Path| file.display().to_string();
    imports
        .circles(LARGEST_CIRCLE)
        .iter()
        .map(|circle| circle.iter().map(name).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn a_circle_of_four_breaks_the_rule_and_is_named() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
        ("a.rs", "use crate::b::{self, B};"),
        ("b.rs", "pub struct B; fn f() { crate::c::g() }"),
        ("c.rs", "use super::d::D as Other; use crate::e::E; pub fn g() {}"),
        ("d.rs", "fn f(a: super::a::A) {}"),
        ("e.rs", "pub struct E;"),
    ];
    assert_eq!(circles(&files), ["a.rs b.rs c.rs d.rs"]);
    let imports = imports_of(&files);
    let text = imports.describe(&imports.circles(LARGEST_CIRCLE)[0]);
    assert!(text.contains("a.rs\n    -> b.rs by `crate::b"), "{text}");
    assert!(text.contains("d.rs\n    -> a.rs by `super::a::A`"), "{text}");
}

#[test]
fn a_circle_of_three_keeps_the_rule() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "use crate::{a::A, d::D};"),
        ("d.rs", ""),
    ];
    assert!(circles(&files).is_empty());
}

#[test]
fn parent_and_children_count() {
    let files = [
        ("src/lib.rs", "mod a;"),
        ("src/a.rs", "mod b; mod c; mod d; pub struct A; use b::B; fn f() { c::g() } pub use self::d::D;"),
        ("src/a/b.rs", "use super::A;"),
        ("src/a/c.rs", "use super::*; pub fn g() {}"),
        ("src/a/d.rs", "impl crate::a::A {}"),
    ];
    assert_eq!(circles(&files), ["src/a/b.rs src/a/c.rs src/a/d.rs src/a.rs"]);
}

#[test]
fn a_re_export_leads_to_the_file_that_re_exports() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; pub use a::A; pub use b::B; pub use c::C;"),
        ("a.rs", "use crate::B;"),
        ("b.rs", "use crate::A;"),
        ("c.rs", "use crate::A;"),
    ];
    assert_eq!(circles(&files), ["a.rs b.rs c.rs lib.rs"]);
}

#[test]
fn a_mod_line_alone_is_no_import() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; pub struct Root;"),
        ("a.rs", "use crate::Root;"),
        ("b.rs", "use crate::Root;"),
        ("c.rs", "use crate::Root;"),
    ];
    assert!(circles(&files).is_empty());
}

#[test]
fn macros_attributes_and_inline_modules_hold_paths() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "fn f() { println!(\"{}\", crate::b::text(1)) }"),
        ("b.rs", "macro_rules! m { () => { vec![$crate::c::C] } }"),
        ("c.rs", "mod inner { fn f() { super::super::d::g() } }"),
        ("d.rs", "struct D { #[serde(with = \"super::a::f\")] field: u8 }"),
    ];
    assert_eq!(circles(&files), ["a.rs b.rs c.rs d.rs"]);
}

#[test]
fn what_only_tests_compile_is_left_out() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; #[cfg(test)] mod kit;"),
        ("a.rs", "use crate::b::B; #[cfg(test)] mod tests;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "use crate::d::D;"),
        ("d.rs", "#[cfg(test)] use crate::a::A; impl D { #[cfg(test)] fn f() { crate::a::g() } }"),
    ];
    assert!(circles(&files).is_empty());
}

#[test]
fn a_module_may_lie_in_mod_rs() {
    let files = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b; mod c; mod d; use b::B; use c::C; use d::D;"),
        ("a/b.rs", "use super::A;"),
        ("a/c.rs", "use super::A;"),
        ("a/d.rs", "use super::A;"),
    ];
    assert_eq!(circles(&files), ["a/b.rs a/c.rs a/d.rs a/mod.rs"]);
}

#[test]
#[should_panic(expected = "b.rs is missing")]
fn a_missing_file_fails() {
    imports_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", "")]);
}
