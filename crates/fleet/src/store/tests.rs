//! Parts that come whole, once, and after a run that was killed.

use super::*;
use crate::file::Contents;
use crate::row::{DiagnosticRow, TableRow as _};
use crate::{Delivery, without_rows};

/// The rows of a file that cannot be read, and a diagnostic.
fn capture(uri: &str, service: &str) -> Rows {
    let mut delivery = Delivery { uri: uri.to_owned(), ..Delivery::default() };
    delivery.tags.insert("service".to_owned(), service.to_owned());
    delivery.tags.insert("day".to_owned(), "2026-11-26".to_owned());
    let mut rows = without_rows(&delivery, "unreadable", "no perf.data");
    let capture = rows.capture().to_owned();
    rows.push(DiagnosticRow { capture, severity: "note".to_owned(), what: "x".to_owned(), place: None });
    rows
}

/// All files below `root` but the lock, by their paths.
fn files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() { folders.push(entry) } else { found.push(entry) }
        }
    }
    let mut found: Vec<String> = found
        .iter()
        .map(|path| path.strip_prefix(root).expect("inside").display().to_string())
        .filter(|path| path != LOCK)
        .collect();
    found.sort();
    found
}

fn rows_of(path: &Path, table: &str) -> Contents {
    let table = &schema().tables[schema().place(table).expect("the table")];
    file::read(path, table, &[]).expect("a table's file")
}

#[test]
fn captures_are_there_once() {
    let root = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(root.path()).expect("opened");
    assert!(matches!(Store::open(root.path()), Err(Error::Busy(_))));
    let two = [capture("a", "../x"), capture("b", "../x")];
    assert!(!store.has(two[0].capture()));
    store.add(&two).expect("added");
    drop(store);
    let store = Store::open(root.path()).expect("opened");
    assert_eq!((store.count(), store.has(two[1].capture())), (2, true));
    let found = files(root.path());
    let (first, second) = (&found[0], &found[1]);
    assert!(first.starts_with("table=captures/day=2026-11-26/service=..%2Fx/part-"), "{found:?}");
    assert!(second.starts_with("table=diagnostics/day=2026-11-26/service=..%2Fx/part-"), "{found:?}");
    assert_eq!(found.len(), 2);
    let contents = rows_of(&root.path().join(first), "captures");
    assert_eq!(contents.rows, two.iter().flat_map(|rows| rows.of(0)).cloned().collect::<Vec<_>>());
    assert_eq!(contents.replaces, [""; 0]);
}

/// What is there of a part without its file in `captures` goes; and one that another stands in place of.
#[test]
fn the_next_run_removes_what_a_killed_one_left() {
    let root = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(root.path()).expect("opened");
    for uri in ["a", "b"] {
        store.add(&[capture(uri, "s")]).expect("added");
    }
    let before = files(root.path());
    assert_eq!(before.len(), 4);
    fs::remove_file(root.path().join(&before[0])).expect("removed");
    drop(store);
    let store = Store::open(root.path()).expect("opened");
    assert_eq!((store.count(), files(root.path())), (1, vec![before[1].clone(), before[3].clone()]));
    let rest = rows_of(&root.path().join(&before[1]), "captures");
    let partition = Partition::of("2026-11-26", "s");
    let part = before[1].rsplit('/').next().expect("a name").to_owned();
    let mut tables = vec![Vec::new(); schema().tables.len()];
    tables[0] = rest.rows.iter().collect();
    store.publish(&partition, "part-0.parquet", &tables, &[part]).expect("written");
    assert_eq!(files(root.path()).len(), 3, "killed before it removed the old part");
    drop(store);
    let store = Store::open(root.path()).expect("opened");
    assert_eq!((store.count(), files(root.path()).len()), (1, 1));
    assert_eq!(DiagnosticRow::TABLE, "diagnostics");
}

/// A draft of a killed run is no part, and none of a reader's files.
#[test]
fn a_draft_is_no_part() {
    let root = tempfile::tempdir().expect("a folder");
    let store = Store::open(root.path()).expect("opened");
    let folder = store.folder("captures", &Partition::of("2026-11-26", "s"));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(".part-0.parquet.tailtrace-AbCdEf"), b"PAR1").expect("written");
    drop(store);
    assert_eq!(Store::open(root.path()).expect("opened").count(), 0);
    fs::write(folder.join("part-0.parquet"), b"PAR1").expect("written");
    assert!(matches!(Store::open(root.path()), Err(Error::Parquet { .. })));
}
