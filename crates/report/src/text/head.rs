//! What stands above and below the outliers: the capture, the population and the rule of selection, and what is wrong.

use model::Severity;

use super::cells::{cut, flow, left, right, width, wrap, wrap_hanging};
use super::outlier;
use super::style::{Ink, Style};
use crate::escape::for_terminal;
use crate::headline;
use crate::outlier::OutlierReport;
use crate::report::{CaptureFacts, Report};
use crate::units::{self, counted, noted};
use crate::view::words;

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

/// The capture and its population in a line or two: what a reader asks for first.
pub(super) fn first(report: &Report, style: Style) -> Vec<String> {
    let (population, unit) = (&report.population, report.capture.time_unit);
    let length = |ns| units::length(ns, unit);
    let recorded = report.capture.duration_ns.map_or_else(String::new, |ns| format!(" in {}", length(ns)));
    let figures = match population.count {
        0 => vec!["no interval".to_owned()],
        _ => vec![
            format!("{}{recorded}", headline::intervals(population)),
            format!("p50 {}", length(population.percentiles.p50)),
            format!("p99 {}", length(population.percentiles.p99)),
            format!("longest {}", length(population.max_ns)),
            counted(population.outliers, "outlier"),
        ],
    };
    let items: Vec<(usize, String)> = (report.capture.path.iter().cloned().chain(figures))
        .map(|item| cut(&for_terminal(&item), style.columns(), style.glyph("…", "...")))
        .map(|item| (width(&item), item))
        .collect();
    let mut lines = flow(&items, "  ", style.columns());
    let drawn = words::sparkline(&population.histogram, unit);
    if style.unicode && width(&drawn) < style.columns() && population.histogram.len() > 1 {
        lines.push(style.paint(Ink::Dim, &format!("{drawn}, logarithmic")));
    }
    lines.extend(fact("losses", &population.losses(), Ink::Yellow, style));
    lines
}

/// The rules by which outliers are counted and were chosen.
pub(super) fn selection(report: &Report, style: Style) -> Vec<String> {
    let (population, chosen) = (&report.population, &report.selection);
    let outliers = noted(&counted(population.outliers, "outlier"), &population.rule);
    let mut lines = if population.count > 0 && !chosen.rule.starts_with(&population.rule) {
        fact("population", &outliers, Ink::Dim, style)
    } else {
        Vec::new()
    };
    lines.extend(fact("selected", &format!("{}: {}", chosen.selected, chosen.rule), Ink::Dim, style));
    lines
}

/// Each outlier from the one at `from` on in one line.
pub(super) fn overview(report: &Report, from: usize, style: Style) -> Vec<String> {
    let more = style.glyph("…", "...");
    let last = report.outliers.len().min(from + MOST_OVERVIEW).to_string();
    let name = |index: usize, outlier: &OutlierReport| {
        format!("{}  {}", right(&(index + 1).to_string(), last.len()), outlier::name(outlier))
    };
    let shown = || report.outliers.iter().enumerate().skip(from).take(MOST_OVERVIEW);
    let names = shown().map(|(index, outlier)| width(&name(index, outlier))).max().unwrap_or(0);
    let names = names.min(NAME_COLUMNS * 2);
    let mut lines: Vec<String> = shown()
        .map(|(index, outlier)| {
            let name = left(&cut(&name(index, outlier), names, more), names);
            let length = right(&units::length(outlier.duration_ns, outlier.time_unit), 8);
            let room = style.columns().saturating_sub(names + 2 + width(&length) + 2);
            let verdict = cut(&for_terminal(&headline::line(outlier)), room, more);
            format!("{}  {length}  {verdict}", style.paint(Ink::Dim, &name))
        })
        .collect();
    let rest = report.outliers.len().saturating_sub(from + MOST_OVERVIEW);
    if rest > 0 {
        lines.push(style.paint(Ink::Dim, &format!("and {rest} more")));
    }
    lines
}

/// What is wrong with the input as far as the verdict may depend on it, worst first.
pub(super) fn troubles(report: &Report, style: Style) -> Vec<String> {
    diagnostics(report, |severity| severity > Severity::Note, style)
}

/// What else there is to say of the input.
pub(super) fn notes(report: &Report, style: Style) -> Vec<String> {
    diagnostics(report, |severity| severity == Severity::Note, style)
}

fn diagnostics(report: &Report, wanted: impl Fn(Severity) -> bool, style: Style) -> Vec<String> {
    let mut found: Vec<_> =
        report.diagnostics.iter().filter(|diagnostic| wanted(diagnostic.severity)).collect();
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
