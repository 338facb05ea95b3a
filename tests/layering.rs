//! Holds the table of floors in `docs/ARCHITECTURE.md`: floor-1 crates never import one another, `report` sees only
//! `model`, no crate imports the binary. Inside crates: [`circles`] of files, and the [`floors`] of folders.

mod circles;
mod floors;
mod graph;
mod made_up;
mod modules;
mod paths;

use std::collections::BTreeMap;
use std::process::Command;

/// What each crate may import of ours, in alphabetical order. A crate that is not here fails the test.
const MAY_IMPORT: [(&str, &[&str]); 14] = [
    (
        "tailtrace",
        &[
            "analysis",
            "attribution",
            "fleet",
            "intervals",
            "marks",
            "model",
            "perfdata",
            "pt",
            "report",
            "symbols",
        ],
    ),
    ("tailtrace-analysis", &["attribution", "intervals", "model", "perfdata", "pt", "report", "symbols"]),
    ("tailtrace-attribution", &["model", "perfdata", "pt"]),
    ("tailtrace-fleet", &["analysis", "intervals", "model", "pt", "report"]),
    ("tailtrace-intervals", &["model", "perfdata", "pt"]),
    ("tailtrace-itt", &["marks"]),
    ("tailtrace-marks", &[]),
    ("tailtrace-marks-tracing", &["marks"]),
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

/// Whoever builds on the library gets no command line and no terminal with it.
#[test]
fn analysis_links_no_command_line_and_no_terminal() {
    let tree = cargo(&[
        "tree",
        "--package=tailtrace-analysis",
        "--edges=normal,no-proc-macro",
        "--prefix=none",
        "--offline",
    ]);
    assert!(tree.contains("tailtrace-attribution v"), "{tree}");
    for name in ["clap", "ratatui", "indicatif", "crossterm", "terminal_size", "anyhow"] {
        assert!(!tree.lines().any(|line| line.split(' ').next() == Some(name)), "{name} in:\n{tree}");
    }
}

/// Every workspace crate and those of our crates that its code (not its tests) depends on.
fn workspace_imports() -> Vec<(String, Vec<String>)> {
    let metadata = metadata();
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

/// What cargo knows of the workspace's packages.
fn metadata() -> serde_json::Value {
    let text = cargo(&["metadata", "--format-version=1", "--no-deps", "--offline"]);
    serde_json::from_str(&text).expect("cargo metadata is JSON")
}

/// What cargo prints of the workspace.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}
