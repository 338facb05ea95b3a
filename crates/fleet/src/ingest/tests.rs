use std::path::Path;

use super::*;
use crate::schema::schema;
use crate::store::Partition;
use crate::without_rows;

/// A capture that is nowhere, so that its ID is its URI's; `even` and `odd` services.
fn delivery(number: usize) -> Delivery {
    let mut delivery = Delivery { uri: format!("s3://bucket/{number}"), ..Delivery::default() };
    let service = if number.is_multiple_of(2) { "even" } else { "odd" };
    delivery.tags.insert("service".to_owned(), service.to_owned());
    delivery.tags.insert("day".to_owned(), "2026-11-26".to_owned());
    delivery
}

/// Explained without rows but the capture's, and without an error.
fn explained(delivery: &Delivery, wanted: &dyn Fn(&str) -> bool) -> Option<Rows> {
    let rows = without_rows(delivery, "ok", "");
    wanted(rows.capture()).then_some(rows)
}

fn run(root: &Path, deliveries: &[Delivery]) -> Result<Ingested> {
    let mut calls = 0;
    let ingested = ingest(&mut Store::open(root)?, deliveries, 3, explained, |_| calls += 1)?;
    assert_eq!(calls, deliveries.len());
    Ok(ingested)
}

#[test]
fn each_capture_once_however_often_it_comes() {
    let root = tempfile::tempdir().expect("a folder");
    let deliveries: Vec<Delivery> = (0..250).chain(0..50).map(delivery).collect();
    let first = run(root.path(), &deliveries).expect("ingested");
    assert_eq!(first, Ingested { found: 300, added: 250, without_rows: 0, skipped: 50 });
    let again = run(root.path(), &deliveries).expect("ingested");
    assert_eq!(again, Ingested { found: 300, added: 0, without_rows: 0, skipped: 300 });
    let store = Store::open(root.path()).expect("opened");
    assert_eq!(store.count(), 250);
    let parts =
        |service| store.parts("captures", &Partition::of("2026-11-26", service)).expect("parts").len();
    assert_eq!((parts("even"), parts("odd")), (2, 2), "125 captures each");
}

/// A file without rows has its row once as well, and what it holds is seen but once.
#[test]
fn files_without_rows_count() {
    let root = tempfile::tempdir().expect("a folder");
    let file = root.path().join("broken.tar.zst");
    fs::write(&file, b"no archive").expect("written");
    let mut broken = delivery(0);
    broken.request.input.path = file;
    let explain =
        |delivery: &Delivery, _: &dyn Fn(&str) -> bool| Some(without_rows(delivery, "unreadable", "why"));
    let both = [broken.clone(), broken.clone()];
    let mut store = Store::open(&root.path().join("tables")).expect("opened");
    let found = ingest(&mut store, &both, 1, explain, |_| {}).expect("ingested");
    assert_eq!(found, Ingested { found: 2, added: 1, without_rows: 1, skipped: 1 });
    let never = |_: &Delivery, _: &dyn Fn(&str) -> bool| -> Option<Rows> { panic!("explained again") };
    let found = ingest(&mut store, &both, 1, never, |_| {}).expect("ingested");
    assert_eq!((found.added, found.skipped), (0, 2));
}

/// What cannot be written is one error; what was written stays, and the next run adds the rest.
#[test]
fn a_part_that_cannot_be_written_ends_the_run() {
    let root = tempfile::tempdir().expect("a folder");
    let deliveries: Vec<Delivery> = (0..250).map(delivery).collect();
    let day = root.path().join("table=captures/day=2026-11-26");
    fs::create_dir_all(&day).expect("a folder");
    fs::write(day.join("service=odd"), b"").expect("written");
    assert!(run(root.path(), &deliveries).is_err());
    fs::remove_file(day.join("service=odd")).expect("removed");
    run(root.path(), &deliveries).expect("ingested");
    assert_eq!(Store::open(root.path()).expect("opened").count(), 250);
    assert_eq!(schema().tables[0].name, "captures");
}

#[test]
fn captures_in_folders() {
    let root = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("written");
    };
    write("b/slow.tar.zst", b"packed");
    write("b/on_its_way.tar.zst", b"");
    write("b/intervals.csv", b"begin");
    write("b/.slow.tar.zst.tailtrace-x", b"packed");
    write("a.data", b"recorded");
    write("a.data.machine.json", b"{}");
    write("c/data", b"PERFILE2");
    write("d/recording", b"PERFILE2 and more");
    write("e/snapshots.json", b"{}");
    write("e/slow-0001.data", b"recorded");
    write("f/manifest.json", b"{}");
    let names: Vec<String> = found(root.path())
        .expect("found")
        .iter()
        .map(|path| path.strip_prefix(root.path()).expect("inside").display().to_string())
        .collect();
    assert_eq!(names, ["a.data", "b/slow.tar.zst", "c", "d/recording", "e/slow-0001.data", "f"]);
    let file = root.path().join("b/intervals.csv");
    assert_eq!(found(&file).expect("found"), [file], "what is named is meant");
    assert!(found(&root.path().join("none")).is_err());
}
