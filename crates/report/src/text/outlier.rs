//! One outlier: headline, checks, causes, timeline, segments, and the commands that go on from there.

use model::PerfTime;

use super::cells::{cut, flow, left, width, wrap, wrap_hanging};
use super::segments::Amount;
use super::style::{Ink, Style};
use super::{causes, kernel, segments, timeline};
use crate::escape::for_terminal;
use crate::headline::{self, headline};
use crate::outlier::{Check, CheckState, OutlierReport};
use crate::pebs::PebsUse;
use crate::recording::Recording;
use crate::timebase::TimeUnit;
use crate::units;

/// Columns of a fact's name, and of the margin.
const NAME_COLUMNS: usize = 10;
const MARGIN: usize = 2;
/// Baselines, counters and stages named; the others are counted.
const MOST_NAMED: usize = 12;

/// The outlier with all that supports its verdict; `place` is its number from 1 and how many there are.
pub(super) fn lines(outlier: &OutlierReport, place: (usize, usize), style: Style) -> Vec<String> {
    let columns = style.columns();
    let inner = columns - 2 * MARGIN;
    let mut lines = vec![rule(outlier, place, style)];
    lines.extend(wrap(&headline(outlier), columns).iter().map(|line| style.paint(Ink::Bold, line)));
    for block in [
        causes::lines(outlier, inner, style),
        kernel::lines(outlier, inner, style),
        timeline::lines(outlier, inner, style),
        segments::lines(outlier, inner, if place.1 > 1 { Amount::Brief } else { Amount::Full }, style),
    ] {
        if !block.is_empty() {
            lines.push(String::new());
            lines.extend(indented(&block));
        }
    }
    lines.push(String::new());
    lines.extend(facts(outlier, style));
    lines.extend(indented(&checks(&outlier.checks.iter().collect::<Vec<_>>(), inner, style)));
    lines.extend(server_requests(outlier, style));
    lines.extend(command("the same with stock perf:", &outlier.perf_script, style));
    lines
}

/// The outlier's verdict, its time line, and what the capture lacks for it but not for all: `shared`. `number` counts from 1.
pub(super) fn brief(outlier: &OutlierReport, number: usize, shared: &[&Check], style: Style) -> Vec<String> {
    let inner = style.columns() - 2 * MARGIN;
    let lengths = for_terminal(&headline::lengths(outlier));
    let room = style.columns().saturating_sub(width(&lengths) + 2);
    let title = cut(&format!("{number}  {}", name(outlier)), room, style.glyph("…", "..."));
    let mut lines = vec![format!("{}  {}", style.paint(Ink::Bold, &title), lengths)];
    let verdict = wrap(&headline::reasons(outlier), inner);
    lines.extend(indented(&verdict.iter().map(|line| style.paint(Ink::Bold, line)).collect::<Vec<_>>()));
    let children = outlier.child_words();
    if !children.is_empty() {
        lines.extend(indented(&wrap(&for_terminal(&children), inner)));
    }
    lines.extend(indented(&timeline::lines(outlier, inner, style)));
    let lacking: Vec<&Check> = lacking(outlier).filter(|check| !shared.contains(check)).collect();
    lines.extend(indented(&checks(&lacking, inner, style)));
    lines
}

/// `booking 275`, safe for a terminal.
pub(super) fn name(outlier: &OutlierReport) -> String {
    for_terminal(format!("{} {}", outlier.label, outlier.id).trim())
}

/// What the capture lacks for all of `outliers` in the same way.
pub(super) fn lacking_for_all(outliers: &[OutlierReport]) -> Vec<&Check> {
    let Some((first, others)) = outliers.split_first() else { return Vec::new() };
    lacking(first).filter(|check| others.iter().all(|outlier| outlier.checks.contains(check))).collect()
}

fn lacking(outlier: &OutlierReport) -> impl Iterator<Item = &Check> {
    outlier.checks.iter().filter(|check| check.state != CheckState::Good)
}

/// The command that explains the requests of the server that it waited for.
pub(super) fn server_requests(outlier: &OutlierReport, style: Style) -> Vec<String> {
    command("the server's requests, by its system calls:", &outlier.server_requests, style)
}

fn command(what: &str, command: &str, style: Style) -> Vec<String> {
    if command.is_empty() {
        return Vec::new();
    }
    vec![String::new(), style.paint(Ink::Dim, &format!("  {what}")), for_terminal_whole(command)]
}

/// Causes, facts and checks.
pub(super) fn verdict(outlier: &OutlierReport, style: Style) -> Vec<String> {
    let inner = style.columns() - 2 * MARGIN;
    let mut lines = indented(&causes::lines(outlier, inner, style));
    lines.push(String::new());
    lines.extend(facts(outlier, style));
    lines.extend(indented(&checks(&outlier.checks.iter().collect::<Vec<_>>(), inner, style)));
    lines
}

/// A rule with the outlier's number and name: `── 1 of 16 ── order 412 ─────`.
fn rule(outlier: &OutlierReport, (number, of): (usize, usize), style: Style) -> String {
    let dash = style.glyph("─", "-");
    let name = format!("{} {}", for_terminal(&outlier.label), outlier.id);
    let key = outlier.key.as_deref().map(|key| format!(", key {}", for_terminal(key))).unwrap_or_default();
    let title = format!("{d}{d} {number} of {of} {d}{d} {} ", (name + &key).trim_start(), d = dash);
    let title = cut(&title, style.columns(), style.glyph("… ", "... "));
    let rest = style.columns().saturating_sub(width(&title));
    style.paint(Ink::Dim, &format!("{title}{}", dash.repeat(rest)))
}

