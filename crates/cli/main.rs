//! The entry point of `tailtrace`: arguments in, exit code out.
//!
//! Exit codes: 0 every selected interval was reported, 1 none was selected, 2 the input could not be used or a
//! selected interval has no report. Results go to stdout, diagnostics to stderr; a broken pipe is success.

mod advice;
mod args;
mod commands;
mod examples;
mod meter;
mod output;
mod progress;
mod record;
mod tui;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::output::Outcome;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return output::print_usage(&usage),
    };
    match commands::run(cli.command) {
        Ok(outcome) => outcome.into(),
        Err(error) if output::is_broken_pipe(&error) => Outcome::Reported.into(),
        Err(error) => {
            output::print_error(&error);
            Outcome::Failed.into()
        }
    }
}
