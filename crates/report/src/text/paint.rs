//! ANSI colours, where the style wants them.

use super::Style;

/// How a piece of text stands out. The sixteen colours only, so that it follows the terminal's theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// What is read first.
    Bold,
    /// What can be skipped.
    Dim,
    /// Trouble, or time lost.
    Red,
    /// A warning.
    Yellow,
    /// As it should be.
    Green,
    /// An ANSI select-graphic-rendition parameter, for the timeline.
    Code(&'static str),
}

impl Style {
    /// `text`, in `ink` where colours are on. `text` must be escaped already.
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Red => "31",
            Ink::Yellow => "33",
            Ink::Green => "32",
            Ink::Code(code) => code,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// `fine` where characters beyond ASCII are wanted, else `plain`.
    pub(crate) fn glyph<'a>(self, fine: &'a str, plain: &'a str) -> &'a str {
        if self.unicode { fine } else { plain }
    }
}
