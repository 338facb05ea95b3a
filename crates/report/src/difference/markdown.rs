//! The difference for a ticket.

use super::tables::tables;
use super::text::{METHOD, identity};
use super::{Difference, verdict};
use crate::escape::for_markdown;
use crate::markdown::{row, table};
use crate::units;

/// Diagnostics shown.
const MOST_DIAGNOSTICS: usize = 3;

/// The verdict first, then the tables.
pub fn render_difference_markdown(difference: &Difference) -> String {
    let mut lines = vec![format!("### {}", for_markdown(&verdict(difference)))];
    for (name, side) in [("A", &difference.a), ("B", &difference.b)] {
        lines.extend([String::new(), format!("{name}: {}", for_markdown(&identity(side)))]);
    }
    for one in tables(difference) {
        lines.extend([String::new(), format!("{}:", one.title)]);
        let last = one.heads.len() - 1;
        let heads: Vec<String> = one
            .heads
            .iter()
            .enumerate()
            .map(|(at, head)| if at < last { format!("{head}:") } else { (*head).to_owned() })
            .collect();
        lines.extend(table(&heads.iter().map(String::as_str).collect::<Vec<_>>()));
        let cells =
            |cells: &Vec<String>| row(&cells.iter().map(|cell| for_markdown(cell)).collect::<Vec<_>>());
        lines.extend(one.rows.iter().map(cells));
    }
    lines.extend([String::new(), format!("Test: {METHOD}.")]);
    for found in difference.diagnostics.iter().take(MOST_DIAGNOSTICS) {
        let what = units::noted(&found.what, &found.place.to_string());
        lines.extend([String::new(), format!("{}: {}", found.severity, for_markdown(&what))]);
    }
    lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat()
}
