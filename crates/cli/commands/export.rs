//! `tailtrace export`: the explained intervals for other tools.

use analysis::output::{Kind, check, write_file};
use analysis::study::{self, Listing};
use anyhow::Result;

use super::threads;
use crate::args::{ExportArgs, ExportFormat};
use crate::input::Reading;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &ExportArgs) -> Result<Outcome> {
    let mut reading = Reading::open(args.analysis.request()?)?;
    let is_stdout = output::is_stdout(&args.output);
    if !is_stdout {
        check(&args.output, Kind::File, &reading.inputs()).map_err(advice::on)?;
        reading.request.outputs = vec![args.output.clone()];
    }
    threads::limit(args.analysis.effort.threads())?;
    let explained = study::explain(&reading.request, &meter::on_stderr(), Listing::None);
    let (mut report, outcome) = explained.map_err(advice::on)?;
    reading.name_files(&mut report);
    output::print_diagnostics(&report.diagnostics);
    let bytes = match args.to {
        ExportFormat::Folded => report::export_folded(&report).into_bytes(),
        ExportFormat::Csv => report::export_csv(&report).into_bytes(),
        ExportFormat::Firefox => report::export_firefox(&report).into_bytes(),
        ExportFormat::Perfetto => report::export_perfetto(&report),
    };
    if is_stdout {
        output::print_bytes(&bytes)?;
    } else {
        write_file(&args.output, &bytes).map_err(advice::on)?;
        output::print_written(&args.output);
    }
    Ok(outcome.into())
}
