//! The Markdown verdict: pasted in a ticket, read on GitHub or Jira.
//!
//! Headline first; fewer than 60 lines whatever the report holds; tables and plain paragraphs only, no HTML. Every
//! cell stands on its own line of the source, so a table keeps its columns.

use model::{PerfTime, Severity};

use crate::causes::CauseTotal;
use crate::causes::signed_difference;
use crate::escape::for_markdown;
use crate::headline::{self, sentence};
use crate::left_out;
use crate::outlier::{Check, CheckState, OutlierReport, SegmentReport};
use crate::recording::{self, Recording};
use crate::report::{CaptureFacts, Report};
use crate::timebase::TimeUnit;
use crate::units::{self, Digits};

mod stat;
mod view;

pub use stat::render_stat_markdown;

/// Rows of each table and list. With headings they come to 59 lines at most; the test counts.
const MOST_CAUSES: usize = 8;
const MOST_SEGMENTS: usize = 5;
const MOST_OTHERS: usize = 6;
const MOST_DIAGNOSTICS: usize = 3;
/// Checks named in one line.
const MOST_CHECKS: usize = 12;
/// Typical intervals named: far more than anybody asks for.
const MOST_BASELINES: usize = 256;

/// The verdict on the first outlier in full and on the others in one line each.
pub fn render_markdown(report: &Report) -> String {
    let mut lines = Vec::new();
    match report.outliers.split_first() {
        Some((first, others)) => {
            lines.extend([format!("### {}", for_markdown(&sentence(first))), String::new()]);
            lines.push(identity(first));
            lines.extend(causes(first));
            lines.extend(segments(first));
            lines.extend(other_outliers(others));
            lines.extend(view::view(report));
            lines.extend(checks(first));
        }
        None => lines.push("### No interval was selected".to_owned()),
    }
    lines.extend([String::new(), population(report)]);
    lines.extend(diagnostics(report));
    lines.extend(capture(&report.capture));
    if let Some(first) = report.outliers.first() {
        lines.extend(command(&first.server_requests));
        lines.extend(command(&first.perf_script));
    }
    let mut text = String::new();
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Which interval it is, when, on which thread and NUMA nodes.
fn identity(outlier: &OutlierReport) -> String {
    let mut parts = vec![for_markdown(format!("{} {}", outlier.label, outlier.id).trim())];
    if let Some(key) = &outlier.key {
        parts.push(format!("key {}", for_markdown(key)));
    }
    match outlier.start_ns {
        Some(start) => parts.push(format!("perf time {}", PerfTime(start))),
        None => parts.push(format!("TSC {}", outlier.start_tsc)),
    }
    let (start, stop) = (&outlier.start_thread, &outlier.stop_thread);
    let is_one =
        start == stop || start.as_ref().zip(stop.as_ref()).is_some_and(|(start, stop)| start.is(stop));
    let threads = if is_one { [("on", stop), ("", &None)] } else { [("from", start), ("to", stop)] };
    for (what, thread) in threads {
        parts.extend(thread.as_ref().map(|thread| format!("{what} {}", for_markdown(&thread.words()))));
    }
    if !outlier.baselines.is_empty() {
        let typical = units::counted(outlier.baselines.len() as u64, "typical interval");
        let rule = for_markdown(&units::noted("", &outlier.baseline_rule));
        let ids: Vec<String> = outlier.baselines.iter().take(MOST_BASELINES).map(u64::to_string).collect();
        let more = outlier.baselines.len().saturating_sub(MOST_BASELINES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("compared with {typical}{rule}: {}{more}", ids.join(", ")));
    } else if !outlier.baseline_rule.is_empty() {
        parts.push(format!("compared with none: {}", for_markdown(&outlier.baseline_rule)));
    }
    let identity = parts.join(", ");
    match outlier.nodes() {
        nodes if nodes.is_empty() => identity,
        nodes => format!("{identity}; {}", for_markdown(&nodes)),
    }
}

fn causes(outlier: &OutlierReport) -> Vec<String> {
    let mut lines = table(&["excess:", "typical:", "count:", "certainty", "cause", "particulars"]);
    let unit = outlier.time_unit;
    let recording = Recording::of(&outlier.calls);
    let cells = |cause: &CauseTotal| {
        [
            units::signed_length(cause.excess_ns, unit),
            outlier.typical(cause.typical_ns),
            cause.count.to_string(),
            cause.certainty.to_string(),
            for_markdown(&cause.cause),
            for_markdown(&recording::particulars(cause, recording.as_ref(), unit)),
        ]
    };
    lines.extend(outlier.causes.iter().take(MOST_CAUSES).map(|cause| row(&cells(cause))));
    if let Some(left_out) = outlier.causes.get(MOST_CAUSES..).filter(|causes| !causes.is_empty()) {
        let excess = left_out.iter().fold(0i64, |sum, cause| sum.saturating_add(cause.excess_ns));
        let typical = left_out.iter().fold(0u64, |sum, cause| sum.saturating_add(cause.typical_ns));
        let name = units::counted(left_out.len() as u64, "more cause");
        let (excess, typical) = (units::signed_length(excess, unit), outlier.typical(typical));
        lines.push(row(&[excess, typical, String::new(), String::new(), name, String::new()]));
    }
    let typical = outlier.baseline_mean_ns.unwrap_or(0);
    let excess = units::signed_length(signed_difference(outlier.duration_ns, typical), unit);
    let together = format!("together, {}", units::length(outlier.duration_ns, unit));
    let typical = outlier.typical(typical);
    lines.push(row(&[excess, typical, String::new(), String::new(), together, String::new()]));
    lines
}

/// The longest segments in order of time, each with its first evidence.
fn segments(outlier: &OutlierReport) -> Vec<String> {
    let mut order: Vec<usize> = (0..outlier.segments.len()).collect();
    if order.is_empty() {
        return Vec::new();
    }
    order.sort_by_key(|&at| (std::cmp::Reverse(outlier.segments[at].duration_ns), at));
    order.truncate(MOST_SEGMENTS);
    order.sort_unstable();
    let mut lines = table(&["at:", "for:", "CPU:", "segment", "evidence"]);
    let digits = Digits::of(order.iter().map(|&at| outlier.segments[at].offset_ns), outlier.time_unit);
    let cells = |segment: &SegmentReport| {
        [
            digits.show(segment.offset_ns),
            units::length(segment.duration_ns, outlier.time_unit),
            segment.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string()),
            for_markdown(&segment.cause),
            segment.evidence.first().map(|evidence| for_markdown(&evidence.words())).unwrap_or_default(),
        ]
    };
    lines.extend(order.iter().map(|&at| row(&cells(&outlier.segments[at]))));
    let count = outlier.segments.len() - order.len();
    if count > 0 {
        let mut cells = [const { String::new() }; 5];
        let others = (0..outlier.segments.len()).filter(|at| order.binary_search(at).is_err());
        let others = others.map(|at| &outlier.segments[at]);
        cells[1] = units::length(left_out::together(others.clone()), outlier.time_unit);
        cells[3] = units::counted(count as u64, "shorter one");
        let sums = left_out::sums(others, left_out::together(outlier.segments.iter()));
        let most = |sum: &left_out::Sum| {
            format!("{} of {}", units::length(sum.duration_ns, outlier.time_unit), sum.words())
        };
        cells[4] = sums.first().map_or_else(String::new, |sum| for_markdown(&most(sum)));
        lines.push(row(&cells));
    }
    lines
}

