//! The entry point of `tailtrace`: arguments in, exit code out.
//!
//! Exit codes: 0 every selected interval was reported, 1 none was selected, 2 the input could not be used or a
//! selected interval has no report. Results go to stdout, diagnostics to stderr; a broken pipe is success.

mod advice;
mod args;
mod bundle;
mod capture;
mod checks;
mod count;
mod decode_findings;
mod decoding;
mod diff;
mod dump;
mod examples;
mod explain;
mod export;
mod generate;
mod hot_code;
mod meter;
mod numa;
mod output;
mod places;
mod progress;
mod read_ahead;
mod record;
mod scan;
mod seen;
mod slice;
mod source;
mod stat;
mod study;
mod topology;
mod tui;
mod view;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::output::Outcome;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return output::print_usage(&usage),
    };
    let result = match cli.command {
        Command::Stat(args) => stat::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Tui(args) => tui::run(args),
        Command::Slice(args) => slice::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Generate(args) => generate::run(&args),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) if output::is_broken_pipe(&error) => Outcome::Reported.into(),
        Err(error) => {
            output::print_error(&error);
            Outcome::Failed.into()
        }
    }
}
