//! `tailtrace slice`: a perf.data that holds just what some outliers need.

use analysis::output::{Kind, check};
use analysis::slice;
use analysis::study::{Listing, Outcome as Explained};
use anyhow::Result;
use perfdata::Machine;

use super::threads;
use crate::args::SliceArgs;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &SliceArgs) -> Result<Outcome> {
    let mut request = args.analysis.request()?;
    // Whether it will be a folder is known when it is cut.
    check(&args.output, Kind::Either, &request.inputs()).map_err(advice::on)?;
    check(&Machine::place(&args.output), Kind::File, &request.inputs()).map_err(advice::on)?;
    request.outputs = vec![args.output.clone(), Machine::place(&args.output)];
    threads::limit(args.analysis.effort.threads())?;
    let made = slice::make(&request, &meter::on_stderr(), Listing::None, false);
    let (slice, outcome) = made.map_err(advice::on)?;
    output::print_diagnostics(&slice.report.diagnostics);
    if outcome != Explained::NothingSelected {
        slice.write(&args.output).map_err(advice::on)?;
    }
    Ok(outcome.into())
}
