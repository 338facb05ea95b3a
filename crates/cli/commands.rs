//! The commands, a file for each: what its arguments ask of the analysis, and where the answer goes.

mod bundle;
mod diff;
mod doctor;
mod dump;
mod explain;
mod export;
mod fleet;
mod generate;
mod record;
mod slice;
mod stat;
mod threads;
mod tui;

use anyhow::Result;

use crate::args::Command;
use crate::output::Outcome;

/// Runs a command.
pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Stat(args) => stat::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Tui(args) => tui::run(args),
        Command::Slice(args) => slice::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Fleet(args) => fleet::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Generate(args) => generate::run(&args),
    }
}
