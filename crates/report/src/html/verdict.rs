//! The part of the page that needs no script: the verdicts, where the time went, what it rests on, how to repeat it.

use model::PerfTime;

use super::code;
use super::family::classes;
use super::figures::comparison;
use super::first;
use super::serving;
use crate::causes::CauseTotal;
use crate::causes::signed_difference;
use crate::escape::{for_html, for_html_up_to};
use crate::headline::{self, sentence};
use crate::outlier::{CheckState, OutlierReport, SegmentReport};
use crate::recording::{self, Recording};
use crate::report::Report;
use crate::units::{self, Digits};

/// Outliers with a section of their own; the others have their line in the overview.
pub(super) const MOST_OUTLIERS: usize = 200;
const MOST_CAUSES: usize = 40;
const MOST_SEGMENTS: usize = 5;
const MOST_NAMED: usize = 40;
/// Characters of a command: long enough for any real path.
const MOST_COMMAND: usize = 4096;

/// What this is, and the first verdict.
pub(super) fn header(report: &Report) -> String {
    let verdict = match report.outliers.first() {
        Some(first) => foremost(first),
        None => "<h1>No interval was selected</h1>\n".to_owned(),
    };
    let named = [&report.capture.hostname, &report.capture.path].into_iter().flatten();
    let of = named.map(|name| for_html(name)).collect::<Vec<_>>().join(" · ");
    let tracing = match report.outliers.len() {
        0 | 1 => String::new(),
        _ => tracing_line(&recording::of_all(&report.outliers, report.capture.time_unit)),
    };
    format!(
        "<header>\n<p class=\"brand\"><b>tailtrace</b> <span>{of}</span></p>\n{verdict}<p class=\"sub\">{}</p>\n{tracing}</header>\n",
        for_html(&population_line(report)),
    )
}

/// What the recording itself took, which is not escaped; empty where nothing is known of it.
fn tracing_line(took: &str) -> String {
    if took.is_empty() {
        return String::new();
    }
    format!("<p class=\"sub\">Tracing took {}.</p>\n", for_html(took))
}

/// The foremost verdict: which interval and how long, its first cause in a line of its own, the next one below.
fn foremost(outlier: &OutlierReport) -> String {
    let mut clauses = headline::clauses(outlier).into_iter();
    let first = clauses.next().unwrap_or_default();
    let next = clauses.next().map_or_else(String::new, |next| format!("<p>then {}</p>\n", for_html(&next)));
    format!(
        "<p class=\"eyebrow\">{}: {}</p>\n<h1>{}</h1>\n{next}",
        for_html(&name(outlier)),
        for_html(&headline::lengths(outlier)),
        for_html(&first)
    )
}

