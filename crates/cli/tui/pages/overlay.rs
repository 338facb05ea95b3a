//! What stands in front of a page.

use super::cursor::Cursor;

/// What stands in front of the page.
#[derive(Clone, Debug)]
pub(crate) enum Overlay {
    /// The keys; the first line in view.
    Help(Cursor),
    /// All that is known of the segment under the cursor; the first line in view.
    Evidence(Cursor),
    /// Commands to copy.
    Yank(Vec<Command>, Cursor),
    /// Files to write.
    Write(Vec<Writing>, Cursor),
    /// A line being typed.
    Prompt(Prompt, String),
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
