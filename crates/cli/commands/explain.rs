//! `tailtrace explain`: selected intervals, each cut into causes and compared with typical ones.

use std::path::{Path, PathBuf};

use analysis::Request;
use analysis::output::{Kind, check, write_file};
use analysis::request::Input;
use analysis::study::{self, Listing};
use anyhow::{Result, ensure};
use fleet::{Rows, Store};

use super::threads;
use crate::args::{ExplainArgs, ExplainFormat};
use crate::input::Reading;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command. Of the folder of a recording that keeps only what was slow each slice is explained.
pub(super) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let request = args.analysis.request()?;
    let folder = &request.input.path;
    let Some(slices) = study::slices(folder) else { return explain(args, request) };
    let is_one = args.html.is_some() || args.format == ExplainFormat::Json;
    ensure!(
        !is_one,
        "{} holds several slices, and this is the form of one report: {}",
        folder.display(),
        names(&slices)
    );
    let mut outcome = Outcome::NothingSelected;
    for slice in slices {
        let input = Input { path: slice, ..request.input.clone() };
        match explain(args, Request { input, ..request.clone() })? {
            Outcome::NothingSelected => {}
            found => outcome = if outcome == Outcome::Failed { outcome } else { found },
        }
    }
    Ok(outcome)
}

/// Some of the slices that a user may name.
fn names(slices: &[PathBuf]) -> String {
    let few: Vec<String> = slices.iter().take(3).map(|slice| format!("-i {}", slice.display())).collect();
    if few.is_empty() { "there is none yet".to_owned() } else { format!("name one, {}", few.join(" or ")) }
}

fn explain(args: &ExplainArgs, request: Request) -> Result<Outcome> {
    let listing = if args.html.is_some() { Listing::Wanted } else { Listing::None };
    let mut reading = Reading::open(request)?;
    let page = args.html.as_ref().filter(|path| !output::is_stdout(path));
    if let Some(path) = page {
        check(path, Kind::File, &reading.inputs()).map_err(advice::on)?;
        reading.request.outputs = vec![path.clone()];
    }
    threads::limit(args.analysis.effort.threads())?;
    let mut rows = None;
    let explained = study::with(&reading.request, &meter::on_stderr(), |study| {
        let mut report = study.report(listing);
        report.composition = args.causes.then(|| study.composition()).transpose()?;
        reading.name_files(&mut report);
        let delivery = args.parquet.as_ref().map(|_| reading.delivery());
        rows = delivery.map(|delivery| fleet::of_study(&delivery, reading.opened(), study, &report));
        let outcome = study::Outcome::of(study, &report);
        Ok((report, outcome))
    });
    let (report, outcome) = explained.map_err(advice::on)?;
    if args.format == ExplainFormat::Json || !output::is_terminal() {
        output::print_diagnostics(&report.diagnostics);
    }
    if let Some(path) = page {
        write_file(path, report::render_html(&report).as_bytes()).map_err(advice::on)?;
        output::print_written(path);
    }
    if let (Some(folder), Some(rows)) = (&args.parquet, rows) {
        add(folder, &rows?)?;
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

/// Adds a capture's rows to the tables in `folder`, unless they are there.
fn add(folder: &Path, rows: &Rows) -> Result<()> {
    let mut store = Store::open(folder)?;
    if store.has(rows.capture()) {
        output::print_note(&format!(
            "this capture is in the tables of {} already: nothing is added",
            folder.display()
        ));
        return Ok(());
    }
    store.add(std::slice::from_ref(rows))?;
    output::print_written(folder);
    Ok(())
}
