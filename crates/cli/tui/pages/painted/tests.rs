use super::*;

#[test]
fn colours_become_styles() {
    let shown = line("a \u{1b}[1mb\u{1b}[0m \u{1b}[97;45mL\u{1b}[0m.");
    let expected = Line::from(vec![
        Span::raw("a "),
        Span::styled("b", Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(" "),
        Span::styled("L", Style::new().fg(Color::Indexed(15)).bg(Color::Indexed(5))),
        Span::raw("."),
    ]);
    assert_eq!(shown, expected);
    assert_eq!(plain(&shown), "a b L.");
}

#[test]
fn what_is_too_long_goes_on_below() {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let long = Line::from(vec![Span::raw("abc"), Span::styled("defgh", bold)]);
    let expected = vec![
        Line::from(vec![Span::raw("abc"), Span::styled("d", bold)]),
        Line::from(vec![Span::styled("efgh", bold)]),
        Line::raw("four"),
    ];
    assert_eq!(folded(vec![long, Line::raw("four")], 4), expected);
}

#[test]
fn text_without_colours_stays() {
    assert_eq!(plain(&line("[m no escape")), "[m no escape");
}
