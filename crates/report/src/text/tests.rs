use super::*;

#[test]
fn columns_are_bounded() {
    let columns = |width| Style { width, color: false, unicode: true }.columns();
    assert_eq!([columns(0), columns(80), columns(usize::MAX)], [72, 80, 240]);
}

#[test]
fn an_empty_report_is_text_too() {
    let style = Style { width: 80, color: true, unicode: true };
    assert!(render_text(&Report::default(), &style).contains("no interval"));
    assert!(render_stat_text(&Report::default(), &style).contains("intervals"));
}
