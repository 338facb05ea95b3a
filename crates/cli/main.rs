//! The entry point of `tailtrace`: arguments in, exit code out.
//!
//! Exit codes: 0 every selected interval was reported, 1 none was selected, 2 the input could not be used or a
//! selected interval has no report, 3 an expectation does not hold or something stops a recording. Results go to stdout, diagnostics to stderr; a broken pipe is success.

mod advice;
mod args;
mod commands;
mod doctor;
mod ending;
mod examples;
mod input;
mod machine;
mod man;
mod meter;
mod output;
mod progress;
mod record;
mod stdin;
mod tui;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::output::Outcome;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return output::print_usage(&usage),
    };
    cli.manner.set();
    let ended = take_signals(&cli.command).and_then(|()| commands::run(cli.command));
    match ended {
        Ok(outcome) => outcome.into(),
        Err(error) if output::is_broken_pipe(&error) => Outcome::Reported.into(),
        Err(error) => {
            output::print_error(&error);
            Outcome::Failed.into()
        }
    }
}

/// Before anything is opened or written.
fn take_signals(command: &Command) -> anyhow::Result<()> {
    ending::on_faults(tui::give_back)?;
    // perf is to end first; the screen is to be given back.
    if matches!(command, Command::Record(_) | Command::Tui(_)) { Ok(()) } else { ending::on_signals() }
}
