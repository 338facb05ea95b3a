//! Flame graphs as SVG files that open alone, drawn by `inferno` from the stacks of [`folded`](super::folded).
//!
//! Input: a [`Report`]. Output: one SVG; the same report gives the same bytes. Names reach the SVG through inferno's XML writer, which
//! escapes them, after our own escaping for terminals; what XML cannot hold at all is replaced before.

use inferno::flamegraph::color::{BasicPalette, MultiPalette, Palette};
use inferno::flamegraph::{Options, from_lines};
use model::CallLayer;

use super::folded::{Stack, stacks};
use super::tracks::name;
use crate::escape::for_terminal;
use crate::headline::lengths;
use crate::report::Report;
use crate::units::counted;

/// What a flame graph shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlameView {
    /// The time of the outliers.
    Outlier,
    /// The mean time of their typical intervals.
    Typical,
    /// The time of the outliers, coloured by what is more or less than typical.
    Difference,
}

/// The flame graph of all outliers, each below its own name; `None` where there is no time to draw.
pub fn export_flamegraph(report: &Report, view: FlameView) -> Option<String> {
    let mut lines = Vec::new();
    for outlier in &report.outliers {
        let root = root(&name(outlier));
        lines.extend(stacks(outlier).iter().filter_map(|stack| line(&root, stack, view)));
    }
    let mut options = Options::default();
    options.title = title(report);
    options.subtitle = Some(subtitle(view).to_owned());
    "ns".clone_into(&mut options.count_name);
    options.deterministic = true;
    options.colors = match view {
        FlameView::Difference => Palette::Basic(BasicPalette::Hot),
        FlameView::Outlier | FlameView::Typical => Palette::Multi(MultiPalette::Java),
    };
    let mut svg = Vec::new();
    from_lines(&mut options, lines.iter().map(String::as_str), &mut svg).ok()?;
    String::from_utf8(svg).ok()
}

/// A stack and its count, or its typical and its own count; `None` where the view has no time there.
fn line(root: &str, stack: &Stack, view: FlameView) -> Option<String> {
    let (own, typical) = (stack.own_ns, stack.typical_ns);
    let counts = match view {
        FlameView::Outlier if own > 0 => own.to_string(),
        FlameView::Typical if typical > 0 => typical.to_string(),
        FlameView::Difference if own > 0 || typical > 0 => format!("{typical} {own}"),
        _ => return None,
    };
    let frames = stack.frames.iter().map(|(name, layer)| frame(name, *layer, view));
    Some(format!("{root};{} {counts}", frames.collect::<Vec<_>>().join(";")))
}

/// A name as inferno reads it. The suffix `_[k]` colours a kernel function and is not shown; a number after a space would be taken for
/// a count.
fn frame(name: &str, layer: CallLayer, view: FlameView) -> String {
    let name = legal(name);
    let name = match name.rsplit_once(' ') {
        Some((front, number)) if number.parse::<f64>().is_ok() => format!("{front}\u{a0}{number}"),
        _ => name,
    };
    match layer {
        CallLayer::Kernel if view != FlameView::Difference => format!("{name}_[k]"),
        CallLayer::Waiting if view != FlameView::Difference => format!("{name}_[i]"),
        _ => name,
    }
}

/// The outermost frame. A line that begins with `# ` would be a comment.
fn root(name: &str) -> String {
    let name = super::folded::frame(name);
    match name.strip_prefix("# ") {
        Some(rest) => legal(&format!("#\u{a0}{rest}")),
        None => legal(&name),
    }
}

/// Without the characters that no XML document may hold (XML 1.0, 2.2); control characters are escaped already.
fn legal(name: &str) -> String {
    name.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Short: a headline would not fit the picture's width.
fn title(report: &Report) -> String {
    match report.outliers.as_slice() {
        [only] => legal(&for_terminal(&format!("{}, {}", name(only), lengths(only)))),
        all => counted(all.len() as u64, "slow interval"),
    }
}

fn subtitle(view: FlameView) -> &'static str {
    match view {
        FlameView::Outlier => "time of the interval; orange: kernel, blue: waiting",
        FlameView::Typical => "mean time of its typical intervals; orange: kernel, blue: waiting",
        FlameView::Difference => "width: time of the interval; red: longer than typical, blue: shorter",
    }
}

#[cfg(test)]
mod tests;
