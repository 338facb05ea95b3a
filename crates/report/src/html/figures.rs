//! Pictures that need no script: where the time of an outlier went.
//!
//! Only attributes that a Content-Security-Policy does not count as style; colours come from classes.

use std::fmt::Write as _;

use super::family::classes;
use crate::escape::for_html;
use crate::outlier::OutlierReport;
use crate::timebase::TimeUnit;
use crate::units;

/// Causes with a bar of their own; the rest is thinner than a line.
const MOST_PARTS: usize = 24;

/// The outlier's time by cause above the typical one's, on one scale.
pub(super) fn comparison(outlier: &OutlierReport) -> String {
    let scale = outlier.duration_ns.max(outlier.baseline_mean_ns.unwrap_or(0)).max(1);
    let unit = outlier.time_unit;
    let own = parts(outlier.causes.iter().map(|cause| (&*cause.cause, cause.duration_ns)), scale, unit);
    let mut picture = bar_row("this one", &own, outlier.duration_ns, unit);
    if let Some(mean) = outlier.baseline_mean_ns {
        let typical =
            parts(outlier.causes.iter().map(|cause| (&*cause.cause, cause.typical_ns)), scale, unit);
        picture.push_str(&bar_row("typical", &typical, mean, unit));
    }
    format!("<div class=\"comparison\">{picture}</div>\n")
}

/// The outlier's time by cause as one bar, as long as its part of the longest outlier.
pub(super) fn strip(outlier: &OutlierReport, longest: u64) -> String {
    let parts = parts(
        outlier.causes.iter().map(|cause| (&*cause.cause, cause.duration_ns)),
        longest,
        outlier.time_unit,
    );
    format!(
        "<svg class=\"strip\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{parts}</svg>"
    )
}

fn bar_row(title: &str, parts: &str, length: u64, unit: TimeUnit) -> String {
    format!(
        "<span class=\"title\">{title}</span><svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{title}: {length}, by cause as in the table below\">{parts}</svg><span class=\"number\">{length}\
         </span>",
        length = units::length(length, unit),
    )
}

/// One rectangle per cause, longest first, side by side.
fn parts<'a>(causes: impl Iterator<Item = (&'a str, u64)>, scale: u64, unit: TimeUnit) -> String {
    let mut causes: Vec<(&str, u64)> = causes.filter(|&(_, time)| time > 0).collect();
    causes.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
    let (mut drawn, mut at) = (String::new(), 0.0);
    for (cause, time) in causes.into_iter().take(MOST_PARTS) {
        let width = share(time, scale) * 1000.0;
        let _ = write!(
            drawn,
            "<rect class=\"bar {}\" x=\"{at:.2}\" width=\"{width:.2}\" height=\"10\"><title>{} {}</title></rect>",
            classes(cause),
            for_html(cause),
            units::length(time, unit),
        );
        at += width;
    }
    drawn
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
