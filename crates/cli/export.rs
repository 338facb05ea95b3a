//! `tailtrace export`: the explained intervals for other tools.

use anyhow::Result;

use crate::args::{ExportArgs, ExportFormat};
use crate::explain;
use crate::output::{self, Outcome};
use crate::study::Listing;

/// Runs the command.
pub(crate) fn run(args: &ExportArgs) -> Result<Outcome> {
    let (report, outcome) = explain::analyse(&args.analysis, Listing::None)?;
    output::print_diagnostics(&report.diagnostics);
    let bytes = match args.to {
        ExportFormat::Folded => report::export_folded(&report).into_bytes(),
        ExportFormat::Csv => report::export_csv(&report).into_bytes(),
        ExportFormat::Firefox => report::export_firefox(&report).into_bytes(),
        ExportFormat::Perfetto => report::export_perfetto(&report),
    };
    output::write_file(&args.output, &bytes)?;
    Ok(outcome)
}
