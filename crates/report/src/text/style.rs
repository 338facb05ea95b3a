//! How text may look: its width, ANSI colours where they are wanted, characters beyond ASCII.

/// Narrower terminals get this width and wrap by themselves: the table of causes needs it.
const NARROWEST: usize = 72;
/// Wider ones get this: longer lines are hard to read.
const WIDEST: usize = 240;

/// How text may look; the caller decides by the terminal and `NO_COLOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; below 72 counts as 72.
    pub width: usize,
    /// Whether ANSI colours are wanted.
    pub color: bool,
    /// Whether characters beyond ASCII (bars, rules, marks) are wanted.
    pub unicode: bool,
}

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
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(NARROWEST, WIDEST)
    }

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
