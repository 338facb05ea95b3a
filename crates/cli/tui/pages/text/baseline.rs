//! The outlier beside one typical interval: both strips on one scale, causes side by side, segments side by side.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use report::{Family, OutlierReport, SegmentReport, TimeUnit, length, signed_length};

use crate::tui::pages::explained::Explained;
use crate::tui::pages::pieces::{Times, bold, cell, dim, family_mark, figure, fitting, strip};

/// Segments shown of each side; the timeline has all.
const MOST_SEGMENTS: usize = 200;

/// The page's text.
pub(super) fn lines(explained: &Explained, at: usize, columns: u16) -> Vec<Line<'static>> {
    let Some(baseline) = explained.baselines.get(at.min(explained.baselines.len().saturating_sub(1))) else {
        let why = match explained.outlier.baseline_rule.as_str() {
            "" => "no typical interval has this label and these threads",
            rule => rule,
        };
        return vec![Line::raw(fitting(&format!("  nothing to compare with: {why}"), usize::from(columns)))];
    };
    let outlier = &explained.outlier;
    let room = usize::from(columns).saturating_sub(2);
    let place = format!("  typical interval {} of {}: ", at + 1, explained.baselines.len());
    let mut lines = vec![Line::from(vec![
        Span::raw(place),
        Span::styled(format!("{} {}", fitting(&baseline.label, 40), baseline.id), bold()),
        Span::styled("   ] the next, [ the one before", dim()),
    ])];
    if !outlier.baseline_rule.is_empty() {
        let rule = format!("  chosen by: {}", outlier.baseline_rule);
        lines.push(Line::styled(fitting(&rule, usize::from(columns)), dim()));
    }
    lines.push(Line::default());
    lines.extend(strips(outlier, baseline, room));
    lines.push(Line::default());
    lines.extend(causes(outlier, baseline, columns));
    lines.push(Line::default());
    lines.extend(segments(outlier, baseline, room));
    lines
}

/// Both strips on the scale of the longer one.
fn strips(outlier: &OutlierReport, baseline: &OutlierReport, room: usize) -> Vec<Line<'static>> {
    let longest = outlier.duration_ns.max(baseline.duration_ns).max(1);
    let one = |what: &str, report: &OutlierReport| {
        let scaled = u128::from(report.duration_ns) * room as u128 / u128::from(longest);
        let columns = usize::try_from(scaled).unwrap_or(room).clamp(1, room.max(1));
        let mut line = strip(&report.segments, (0, report.duration_ns.max(1)), columns);
        line.spans.insert(0, Span::raw(" "));
        let title = format!(" {what} {}, {}", report.id, length(report.duration_ns, report.time_unit));
        [Line::styled(title, dim()), line]
    };
    one("this interval", outlier).into_iter().chain(one("typical", baseline)).collect()
}

/// Every cause of either, the largest difference first.
fn causes(outlier: &OutlierReport, baseline: &OutlierReport, columns: u16) -> Vec<Line<'static>> {
    let mut both: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for cause in &outlier.causes {
        both.entry(&cause.cause).or_default().0 = cause.duration_ns;
    }
    for cause in &baseline.causes {
        both.entry(&cause.cause).or_default().1 = cause.duration_ns;
    }
    let difference = |(own, typical): (u64, u64)| {
        let exact = i128::from(own) - i128::from(typical);
        i64::try_from(exact).unwrap_or(if exact < 0 { i64::MIN } else { i64::MAX })
    };
    let mut order: Vec<(&str, (u64, u64))> = both.into_iter().collect();
    order.sort_by_key(|&(_, times)| Reverse(difference(times).unsigned_abs()));
    let unit = outlier.time_unit;
    let row = |first: &str, second: &str, third: &str| {
        format!(" {} {} {}  ", figure(first, 11), figure(second, 11), figure(third, 11))
    };
    let or_dash = |time: u64| if time == 0 { "-".to_owned() } else { length(time, unit) };
    let mut lines = vec![Line::styled(format!("{}cause", row("this", "typical", "difference")), dim())];
    lines.extend(order.into_iter().map(|(cause, times)| {
        let figures = row(&or_dash(times.0), &or_dash(times.1), &signed_length(difference(times), unit));
        let room = usize::from(columns).saturating_sub(figures.len() + 3);
        let is_more = difference(times) > 0;
        let style = if is_more { bold() } else { Style::new() };
        Line::from(vec![
            Span::raw(figures),
            family_mark(Family::of(cause)),
            Span::raw(" "),
            Span::styled(fitting(cause, room), style),
        ])
    }));
    lines
}

/// The segments of both, side by side in order of time.
fn segments(outlier: &OutlierReport, baseline: &OutlierReport, room: usize) -> Vec<Line<'static>> {
    let half = room / 2;
    let unit = outlier.time_unit;
    let offsets = |report: &OutlierReport| {
        let shown = report.segments.iter().take(MOST_SEGMENTS);
        Times::of(shown.map(|segment| segment.offset_ns), unit, 9)
    };
    let (own, typical) = (offsets(outlier), offsets(baseline));
    let names = |title: &str, offsets: Times| {
        cell(&format!(" {} {}   {title}", figure("at", offsets.columns), figure("for", 9)), half)
    };
    let title = format!("{}{}", names("this interval", own), names("typical", typical));
    let mut lines = vec![Line::styled(title, dim())];
    let count = outlier.segments.len().max(baseline.segments.len());
    for index in 0..count.min(MOST_SEGMENTS) {
        let mut spans = segment(outlier.segments.get(index), (own, unit), half);
        spans.extend(segment(baseline.segments.get(index), (typical, unit), half));
        lines.push(Line::from(spans));
    }
    if count > MOST_SEGMENTS {
        let more = format!("  and {} more", count - MOST_SEGMENTS);
        lines.push(Line::styled(more, Style::new().fg(Color::Yellow)));
    }
    lines
}

fn segment(
    segment: Option<&SegmentReport>,
    (offsets, unit): (Times, TimeUnit),
    columns: usize,
) -> Vec<Span<'static>> {
    let Some(segment) = segment else { return vec![Span::raw(" ".repeat(columns))] };
    let figures =
        format!(" {} {} ", offsets.figure(segment.offset_ns), figure(&length(segment.duration_ns, unit), 9));
    let room = columns.saturating_sub(figures.len() + 3);
    let name = format!(" {} ", cell(&segment.cause, room));
    vec![Span::raw(figures), family_mark(Family::of(&segment.cause)), Span::raw(name)]
}
