//! What the program knows. Draws nothing, decodes nothing.

mod acts;
mod ahead;
mod mouse;
mod prompts;
mod search;
mod update;

use std::sync::Arc;

use analysis::capture::Watch;

use crate::args::AnalysisArgs;
use crate::tui::pages::view::View;

/// Everything.
#[derive(Debug)]
pub(crate) struct State {
    /// What of it is shown.
    pub(crate) view: View,
    /// Indices of intervals to explain when nothing else is decoded; the next one last.
    pub(crate) queue: Vec<usize>,
    /// Indices of intervals to explain unasked; the next one last.
    pub(crate) unasked: Vec<usize>,
    /// Reasons could not be found ahead: no more are looked for.
    pub(crate) has_failed: bool,
    /// What was last looked for.
    pub(crate) sought: String,
}

impl State {
    /// Before the capture is open; `opening` holds the progress.
    pub(crate) fn new(args: AnalysisArgs, size: (u16, u16), opening: Arc<Watch>) -> State {
        let view = View::new(args, size, opening);
        State { view, queue: Vec::new(), unasked: Vec::new(), has_failed: false, sought: String::new() }
    }
}
