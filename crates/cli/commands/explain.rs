//! `tailtrace explain`: selected intervals, each cut into causes and compared with typical ones.

use analysis::output::{Kind, check, write_file};
use analysis::study::{self, Listing};
use anyhow::Result;

use super::threads;
use crate::args::{ExplainArgs, ExplainFormat};
use crate::input::Reading;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let listing = if args.html.is_some() { Listing::Wanted } else { Listing::None };
    let mut reading = Reading::open(args.analysis.request()?)?;
    let page = args.html.as_ref().filter(|path| !output::is_stdout(path));
    if let Some(path) = page {
        check(path, Kind::File, &reading.inputs()).map_err(advice::on)?;
        reading.request.outputs = vec![path.clone()];
    }
    threads::limit(args.analysis.effort.threads())?;
    let explained = study::explain(&reading.request, &meter::on_stderr(), listing);
    let (mut report, outcome) = explained.map_err(advice::on)?;
    reading.name_files(&mut report);
    if args.format == ExplainFormat::Json || !output::is_terminal() {
        output::print_diagnostics(&report.diagnostics);
    }
    if let Some(path) = page {
        write_file(path, report::render_html(&report).as_bytes()).map_err(advice::on)?;
        output::print_written(path);
    }
    output::print_result(&match args.format {
        _ if args.html.is_some() && page.is_none() => report::render_html(&report),
        ExplainFormat::Text if args.verbose => report::render_full_text(&report, &output::style()),
        ExplainFormat::Text => report::render_text(&report, &output::style()),
        ExplainFormat::Markdown => report::render_markdown(&report),
        ExplainFormat::Json => report::render_json(&report),
    })?;
    Ok(outcome.into())
}
