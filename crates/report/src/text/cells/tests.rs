use proptest::prelude::*;

use super::*;

#[test]
fn wraps_at_spaces() {
    assert_eq!(wrap("the quick brown fox", 10), ["the quick", "brown fox"]);
    assert_eq!(wrap("", 10), [""]);
    assert_eq!(wrap("took 412.3 us, not 5 ms", 10), ["took", "412.3 us,", "not 5 ms"]);
    assert_eq!(wrap("0123456789abc de", 5), ["01234", "56789", "abc", "de"]);
}

#[test]
fn what_goes_on_below_stands_to_the_right() {
    assert_eq!(wrap_hanging("the quick brown fox", 10, 2), ["the quick", "  brown", "  fox"]);
    assert_eq!(wrap_hanging("0123456789abcdef", 6, 2), ["012345", "  6789", "  abcd", "  ef"]);
    assert_eq!(wrap_hanging("", 6, 2), [""]);
}

#[test]
fn wide_characters_take_two_columns() {
    assert_eq!(width("表示"), 4);
    assert_eq!(wrap("表示幅", 5), ["表示", "幅"]);
    assert_eq!(cut("表示幅", 5, "…"), "表示…");
    assert_eq!(left("表", 4), "表  ");
    assert_eq!(right("表", 4), "  表");
}

#[test]
fn says_where_it_cut() {
    assert_eq!(cut("abcdef", 4, "..."), "a...");
    assert_eq!(cut("abcd", 4, "..."), "abcd");
}

#[test]
fn flows_into_lines() {
    let items = ["aaa", "bbb", "cc"].map(|item| (3, item.to_owned()));
    assert_eq!(flow(&items, " ", 7), ["aaa bbb", "cc"]);
    assert_eq!(flow(&[], " ", 7), Vec::<String>::new());
}

proptest! {
    #[test]
    fn wrapped_lines_fit_and_lose_nothing(text in "[a-z表 ]{0,120}", columns in 2usize..40) {
        let lines = wrap(&text, columns);
        prop_assert!(lines.iter().all(|line| width(line) <= columns));
        let kept: String = lines.concat().split(' ').collect();
        prop_assert_eq!(kept, text.split(' ').collect::<String>());
    }

    #[test]
    fn hanging_lines_fit_and_lose_nothing(text in "[a-z表 ]{0,120}", columns in 6usize..40) {
        let lines = wrap_hanging(&text, columns, 4);
        prop_assert!(lines.iter().all(|line| width(line) <= columns));
        prop_assert!(lines.iter().skip(1).all(|line| line.starts_with("    ")));
        let kept: String = lines.concat().split(' ').collect();
        prop_assert_eq!(kept, text.split(' ').collect::<String>());
    }

    #[test]
    fn cut_text_fits(text in any::<String>(), columns in 3usize..40) {
        prop_assert!(width(&cut(&text, columns, "...")) <= columns.max(width(&text).min(columns)) + 2);
    }
}
