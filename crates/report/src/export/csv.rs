//! The segments as a table (RFC 4180), one row each, for spreadsheets and scripts.

use std::fmt::Write as _;

use super::tracks::all_segments;
use crate::escape::for_terminal;
use crate::outlier::{OutlierReport, SegmentReport};
use crate::report::Report;
use crate::timebase::TimeUnit;

/// The header and one row per segment; `level` 0 adds up to the interval, deeper ones happened during a wait.
pub fn export_csv(report: &Report) -> String {
    let mut text = String::from(
        "id,label,level,offset,duration,unit,perf_time_ns,cpu,tid,thread,cause,certainty,edge_uncertainty,particulars,\
         evidence\r\n",
    );
    for outlier in &report.outliers {
        for (level, segment) in all_segments(outlier) {
            row(&mut text, outlier, level, segment);
        }
    }
    text
}

fn row(text: &mut String, outlier: &OutlierReport, level: usize, segment: &SegmentReport) {
    let (unit, start) = match outlier.time_unit {
        TimeUnit::Nanoseconds => ("ns", outlier.start_ns),
        TimeUnit::Ticks => ("ticks", None),
    };
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let evidence =
        segment.evidence.iter().map(crate::outlier::EvidenceReport::words).collect::<Vec<_>>().join("; ");
    let _ = write!(
        text,
        "{},{},{level},{},{},{unit},{},{},{},{},{},{},{},{},{}\r\n",
        outlier.id,
        quoted(&outlier.label),
        segment.offset_ns,
        segment.duration_ns,
        number(start.and_then(|start| start.checked_add(segment.offset_ns))),
        number(segment.cpu.map(u64::from)),
        segment.tid.map_or_else(String::new, |tid| tid.to_string()),
        quoted(&outlier.thread_words(segment.tid)),
        quoted(&segment.cause),
        segment.certainty,
        segment.edge_uncertainty_ns,
        quoted(&segment.detail),
        quoted(&evidence),
    );
}

/// A field that can only be text: quoted, and no formula where a spreadsheet would see one (OWASP, "CSV injection").
pub(super) fn quoted(raw: &str) -> String {
    let plain = for_terminal(raw);
    let guard = if plain.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{guard}{}\"", plain.replace('"', "\"\""))
}
