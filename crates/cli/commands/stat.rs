//! `tailtrace stat`: the population's table, percentiles and histogram.

use analysis::study;
use anyhow::Result;

use crate::args::{StatArgs, StatFormat};
use crate::input::Reading;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &StatArgs) -> Result<Outcome> {
    let reading = Reading::open(args.request()?)?;
    let figures = study::with(&reading.request, &meter::on_stderr(), |study| Ok(study.figures()));
    let mut report = figures.map_err(advice::on)?;
    reading.name_files(&mut report);
    output::print_diagnostics(&report.diagnostics);
    output::print_result(&match args.format {
        StatFormat::Text => report::render_stat_text(&report, &output::style()),
        StatFormat::Json => report::render_stat_json(&report),
    })?;
    Ok(if report.population.count == 0 { Outcome::NothingSelected } else { Outcome::Reported })
}
