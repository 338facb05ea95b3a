//! `tailtrace explain`: selected intervals, each cut into causes and compared with typical ones.

use std::path::PathBuf;

use analysis::Request;
use analysis::bundle::Opened;
use analysis::output::{Kind, check, write_file};
use analysis::study::{self, Listing};
use anyhow::Result;

use super::threads;
use crate::args::{ExplainArgs, ExplainFormat};
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let listing = if args.html.is_some() { Listing::Wanted } else { Listing::None };
    let (mut request, meter) = (args.analysis.request()?, meter::on_stderr());
    if let Some(path) = &args.html {
        check(path, Kind::File, &inputs(args, &request)).map_err(advice::on)?;
        request.outputs = vec![path.clone()];
    }
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
        write_file(path, report::render_html(&report).as_bytes()).map_err(advice::on)?;
    }
    output::print_result(&match args.format {
        ExplainFormat::Text => report::render_text(&report, &output::style()),
        ExplainFormat::Markdown => report::render_markdown(&report),
        ExplainFormat::Json => report::render_json(&report),
    })?;
    Ok(outcome.into())
}

/// What is read: a bundle holds all but the code that may be named beside it.
fn inputs(args: &ExplainArgs, request: &Request) -> Vec<PathBuf> {
    let Some(bundle) = &args.bundle else { return request.inputs() };
    let code = request.input.code.given().map(|(_, path)| path.to_owned());
    std::iter::once(bundle.clone()).chain(code).collect()
}
