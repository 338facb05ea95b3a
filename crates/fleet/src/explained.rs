//! From an explained capture to its rows.
//!
//! Input: a [`Study`] and its [`Report`]. Output: [`Rows`]. Lengths are nanoseconds everywhere: a capture whose lengths are ticks has a row in
//! `captures` alone.

mod calendar;
mod causes;
mod delivery;
mod facts;
mod homes;
mod intervals;
mod unnamed;

use std::path::{Path, PathBuf};

use analysis::Meter;
use analysis::bundle::{Opened, is_archive, is_bundle};
use analysis::study::{self, Listing, Outcome, Study};
use report::{Report, TimeUnit, cause_chains};

use crate::hash;
use crate::row::{DiagnosticRow, filled};
use crate::rows::Rows;
use causes::ExplainedOutlier;
pub use delivery::Delivery;

/// Opens and explains a capture, and gives its rows. `wanted` gets the capture's ID before anything is decoded; where it does not want
/// it, there are no rows.
pub fn explain(delivery: &Delivery, meter: &dyn Meter, wanted: impl FnOnce(&str) -> bool) -> Option<Rows> {
    let given = &delivery.request;
    let failed = |error: &dyn std::error::Error| {
        let why = in_one_line(error);
        without_rows(delivery, status_of(&why), &why)
    };
    let opened = if is_bundle(&given.input.path) || is_archive(&given.input.path) {
        match Opened::open(&given.input.path) {
            Ok(opened) => Some(opened),
            Err(error) => return Some(failed(&error)),
        }
    } else {
        None
    };
    let request = opened.as_ref().map_or_else(|| given.clone(), |opened| opened.request(given));
    // What is no file would be read without an end.
    if !is_readable(&request.input.path) {
        return Some(failed(&std::io::Error::other("neither a perf.data nor a bundle")));
    }
    let capture = match hash::capture(&request.input.path) {
        Ok(capture) => capture,
        Err(error) => return Some(failed(&error)),
    };
    if !wanted(&capture) {
        return None;
    }
    let explained = study::with(&request, meter, |study| {
        let mut report = study.report(Listing::None);
        if let Some(opened) = &opened {
            opened.name_files(&mut report, given);
        }
        Ok::<_, analysis::Error>(rows_of(delivery, opened.as_ref(), &capture, study, &report))
    });
    Some(explained.unwrap_or_else(|error| failed(&error)))
}

/// The rows of a capture that is explained already: `report` is of `study`, and `opened` the bundle that it lies in.
///
/// # Errors
/// Where the capture's file cannot be read to its end.
pub fn of_study(
    delivery: &Delivery,
    opened: Option<&Opened>,
    study: &Study<'_>,
    report: &Report,
) -> std::io::Result<Rows> {
    let capture = hash::capture(study.capture().path())?;
    Ok(rows_of(delivery, opened, &capture, study, report))
}

/// The one row of a file that has no others, and why: its status and error.
pub fn without_rows(delivery: &Delivery, status: &str, error: &str) -> Rows {
    let mut rows = Rows::default();
    rows.push(facts::of_unreadable(delivery, status, error));
    rows
}

fn rows_of(
    delivery: &Delivery,
    opened: Option<&Opened>,
    capture: &str,
    study: &Study<'_>,
    report: &Report,
) -> Rows {
    let mut rows = Rows::default();
    let clock = calendar::Utc { ahead_ns: study.utc_ahead_ns() };
    let has_lengths = report.capture.time_unit == TimeUnit::Nanoseconds;
    let has_errors = report.diagnostics.iter().any(|one| one.severity == model::Severity::Error);
    let status = match Outcome::of(study, report) {
        _ if !has_lengths => "unreadable",
        Outcome::Incomplete => "partial",
        _ if has_errors => "partial",
        _ => "ok",
    };
    let facts = facts::Facts { delivery, opened, capture, study, report, clock };
    let error =
        (!has_lengths).then(|| "its lengths are ticks: the TSC's frequency is not recorded".to_owned());
    rows.push(facts.row(status, error));
    if has_lengths {
        let unnamed = unnamed::Unnamed::of(study.capture());
        let outliers: Vec<ExplainedOutlier<'_>> = report
            .outliers
            .iter()
            .map(|outlier| {
                let chains = cause_chains(outlier, &|name| unnamed.words(outlier, name));
                ExplainedOutlier { outlier, chains }
            })
            .collect();
        intervals::add(&mut rows, &facts, &outliers);
        causes::add(&mut rows, &facts, outliers);
    }
    for diagnostic in &report.diagnostics {
        rows.push(DiagnosticRow {
            capture: capture.to_owned(),
            severity: diagnostic.severity.to_string(),
            what: diagnostic.what.clone(),
            place: filled(diagnostic.place.to_string()),
        });
    }
    rows
}

/// The status of a file that cannot be explained for this reason.
fn status_of(why: &str) -> &'static str {
    // Of zstd and of the operating system.
    let is_memory = ["not enough memory", "Cannot allocate memory"].iter().any(|words| why.contains(words));
    if is_memory { "too-large" } else { "unreadable" }
}

/// Whether `path` is a plain file or a folder with one called `data`.
fn is_readable(path: &Path) -> bool {
    let data: PathBuf = if path.is_dir() { path.join("data") } else { path.to_owned() };
    data.is_file()
}

/// An error with its reasons, none of them twice.
fn in_one_line(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(reason) = next {
        let words = reason.to_string();
        if !line.contains(&words) {
            line = format!("{line}: {words}");
        }
        next = reason.source();
    }
    line
}
