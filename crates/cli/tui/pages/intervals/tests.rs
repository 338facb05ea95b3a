use report::OutlierReport;

use super::*;

fn row(index: usize, duration: u64, label: &str, is_chosen: bool) -> Row {
    Row {
        index,
        id: 100 - index as u64,
        label: label.into(),
        key: "".into(),
        duration,
        start: 1000 + index as u64,
        thread: format!("worker {}", index % 2).into(),
        is_outlier: is_chosen,
        is_chosen,
    }
}

fn overview() -> Overview {
    let rows = vec![
        row(0, 500, "order", false),
        row(1, 90_000, "order", true),
        row(2, 60_000, "quote", true),
        row(3, 75_000, "order", true),
    ];
    Overview { rows, ..Overview::default() }
}

fn listed(change: impl FnOnce(&mut IntervalsPage)) -> Vec<usize> {
    let mut page = IntervalsPage::default();
    change(&mut page);
    page.list(&overview(), &Known::default());
    page.listed
}

#[test]
fn the_longest_chosen_one_comes_first() {
    assert_eq!(listed(|_| ()), [1, 3, 2]);
    assert_eq!(listed(|page| page.is_everything = true), [1, 3, 2, 0]);
    assert_eq!(listed(|page| page.is_reversed = true), [2, 3, 1]);
}

#[test]
fn every_column_orders() {
    let by = |column| listed(|page| page.column = column);
    assert_eq!(by(Column::Start), [1, 2, 3]);
    assert_eq!(by(Column::Id), [3, 2, 1]);
    assert_eq!(by(Column::Label), [1, 3, 2]);
    assert_eq!(by(Column::Thread), [2, 1, 3]);
}

#[test]
fn filters_are_lengths_and_words() {
    let by = |filter: &str| listed(|page| page.filter = filter.to_owned());
    assert_eq!(by(">60us"), [1, 3], "strictly");
    assert_eq!(by("<75us"), [2]);
    assert_eq!(by(">60us <90us order"), [3]);
    assert_eq!(by("QUOTE"), [2]);
    assert_eq!(by("worker 1"), [1, 3], "two words, both of which occur");
    assert!(by(">>").is_empty());
}

#[test]
fn the_cursor_keeps_its_interval() {
    let mut page = IntervalsPage::default();
    page.list(&overview(), &Known::default());
    page.cursor.step(1, page.listed.len());
    assert_eq!(page.current(), Some(3));
    page.column = Column::Id;
    page.list(&overview(), &Known::default());
    assert_eq!(page.current(), Some(3));
    page.filter = "quote".to_owned();
    page.list(&overview(), &Known::default());
    assert_eq!(page.current(), Some(2), "its own is gone: the first one");
}

#[test]
fn a_verdict_can_be_searched_for() {
    let mut known = Known::default();
    let outlier = OutlierReport { duration_ns: 75_000, ..OutlierReport::default() };
    known.insert(3, Rc::new(Explained { outlier, ..Explained::default() }));
    let mut page = IntervalsPage { filter: "compare".to_owned(), ..IntervalsPage::default() };
    page.list(&overview(), &known);
    assert_eq!(page.listed, [3], "`nothing to compare with`");
}
