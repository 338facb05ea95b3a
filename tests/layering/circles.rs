//! Holds the rule that no circle of imports has more than three files, in any crate.
//!
//! In: the roots of all libraries and binaries, from `cargo metadata`. The files below a root are those that its `mod` lines
//! name; what only tests compile is left out. An import is a `use` line or a path in code, of `crate::`, `super::`,
//! `self::` or a child module. It leads to the file of the last module that the path names: what a parent re-exports
//! leads to the parent, which is the file that the reader opens. References between parent and child count; a `mod`
//! line alone does not.

mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::graph::Imports;
use super::modules;

/// More files than this import one another in a circle: a reader cannot begin with any of them.
const LARGEST_CIRCLE: usize = 3;

#[test]
fn no_circle_has_more_than_three_files() {
    for (folder, roots) in roots_by_crate() {
        let mut imports = Imports::default();
        for root in roots {
            imports.extend(modules::imports_below(&root, &|path| std::fs::read_to_string(path).ok()));
        }
        let circles: String =
            imports.circles(LARGEST_CIRCLE).iter().map(|circle| imports.describe(circle)).collect();
        assert!(circles.is_empty(), "{folder}: more than {LARGEST_CIRCLE} files in a circle\n{circles}");
    }
}

/// The root files of the libraries and binaries of every workspace member, by the member's folder below `crates`.
fn roots_by_crate() -> BTreeMap<String, Vec<PathBuf>> {
    let mut by_crate: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let metadata = super::metadata();
    for package in metadata["packages"].as_array().expect("packages") {
        for target in package["targets"].as_array().expect("targets") {
            let of_kind =
                |kind: &str| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&kind.into()));
            if of_kind("lib") || of_kind("bin") {
                let root = Path::new(target["src_path"].as_str().expect("src_path"));
                let root = root.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("below the workspace");
                let folder = root.components().nth(1).expect("a crate's folder").as_os_str();
                by_crate.entry(folder.to_string_lossy().into_owned()).or_default().push(root.to_owned());
            }
        }
    }
    by_crate
}
