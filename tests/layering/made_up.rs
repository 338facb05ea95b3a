//! Crates made up for the tests of the rules.

use std::collections::BTreeMap;
use std::path::Path;

use super::graph::Imports;
use super::modules;

/// The imports of a crate of these files; the first is its root.
pub(super) fn imports_of(files: &[(&str, &str)]) -> Imports {
    let texts: BTreeMap<&Path, &str> = files.iter().map(|&(path, text)| (Path::new(path), text)).collect();
    modules::imports_below(Path::new(files[0].0), &|path| texts.get(path).map(|&text| text.to_owned()))
}
