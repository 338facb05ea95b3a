use super::*;

#[test]
fn it_stays_within_the_list() {
    let mut cursor = Cursor::default();
    cursor.step(-1, 10);
    assert_eq!(cursor.at(10), 0);
    cursor.step(isize::MAX, 10);
    assert_eq!(cursor.at(10), 9);
    // The list became shorter by a filter.
    assert_eq!((cursor.at(4), cursor.at(0)), (3, 0));
    cursor.step(-1, 4);
    assert_eq!(cursor.at(4), 2);
}

#[test]
fn it_is_always_in_view() {
    for (at, count, height, top) in [
        (0, 100, 10, 0),
        (5, 100, 10, 0),
        (50, 100, 10, 45),
        (99, 100, 10, 90),
        (3, 5, 10, 0),
        (0, 0, 10, 0),
        (7, 9, 0, 7),
    ] {
        assert_eq!(Cursor::new(at).top(count, height), top, "{at} of {count} in {height}");
    }
}
