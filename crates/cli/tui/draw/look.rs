//! What the terminal can show: what it lacks is taken away from the drawn screen, cell by cell.
//!
//! So drawing knows one look, and `NO_COLOR`, few colours and terminals without Unicode are one place.

use ratatui::buffer::Buffer;
use ratatui::style::Color;

/// How many colours there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    /// None are wanted.
    None,
    /// The sixteen, the cube and the greys of xterm.
    Indexed,
    /// All.
    True,
}

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) colours: Colours,
    /// Whether characters beyond ASCII can be shown.
    pub(crate) is_unicode: bool,
}

/// Drawn characters and what stands for them in ASCII; others become `?`.
const PLAIN: [(&str, &str); 25] = [
    ("─", "-"),
    ("│", "|"),
    ("┌", "+"),
    ("┐", "+"),
    ("└", "+"),
    ("┘", "+"),
    ("╷", "|"),
    ("·", "."),
    ("…", "."),
    ("▸", ">"),
    ("▾", "v"),
    ("▲", "^"),
    ("▼", "v"),
    ("█", "#"),
    ("▉", "#"),
    ("▊", "#"),
    ("▋", "#"),
    ("▌", "#"),
    ("▍", "#"),
    ("×", "x"),
    ("±", "~"),
    ("✓", "y"),
    ("✗", "n"),
    ("›", ">"),
    ("↳", ">"),
];

/// What stands for the terminal's own colours as letters on its own ground: a contrast of 4 to 1 or more with white and with black
/// (WCAG 2, "contrast ratio"), from xterm's cube. The theme's yellow and cyan cannot be read on a light terminal, its red hardly on a dark one.
const LETTERS: [(u8, Color, Color); 5] = [
    (1, Color::Red, Color::Rgb(215, 0, 95)),
    (2, Color::Green, Color::Rgb(0, 135, 0)),
    (3, Color::Yellow, Color::Rgb(175, 95, 0)),
    (5, Color::Magenta, Color::Rgb(215, 0, 215)),
    (6, Color::Cyan, Color::Rgb(0, 135, 175)),
];

impl Look {
    /// From the environment: `NO_COLOR`, `COLORTERM`, the locale.
    pub(crate) fn of_environment() -> Look {
        let style = crate::output::style();
        let is_true = std::env::var("COLORTERM").is_ok_and(|term| term == "truecolor" || term == "24bit");
        let colours = match (style.color, is_true) {
            (false, _) => Colours::None,
            (true, true) => Colours::True,
            (true, false) => Colours::Indexed,
        };
        Look { colours, is_unicode: style.unicode }
    }

    /// Takes from `buffer` what the terminal lacks.
    pub(crate) fn apply(self, buffer: &mut Buffer) {
        for cell in &mut buffer.content {
            if cell.bg == Color::Reset {
                cell.fg = readable(cell.fg);
            }
            match self.colours {
                Colours::True => {}
                Colours::Indexed => {
                    cell.fg = indexed(cell.fg);
                    cell.bg = indexed(cell.bg);
                }
                Colours::None => {
                    cell.fg = Color::Reset;
                    cell.bg = Color::Reset;
                }
            }
            if !self.is_unicode && !cell.symbol().is_ascii() {
                let found = PLAIN.iter().find(|(symbol, _)| *symbol == cell.symbol());
                cell.set_symbol(found.map_or("?", |(_, plain)| plain));
            }
        }
    }
}

/// The colour of letters that can be read on a light ground and on a dark one.
fn readable(letters: Color) -> Color {
    let is_meant =
        |(index, named, _): &&(u8, Color, Color)| letters == *named || letters == Color::Indexed(*index);
    LETTERS.iter().find(is_meant).map_or(letters, |&(_, _, readable)| readable)
}

/// The nearest colour of xterm's cube or greys.
fn indexed(colour: Color) -> Color {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let Color::Rgb(red, green, blue) = colour else { return colour };
    let near = |value: u8| (0u8..6).min_by_key(|&step| STEPS[usize::from(step)].abs_diff(value)).unwrap_or(0);
    let (r, g, b) = (near(red), near(green), near(blue));
    let distance = |of: [u8; 3]| {
        let part = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        part(of[0], red) + part(of[1], green) + part(of[2], blue)
    };
    let cube = [r, g, b].map(|step| STEPS[usize::from(step)]);
    let grey = (0u8..24).min_by_key(|&step| distance([8 + 10 * step; 3])).unwrap_or(0);
    if distance([8 + 10 * grey; 3]) < distance(cube) {
        Color::Indexed(232 + grey)
    } else {
        Color::Indexed(16 + 36 * r + 6 * g + b)
    }
}

#[cfg(test)]
mod tests;
