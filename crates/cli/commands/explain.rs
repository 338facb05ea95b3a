//! `tailtrace explain`: selected intervals, each cut into causes and compared with typical ones.

use analysis::bundle::Opened;
use analysis::study::{self, Listing};
use anyhow::Result;

use super::threads;
use crate::args::{ExplainArgs, ExplainFormat};
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let listing = if args.html.is_some() { Listing::Wanted } else { Listing::None };
    let (request, meter) = (args.analysis.request()?, meter::on_stderr());
    threads::limit(args.analysis.effort.threads())?;
    let explained = match &args.bundle {
        Some(bundle) => Opened::open(bundle).and_then(|bundle| bundle.explain(&request, &meter, listing)),
        None => study::explain(&request, &meter, listing),
    };
    let (report, outcome) = explained.map_err(advice::on)?;
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
    Ok(outcome.into())
}
