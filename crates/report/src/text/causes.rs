//! The table of causes: what each took too long, and how that is known.

use super::cells::{cut, left, right, width, wrap};
use super::style::{Ink, Style};
use crate::causes::CauseTotal;
use crate::escape::for_terminal;
use crate::outlier::OutlierReport;
use crate::recording::{self, Recording};
use crate::units;

/// Rows shown; what is left is summed up in one more.
const MOST_ROWS: usize = 12;
/// The widest that the names of causes may stand.
const NAME_COLUMNS: usize = 34;

/// One row before it is laid out.
struct Row {
    excess: String,
    typical: String,
    count: String,
    certainty: String,
    cause: String,
    detail: String,
    share: u64,
}

/// How wide the columns are.
struct Columns {
    excess: usize,
    typical: usize,
    count: usize,
    cause: usize,
    bar: usize,
    all: usize,
}

/// Header, rows and sum, without indent.
pub(super) fn lines(outlier: &OutlierReport, columns: usize, style: Style) -> Vec<String> {
    let recording = Recording::of(&outlier.calls);
    let shown = outlier.causes.iter().take(MOST_ROWS);
    let mut rows: Vec<Row> = shown.map(|cause| row(outlier, cause, recording.as_ref())).collect();
    rows.extend(remainder(outlier));
    let total = total(outlier);
    let layout = Columns::fitting(&rows, &total, columns);
    let mut lines = vec![style.paint(Ink::Dim, &layout.header())];
    for row in &rows {
        lines.extend(layout.lines(row, style));
    }
    lines.push(style.paint(Ink::Dim, &layout.sum(&total)));
    lines
}

fn row(outlier: &OutlierReport, cause: &CauseTotal, recording: Option<&Recording>) -> Row {
    Row {
        excess: units::signed_length(cause.excess_ns, outlier.time_unit),
        typical: outlier.typical(cause.typical_ns),
        count: if cause.count > 0 { cause.count.to_string() } else { "-".to_owned() },
        certainty: cause.certainty.to_string(),
        cause: for_terminal(&cause.cause),
        detail: for_terminal(&recording::particulars(cause, recording, outlier.time_unit)),
        share: thousandths_of_excess(outlier, cause),
    }
}

/// The causes beyond [`MOST_ROWS`], as one row.
fn remainder(outlier: &OutlierReport) -> Option<Row> {
    let left_out = outlier.causes.get(MOST_ROWS..).filter(|causes| !causes.is_empty())?;
    let excess = left_out.iter().fold(0i64, |sum, cause| sum.saturating_add(cause.excess_ns));
    let typical = left_out.iter().fold(0u64, |sum, cause| sum.saturating_add(cause.typical_ns));
    Some(Row {
        excess: units::signed_length(excess, outlier.time_unit),
        typical: outlier.typical(typical),
        count: String::new(),
        certainty: String::new(),
        cause: units::counted(left_out.len() as u64, "more cause"),
        detail: String::new(),
        share: 0,
    })
}

fn total(outlier: &OutlierReport) -> Row {
    let typical = outlier.baseline_mean_ns.unwrap_or(0);
    let excess = crate::causes::signed_difference(outlier.duration_ns, typical);
    Row {
        excess: units::signed_length(excess, outlier.time_unit),
        typical: outlier.typical(typical),
        count: String::new(),
        certainty: String::new(),
        cause: format!("together, {}", units::length(outlier.duration_ns, outlier.time_unit)),
        detail: String::new(),
        share: 0,
    }
}

/// A cause's part of all positive excess, in thousandths.
fn thousandths_of_excess(outlier: &OutlierReport, cause: &CauseTotal) -> u64 {
    let positive = |cause: &CauseTotal| u128::from(u64::try_from(cause.excess_ns).unwrap_or(0));
    let whole: u128 = outlier.causes.iter().map(positive).sum();
    u64::try_from(positive(cause) * 1000 / whole.max(1)).unwrap_or(0)
}

impl Columns {
    fn fitting(rows: &[Row], total: &Row, all: usize) -> Columns {
        let widest = |least: usize, text: fn(&Row) -> &str| {
            rows.iter().chain([total]).map(|row| width(text(row))).max().unwrap_or(0).max(least)
        };
        let mut layout = Columns {
            excess: widest(6, |row| &row.excess),
            typical: widest(7, |row| &row.typical),
            count: widest(5, |row| &row.count),
            cause: widest(5, |row| &row.cause),
            bar: if all < 96 { 0 } else { all / 10 },
            all,
        };
        let room = all.saturating_sub(layout.name_column()).clamp(12, NAME_COLUMNS);
        layout.cause = layout.cause.min(room);
        layout
    }

    /// Where the causes' names begin.
    fn name_column(&self) -> usize {
        self.excess + 2 + self.bar + usize::from(self.bar > 0) * 2 + self.typical + 2 + self.count + 2 + 9 + 2
    }

    fn figures(&self, excess: &str, bar: &str, typical: &str, count: &str, certainty: &str) -> String {
        let bar = if self.bar > 0 { format!("{}  ", left(bar, self.bar)) } else { String::new() };
        format!(
            "{}  {bar}{}  {}  {}  ",
            right(excess, self.excess),
            right(typical, self.typical),
            right(count, self.count),
            left(certainty, 9),
        )
    }

    fn header(&self) -> String {
        format!("{}cause", self.figures("excess", "", "typical", "count", "certainty"))
    }

    fn sum(&self, total: &Row) -> String {
        format!("{}{}", self.figures(&total.excess, "", &total.typical, "", ""), total.cause)
    }

    /// The row, and its particulars beside the name where they fit, else below it.
    fn lines(&self, row: &Row, style: Style) -> Vec<String> {
        let more = style.glyph("…", "...");
        let figures = self.figures("", "", &row.typical, &row.count, &row.certainty);
        let behind_bar = figures.split_at(self.excess + 2 + self.bar).1;
        let excess = right(&row.excess, self.excess);
        let ink = if row.share >= 100 { Ink::Red } else { Ink::Dim };
        let bar = left(&bar(row.share, self.bar, style), self.bar);
        let name = left(&cut(&row.cause, self.cause, more), self.cause);
        let name = if row.share >= 100 { style.paint(Ink::Bold, &name) } else { name };
        let mut first =
            format!("{}  {}{behind_bar}{name}", style.paint(ink, &excess), style.paint(ink, &bar));
        let beside = self.all.saturating_sub(self.name_column() + self.cause + 2);
        if width(&row.detail) <= beside {
            first.push_str("  ");
            first.push_str(&row.detail);
            return vec![first];
        }
        let indent = self.name_column() + 2;
        let detail = wrap(&row.detail, self.all.saturating_sub(indent).max(16));
        let below = detail.into_iter().map(|line| format!("{}{line}", " ".repeat(indent)));
        [first].into_iter().chain(below).collect()
    }
}

/// A bar of `thousandths` of `columns`, to an eighth of a column where the style allows.
pub(super) fn bar(thousandths: u64, columns: usize, style: Style) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if columns == 0 {
        return String::new();
    }
    let parts = if style.unicode { 8 } else { 1 };
    let filled = usize::try_from(thousandths.min(1000)).unwrap_or(0) * columns * parts / 1000;
    let filled = if thousandths > 0 { filled.max(1) } else { 0 };
    if style.unicode {
        format!("{}{}", "█".repeat(filled / 8), EIGHTHS[filled % 8])
    } else {
        "#".repeat(filled)
    }
}
