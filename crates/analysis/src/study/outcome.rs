//! Explains what a request chooses, in one call, and says how well that went.

use report::Report;

use super::opened::{Listing, Study, with};
use crate::capture::Meter;
use crate::error::Result;
use crate::request::Request;

/// How well explaining went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every chosen interval has its report.
    Reported,
    /// No interval is chosen.
    NothingSelected,
    /// A chosen interval has no report; a diagnostic says why.
    Incomplete,
}

impl Outcome {
    /// How well `report` on the chosen intervals of `study` went.
    pub fn of(study: &Study<'_>, report: &Report) -> Outcome {
        match (study.selected().indices.len(), report.outliers.len()) {
            (0, _) => Outcome::NothingSelected,
            (wanted, given) if wanted == given => Outcome::Reported,
            _ => Outcome::Incomplete,
        }
    }
}

/// The report on the intervals that the request chooses, and how well that went.
///
/// # Errors
/// Where the capture or the source of the intervals cannot be used.
pub fn explain(request: &Request, meter: &dyn Meter, listing: Listing) -> Result<(Report, Outcome)> {
    explain_by(request, meter, |study| study.report(listing))
}

/// The same without why all outliers are slow, which takes explaining them and is no part of what other tools read.
///
/// # Errors
/// Those of [`explain`].
pub fn explain_chosen(request: &Request, meter: &dyn Meter, listing: Listing) -> Result<(Report, Outcome)> {
    explain_by(request, meter, |study| study.report_on_chosen(listing))
}

fn explain_by(
    request: &Request,
    meter: &dyn Meter,
    report: impl FnOnce(&Study<'_>) -> Report,
) -> Result<(Report, Outcome)> {
    with(request, meter, |study| {
        let report = report(study);
        let outcome = Outcome::of(study, &report);
        Ok((report, outcome))
    })
}
