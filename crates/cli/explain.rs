//! `tailtrace explain`: selected intervals, each cut into causes and compared with typical ones.

use anyhow::Result;
use report::Report;

use crate::args::{AnalysisArgs, ExplainArgs, ExplainFormat};
use crate::bundle::Opened;
use crate::output::{self, Outcome};
use crate::study::{self, Listing, Study};

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let listing = if args.html.is_some() { Listing::Wanted } else { Listing::None };
    let (report, outcome) = match &args.bundle {
        Some(bundle) => Opened::open(bundle)?.explain(&args.analysis, listing)?,
        None => analyse(&args.analysis, listing)?,
    };
    if args.format == ExplainFormat::Json || !output::is_terminal() {
        output::print_diagnostics(&report.diagnostics);
    }
    if let Some(path) = &args.html {
        output::write_file(path, report::render_html(&report).as_bytes())?;
    }
    output::print_result(&match args.format {
        ExplainFormat::Text => report::render_text(&report, &output::style()),
        ExplainFormat::Markdown => report::render_markdown(&report),
        ExplainFormat::Json => report::render_json(&report),
    })?;
    Ok(outcome)
}

/// The report on the intervals that the arguments choose, and how well that went.
pub(crate) fn analyse(args: &AnalysisArgs, listing: Listing) -> Result<(Report, Outcome)> {
    study::with(args, |study| {
        let report = study.report(listing);
        let outcome = outcome(study, &report);
        Ok((report, outcome))
    })
}

/// How well explaining went.
pub(crate) fn outcome(study: &Study<'_>, report: &Report) -> Outcome {
    match (study.selected().indices.len(), report.outliers.len()) {
        (0, _) => Outcome::NothingSelected,
        (wanted, given) if wanted == given => Outcome::Reported,
        _ => Outcome::Failed,
    }
}
