//! What stands above the outliers: the capture, the population and the rule of selection, and what is wrong.

use model::Severity;

use super::cells::{cut, left, width, wrap, wrap_hanging};
use super::style::{Ink, Style};
use crate::escape::for_terminal;
use crate::headline::{self, headline};
use crate::outlier::OutlierReport;
use crate::report::{CaptureFacts, Report};
use crate::units::{self, counted, noted};

/// Diagnostics shown; the others are counted.
const MOST_DIAGNOSTICS: usize = 12;
/// Outliers in the overview.
const MOST_OVERVIEW: usize = 20;
/// Columns of a fact's name.
const NAME_COLUMNS: usize = 12;

/// The capture's facts, those that are known.
pub(super) fn capture(report: &Report, style: Style) -> Vec<String> {
    let capture = &report.capture;
    let facts = [
        ("capture", capture_line(capture)),
        ("machine", machine_line(capture)),
        ("recorded", joined(": ", [recorder(capture), capture.cmdline.clone()])),
        ("PT", capture.pt_config.join(", ")),
    ];
    facts.iter().flat_map(|(name, text)| fact(name, text, Ink::Dim, style)).collect()
}

/// The population in one line and the rule by which the outliers were chosen.
pub(super) fn selection(report: &Report, style: Style) -> Vec<String> {
    let population = &report.population;
    let unit = report.capture.time_unit;
    let figures = match population.count {
        0 => "no interval".to_owned(),
        _ => format!(
            "{}; p50 {}, p99 {}, longest {}; {}",
            headline::intervals(population),
            units::length(population.percentiles.p50, unit),
            units::length(population.percentiles.p99, unit),
            units::length(population.max_ns, unit),
            noted(&counted(population.outliers, "outlier"), &population.rule)
        ),
    };
    let chosen = format!("{}: {}", report.selection.selected, report.selection.rule);
    let mut lines = fact("population", &figures, Ink::Dim, style);
    lines.extend(fact("losses", &population.losses(), Ink::Yellow, style));
    lines.extend(fact("selected", &chosen, Ink::Dim, style));
    lines
}

/// Where there are several outliers: each in one line.
pub(super) fn overview(report: &Report, style: Style) -> Vec<String> {
    if report.outliers.len() < 2 {
        return Vec::new();
    }
    let name = |outlier: &OutlierReport| for_terminal(format!("{} {}", outlier.label, outlier.id).trim());
    let more = style.glyph("…", "...");
    let shown = || report.outliers.iter().take(MOST_OVERVIEW);
    let names = shown().map(|outlier| width(&name(outlier))).max().unwrap_or(0).min(NAME_COLUMNS * 2);
    let mut lines = vec![String::new()];
    lines.extend(shown().map(|outlier| {
        let name = left(&cut(&name(outlier), names, more), names);
        let verdict = cut(&headline(outlier), style.columns() - names - 2, more);
        format!("{}  {verdict}", style.paint(Ink::Dim, &name))
    }));
    if report.outliers.len() > MOST_OVERVIEW {
        lines.push(style.paint(Ink::Dim, &format!("and {} more", report.outliers.len() - MOST_OVERVIEW)));
    }
    lines
}

/// What is wrong with the input, worst first.
pub(super) fn diagnostics(report: &Report, style: Style) -> Vec<String> {
    let mut found: Vec<_> = report.diagnostics.iter().collect();
    found.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
    let mut lines: Vec<String> = found
        .iter()
        .take(MOST_DIAGNOSTICS)
        .flat_map(|diagnostic| {
            let place = diagnostic.place.to_string();
            let text = noted(&diagnostic.what, &place);
            let (name, ink) = match diagnostic.severity {
                Severity::Error => ("error", Ink::Red),
                Severity::Warning => ("warning", Ink::Yellow),
                Severity::Note => ("note", Ink::Dim),
            };
            fact(name, &text, ink, style)
        })
        .collect();
    if found.len() > MOST_DIAGNOSTICS {
        let more = counted((found.len() - MOST_DIAGNOSTICS) as u64, "more diagnostic");
        lines.extend(fact("", &format!("{more}; JSON has all"), Ink::Dim, style));
    }
    lines
}

/// `name` and `text` beside it, wrapped; nothing where `text` is empty.
pub(crate) fn fact(name: &str, text: &str, ink: Ink, style: Style) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    beside(name, wrap(&for_terminal(text), style.columns() - NAME_COLUMNS), ink, style)
}

/// The same for one of several items below one another: what goes on below its first line stands to the right of it.
pub(super) fn hanging(name: &str, text: &str, ink: Ink, style: Style) -> Vec<String> {
    const INDENT: usize = 2;
    let text = for_terminal(text);
    let item = text.trim_start_matches(' ');
    // Figures that are right-aligned stay so.
    let margin = " ".repeat(text.len() - item.len());
    let columns = style.columns() - NAME_COLUMNS - margin.len();
    let wrapped = wrap_hanging(item, columns, INDENT).into_iter().map(|line| format!("{margin}{line}"));
    beside(name, wrapped.collect(), ink, style)
}

/// `name` in front of the first of `lines`, and as much room in front of the others.
fn beside(name: &str, lines: Vec<String>, ink: Ink, style: Style) -> Vec<String> {
    let names = [name].into_iter().chain(std::iter::repeat(""));
    let line = |(name, line)| format!("{}{line}", style.paint(ink, &left(name, NAME_COLUMNS)));
    names.zip(lines).map(line).collect()
}

fn capture_line(capture: &CaptureFacts) -> String {
    let lost = |count: Option<u64>, what: &str| count.filter(|&n| n > 0).map(|n| counted(n, what));
    joined(
        ", ",
        [
            capture.path.clone(),
            capture.duration_ns.map(|length| units::length(length, capture.time_unit)),
            capture.trace_bytes.map(|size| format!("{} of PT", units::bytes(size))),
            lost(capture.lost_records, "lost record"),
            lost(capture.truncated_aux, "truncated AUX buffer"),
        ],
    )
}

fn machine_line(capture: &CaptureFacts) -> String {
    joined(
        ", ",
        [
            capture.hostname.clone(),
            capture.os_release.clone().map(|release| format!("Linux {release}")),
            capture.arch.clone(),
            capture.cpu_desc.clone(),
            capture.cpuid.clone(),
            capture.cpus.map(|cpus| counted(cpus, "CPU")),
            capture.tsc_hz.map(|hertz| format!("TSC {}", units::hertz(hertz))),
        ],
    )
}

/// The perf that recorded; some write an empty version.
fn recorder(capture: &CaptureFacts) -> Option<String> {
    let version = capture.perf_version.as_ref().filter(|version| !version.is_empty())?;
    Some(if version.starts_with("perf") { version.clone() } else { format!("perf {version}") })
}

fn joined<const N: usize>(separator: &str, parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(separator)
}
