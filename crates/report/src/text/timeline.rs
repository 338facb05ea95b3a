//! The interval as one strip of letters, and what each letter stands for.
//!
//! Each cell shows the family of causes that took most of its time. Families too short for a cell still stand in the
//! legend with their time, so nothing is hidden.

use super::cells::{flow, left, right, width};
use super::group::{GROUPS, group_of};
use super::style::{Ink, Style};
use crate::outlier::{OutlierReport, SegmentReport};
use crate::timebase::TimeUnit;
use crate::units::{self, Digits};

/// Axis, strip and legend, without indent; nothing where the interval has no time.
pub(super) fn lines(outlier: &OutlierReport, columns: usize, style: Style) -> Vec<String> {
    if outlier.duration_ns == 0 || outlier.segments.is_empty() {
        return Vec::new();
    }
    let axis = axis((0, outlier.duration_ns), outlier.time_unit, columns, style);
    let mut lines = vec![style.paint(Ink::Dim, &axis), strip(outlier, columns, style)];
    lines.extend(flow(&legend(outlier, style), "   ", columns));
    lines
}

/// Begin, quarters and end above a strip of `columns`, each quarter's mark over its cell.
pub fn axis((begin, end): (u64, u64), unit: TimeUnit, columns: usize, style: Style) -> String {
    let mark = style.glyph("╷", "|");
    let length = end.saturating_sub(begin);
    let at = |quarter| begin.saturating_add(scaled(quarter, length, 4));
    let digits = Digits::of((0..=4).map(at), unit);
    let mut axis = if begin == 0 { "0".to_owned() } else { digits.show(begin) };
    let end = digits.show(end);
    for quarter in 1..4 {
        let at = digits.show(at(quarter));
        let label = format!("{mark}{at}");
        let column = quarter * columns / 4;
        let room = if quarter == 3 { (columns - column).saturating_sub(width(&end)) } else { columns / 4 };
        if width(&axis) < column && width(&label) < room {
            axis = left(&axis, column) + &label;
        }
    }
    let rest = columns.saturating_sub(width(&axis));
    axis + &right(&end, rest)
}

fn strip(outlier: &OutlierReport, columns: usize, style: Style) -> String {
    let cells = dominant_groups(&outlier.segments, (0, outlier.duration_ns), columns);
    let runs = cells.chunk_by(|a, b| a == b);
    runs.map(|run| match run[0] {
        Some(group) => GROUPS[group].cells(run.len(), style),
        None => " ".repeat(run.len()),
    })
    .collect()
}

/// For each of `columns` equal parts of the time from `begin` to `end`, the family with most time in it (the first
/// among equals).
pub(crate) fn dominant_groups(
    segments: &[SegmentReport],
    (begin, end): (u64, u64),
    columns: usize,
) -> Vec<Option<usize>> {
    let mut first = segments.partition_point(|segment| end_of(segment) <= begin);
    let length = end.saturating_sub(begin);
    let edge = |column: usize| begin.saturating_add(scaled(column, length, columns));
    (0..columns)
        .map(|column| {
            let from = edge(column);
            let to = edge(column + 1).max(from + 1);
            while segments.get(first).is_some_and(|segment| end_of(segment) <= from) {
                first += 1;
            }
            let mut times = [0u64; GROUPS.len()];
            for segment in segments[first..].iter().take_while(|segment| segment.offset_ns < to) {
                let overlap = end_of(segment).min(to).saturating_sub(segment.offset_ns.max(from));
                let time = &mut times[group_of(&segment.cause)];
                *time = time.saturating_add(overlap);
            }
            let most = times.iter().copied().max().filter(|&time| time > 0)?;
            times.iter().position(|&time| time == most)
        })
        .collect()
}

/// `column / columns` of `duration`, rounded down.
fn scaled(column: usize, duration: u64, columns: usize) -> u64 {
    let scaled = column as u128 * u128::from(duration) / columns.max(1) as u128;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn end_of(segment: &SegmentReport) -> u64 {
    segment.offset_ns.saturating_add(segment.duration_ns)
}

/// One entry per family that has time, longest first: `F page fault 389.1 us 94 %`.
fn legend(outlier: &OutlierReport, style: Style) -> Vec<(usize, String)> {
    let mut times = [0u64; GROUPS.len()];
    for segment in &outlier.segments {
        let time = &mut times[group_of(&segment.cause)];
        *time = time.saturating_add(segment.duration_ns);
    }
    let mut order: Vec<usize> = (0..GROUPS.len()).filter(|&group| times[group] > 0).collect();
    order.sort_by_key(|&group| std::cmp::Reverse(times[group]));
    order
        .into_iter()
        .map(|group| {
            let figures = format!(
                " {} {} {}",
                GROUPS[group].name,
                units::length(times[group], outlier.time_unit),
                units::percentage(times[group], outlier.duration_ns)
            );
            (1 + width(&figures), GROUPS[group].cells(1, style) + &figures)
        })
        .collect()
}

#[cfg(test)]
mod tests;