fn facts(outlier: &OutlierReport, style: Style) -> Vec<String> {
    let counters =
        outlier.counters.iter().map(|counter| format!("{} {}", counter.name, counter.value)).collect();
    let stages = outlier
        .stages
        .iter()
        .map(|stage| format!("{} {}", stage.name, units::length(stage.duration_ns, outlier.time_unit)));
    let attributes = outlier.attributes.iter().map(|one| format!("{} {}", one.name, one.value));
    let tracing = Recording::of(&outlier.calls).map_or_else(String::new, |own| own.words(outlier));
    [
        ("when", when(outlier)),
        ("thread", threads(outlier)),
        ("baselines", baselines(outlier)),
        ("counters", named(counters)),
        ("stages", named(stages.collect())),
        ("texts", named(attributes.collect())),
        ("excess", outlier.child_words()),
        ("NUMA", outlier.nodes()),
        ("PEBS", outlier.pebs.as_ref().map_or_else(String::new, PebsUse::words)),
        ("tracing", tracing),
    ]
    .into_iter()
    .flat_map(|(name, text)| fact(name, &text, style))
    .collect()
}

/// The first ones, and how many more there are.
fn named(items: Vec<String>) -> String {
    let more = items.len().saturating_sub(MOST_NAMED);
    let text = items.into_iter().take(MOST_NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// `16 (same label, …): 484, 480, 13 and 13 more`; why there are none otherwise.
fn baselines(outlier: &OutlierReport) -> String {
    if outlier.baselines.is_empty() {
        return outlier.baseline_rule.clone();
    }
    let number = units::noted(&outlier.baselines.len().to_string(), &outlier.baseline_rule);
    format!("{number}: {}", named(outlier.baselines.iter().map(u64::to_string).collect()))
}

fn fact(name: &str, text: &str, style: Style) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let columns = style.columns() - 2 * MARGIN - NAME_COLUMNS;
    let wrapped = wrap(&for_terminal(text), columns);
    let names = [name].into_iter().chain(std::iter::repeat(""));
    names
        .zip(wrapped)
        .map(|(name, line)| {
            format!("{}{}{line}", " ".repeat(MARGIN), style.paint(Ink::Dim, &left(name, NAME_COLUMNS)))
        })
        .collect()
}

/// Begin and end, in every clock that is known.
fn when(outlier: &OutlierReport) -> String {
    let tsc = format!("TSC {} to {}", outlier.start_tsc, outlier.stop_tsc);
    match outlier.start_ns {
        Some(start) if outlier.time_unit == TimeUnit::Nanoseconds => {
            let stop = PerfTime(start.saturating_add(outlier.duration_ns));
            format!("{} to {stop}, {tsc}", PerfTime(start))
        }
        _ => tsc,
    }
}

fn threads(outlier: &OutlierReport) -> String {
    match (&outlier.start_thread, &outlier.stop_thread) {
        (None, None) => String::new(),
        (Some(start), Some(stop)) if start.is(stop) => stop.words(),
        (Some(start), Some(stop)) => format!("from {} to {}", start.words(), stop.words()),
        (Some(start), None) => format!("from {} to an unknown one", start.words()),
        (None, Some(stop)) => format!("from an unknown one to {}", stop.words()),
    }
}

/// What the capture holds: the good checks side by side where they fit on a line, each other one on its own.
pub(super) fn checks(found: &[&Check], columns: usize, style: Style) -> Vec<String> {
    let words = |check: &Check| for_terminal(format!("{} {}", check.label(), check.detail).trim_end());
    let (good, bad): (Vec<&Check>, Vec<&Check>) =
        found.iter().partition(|check| check.state == CheckState::Good);
    let tick = style.glyph("✓", "ok");
    let full = |check: &Check| width(tick) + 1 + width(&words(check));
    let (short, long): (Vec<&Check>, Vec<&Check>) =
        good.into_iter().partition(|check| full(check) <= columns);
    let item = |check: &&Check| (full(check), format!("{} {}", style.paint(Ink::Green, tick), words(check)));
    let mut lines = flow(&short.iter().map(item).collect::<Vec<_>>(), "   ", columns);
    for check in long.into_iter().chain(bad) {
        let (mark, ink) = match check.state {
            CheckState::Good => (tick, Ink::Green),
            CheckState::Partial => (style.glyph("~", "part"), Ink::Yellow),
            CheckState::Missing => (style.glyph("✗", "none"), Ink::Red),
        };
        let indent = width(mark) + 1;
        let wrapped = wrap_hanging(&words(check), columns - indent, 2);
        for (index, line) in wrapped.iter().enumerate() {
            let margin = if index == 0 { style.paint(ink, mark) + " " } else { " ".repeat(indent) };
            lines.push(margin + line);
        }
    }
    lines
}

/// The command as it is, but for control characters: cutting it would make it useless.
fn for_terminal_whole(command: &str) -> String {
    crate::escape::for_terminal_up_to(command, 8 * 1024)
}

pub(super) fn indented(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| format!("{}{line}", " ".repeat(MARGIN))).collect()
}
