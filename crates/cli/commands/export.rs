//! `tailtrace export`: the explained intervals for other tools.

use analysis::output::{Kind, check, write_file};
use analysis::study::{self, Listing};
use anyhow::{Result, ensure};
use report::FlameView;

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
    let listing = if args.to == ExportFormat::Perfetto { Listing::Machine } else { Listing::None };
    let explained = study::explain_chosen(&reading.request, &meter::on_stderr(), listing);
    let (mut report, outcome) = explained.map_err(advice::on)?;
    reading.name_files(&mut report);
    output::print_diagnostics(&report.diagnostics);
    let flames = |view| report::export_flamegraph(&report, view).map(String::into_bytes);
    let bytes = match args.to {
        ExportFormat::Flamegraph => flames(FlameView::Outlier),
        ExportFormat::FlamegraphTypical => flames(FlameView::Typical),
        ExportFormat::FlamegraphDifference => flames(FlameView::Difference),
        ExportFormat::Folded => Some(report::export_folded(&report).into_bytes()),
        ExportFormat::Csv => Some(report::export_csv(&report).into_bytes()),
        ExportFormat::Firefox => Some(report::export_firefox(&report).into_bytes()),
        ExportFormat::Perfetto => Some(report::export_perfetto(&report)),
    };
    let Some(bytes) = bytes else {
        ensure!(
            report.outliers.is_empty(),
            "nothing to draw: the chosen intervals have no typical intervals"
        );
        return Ok(outcome.into());
    };
    if is_stdout {
        output::print_bytes(&bytes)?;
    } else {
        write_file(&args.output, &bytes).map_err(advice::on)?;
        output::print_written(&args.output);
    }
    Ok(outcome.into())
}
