//! `tailtrace tui`: from the population down to a single block, on the terminal.

use std::path::Path;

use anyhow::{Result, bail};

use super::threads;
use crate::args::AnalysisArgs;
use crate::input::Reading;
use crate::output::{self, Outcome};
use crate::tui;

/// Runs the command.
pub(super) fn run(args: AnalysisArgs) -> Result<Outcome> {
    if !output::is_terminal() {
        bail!("tui needs a terminal, and stdout is none: use `tailtrace explain` for files and pipes");
    }
    if args.input.path() == Path::new("-") {
        bail!("stdin is where tui reads keys: write the capture to a file and name that");
    }
    let reading = Reading::open(args.request()?)?;
    threads::limit(args.effort.threads())?;
    tui::run(args, reading.request.clone())
}
