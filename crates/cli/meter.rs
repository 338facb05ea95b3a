//! What takes long is told on stderr: a bar, or a turning sign where the steps are not known. Where stderr is no terminal
//! nothing is drawn, so that logs stay clean.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is done, how far, and how long it will take.
const BAR: &str = "{msg} {bar:30} {pos}/{len}, {eta} left";
/// What is done, and for how long.
const SIGN: &str = "{spinner} {msg}, {elapsed}";
/// How often the sign turns.
const TURN: Duration = Duration::from_millis(100);

/// Whether the terminal belongs to somebody else.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

/// From now on nothing is drawn: who takes the whole terminal over shows progress itself.
pub(crate) fn silence() {
    IS_SILENT.store(true, Ordering::Relaxed);
}

/// Gone from the screen when dropped.
pub(crate) struct Meter(ProgressBar);

impl Meter {
    /// A bar of `count` steps.
    pub(crate) fn new(what: String, count: usize) -> Meter {
        Meter::styled(ProgressBar::with_draw_target(Some(count as u64), target()), what, BAR)
    }

    /// A sign that something is being done.
    pub(crate) fn busy(what: String) -> Meter {
        let meter = Meter::styled(ProgressBar::with_draw_target(None, target()), what, SIGN);
        meter.0.tick();
        meter.0.enable_steady_tick(TURN);
        meter
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    fn styled(bar: ProgressBar, what: String, template: &str) -> Meter {
        let bar = bar.with_message(what);
        match ProgressStyle::with_template(template) {
            Ok(style) => Meter(bar.with_style(style)),
            Err(_) => Meter(bar),
        }
    }
}

fn target() -> ProgressDrawTarget {
    if io::stderr().is_terminal() && !IS_SILENT.load(Ordering::Relaxed) {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