fn other_outliers(others: &[OutlierReport]) -> Vec<String> {
    if others.is_empty() {
        return Vec::new();
    }
    let mut lines = table(&["also", "took:", "what differs first"]);
    lines.extend(others.iter().take(MOST_OTHERS).map(|outlier| {
        let name = for_markdown(format!("{} {}", outlier.label, outlier.id).trim());
        let took = units::length(outlier.duration_ns, outlier.time_unit);
        row(&[name, took, for_markdown(&headline::line(outlier))])
    }));
    if others.len() > MOST_OTHERS {
        lines.push(row(&[format!("{} more", others.len() - MOST_OTHERS), String::new(), String::new()]));
    }
    lines
}

/// What the capture lacks for the first outlier, then what is good, in one line.
fn checks(outlier: &OutlierReport) -> Vec<String> {
    if outlier.checks.is_empty() {
        return Vec::new();
    }
    let (good, bad): (Vec<&Check>, Vec<&Check>) =
        outlier.checks.iter().partition(|check| check.state == CheckState::Good);
    let mut parts: Vec<String> = bad
        .iter()
        .take(MOST_CHECKS)
        .map(|check| for_markdown(&format!("{} {} ({})", check.label(), check.state.name(), check.detail)))
        .collect();
    if !good.is_empty() {
        let names: Vec<&str> = good.iter().take(MOST_CHECKS).map(|check| check.label()).collect();
        parts.push(for_markdown(&format!("good: {}", names.join(", "))));
    }
    vec![String::new(), format!("Capture checks: {}", parts.join("; "))]
}

