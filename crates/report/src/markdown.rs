//! The Markdown verdict.

use crate::escape::for_markdown;
use crate::{Report, headline};

/// The verdict, to be pasted in a ticket.
pub fn render_markdown(report: &Report) -> String {
    report.outliers.iter().map(|outlier| format!("{}\n", for_markdown(&headline(outlier)))).collect()
}
