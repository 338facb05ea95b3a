//! Holds `docs/dependencies.md` against the manifests: each direct dependency has a row, and no row outlives its dependency.

use std::collections::BTreeSet;
use std::process::Command;

/// The sections whose tables name crates.
const SECTIONS: [&str; 2] =
    ["## Crates in the binary", "## Crates of other packages, tests, benches and fuzz targets"];

#[test]
fn every_direct_dependency_has_its_row() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/dependencies.md"));
    let documented = rows(&page.expect("docs/dependencies.md"));
    let declared: BTreeSet<String> =
        ["Cargo.toml", "fuzz/Cargo.toml"].into_iter().flat_map(dependencies_of).collect();
    let missing: Vec<_> = declared.difference(&documented).collect();
    assert!(missing.is_empty(), "docs/dependencies.md lacks a row for {missing:?}: what for, what instead?");
    let outlived: Vec<_> = documented.difference(&declared).collect();
    assert!(outlived.is_empty(), "docs/dependencies.md names {outlived:?}, which no manifest declares");
}

/// The crates named in the first cells of the tables of [`SECTIONS`].
fn rows(page: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut named = BTreeSet::new();
    for line in page.lines() {
        if line.starts_with("## ") {
            inside = SECTIONS.contains(&line);
        }
        let name = line.strip_prefix("| `").and_then(|rest| rest.split_once('`'));
        if let Some((name, _)) = name.filter(|_| inside) {
            assert!(named.insert(name.to_owned()), "two rows for {name}");
        }
    }
    named
}

/// What the crates of a workspace declare, of every kind, except one another.
fn dependencies_of(manifest: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline", "--manifest-path", manifest])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let all = packages.iter().flat_map(|package| package["dependencies"].as_array().expect("dependencies"));
    all.filter(|dependency| dependency["path"].is_null())
        .map(|dependency| dependency["name"].as_str().expect("name").to_owned())
        .collect()
}
