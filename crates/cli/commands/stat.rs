//! `tailtrace stat`: the population's table, percentiles and histogram.

use analysis::expectation::Limit;
use analysis::study;
use anyhow::{Result, ensure};
use report::SelectionSummary;

use crate::args::{StatArgs, StatFormat};
use crate::input::Reading;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &StatArgs) -> Result<Outcome> {
    let expectations = &args.expected.expect;
    ensure!(
        !expectations.iter().any(|one| matches!(one.limit, Limit::Ratio(_))),
        "--expect: a limit with x is of two captures: tailtrace diff A B takes it"
    );
    let reading = Reading::open(args.request()?)?;
    let measured = study::with(&reading.request, &meter::on_stderr(), |study| {
        let mut figures = study.figures();
        figures.composition = args.causes.then(|| study.composition()).transpose()?;
        Ok((figures, study.expect(expectations)?, study.late_diagnostics()))
    });
    let (mut report, expected, late) = measured.map_err(advice::on)?;
    report.diagnostics.extend(late);
    let is_selecting = !reading.request.selection.is_default();
    if !is_selecting {
        // Without options the choice is for explain.
        report.selection = SelectionSummary::default();
    }
    reading.name_files(&mut report);
    output::print_diagnostics(&report.diagnostics);
    output::print_result(&match args.format {
        StatFormat::Text => report::render_stat_text(&report, &output::style()),
        StatFormat::Markdown => report::render_stat_markdown(&report),
        StatFormat::Csv => report::export_stat_csv(&report),
        StatFormat::Json => report::render_stat_json(&report),
        StatFormat::Junit => {
            let capture = report.capture.path.as_deref().unwrap_or_default();
            report::render_junit(&format!("tailtrace stat {capture}"), &expected)
        }
    })?;
    let is_text = matches!(args.format, StatFormat::Text | StatFormat::Markdown);
    if let Some(outcome) = output::print_expected(&expected, is_text)? {
        return Ok(outcome);
    }
    let is_none = report.population.count == 0 || (is_selecting && report.selection.selected == 0);
    Ok(if is_none { Outcome::NothingSelected } else { Outcome::Reported })
}
