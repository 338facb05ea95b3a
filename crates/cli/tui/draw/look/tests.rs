use ratatui::style::{Modifier, Style};

use super::*;

fn drawn() -> Buffer {
    let mut buffer = Buffer::with_lines(["▸ é"]);
    let style = Style::new().fg(Color::Rgb(0xe6, 0x9f, 0)).bg(Color::Blue).add_modifier(Modifier::BOLD);
    buffer.set_style(buffer.area, style);
    buffer
}

fn shown(colours: Colours, is_unicode: bool) -> Buffer {
    let mut buffer = drawn();
    Look { colours, is_unicode }.apply(&mut buffer);
    buffer
}

#[test]
fn without_colours_there_are_none() {
    let buffer = shown(Colours::None, true);
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert_eq!(buffer[(0, 0)].symbol(), "▸");
    assert!(buffer[(0, 0)].modifier.contains(Modifier::BOLD), "bold is no colour");
}

#[test]
fn without_unicode_all_is_ascii() {
    let buffer = shown(Colours::True, false);
    let text: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
    assert_eq!(text, "> ?");
    assert_eq!(buffer[(0, 0)].fg, Color::Rgb(0xe6, 0x9f, 0));
}

/// Colour 214 of xterm is #ffaf00, 178 is #d7af00, 244 is #808080.
#[test]
fn few_colours_are_the_nearest() {
    assert_eq!(shown(Colours::Indexed, true)[(0, 0)].fg, Color::Indexed(178));
    assert_eq!(indexed(Color::Rgb(0x80, 0x82, 0x80)), Color::Indexed(244));
    assert_eq!(indexed(Color::Blue), Color::Blue);
}

/// WCAG 2: (lighter + 0.05) / (darker + 0.05), by relative luminance.
#[test]
fn letters_can_be_read_on_white_and_on_black() {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.03928 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    for (index, named, letters) in LETTERS {
        let Color::Rgb(red, green, blue) = letters else { panic!("{letters:?}") };
        let luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
        let (on_white, on_black) = (1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05);
        assert!(on_white >= 4.0 && on_black >= 4.0, "{named:?}: {on_white:.2}, {on_black:.2}");
        assert_eq!((readable(named), readable(Color::Indexed(index))), (letters, letters));
    }
    assert_eq!(readable(Color::Reset), Color::Reset);
}
