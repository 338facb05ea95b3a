//! Progress of long work on stderr: what is done, how far it is, and since when.
//!
//! Input: [`Watch`]es, which the analysis keeps current. Where stderr is no terminal nothing is drawn, so that logs stay
//! clean; nor where somebody else draws, as `tui` does.

use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use analysis::capture::{Phase, Watch};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::{output, progress};

/// All of the line is ours.
const TEMPLATE: &str = "{progress}";
/// Columns of the bar.
const COLUMNS: usize = 30;
/// How often the line is drawn.
const TURN: Duration = Duration::from_millis(100);

/// A line on the terminal at stderr, where that is one.
pub(crate) struct Meter {
    is_shown: bool,
}

/// The line; gone when dropped.
struct Shown(ProgressBar);

/// Shows on stderr what takes long.
pub(crate) fn on_stderr() -> Meter {
    Meter { is_shown: output::may_draw() }
}

impl analysis::Meter for Meter {
    /// Nothing is shown before there is progress to show.
    fn show(&self, phase: Phase, watch: &Arc<Watch>) -> Box<dyn Any> {
        if !self.is_shown {
            return Box::new(());
        }
        let (watch, what) = (Arc::clone(watch), name(phase));
        let line = move |state: &ProgressState, line: &mut dyn Write| {
            let progress = watch.progress();
            let words = progress::words(&progress);
            if !words.is_empty() {
                let bar = progress::bar(&progress, COLUMNS).unwrap_or_default();
                // What cannot be written is not shown, and that is all.
                let _ = write!(line, "{what} {bar} {words}, {}", HumanDuration(state.elapsed()));
            }
        };
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let bar = match ProgressStyle::with_template(TEMPLATE) {
            Ok(style) => bar.with_style(style.with_key("progress", line)),
            Err(_) => bar,
        };
        bar.enable_steady_tick(TURN);
        Box::new(Shown(bar))
    }
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Scanning => "scanning the whole trace",
        Phase::TimingCode => "timing the code",
        // What a later version of the analysis may add is decoding, too.
        _ => "decoding",
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
