use report::{Composition, Constituents, Family};

use super::{MadeOfPage, column, names, order};

/// 99 intervals of 8 us of the program's own work, one that waits for 24 us more.
fn composition() -> Composition {
    let one = |n: u64| {
        let waited = (n == 0).then(|| ("offcpu.lock".to_owned(), 24_000));
        Constituents::of_causes(std::iter::once(("user.expected".to_owned(), 8_000)).chain(waited))
    };
    Composition::of((0..100).map(one).collect(), 100)
}

/// By hand: of the longest, a quarter is the program's own: two of eight rows from below.
#[test]
fn a_column_is_filled_by_shares() {
    let found = composition();
    let last = found.curve.last().expect("points");
    let filled = column(last, &order(&found.curve));
    let letters: String = filled.iter().map(|cell| cell.map_or(" ", Family::letter)).collect();
    let (own, wait) = (Family::of("user.expected").letter(), Family::of("offcpu.lock").letter());
    assert_eq!(letters, own.repeat(2) + &wait.repeat(6));
}

#[test]
fn one_turns_from_percentile_to_percentile() {
    let found = composition();
    let mut page = MadeOfPage::of(&found);
    assert_eq!(found.curve[page.at].name(), "p99");
    page.turn(&found, true);
    assert_eq!(found.curve[page.at].name(), "longest");
    page.turn(&found, true);
    assert_eq!(found.curve[page.at].name(), "longest");
    page.turn(&found, false);
    page.turn(&found, false);
    assert_eq!(found.curve[page.at].name(), "p98");
}

/// Twenty points, two columns each: the fifth tenth is the sixth, p99 the last but one; the name of the longest does not fit after it.
#[test]
fn names_do_not_touch() {
    let found = composition();
    assert_eq!(
        names(&found.curve, 2),
        format!(" {}p50{}p90{}p99 ", " ".repeat(10), " ".repeat(5), " ".repeat(15))
    );
}
