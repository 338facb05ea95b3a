//! What the time of all intervals is made of: a column for each percentile, the causes of the chosen one, then the tables.

use std::collections::BTreeMap;

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use report::{Composition, CompositionPoint, Family, TimeUnit, length, percent};

use super::cursor::Cursor;
use super::painted;
use super::pieces::{bold, dim, family_mark, family_style, figure, fitting};
use super::view::View;

/// Rows of the picture.
const ROWS: u16 = 8;
/// Causes of the chosen percentile; the tables below have more of the foremost percentiles.
const MOST_CAUSES: usize = 12;

/// Where one stands on the page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MadeOfPage {
    /// The chosen point of the curve; past its end, the last.
    pub(crate) at: usize,
    pub(crate) cursor: Cursor,
}

impl MadeOfPage {
    /// The slowest hundredth is chosen, where there is one: what is typical is the same in most columns.
    pub(crate) fn of(composition: &Composition) -> MadeOfPage {
        let first = composition.curve.iter().position(|point| point.percentile >= 99.0);
        MadeOfPage { at: first.unwrap_or(composition.curve.len()), cursor: Cursor::default() }
    }

    /// Chooses the percentile beside the chosen one.
    pub(crate) fn turn(&mut self, composition: &Composition, is_forward: bool) {
        let last = composition.curve.len().saturating_sub(1);
        let at = self.at.min(last);
        self.at = if is_forward { (at + 1).min(last) } else { at.saturating_sub(1) };
    }
}

/// The text of the page, line by line; none before it is known.
pub(crate) fn texts(view: &View, page: &MadeOfPage) -> Vec<String> {
    lines(view, page).iter().map(painted::plain).collect()
}

/// The page; none before it is known.
pub(crate) fn lines(view: &View, page: &MadeOfPage) -> Vec<Line<'static>> {
    let Some(composition) = view.composition() else { return Vec::new() };
    let (unit, columns) = (view.unit(), usize::from(view.size.0));
    let at = page.at.min(composition.curve.len().saturating_sub(1));
    let mut lines = Vec::new();
    if let Some(point) = composition.curve.get(at) {
        lines.extend(picture(&composition.curve, at, columns));
        lines.push(Line::styled(
            format!(" {}", fitting(&sentence(point, unit), columns.saturating_sub(2))),
            bold(),
        ));
        lines.extend(point.causes.iter().take(MOST_CAUSES).map(|cause| row(point, cause, unit, columns)));
        lines.push(Line::default());
    }
    let tables = report::render_composition(composition, unit, &painted::style(view.size.0));
    lines.extend(painted::folded(painted::lines(&tables), view.size.0));
    lines
}

/// `p99 203.7 us, the mean of 7 intervals around it`
fn sentence(point: &CompositionPoint, unit: TimeUnit) -> String {
    let intervals = match point.intervals {
        1 => "1 interval".to_owned(),
        count => format!("{count} intervals"),
    };
    format!("{} {}, the mean of {intervals} around it", point.name(), length(point.duration_ns, unit))
}

fn row(
    point: &CompositionPoint,
    (cause, mean): &(String, f64),
    unit: TimeUnit,
    columns: usize,
) -> Line<'static> {
    let share = mean / point.mean_ns.max(1.0);
    let text =
        format!(" {} {}  {cause}", figure(&report::mean_length(*mean, unit), 9), figure(&percent(share), 5));
    Line::from(vec![
        Span::raw(" "),
        family_mark(Family::of(cause)),
        Span::raw(fitting(&text, columns.saturating_sub(2))),
    ])
}

/// The columns, those around the chosen one where not all fit; below it stands a mark.
fn picture(curve: &[CompositionPoint], at: usize, columns: usize) -> Vec<Line<'static>> {
    let room = columns.saturating_sub(2).max(1);
    let wide = (room / curve.len()).clamp(1, 4);
    let fit = (room / wide).min(curve.len());
    let first = at.saturating_sub(fit / 2).min(curve.len() - fit);
    let shown = &curve[first..first + fit];
    let order = order(curve);
    let filled: Vec<Vec<Option<Family>>> = shown.iter().map(|point| column(point, &order)).collect();
    let cells = |row: usize| {
        let cell = |(place, column): (usize, &Vec<Option<Family>>)| match column[row] {
            Some(family) => {
                let style = family_style(family);
                let style = if first + place == at { style.add_modifier(Modifier::BOLD) } else { style };
                Span::styled(family.letter().repeat(wide), style)
            }
            None => Span::raw(" ".repeat(wide)),
        };
        let spans = std::iter::once(Span::raw(" ")).chain(filled.iter().enumerate().map(cell));
        Line::from(spans.collect::<Vec<_>>())
    };
    let mut lines: Vec<Line<'static>> = (0..usize::from(ROWS)).rev().map(cells).collect();
    lines.push(Line::raw(format!(" {}{}", " ".repeat((at - first) * wide), "▲".repeat(wide))));
    lines.push(Line::styled(names(shown, wide), dim()));
    lines
}

/// Families by their share over the whole curve, so that each has its place in all columns.
fn order(curve: &[CompositionPoint]) -> Vec<Family> {
    let mut shares: BTreeMap<&'static str, (Family, f64)> = BTreeMap::new();
    for point in curve {
        for (cause, mean) in &point.causes {
            let family = Family::of(cause);
            let share = &mut shares.entry(family.letter()).or_insert((family, 0.0)).1;
            *share += mean / point.mean_ns.max(1.0);
        }
    }
    let mut families: Vec<(Family, f64)> = shares.into_values().collect();
    families.sort_by(|a, b| b.1.total_cmp(&a.1));
    families.into_iter().map(|(family, _)| family).collect()
}

/// A column from below: each cell the family in which its middle lies.
fn column(point: &CompositionPoint, order: &[Family]) -> Vec<Option<Family>> {
    let share = |family: Family| {
        let causes = point.causes.iter().filter(|(cause, _)| Family::of(cause) == family);
        causes.map(|(_, mean)| mean).sum::<f64>() / point.mean_ns.max(1.0)
    };
    let mut ends = Vec::new();
    let mut end = 0.0;
    for &family in order {
        end += share(family);
        ends.push((end, family));
    }
    let middle = |row: u16| (f64::from(row) + 0.5) / f64::from(ROWS);
    (0..ROWS).map(|row| ends.iter().find(|(end, _)| middle(row) < *end).map(|(_, family)| *family)).collect()
}

/// Names of percentiles below their columns, as far as they do not touch.
fn names(shown: &[CompositionPoint], wide: usize) -> String {
    const NAMED: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];
    let mut line = String::from(" ");
    for (place, point) in shown.iter().enumerate() {
        let column = 1 + place * wide;
        let is_named = NAMED.iter().any(|named| (named - point.percentile).abs() < 1e-9);
        if is_named && column >= line.len() {
            line.push_str(&" ".repeat(column - line.len()));
            line.push_str(&point.name());
            line.push(' ');
        }
    }
    line
}

#[cfg(test)]
mod tests;
