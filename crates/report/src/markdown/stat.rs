//! The population for a ticket: what `stat` prints, without the histogram.

use std::iter;

use super::{capture, diagnostics, row, table};
use crate::escape::for_markdown;
use crate::headline;
use crate::report::Report;
use crate::text::composition::{self, Rows};
use crate::text::population::{Column, averages, percentiles};
use crate::timebase::TimeUnit;

/// The population in one line, its table and percentiles, and how many are selected where there is a rule.
pub fn render_stat_markdown(report: &Report) -> String {
    let (population, unit) = (&report.population, report.capture.time_unit);
    let head = headline::population(report).unwrap_or_else(|| "no interval".to_owned());
    let mut lines = vec![format!("### {}", for_markdown(&head))];
    if population.count > 0 {
        let unit_name = match unit {
            TimeUnit::Nanoseconds => "microseconds",
            TimeUnit::Ticks => "ticks of the time-stamp counter",
        };
        lines.extend(figures(&averages(population, unit)));
        lines.extend(figures(&percentiles(population, unit)));
        lines.extend([String::new(), format!("All in {unit_name}.")]);
    }
    for rows in report.composition.iter().flat_map(|found| composition::tables(found, unit)) {
        lines.extend(composition_table(&rows));
    }
    let selected =
        headline::selected(report).map(|selected| format!("Selected: {}.", for_markdown(&selected)));
    lines.extend(selected.into_iter().flat_map(|selected| [String::new(), selected]));
    lines.extend(diagnostics(report));
    lines.extend(capture(&report.capture));
    lines.push(String::new());
    lines.join("\n")
}

/// The head stands above its table.
fn composition_table(rows: &Rows) -> Vec<String> {
    let Some(((title, names), rows)) = rows.split_first() else { return Vec::new() };
    let mut lines = vec![String::new(), format!("**{}**", for_markdown(title))];
    let heads: Vec<String> = names.iter().map(|name| format!("{name}:")).collect();
    let heads: Vec<&str> = iter::once("").chain(heads.iter().map(String::as_str)).collect();
    lines.extend(table(&heads));
    let cells = |(name, figures): &(String, Vec<String>)| -> Vec<String> {
        iter::once(for_markdown(name)).chain(figures.iter().cloned()).collect()
    };
    lines.extend(rows.iter().map(|one| row(&cells(one))));
    lines
}

fn figures(columns: &[Column]) -> Vec<String> {
    let heads: Vec<String> = columns.iter().map(|(name, _)| format!("{name}:")).collect();
    let mut lines = table(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    lines.push(row(&columns.iter().map(|(_, figure)| figure.clone()).collect::<Vec<_>>()));
    lines
}
