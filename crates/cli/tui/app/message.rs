//! What happens to the state, and what the loop shall do about it.

use crossterm::event::{KeyEvent, MouseEvent};

use super::worker::{Answer, Request};
use crate::tui::pages::overlay::Writing;

/// What happens.
#[derive(Debug)]
pub(crate) enum Message {
    /// A key went down.
    Key(KeyEvent),
    /// A button of the mouse, or its wheel.
    Mouse(MouseEvent),
    /// The terminal has this many columns and rows now.
    Resize(u16, u16),
    /// The worker answers.
    Answer(Answer),
    /// A file was written, or was not: what the command printed last.
    Written(String),
    /// A moment passed.
    Tick,
}

/// What the loop shall do.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Let the worker answer this.
    Ask(Request),
    /// Put this on the clipboard.
    Copy(String),
    /// Write this file.
    Write(Writing),
    /// Draw everything anew.
    Redraw,
    /// Give the terminal back until the user wants to go on.
    Suspend,
    /// End.
    Quit,
}
