//! The difference for a terminal.

use super::tables::{Table, tables};
use super::{Difference, Side, verdict};
use crate::escape::for_terminal;
use crate::headline;
use crate::text::{Ink, Style, cut, fact, finish, right, width, wrap};
use crate::units;

/// Diagnostics shown.
const MOST_DIAGNOSTICS: usize = 8;

/// Both captures, the verdict, the tables.
pub fn render_difference_text(difference: &Difference, style: &Style) -> String {
    let verdict = wrap(&for_terminal(&verdict(difference)), style.columns());
    let mut lines: Vec<String> = verdict.iter().map(|line| style.paint(Ink::Bold, line)).collect();
    lines.push(String::new());
    for (name, side) in [("A", &difference.a), ("B", &difference.b)] {
        lines.extend(fact(name, &identity(side), Ink::Dim, *style));
    }
    lines.extend(fact("test", METHOD, Ink::Dim, *style));
    for found in difference.diagnostics.iter().take(MOST_DIAGNOSTICS) {
        let what = units::noted(&found.what, &found.place.to_string());
        lines.extend(fact(&found.severity.to_string(), &for_terminal(&what), Ink::Dim, *style));
    }
    for table in tables(difference) {
        lines.extend(table_lines(&table, *style));
    }
    finish(&lines, *style)
}

/// How the figures are made, in a line.
pub(super) const METHOD: &str = "Mann-Whitney U, corrected for ties; confidence of quantiles by order statistics, \
                                 at least 95 % for each row";

/// `perf.data; 500 intervals, …`, not escaped.
pub(super) fn identity(side: &Side) -> String {
    let named = [&side.capture.path, &side.capture.hostname].into_iter().flatten();
    let name = named.cloned().collect::<Vec<_>>().join(" of ");
    let figures = headline::figures(&side.population, side.capture.time_unit);
    let figures = figures.unwrap_or_else(|| "no interval".to_owned());
    let rule = headline::chosen_by(&side.selection, &side.population);
    format!("{name}: {figures}; explained {}", units::noted(&side.selection.selected.to_string(), rule))
}

fn table_lines(table: &Table, style: Style) -> Vec<String> {
    let figures = table.heads.len() - 1;
    let cell = |text: &String| for_terminal(text);
    let widths: Vec<usize> = (0..figures)
        .map(|column| {
            let cells = table.rows.iter().map(|row| width(&cell(&row[column])));
            cells.chain([width(table.heads[column])]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (text, columns) in cells.iter().zip(&widths) {
            line.push_str("  ");
            line.push_str(&right(text, *columns));
        }
        let room = style.columns().saturating_sub(width(&line) + 2);
        let name = cells.last().map_or_else(String::new, |name| cut(name, room, style.glyph("…", "...")));
        format!("{line}  {name}")
    };
    let heads: Vec<String> = table.heads.iter().map(|head| (*head).to_owned()).collect();
    let mut lines = vec![String::new(), table.title.clone(), style.paint(Ink::Dim, &line(&heads))];
    lines.extend(table.rows.iter().map(|row| line(&row.iter().map(cell).collect::<Vec<_>>())));
    lines
}
