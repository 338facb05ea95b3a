//! What stands in front of a page.

use super::cursor::Cursor;

/// What stands in front of the page.
#[derive(Clone, Debug)]
pub(crate) enum Overlay {
    /// The keys; the first line in view.
    Help(Cursor),
    /// All that is known of the segment under the cursor; the first line in view.
    Evidence(Cursor),
    /// One of several is chosen.
    Offer(Offer, Cursor),
    /// A line being typed.
    Prompt(Prompt, String),
}

/// What there is to choose from.
#[derive(Clone, Debug)]
pub(crate) enum Offer {
    /// Commands to copy.
    Commands(Vec<Command>),
    /// Files to write.
    Files(Vec<Writing>),
}

impl Offer {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Offer::Commands(commands) => commands.len(),
            Offer::Files(files) => files.len(),
        }
    }

    /// The key that opens it, and chooses like Enter.
    pub(crate) fn key(&self) -> char {
        match self {
            Offer::Commands(_) => 'y',
            Offer::Files(_) => 'w',
        }
    }
}

/// What is typed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// A text to look for.
    Search,
    /// Words that narrow the list.
    Filter,
}

/// A file that a command of this program writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writing {
    /// What it is.
    pub(crate) what: &'static str,
    /// The program's arguments; the file's name follows them.
    pub(crate) arguments: Vec<String>,
    /// The file's name without its extension.
    pub(crate) name: String,
    /// With its dot.
    pub(crate) extension: &'static str,
}

/// A command to paste.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// What it does.
    pub(crate) what: &'static str,
    /// For a shell, quoted.
    pub(crate) line: String,
}
