//! What takes long is told on stderr: what is done, how far it is, and for how long it has been going on.
//!
//! Input: [`Watch`]es, which who works keeps current. Where stderr is no terminal nothing is drawn, so that logs stay
//! clean; nor where somebody else draws, as `tui` does.

use std::fmt::Write;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::watch::Watch;

/// All of the line is ours.
const TEMPLATE: &str = "{progress}";
/// Columns of the bar.
const COLUMNS: usize = 30;
/// How often the line is drawn.
const TURN: Duration = Duration::from_millis(100);

/// Where progress is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meter {
    /// On the terminal at stderr.
    OnTerminal,
    /// Nowhere.
    Nowhere,
}

/// A line on the terminal; gone when dropped.
pub(crate) struct Shown(ProgressBar);

impl Meter {
    /// On stderr, where that is a terminal.
    pub(crate) fn on_stderr() -> Meter {
        if io::stderr().is_terminal() { Meter::OnTerminal } else { Meter::Nowhere }
    }

    /// Shows how far `what` is, as `watch` tells it; nothing before there is something to tell.
    pub(crate) fn show(self, what: &'static str, watch: &Arc<Watch>) -> Shown {
        let target = match self {
            Meter::OnTerminal => ProgressDrawTarget::stderr(),
            Meter::Nowhere => return Shown(ProgressBar::hidden()),
        };
        let watch = Arc::clone(watch);
        let progress = move |state: &ProgressState, line: &mut dyn Write| {
            let progress = watch.progress();
            let words = progress.words();
            if !words.is_empty() {
                let bar = progress.bar(COLUMNS).unwrap_or_default();
                // What cannot be written is not shown, and that is all.
                let _ = write!(line, "{what} {bar} {words}, {}", HumanDuration(state.elapsed()));
            }
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let bar = match ProgressStyle::with_template(TEMPLATE) {
            Ok(style) => bar.with_style(style.with_key("progress", progress)),
            Err(_) => bar,
        };
        bar.enable_steady_tick(TURN);
        Shown(bar)
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
