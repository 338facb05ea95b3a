//! Holds the table of floors in `docs/ARCHITECTURE.md`: floor-1 crates never import one another, `report` sees only
//! `model`, nobody imports the binary.

use std::collections::BTreeMap;
use std::process::Command;

/// What each crate may import of ours, in alphabetical order. A crate that is not here fails the test.
const MAY_IMPORT: [(&str, &[&str]); 9] = [
    ("tailtrace", &["attribution", "intervals", "model", "perfdata", "pt", "report", "symbols"]),
    ("tailtrace-attribution", &["model", "perfdata", "pt", "symbols"]),
    ("tailtrace-intervals", &["model", "perfdata", "pt"]),
    ("tailtrace-model", &[]),
    ("tailtrace-perfdata", &["model"]),
    ("tailtrace-pt", &["model"]),
    ("tailtrace-report", &["model"]),
    ("tailtrace-symbols", &["model"]),
    ("tailtrace-tracegen", &[]),
];

#[test]
fn crates_import_only_floors_below() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_IMPORT.into_iter().collect();
    for (name, imports) in workspace_imports() {
        let may =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no floor: add it to the table"));
        for import in imports {
            let short = import.trim_start_matches("tailtrace-").to_owned();
            assert!(may.contains(&short.as_str()), "{name} imports {import}, which its floor forbids");
        }
    }
}

/// Every workspace crate and those of our crates that its code (not its tests) depends on.
fn workspace_imports() -> Vec<(String, Vec<String>)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let ours = dependencies
                .iter()
                .filter(|dependency| dependency["kind"].is_null())
                .filter_map(|dependency| dependency["name"].as_str())
                .filter(|name| name.starts_with("tailtrace"));
            (package["name"].as_str().expect("name").to_owned(), ours.map(str::to_owned).collect())
        })
        .collect()
}