/// What the figures below do not say: by which rule intervals count as slow and were chosen, and what was lost. Not escaped.
fn population_line(report: &Report) -> String {
    let (population, chosen) = (&report.population, &report.selection);
    if population.count == 0 {
        return "no interval in the capture".to_owned();
    }
    let slow = if population.rule.is_empty() { String::new() } else { format!("slow: {}", population.rule) };
    let rule = headline::chosen_by(chosen, population);
    let explained = format!("explained here: {}", units::noted(&chosen.selected.to_string(), rule));
    let parts = [slow, explained, headline::share_in_recording(population), population.losses()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// `order 50`, not escaped.
pub(super) fn name(outlier: &OutlierReport) -> String {
    format!("{} {}", outlier.label, outlier.id).trim().to_owned()
}

/// The sections of the outliers.
pub(super) fn outliers(report: &Report) -> String {
    let shown = report.outliers.iter().take(MOST_OUTLIERS).enumerate();
    let several = report.outliers.len() > 1;
    let sections: String = shown.map(|(index, outlier)| section(report, outlier, index, several)).collect();
    match report.outliers.len().saturating_sub(MOST_OUTLIERS) {
        0 => sections,
        rest => format!("{sections}<p class=\"note\">{rest} more have no section here</p>\n"),
    }
}

/// One outlier. The empty elements are filled by the script.
fn section(report: &Report, outlier: &OutlierReport, index: usize, several: bool) -> String {
    let number = index + 1;
    let recording = Recording::of(&outlier.calls);
    let title = if several { for_html(&sentence(outlier)) } else { "Where the time went".to_owned() };
    let parts = [
        format!(
            "<section class=\"outlier\" id=\"outlier-{number}\" aria-labelledby=\"name-{number} title-{number}\"{}>\n",
            first::filtered(report, outlier),
        ),
        format!(
            "<p class=\"eyebrow\" id=\"name-{number}\">{}</p>\n<h2 id=\"title-{number}\">{title}</h2>\n",
            for_html(&name(outlier))
        ),
        format!("<div class=\"body\">\n<p class=\"sub\">{}</p>\n", identity(outlier)),
        comparison(outlier),
        causes(outlier, recording.as_ref()),
        tracing_line(&recording.as_ref().map_or_else(String::new, |found| found.words(outlier))),
        format!("<div class=\"timeline\" data-outlier=\"{index}\"></div>\n"),
        serving::waits(outlier, number),
        segments(outlier, number),
        format!("<div class=\"calls\" data-outlier=\"{index}\"></div>\n"),
        code::hottest(outlier, number),
        particulars(outlier),
        nodes(outlier),
        checks(outlier),
        command("How to see the server's requests, by its system calls", &outlier.server_requests),
        command("How to check this with stock perf", &outlier.perf_script),
        "</div>\n</section>\n".to_owned(),
    ];
    parts.concat()
}

/// Which interval it is, when and on which threads.
fn identity(outlier: &OutlierReport) -> String {
    let mut parts: Vec<String> = outlier.key.iter().map(|key| format!("key {key}")).collect();
    match outlier.start_ns {
        Some(start) => parts.push(format!("perf time {}", PerfTime(start))),
        None => parts.push(format!("TSC {}", outlier.start_tsc)),
    }
    match (&outlier.start_thread, &outlier.stop_thread) {
        (Some(start), Some(stop)) if !start.is(stop) => {
            parts.push(format!("from {} to {}", start.words(), stop.words()));
        }
        (start, stop) => {
            parts.extend(stop.as_ref().or(start.as_ref()).map(|on| format!("on {}", on.words())));
        }
    }
    if !outlier.baselines.is_empty() {
        let typical = units::counted(outlier.baselines.len() as u64, "typical interval");
        parts.push(format!("compared with {typical}"));
    }
    parts.iter().map(|part| for_html(part)).collect::<Vec<_>>().join(" · ")
}

fn causes(outlier: &OutlierReport, recording: Option<&Recording>) -> String {
    let shown = outlier.causes.iter().take(MOST_CAUSES);
    let rows: String = shown.map(|cause| cause_row(outlier, cause, recording)).collect();
    let rest = outlier.causes.len().saturating_sub(MOST_CAUSES);
    let more = match rest {
        0 => String::new(),
        rest => format!(", {} among them", units::counted(rest as u64, "more cause")),
    };
    let typical = outlier.baseline_mean_ns.unwrap_or(0);
    let unit = outlier.time_unit;
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Causes\"><table class=\"causes\">\n<thead><tr>\
         <th class=\"number\">excess</th><th class=\"number\">took</th><th class=\"number\">typical</th>\
         <th class=\"number\">count</th><th>known</th><th>cause</th><th>particulars</th></tr></thead>\n<tbody>\n{rows}\
         </tbody>\n<tfoot><tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td></td>\
         <td></td><th scope=\"row\">together{more}</th><td></td></tr></tfoot></table></div>\n",
        units::signed_length(signed_difference(outlier.duration_ns, typical), unit),
        units::length(outlier.duration_ns, unit),
        outlier.typical(typical),
    )
}

fn cause_row(outlier: &OutlierReport, cause: &CauseTotal, recording: Option<&Recording>) -> String {
    let unit = outlier.time_unit;
    format!(
        "<tr><td class=\"number strong\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td><td>{}</td><th scope=\"row\"><svg class=\"swatch\" viewBox=\"0 0 10 10\" \
         aria-hidden=\"true\"><rect class=\"bar {}\" width=\"10\" height=\"10\"/></svg>{}</th><td>{}</td></tr>\n",
        units::signed_length(cause.excess_ns, unit),
        units::length(cause.duration_ns, unit),
        outlier.typical(cause.typical_ns),
        cause.count,
        cause.certainty,
        classes(&cause.cause),
        for_html(&cause.cause),
        for_html(&recording::particulars(cause, recording, unit)),
    )
}

/// The longest segments in order of time, each with its first evidence.
fn segments(outlier: &OutlierReport, number: usize) -> String {
    let mut order: Vec<usize> = (0..outlier.segments.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(outlier.segments[at].duration_ns), at));
    order.truncate(MOST_SEGMENTS);
    order.sort_unstable();
    let digits = Digits::of(order.iter().map(|&at| outlier.segments[at].offset_ns), outlier.time_unit);
    let rows: String = order.iter().map(|&at| segment_row(outlier, &outlier.segments[at], digits)).collect();
    let title = match outlier.segments.len() {
        0 => return String::new(),
        count if count > MOST_SEGMENTS => format!("The {MOST_SEGMENTS} longest of {count} segments"),
        _ => "Its segments".to_owned(),
    };
    format!(
        "<h3 id=\"segments-{number}\">{title}</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" \
         aria-labelledby=\"segments-{number}\"><table class=\"segments\" data-outlier=\"{}\">\n<thead><tr>\
         <th class=\"number\">at</th><th class=\"number\">for</th><th class=\"number\">CPU</th><th>known</th><th>cause</th>\
         <th>particulars</th><th>evidence</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n",
        number - 1,
    )
}

