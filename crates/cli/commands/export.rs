//! `tailtrace export`: the explained intervals for other tools.

use analysis::output::{Kind, check, write_file};
use analysis::study::{self, Listing};
use anyhow::Result;

use super::threads;
use crate::args::{ExportArgs, ExportFormat};
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &ExportArgs) -> Result<Outcome> {
    let mut request = args.analysis.request()?;
    check(&args.output, Kind::File, &request.inputs()).map_err(advice::on)?;
    request.outputs = vec![args.output.clone()];
    threads::limit(args.analysis.effort.threads())?;
    let explained = study::explain(&request, &meter::on_stderr(), Listing::None);
    let (report, outcome) = explained.map_err(advice::on)?;
    output::print_diagnostics(&report.diagnostics);
    let bytes = match args.to {
        ExportFormat::Folded => report::export_folded(&report).into_bytes(),
        ExportFormat::Csv => report::export_csv(&report).into_bytes(),
        ExportFormat::Firefox => report::export_firefox(&report).into_bytes(),
        ExportFormat::Perfetto => report::export_perfetto(&report),
    };
    write_file(&args.output, &bytes).map_err(advice::on)?;
    Ok(outcome.into())
}