fn population(report: &Report) -> String {
    let rule = headline::chosen_by(&report.selection, &report.population);
    let chosen = units::noted(&format!("{} selected", report.selection.selected), &for_markdown(rule));
    let tracing = recording::of_all(&report.outliers, report.capture.time_unit);
    let tracing = match for_markdown(&tracing) {
        none if none.is_empty() => none,
        tracing => format!(" Tracing took {tracing}."),
    };
    match headline::population(report) {
        Some(figures) => format!("{}; {chosen}.{tracing}", for_markdown(&figures)),
        None => format!("No interval in the capture; {chosen}."),
    }
}

/// The worst diagnostics; notes are left to the other formats.
fn diagnostics(report: &Report) -> Vec<String> {
    let mut found: Vec<_> =
        report.diagnostics.iter().filter(|diagnostic| diagnostic.severity > Severity::Note).collect();
    found.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
    if found.is_empty() {
        return Vec::new();
    }
    let item = |diagnostic: &&model::Diagnostic| {
        let place = diagnostic.place.to_string();
        for_markdown(&units::noted(&format!("{}: {}", diagnostic.severity, diagnostic.what), &place))
    };
    let mut lines = vec![String::new()];
    lines.extend(found.iter().take(MOST_DIAGNOSTICS).map(|diagnostic| format!("- {}", item(diagnostic))));
    if found.len() > MOST_DIAGNOSTICS {
        let more = (found.len() - MOST_DIAGNOSTICS) as u64;
        lines.push(format!("- {}", units::counted(more, "more warning")));
    }
    lines
}

fn capture(capture: &CaptureFacts) -> Vec<String> {
    let named = |name: &str, text: &Option<String>| {
        text.as_deref().filter(|text| !text.is_empty()).map(|text| format!("{name}{}", for_markdown(text)))
    };
    let pt = capture.pt_config.join(", ");
    let parts = [
        named("", &capture.path),
        named("host ", &capture.hostname),
        named("Linux ", &capture.os_release),
        named("", &capture.cpu_desc),
        named("", &capture.cpuid),
        named("perf ", &capture.perf_version),
        (!pt.is_empty()).then(|| format!("PT {}", for_markdown(&pt))),
        capture.lost_records.map(|lost| format!("{} lost", units::counted(lost, "record"))),
        (capture.time_unit == TimeUnit::Ticks).then(|| "lengths in TSC ticks".to_owned()),
    ];
    match parts.into_iter().flatten().collect::<Vec<_>>().join(", ") {
        facts if facts.is_empty() => Vec::new(),
        facts => vec![String::new(), format!("Capture: {facts}")],
    }
}

/// A command as a code block; as a paragraph where a hostile path could break out of one, or where a reader that knows
/// no code blocks would make a link of it.
fn command(command: &str) -> Vec<String> {
    if command.is_empty() {
        return Vec::new();
    }
    let plain =
        |character: char| character == ' ' || character.is_ascii_graphic() && !"<>&`".contains(character);
    if command.len() <= 1024 && command.chars().all(plain) && !command.contains("](") {
        return ["", "```sh", command, "```"].map(str::to_owned).into();
    }
    vec![String::new(), for_markdown(command)]
}

/// An empty line, the head of a table and its rule; a name that ends in a colon has its column aligned right.
pub(crate) fn table(names: &[&str]) -> Vec<String> {
    let head: Vec<String> = names.iter().map(|name| name.trim_end_matches(':').to_owned()).collect();
    let rule: Vec<&str> = names.iter().map(|name| if name.ends_with(':') { "---:" } else { "---" }).collect();
    vec![String::new(), row(&head), format!("| {} |", rule.join(" | "))]
}

/// One line of a table; the cells are escaped already.
pub(crate) fn row(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests;