fn segment_row(outlier: &OutlierReport, segment: &SegmentReport, digits: Digits) -> String {
    format!(
        "<tr><td class=\"number\">{}</td><td class=\"number strong\">{}</td><td class=\"number\">{}</td><td>{}</td>\
         <th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n",
        digits.show(segment.offset_ns),
        units::length(segment.duration_ns, outlier.time_unit),
        segment.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string()),
        segment.certainty,
        for_html(&segment.cause),
        for_html(&segment.detail),
        segment.evidence.first().map(|evidence| for_html(&evidence.words())).unwrap_or_default(),
    )
}

/// Counters, stages and baselines, where there are any.
fn particulars(outlier: &OutlierReport) -> String {
    let counters = outlier.counters.iter().map(|counter| format!("{} {}", counter.name, counter.value));
    let stage = |length| units::length(length, outlier.time_unit);
    let stages = outlier.stages.iter().map(|part| format!("{} {}", part.name, stage(part.duration_ns)));
    let attributes = outlier.attributes.iter().map(|one| format!("{} {}", one.name, one.value));
    let baselines = outlier.baselines.iter().map(u64::to_string);
    let lines = [
        ("counters", named(counters)),
        ("stages", named(stages)),
        ("texts", named(attributes)),
        ("excess", for_html(&outlier.child_words())),
        ("typical intervals", named(baselines)),
        ("chosen by", for_html(&outlier.baseline_rule)),
        ("PEBS", outlier.pebs.as_ref().map_or_else(String::new, |used| for_html(&used.words()))),
    ];
    let items = lines.iter().filter(|(_, text)| !text.is_empty());
    let items: Vec<String> = items.map(|(what, text)| format!("<dt>{what}</dt><dd>{text}</dd>\n")).collect();
    if items.is_empty() { String::new() } else { format!("<dl>\n{}</dl>\n", items.concat()) }
}

/// The first ones, escaped, and how many more there are.
fn named(texts: impl ExactSizeIterator<Item = String>) -> String {
    let rest = texts.len().saturating_sub(MOST_NAMED);
    let mut all: Vec<String> = texts.take(MOST_NAMED).map(|text| for_html(&text)).collect();
    if rest > 0 {
        all.push(format!("{rest} more"));
    }
    all.join(", ")
}

/// Where it was and what it used, by NUMA node; empty on a machine with one.
fn nodes(outlier: &OutlierReport) -> String {
    let Some(used) = &outlier.numa else { return String::new() };
    let items: Vec<String> =
        used.words().iter().map(|words| format!("<li>{}</li>\n", for_html(words))).collect();
    let items = items.concat();
    format!("<h3>NUMA nodes</h3>\n<ul>\n{items}</ul>\n")
}

/// What the capture holds for this interval; what is missing first.
fn checks(outlier: &OutlierReport) -> String {
    let mut checks: Vec<_> = outlier.checks.iter().take(MOST_NAMED).collect();
    checks.sort_by_key(|check| check.state == CheckState::Good);
    let items = checks
        .iter()
        .map(|check| {
            let (state, name, detail) =
                (check.state.name(), for_html(check.label()), for_html(&check.detail));
            format!("<li class=\"{state}\"><b>{name}</b> <i>{state}</i> {detail}</li>\n")
        })
        .collect::<Vec<_>>()
        .concat();
    match items.as_str() {
        "" => items,
        _ => format!("<h3>Capture check</h3>\n<ul class=\"checks\">\n{items}</ul>\n"),
    }
}

/// A command to paste, with what it is for.
fn command(what: &str, line: &str) -> String {
    match line {
        "" => String::new(),
        line => format!(
            "<h3>{what}</h3>\n<pre class=\"command\" tabindex=\"0\"><code>{}</code></pre>\n",
            for_html_up_to(line, MOST_COMMAND)
        ),
    }
}
