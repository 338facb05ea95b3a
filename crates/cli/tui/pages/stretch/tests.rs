use super::*;
use crate::tui::testing::sample::{explained, segment};
use crate::tui::testing::served::served;

fn shown(wait: &SegmentReport, most: usize) -> Vec<String> {
    sums(wait, most).iter().map(|sum| sum_line(sum, TimeUnit::default())).collect()
}

/// By hand from the sample: 25 us of its own work beside 28, 40 and 10 beside nothing.
#[test]
fn parts_stand_with_their_excess() {
    let outlier = served().outlier;
    let wait = &outlier.segments[1];
    let expected = [
        "   +40.0 us   40.0 us         -  waiting itself",
        "   +10.0 us   10.0 us         -  working for others",
        "   -3.00 us   25.0 us   28.0 us  working for this request",
    ];
    assert_eq!(shown(wait, 9), expected);
    assert_eq!(shown(wait, 2), expected[..2]);
    // Below it nothing is compared.
    let expected = [
        "          -   36.0 us         -  working for this request",
        "          -   4.00 us         -  ready but not running",
    ];
    assert_eq!(shown(&wait.during[2], 9), expected);
    assert_eq!(shown(&explained().outlier.segments[3], 9), Vec::<String>::new());
}

#[test]
fn a_page_leads_to_the_wait_within() {
    let outlier = served().outlier;
    let page = StretchPage::new(7, vec![1], &outlier).expect("a wait");
    assert_eq!(
        (page.who(&outlier), page.current(&outlier).map(|piece| piece.offset_ns)),
        ("store 310".into(), Some(17_000))
    );
    let deeper = page.deeper(&outlier).expect("a wait, too");
    assert_eq!((deeper.path.clone(), deeper.who(&outlier)), (vec![1, 2], "disk 311".to_owned()));
    assert!(deeper.deeper(&outlier).is_none(), "user code");
    for path in [vec![], vec![0], vec![1, 0], vec![9], vec![1, 2, 9, 9]] {
        assert!(StretchPage::new(7, path.clone(), &outlier).is_none(), "{path:?}");
    }
}

#[test]
fn a_piece_says_function_object_and_for_whom() {
    let mut piece = segment(0, 1, "user.expected", "get < main");
    assert_eq!(subject(&piece), "get");
    "get() store.c:8".clone_into(&mut piece.story.place);
    assert_eq!(subject(&piece), "get() store.c:8");
    piece.story.part = Some(model::Part::OthersFirst);
    assert_eq!(subject(&piece), "get() store.c:8 for others");
    "rival".clone_into(&mut piece.story.by);
    "fd 9: 30 bytes in".clone_into(&mut piece.story.object);
    assert_eq!(subject(&piece), "get() store.c:8 for rival (fd 9: 30 bytes in)");
    let mut wait = served().outlier.segments.remove(1).during.remove(2);
    assert_eq!(subject(&wait), "data from a socket, ended by disk");
    "ask()".clone_into(&mut wait.story.place);
    assert_eq!(subject(&wait), "data from a socket in ask(), ended by disk");
}
