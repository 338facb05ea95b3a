//! Rows of a table: text that may wrap, and figures at the end of its first line.

use super::cells::{right, width, wrap_hanging};
use super::style::Style;

/// What stands on lines of its own after the first one is indented by so much.
const HANGING: usize = 4;

/// `text` with its margin, wrapped, and `figures`, each in so many columns.
pub(super) fn row(text: &str, figures: &[(&str, usize)], style: Style) -> Vec<String> {
    let item = text.trim_start();
    let margin = " ".repeat(text.len() - item.len());
    let room = figures.iter().fold(style.columns(), |room, (_, columns)| room.saturating_sub(*columns));
    let wrapped = wrap_hanging(item, room.saturating_sub(margin.len()).max(HANGING + 1), HANGING);
    let mut lines: Vec<String> = wrapped.iter().map(|line| format!("{margin}{line}")).collect();
    if let Some(line) = lines.first_mut() {
        line.push_str(&" ".repeat(room.saturating_sub(width(line))));
        for (figure, columns) in figures {
            line.push_str(&right(figure, *columns));
        }
    }
    lines
}
