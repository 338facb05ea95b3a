//! Two distributions over each other: their histograms, and which share of intervals took at most so long.
//!
//! Both are counted in the same bins of equal ratio; a height is the share of a side's intervals in that bin, so never above 100 %.
//! Both axes are logarithmic, or the tails would be a flat line. Shapes are stretched to the page's width, letters are not.

use std::fmt::Write as _;

use super::histogram::ticks;
use crate::difference::SharedBin;
use crate::timebase::TimeUnit;
use crate::units;

const HIGH: f64 = 140.0;

/// One logarithmic axis for both.
struct Axis {
    from: f64,
    to: f64,
}

/// Both figures; empty without bins.
pub(crate) fn overlay(bins: &[SharedBin], unit: TimeUnit) -> String {
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return String::new() };
    let (from, to) = (first.from_ns.max(1), last.to_ns.max(2));
    let axis = Axis { from: real(from).ln(), to: real(to).ln().max(real(from).ln() + 0.1) };
    let (a, b) = (Shares::of(bins, |bin| bin.a), Shares::of(bins, |bin| bin.b));
    let heights = Heights::of(a.0.iter().chain(&b.0).map(|&(_, share)| share));
    let histograms = format!(
        "<path class=\"side-a\" d=\"{}\"/><path class=\"side-b\" d=\"{}\"/>",
        axis.steps(&a, &heights),
        axis.steps(&b, &heights)
    );
    let curves = format!(
        "<path class=\"curve a\" d=\"{}\"/><path class=\"curve b\" d=\"{}\"/>",
        axis.curve(&a),
        axis.curve(&b)
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
            &format!(
                "share of a capture's intervals in each bin, a bin reaching to {:.2} times its begin; both axes logarithmic",
                ratio(bins)
            ),
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
        let powers = (-4..=2).map(|power| 10_f64.powi(power));
        let inside = powers.filter(|percent| (self.from..=self.to).contains(&(percent / 100.0).ln()));
        inside.map(|percent| rule(percent, self.y(percent / 100.0))).collect()
    }
}

/// To how many times its begin a bin reaches: the mean of all, for edges are whole numbers.
fn ratio(bins: &[SharedBin]) -> f64 {
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return 1.0 };
    let octaves = real(last.to_ns.max(1)).log2() - real(first.from_ns.max(1)).log2();
    (octaves / real(bins.len() as u64)).exp2()
}

/// Of each bin of one side where it ends, and the share of the side's intervals in it.
struct Shares(Vec<(u64, f64)>);

impl Shares {
    fn of(bins: &[SharedBin], count: impl Fn(&SharedBin) -> u64) -> Shares {
        let all = real(bins.iter().fold(0, |sum: u64, bin| sum.saturating_add(count(bin))).max(1));
        Shares(bins.iter().map(|bin| (bin.to_ns, real(count(bin)) / all)).collect())
    }
}

impl Axis {
    /// Where a length lies, of 1000.
    fn x(&self, length: u64) -> f64 {
        (real(length.max(1)).ln() - self.from) / (self.to - self.from) * 1000.0
    }

    fn steps(&self, shares: &Shares, heights: &Heights) -> String {
        let mut path = format!("M0 {HIGH}");
        for &(to, share) in &shares.0 {
            let _ = write!(path, "V{:.2}H{:.1}", heights.y(share), self.x(to));
        }
        let _ = write!(path, "V{HIGH}z");
        path
    }

    fn curve(&self, shares: &Shares) -> String {
        let mut path = format!("M0 {HIGH}");
        let mut sum = 0.0;
        for &(to, share) in &shares.0 {
            sum += share;
            let _ = write!(path, "L{:.1} {:.2}", self.x(to), HIGH - sum * HIGH);
        }
        path
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn real(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
