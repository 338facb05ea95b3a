//! Two distributions over each other: their histograms, and which share of intervals took at most so long.
//!
//! The bins of both lie anywhere; what is drawn is the share of intervals per doubling of the length, so that bins of other widths
//! compare. Both axes are logarithmic, or the tails would be a flat line. Shapes are stretched to the page's width, letters are not.

use std::fmt::Write as _;

use super::histogram::ticks;
use crate::distribution::Bin;
use crate::timebase::TimeUnit;
use crate::units;

const HIGH: f64 = 140.0;

/// One logarithmic axis for both.
struct Axis {
    from: f64,
    to: f64,
}

/// Both figures; empty where one side has no bins.
pub(crate) fn overlay(a: &[Bin], b: &[Bin], unit: TimeUnit) -> String {
    let edges = |bins: &[Bin]| Some((bins.first()?.from_ns.max(1), bins.last()?.to_ns));
    let (Some(of_a), Some(of_b)) = (edges(a), edges(b)) else { return String::new() };
    let (from, to) = (of_a.0.min(of_b.0), of_a.1.max(of_b.1).max(2));
    let axis = Axis { from: real(from).ln(), to: real(to).ln().max(real(from).ln() + 0.1) };
    let heights = Heights::of(densities(a).chain(densities(b)));
    let histograms = format!(
        "<path class=\"side-a\" d=\"{}\"/><path class=\"side-b\" d=\"{}\"/>",
        axis.steps(a, &heights),
        axis.steps(b, &heights)
    );
    let curves = format!(
        "<path class=\"curve a\" d=\"{}\"/><path class=\"curve b\" d=\"{}\"/>",
        axis.curve(a),
        axis.curve(b)
    );
    let said = format!("from {} to {}", units::length(from, unit), units::length(to, unit));
    let figure = |shapes: &str, rules: &str, label: &str, caption: &str| {
        format!(
            "<figure class=\"histogram\"><svg class=\"plot\" role=\"img\" aria-label=\"{label}, {said}\">{rules}\
             <svg width=\"100%\" height=\"{HIGH}\" viewBox=\"0 0 1000 {HIGH}\" preserveAspectRatio=\"none\">{shapes}</svg>\
             <line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"{HIGH}\" y2=\"{HIGH}\"/>{}</svg><figcaption>{KEY}{caption}</figcaption>\
             </figure>\n",
            ticks(|length| Some(axis.x(length) / 10.0), HIGH, unit),
        )
    };
    let quarters: String =
        [0.0, 25.0, 50.0, 75.0, 100.0].map(|percent| rule(percent, HIGH - percent / 100.0 * HIGH)).concat();
    [
        "<section aria-labelledby=\"both\">\n<h2 id=\"both\">Durations of both</h2>\n",
        &figure(
            &histograms,
            &heights.rules(),
            "Histograms of A and B over each other",
            "share of intervals per doubling of the length, both axes logarithmic",
        ),
        &figure(
            &curves,
            &quarters,
            "Shares of intervals of A and B that took at most so long",
            "share that took at most so long",
        ),
        "</section>\n",
    ]
    .concat()
}

/// Which colour is which.
const KEY: &str = "<svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"side-a\" width=\"10\" \
                   height=\"10\"/></svg>A <svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect \
                   class=\"side-b\" width=\"10\" height=\"10\"/></svg>B · ";

/// A line at so many percent of all intervals.
fn rule(percent: f64, y: f64) -> String {
    format!(
        "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"-6\" y=\"{:.1}\" \
         text-anchor=\"end\">{percent} %</text>",
        y + 4.0
    )
}

/// The logarithmic axis of shares: from half of the smallest to the largest one.
struct Heights {
    from: f64,
    to: f64,
}

impl Heights {
    fn of(shares: impl Iterator<Item = f64>) -> Heights {
        let shares = shares.filter(|share| *share > 0.0);
        let (least, most) =
            shares.fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), one| (least.min(one), most.max(one)));
        Heights { from: (least.min(most) / 2.0).ln(), to: most.ln() }
    }

    /// Where a share lies, from the top; none lies at the bottom.
    fn y(&self, share: f64) -> f64 {
        let part = (share.max(f64::MIN_POSITIVE).ln() - self.from) / (self.to - self.from);
        HIGH - part.clamp(0.0, 1.0) * (HIGH - 4.0)
    }

    /// A line at each power of ten in percent.
    fn rules(&self) -> String {
        let powers = (-4..=3).map(|power| 10_f64.powi(power));
        let inside = powers.filter(|percent| (self.from..=self.to).contains(&(percent / 100.0).ln()));
        inside.map(|percent| rule(percent, self.y(percent / 100.0))).collect()
    }
}

/// Of each bin the share of all intervals per doubling of the length.
fn densities(bins: &[Bin]) -> impl Iterator<Item = f64> + '_ {
    let all = real(bins.iter().fold(0, |sum: u64, bin| sum.saturating_add(bin.count)).max(1));
    let width = |bin: &Bin| real(bin.to_ns.max(2)).log2() - real(bin.from_ns.max(1)).log2();
    bins.iter().map(move |bin| real(bin.count) / all / width(bin).max(1e-9))
}

impl Axis {
    /// Where a length lies, of 1000.
    fn x(&self, length: u64) -> f64 {
        (real(length.max(1)).ln() - self.from) / (self.to - self.from) * 1000.0
    }

    fn steps(&self, bins: &[Bin], heights: &Heights) -> String {
        let mut path = format!("M{:.1} {HIGH}", self.x(bins.first().map_or(1, |bin| bin.from_ns)));
        for (bin, density) in bins.iter().zip(densities(bins)) {
            let _ = write!(path, "V{:.2}H{:.1}", heights.y(density), self.x(bin.to_ns));
        }
        let _ = write!(path, "V{HIGH}z");
        path
    }

    fn curve(&self, bins: &[Bin]) -> String {
        let all = real(bins.iter().fold(0, |sum: u64, bin| sum.saturating_add(bin.count)).max(1));
        let mut path = format!("M0 {HIGH}L{:.1} {HIGH}", self.x(bins.first().map_or(1, |bin| bin.from_ns)));
        let mut sum = 0_u64;
        for bin in bins {
            sum = sum.saturating_add(bin.count);
            let _ = write!(path, "L{:.1} {:.2}", self.x(bin.to_ns), HIGH - real(sum) / all * HIGH);
        }
        let _ = write!(path, "H1000");
        path
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn real(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
