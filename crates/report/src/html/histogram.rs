//! Histograms with axes: the vertical one logarithmic in numbers, the horizontal one as the bins lie.
//!
//! Places across are percentages, so that letters keep their size on any screen; the style sheet leaves room for what stands beside.

use std::fmt::Write as _;

use super::family::classes;
use crate::distribution::Bin;
use crate::escape::for_html;
use crate::outlier::OutlierReport;
use crate::report::Report;
use crate::timebase::TimeUnit;
use crate::units;

/// The place of the number zero, from the top, and how tall the highest bar is.
const FLOOR: f64 = 150.0;
const TALLEST: f64 = 126.0;
/// Labels of the horizontal axis are at least so far apart, in percent.
const LABELS_APART: f64 = 9.0;

/// What a histogram counts.
pub(super) struct Counted<'a> {
    /// One of them: `interval`.
    pub(super) noun: &'a str,
    /// All of them: `all durations`.
    pub(super) all: &'a str,
    /// Whether the page's script may filter by its bars.
    pub(super) is_population: bool,
}

/// The distribution of all durations with a mark at each outlier, in the colour of its foremost cause. Empty without bins.
pub(super) fn of_population(report: &Report) -> String {
    let bins = &report.population.histogram;
    let marks: String = report.outliers.iter().map(|outlier| mark(outlier, bins)).collect();
    let counted = Counted { noun: "interval", all: "all durations", is_population: true };
    drawn(bins, report.capture.time_unit, &counted, &marks)
}

/// How many fall into each of `bins`, with `marks` above. Empty without bins.
pub(super) fn drawn(bins: &[Bin], unit: TimeUnit, counted: &Counted<'_>, marks: &str) -> String {
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return String::new() };
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(1).max(1);
    let (explained, marked) = match marks {
        "" => ("", ""),
        _ => (" · ▼ explained here, in the colour of its foremost cause", "; the explained ones are marked"),
    };
    let class = if counted.is_population { "histogram population" } else { "histogram" };
    format!(
        "<figure class=\"{class}\"><svg class=\"plot\" role=\"img\" aria-label=\"Histogram of {all}, from {from} to \
         {to}{marked}\">{rules}{bars}{marks}<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"{FLOOR}\" y2=\"{FLOOR}\"/>{ticks}\
         </svg><figcaption>how many took how long, in logarithmic height{explained}</figcaption></figure>\n",
        all = counted.all,
        from = units::length(first.from_ns, unit),
        to = units::length(last.to_ns, unit),
        rules = rules(most),
        bars = bars(bins, most, unit, counted),
        ticks = ticks(|length| place(bins, length), FLOOR, unit),
    )
}

fn bars(bins: &[Bin], most: u64, unit: TimeUnit, counted: &Counted<'_>) -> String {
    let step = 100.0 / count(bins.len());
    let mut drawn = String::new();
    for (index, bin) in bins.iter().enumerate().filter(|(_, bin)| bin.count > 0) {
        let tall = height(bin.count, most);
        let range = if counted.is_population {
            format!(" data-from=\"{}\" data-to=\"{}\"", bin.from_ns, bin.to_ns)
        } else {
            String::new()
        };
        let _ = write!(
            drawn,
            "<rect class=\"bin\"{range} x=\"{:.2}%\" y=\"{:.1}\" width=\"{:.2}%\" height=\"{tall:.1}\"><title>{}</title>\
             </rect>",
            count(index) * step,
            FLOOR - tall,
            (step * 0.92).max(0.05),
            bin_words(bin, unit, counted.noun),
        );
    }
    drawn
}

/// A line and a number for each power of ten.
fn rules(most: u64) -> String {
    let powers = (0..20).map(|power| 10_u64.pow(power)).take_while(|&number| number <= most);
    let rule = |number: u64| {
        let y = FLOOR - height(number, most);
        format!(
            "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"-6\" \
             y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            y + 4.0,
            units::grouped(number),
        )
    };
    powers.map(rule).collect()
}

/// Round lengths below an axis at `floor`: powers of ten first, then their fivefold and double where there is room. `place` says
/// where a length lies, in percent.
pub(super) fn ticks(place: impl Fn(u64) -> Option<f64>, floor: f64, unit: TimeUnit) -> String {
    let mut placed: Vec<(f64, u64)> = Vec::new();
    for length in [1, 5, 2].into_iter().flat_map(|digit| (0..19).map(move |power| digit * 10_u64.pow(power)))
    {
        let there = place(length).filter(|place| (1.0..=97.0).contains(place));
        if let Some(place) = there
            && placed.iter().all(|(other, _)| (place - other).abs() >= LABELS_APART)
        {
            placed.push((place, length));
        }
    }
    placed.sort_by_key(|&(_, length)| length);
    let tick = |&(place, length): &(f64, u64)| {
        format!(
            "<line class=\"axis\" x1=\"{place:.2}%\" x2=\"{place:.2}%\" y1=\"{floor}\" y2=\"{}\"/><text class=\"tick\" \
             x=\"{place:.2}%\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            floor + 4.0,
            floor + 17.0,
            round_length(length, unit),
        )
    };
    placed.iter().map(tick).collect()
}

/// `10 us` instead of `10.0 us`.
fn round_length(length: u64, unit: TimeUnit) -> String {
    let words = units::length(length, unit);
    match words.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => words,
    }
}

/// Where a length lies across, in percent; `None` outside of the bins.
fn place(bins: &[Bin], length: u64) -> Option<f64> {
    let index = bins.iter().position(|bin| (bin.from_ns..bin.to_ns).contains(&length))?;
    let bin = &bins[index];
    let within = share(length - bin.from_ns, (bin.to_ns - bin.from_ns).max(1));
    Some((count(index) + within) * 100.0 / count(bins.len()))
}

/// A triangle above the outlier's place within its bin.
fn mark(outlier: &OutlierReport, bins: &[Bin]) -> String {
    let Some(x) = place(bins, outlier.duration_ns) else { return String::new() };
    let main = outlier.causes.first().map_or_else(|| "unknown".to_owned(), |cause| classes(&cause.cause));
    format!(
        "<svg class=\"mark\" x=\"{x:.2}%\" y=\"2\"><path class=\"bar {main}\" d=\"M-5 0h10l-5 11z\"><title>{} {}</title></path>\
         </svg>",
        for_html(format!("{} {}", outlier.label, outlier.id).trim()),
        units::length(outlier.duration_ns, outlier.time_unit),
    )
}

fn bin_words(bin: &Bin, unit: TimeUnit, noun: &str) -> String {
    let (from, to) = (units::length(bin.from_ns, unit), units::length(bin.to_ns, unit));
    format!("{from} to {to}: {}", units::counted(bin.count, noun))
}

/// Logarithmic; one is visible.
#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn height(count: u64, most: u64) -> f64 {
    let log = |count: u64| (count as f64).log10() + 0.3;
    log(count) / log(most) * TALLEST
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn count(number: usize) -> f64 {
    number as f64
}
