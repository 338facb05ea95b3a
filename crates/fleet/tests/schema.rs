//! The page of the tables is current, and the Python package has the same list of them.

use std::path::{Path, PathBuf};

use tailtrace_fleet::{TABLES, schema};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `TAILTRACE_BLESS=1` writes it.
#[track_caller]
fn is_current(path: &str, expected: &str) {
    let path = repository().join(path);
    if std::env::var_os("TAILTRACE_BLESS").is_some() {
        std::fs::write(&path, expected).expect("written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is not current: TAILTRACE_BLESS=1 writes it", path.display());
}

#[test]
fn the_page_and_the_package_are_current() {
    is_current("docs/fleet-tables.md", &schema().page());
    is_current("crates/fleet/python/tailtrace_fleet/tables.json", TABLES);
}

/// What every reader relies on: the capture comes first and joins all tables.
#[test]
fn each_table_begins_with_the_capture() {
    for table in &schema().tables {
        let first = &table.columns[0];
        assert_eq!((&*first.name, first.nullable), ("capture", false), "{}", table.name);
        assert!(
            table.columns.iter().all(|column| column.doc.ends_with('.')),
            "{}: a sentence each",
            table.name
        );
    }
}
