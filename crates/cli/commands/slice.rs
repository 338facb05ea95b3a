//! `tailtrace slice`: a perf.data that holds just what some outliers need.

use analysis::output::{Kind, check};
use analysis::slice;
use analysis::study::{Listing, Outcome as Explained};
use anyhow::Result;
use perfdata::{Machine, companion};
use symbols::code_copies;

use super::threads;
use crate::args::SliceArgs;
use crate::input::Reading;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &SliceArgs) -> Result<Outcome> {
    let mut reading = Reading::open(args.analysis.request()?)?;
    // Whether it will be a folder is known when it is cut.
    check(&args.output, Kind::Either, &reading.inputs()).map_err(advice::on)?;
    let beside = [Machine::NAME, code_copies::NAME].map(|name| companion(&args.output, name));
    for companion in &beside {
        check(companion, Kind::File, &reading.inputs()).map_err(advice::on)?;
    }
    reading.request.outputs = [args.output.clone()].into_iter().chain(beside).collect();
    threads::limit(args.analysis.effort.threads())?;
    let made = slice::make(&reading.request, &meter::on_stderr(), Listing::None, false);
    let (slice, outcome) = made.map_err(advice::on)?;
    output::print_diagnostics(&slice.report.diagnostics);
    if outcome != Explained::NothingSelected {
        slice.write(&args.output).map_err(advice::on)?;
        output::print_written(&args.output);
    }
    Ok(outcome.into())
}
