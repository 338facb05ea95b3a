//! Why all outliers are slow, as a table: how many outliers each reason made slow, and its share of all excess.

use super::cells::wrap_hanging;
use super::rows;
use super::style::{Ink, Style};
use crate::advice::{self, Advice};
use crate::escape::for_terminal;
use crate::reasons::{Blame, Reason, Reasons};
use crate::units::percent;

/// Reasons, and whom the foremost and each other one is due to; JSON has all.
const MOST_REASONS: usize = 6;
const MOST_BLAMED_OF_FIRST: usize = 4;
const MOST_BLAMED: usize = 2;
/// Advice.
const MOST_ADVICE: usize = 2;
/// Columns of both figures.
const FIRST: usize = 9;
const SHARE: usize = 15;

/// Head and rows; nothing where no more than one outlier was explained. `head` says how many were.
pub(super) fn lines(reasons: &Reasons, head: &str, style: Style) -> Vec<String> {
    if reasons.explained < 2 {
        return Vec::new();
    }
    let head = row(head, "slow", "of all excess", style);
    let mut lines = Vec::new();
    lines.extend(head.iter().map(|line| style.paint(Ink::Bold, line)));
    let (shown, _, others) = reasons.foremost(MOST_REASONS);
    let blamed = std::iter::once(MOST_BLAMED_OF_FIRST).chain(std::iter::repeat(MOST_BLAMED));
    lines.extend(shown.iter().zip(blamed).flat_map(|(reason, most)| lines_of(reason, most, style)));
    if let Some((first, part)) = others {
        lines.extend(row("  other causes", &first.to_string(), &percent(part), style));
    }
    lines.extend(advice(&shown, style));
    lines
}

/// What people do about the foremost reasons.
fn advice(shown: &[&Reason], style: Style) -> Vec<String> {
    let large = shown.iter().filter(|reason| reason.share >= advice::SMALLEST_SHARE);
    let mut found: Vec<&Advice> = large.filter_map(|reason| advice::on(reason)).collect();
    found.dedup();
    let line = |advice: &&Advice| {
        let text = format!("Try: {} ({})", advice.text, advice.source);
        let wrapped = wrap_hanging(&for_terminal(&text), style.columns() - 4, 5);
        wrapped.into_iter().map(|line| format!("  {line}"))
    };
    found.iter().take(MOST_ADVICE).flat_map(line).collect()
}

/// The reason, and up to `most` of those it is due to.
fn lines_of(reason: &Reason, most: usize, style: Style) -> Vec<String> {
    let mut lines = row(
        &format!("  {}", for_terminal(&reason.what)),
        &reason.first.to_string(),
        &percent(reason.share),
        style,
    );
    let (shown, others) = reason.blamed_up_to(most);
    for blame in shown.iter().chain(&others) {
        lines.extend(blamed(blame, reason, style));
    }
    lines
}

/// Its share is of the same whole as the reason's. Who is the whole reason has the figures that stand one line above.
fn blamed(blame: &Blame, reason: &Reason, style: Style) -> Vec<String> {
    let who = format!("    {}", for_terminal(&blame.who));
    let (first, share) = (blame.first.to_string(), percent(reason.share_of(blame)));
    let is_whole = blame.first == reason.first && share == percent(reason.share);
    let [first, share] = if is_whole { [String::new(), String::new()] } else { [first, share] };
    let lines = row(&who, &first, &share, style);
    lines.iter().map(|line| style.paint(Ink::Dim, line)).collect()
}

/// `text`, wrapped, and both figures at the end of its first line.
fn row(text: &str, first: &str, share: &str, style: Style) -> Vec<String> {
    rows::row(text, &[(first, FIRST), (share, SHARE)], style)
}
