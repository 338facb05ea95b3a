use std::fs;
use std::path::Path;

use super::*;
use crate::row::{Cell, DiagnosticRow};
use crate::rows::Rows;
use crate::schema::{Column, Kind, Table};
use crate::{Delivery, without_rows};

fn capture(uri: &str) -> Rows {
    let mut delivery = Delivery { uri: uri.to_owned(), ..Delivery::default() };
    delivery.tags.insert("day".to_owned(), "2026-11-26".to_owned());
    let mut rows = without_rows(&delivery, "unreadable", "no perf.data");
    let (capture, what) = (rows.capture().to_owned(), uri.to_owned());
    rows.push(DiagnosticRow { capture, severity: "note".to_owned(), what, place: Some("here".to_owned()) });
    rows
}

/// A folder with a part for each of these captures.
fn tables(root: &Path, uris: &[&str]) -> Store {
    let mut store = Store::open(root).expect("opened");
    for uri in uris {
        store.add(&[capture(uri)]).expect("added");
    }
    store
}

fn partition() -> Partition {
    Partition::of("2026-11-26", "unknown")
}

/// All rows of a table, in an order that does not depend on files.
fn rows(store: &Store, table: &Table) -> Vec<Row> {
    let mut all = Vec::new();
    for name in store.parts(&table.name, &partition()).expect("parts") {
        let path = store.folder(&table.name, &partition()).join(name);
        all.extend(file::read(&path, table, &[]).expect("a file").rows);
    }
    all.sort_by_key(|row| format!("{row:?}"));
    all
}

/// Rewrites the only part's diagnostics as another version of the schema would have them.
fn rewrite(store: &Store, table: &Table, rows: &[&Row]) {
    let name = store.parts("captures", &partition()).expect("parts").remove(0);
    let bytes = file::write(table, rows, &[]).expect("a file");
    fs::write(store.folder("diagnostics", &partition()).join(name), bytes).expect("written");
}

fn diagnostics() -> &'static Table {
    &schema().tables[schema().place("diagnostics").expect("the table")]
}

#[test]
fn many_parts_become_one_with_the_same_rows() {
    let root = tempfile::tempdir().expect("a folder");
    let store = tables(root.path(), &["a", "b", "c"]);
    let before: Vec<Vec<Row>> = schema().tables.iter().map(|table| rows(&store, table)).collect();
    let compacted = compact(&store).expect("compacted");
    assert_eq!(compacted, Compacted { before: 3, after: 1, unknown: vec![] });
    let after: Vec<Vec<Row>> = schema().tables.iter().map(|table| rows(&store, table)).collect();
    assert_eq!((before[0].len(), before), (3, after));
    assert_eq!(compact(&store).expect("compacted").after, 1);
    drop(store);
    assert_eq!(Store::open(root.path()).expect("opened").count(), 3);
}

/// A file of an earlier version, in which a column that may be null is missing.
#[test]
fn an_older_file_has_nulls() {
    let root = tempfile::tempdir().expect("a folder");
    let store = tables(root.path(), &["a"]);
    let mut older = diagnostics().clone();
    assert_eq!(older.columns.pop().map(|column| column.name).as_deref(), Some("place"));
    let row = rows(&store, diagnostics()).remove(0)[..3].to_vec();
    rewrite(&store, &older, &[&row]);
    drop(store);
    let store = tables(root.path(), &["b"]);
    assert_eq!(compact(&store).expect("compacted").after, 1);
    let places: Vec<Cell> = rows(&store, diagnostics()).into_iter().map(|mut row| row.remove(3)).collect();
    assert!(places.contains(&Cell::Null) && places.contains(&Cell::Text("here".to_owned())), "{places:?}");
}

/// A file of a later version: this one reads what it knows, and leaves the file as it is.
#[test]
fn a_newer_file_stays_as_it_is() {
    let root = tempfile::tempdir().expect("a folder");
    let store = tables(root.path(), &["a"]);
    let mut newer = diagnostics().clone();
    let doc = "Of a later version.".to_owned();
    newer.columns.push(Column { name: "advice".to_owned(), kind: Kind::Int64, nullable: true, doc });
    let before = rows(&store, diagnostics());
    let row: Row = before[0].iter().cloned().chain([Cell::Int(7)]).collect();
    rewrite(&store, &newer, &[&row]);
    assert_eq!(rows(&store, diagnostics()), before);
    drop(store);
    let store = tables(root.path(), &["b", "c"]);
    let compacted = compact(&store).expect("compacted");
    assert_eq!(compacted, Compacted { before: 3, after: 2, unknown: vec!["diagnostics.advice".to_owned()] });
}

/// A column that may not be null is no such addition.
#[test]
fn a_file_without_a_needed_column_is_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let store = tables(root.path(), &["a"]);
    let mut other = diagnostics().clone();
    other.columns.remove(1);
    let mut row = rows(&store, diagnostics()).remove(0);
    row.remove(1);
    rewrite(&store, &other, &[&row]);
    let error = compact(&store).expect_err("refused").to_string();
    assert!(error.ends_with("the column severity is missing or of another type"), "{error}");
}
