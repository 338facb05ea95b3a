//! Pictures that need no script: where the time went, and where the outliers lie among all intervals.
//!
//! Only attributes that a Content-Security-Policy does not count as style; colours come from classes.

use std::fmt::Write as _;

use super::family::family;
use crate::distribution::Bin;
use crate::escape::for_html;
use crate::outlier::OutlierReport;
use crate::report::Report;
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
            family(cause),
            for_html(cause),
            units::length(time, unit),
        );
        at += width;
    }
    drawn
}

/// The distribution of all durations with a mark at each outlier. Empty without bins.
pub(super) fn histogram(report: &Report) -> String {
    let bins = &report.population.histogram;
    let step = 1000.0 / count(bins.len().max(1));
    let marks: String = report.outliers.iter().map(|outlier| mark(outlier, bins, step)).collect();
    distribution(bins, report.capture.time_unit, ("interval", "all durations"), &marks)
}

/// How many things of a kind, by one name and as `all` of them, fall into each of `bins`, in logarithmic heights, with
/// `marks` above. Empty without bins.
pub(super) fn distribution(bins: &[Bin], unit: TimeUnit, (noun, all): (&str, &str), marks: &str) -> String {
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return String::new() };
    let highest = bins.iter().map(|bin| height(bin.count)).fold(1.0, f64::max);
    let step = 1000.0 / count(bins.len());
    let mut drawn = String::new();
    for (index, bin) in bins.iter().enumerate().filter(|(_, bin)| bin.count > 0) {
        let tall = height(bin.count) / highest * 120.0;
        let _ = write!(
            drawn,
            "<rect class=\"bin\" x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{tall:.2}\"><title>{}</title></rect>",
            count(index) * step,
            140.0 - tall,
            (step - 1.0).max(0.5),
            bin_words(bin, unit, noun),
        );
    }
    let (explained, marked) =
        if marks.is_empty() { ("", "") } else { ("; ▼ explained here", "; the explained ones are marked") };
    format!(
        "<figure class=\"histogram\"><svg viewBox=\"0 0 1000 142\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"Histogram of {all}, from {from} to {to}{marked}\">{drawn}{marks}\
         <path class=\"axis\" d=\"M0 140.5H1000\"/></svg><figcaption><span>{from}</span>\
         <span>number, logarithmic{explained}</span><span>{to}</span></figcaption></figure>\n",
        from = units::length(first.from_ns, unit),
        to = units::length(last.to_ns, unit),
    )
}

/// A triangle above the outlier's place within its bin.
fn mark(outlier: &OutlierReport, bins: &[Bin], step: f64) -> String {
    let holds = |bin: &Bin| (bin.from_ns..bin.to_ns).contains(&outlier.duration_ns);
    let Some(index) = bins.iter().position(holds) else { return String::new() };
    let bin = &bins[index];
    let within = share(outlier.duration_ns - bin.from_ns, (bin.to_ns - bin.from_ns).max(1));
    let x = (count(index) + within) * step;
    format!(
        "<path class=\"mark\" d=\"M{:.2} 2h8l-4 9z\"><title>{} {}</title></path>",
        x - 4.0,
        for_html(format!("{} {}", outlier.label, outlier.id).trim()),
        units::length(outlier.duration_ns, outlier.time_unit),
    )
}

fn bin_words(bin: &Bin, unit: TimeUnit, noun: &str) -> String {
    let (from, to) = (units::length(bin.from_ns, unit), units::length(bin.to_ns, unit));
    format!("{from} to {to}: {}", units::counted(bin.count, noun))
}

/// Twice as high for a hundred as for ten; one is visible.
#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn height(count: u64) -> f64 {
    (count as f64).log10() + 0.5
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn count(number: usize) -> f64 {
    number as f64
}
