//! The segments that took longest, in order of time, each with what supports it.

use super::cells::{cut, left, right, width, wrap, wrap_hanging};
use super::style::{Ink, Style};
use crate::escape::for_terminal;
use crate::left_out;
use crate::outlier::{OutlierReport, SegmentReport};
use crate::serving;
use crate::timebase::TimeUnit;
use crate::units::{self, Digits};

/// How much of an outlier is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// It is the only one.
    Full,
    /// It is one of several.
    Brief,
}

impl Amount {
    /// Segments shown of the interval.
    fn most_segments(self) -> usize {
        match self {
            Amount::Full => 12,
            Amount::Brief => 5,
        }
    }

    /// Evidence shown of one segment.
    fn most_evidence(self) -> usize {
        match self {
            Amount::Full => 3,
            Amount::Brief => 1,
        }
    }
}

/// Segments shown of each level of `during`.
const MOST_DURING: usize = 4;
/// Levels of `during` shown.
const DURING_DEPTH: usize = 3;
/// Sums shown of the segments that are not.
const MOST_SUMS: usize = 3;
/// An uncertain edge is shown where it is more than one part in so many of the segment (5 %).
const NOTABLE_PART: u64 = 20;

/// How far `during` stands to the right of its wait, while that many columns are left.
const STEP: usize = 4;
const NARROWEST_LEVEL: usize = 52;

/// Columns of the CPU, the cause at most, and the certainty.
const CPU: usize = 3;
const WIDEST_CAUSE: usize = 34;
const CERTAINTY: usize = 8;
/// Where particulars and evidence stand below their segment: left enough for an address to fit in 80 columns.
const BELOW: usize = 10;

/// Header, segments and what was left out, without indent.
pub(super) fn lines(outlier: &OutlierReport, columns: usize, amount: Amount, style: Style) -> Vec<String> {
    if outlier.segments.is_empty() {
        return Vec::new();
    }
    let unit = outlier.time_unit;
    let digits = Digits::of([], unit);
    let listing = Listing { offset: 0, length: 0, cause: 0, digits, amount, unit, style };
    listing.level(&outlier.segments, amount.most_segments(), DURING_DEPTH, columns)
}

/// One level of segments, and how wide its columns are.
#[derive(Clone, Copy)]
struct Listing {
    offset: usize,
    length: usize,
    cause: usize,
    /// Of the offsets.
    digits: Digits,
    amount: Amount,
    unit: TimeUnit,
    style: Style,
}

impl Listing {
    /// A header, the `most` longest of `segments` in order of time, and a line on the others.
    fn level(self, segments: &[SegmentReport], most: usize, depth: usize, columns: usize) -> Vec<String> {
        let shown = longest(segments, most);
        let digits = Digits::of(shown.iter().map(|&at| segments[at].offset_ns), self.unit);
        let listing = Listing { digits, ..self }.fitting(shown.iter().map(|&at| &segments[at]));
        let mut lines = vec![listing.header()];
        lines.extend(shown.iter().flat_map(|&at| listing.segment(&segments[at], depth, columns)));
        if shown.len() < segments.len() {
            lines.extend(listing.left_out(segments, &shown, columns));
        }
        lines
    }

    /// How many of `segments` are not `shown`, and what took their time where that is much.
    fn left_out(&self, segments: &[SegmentReport], shown: &[usize], columns: usize) -> Vec<String> {
        let is_left_out = |at: &usize| shown.binary_search(at).is_err();
        let others = (0..segments.len()).filter(is_left_out).map(|at| &segments[at]);
        let (count, time) = (segments.len() - shown.len(), left_out::together(others.clone()));
        let more = left_out::counted(count as u64, time, self.unit);
        let mut lines = vec![format!("{}{} {more}", " ".repeat(BELOW), self.style.glyph("…", "..."))];
        let sums = left_out::sums(others, left_out::together(segments.iter()));
        for sum in sums.iter().take(MOST_SUMS) {
            let length = right(&units::length(sum.duration_ns, self.unit), self.offset + 2 + self.length);
            let room = columns.saturating_sub(width(&length) + 2).max(20);
            let words = cut(&for_terminal(&sum.words()), room, self.style.glyph("…", "..."));
            lines.push(format!("{length}  {words}"));
        }
        lines.iter().map(|line| self.style.paint(Ink::Dim, line)).collect()
    }

    /// The same with columns as wide as these segments need.
    fn fitting<'a>(self, shown: impl Iterator<Item = &'a SegmentReport>) -> Listing {
        let (mut offset, mut length, mut cause) = (BELOW - 2, BELOW - 2, 0);
        for segment in shown {
            offset = offset.max(width(&self.digits.show(segment.offset_ns)));
            length = length.max(width(&units::length(segment.duration_ns, self.unit)));
            cause = cause.max(width(&for_terminal(&segment.cause)));
        }
        Listing { offset, length, cause: cause.min(WIDEST_CAUSE), ..self }
    }

    fn header(&self) -> String {
        let names = format!(
            "{}  {}  {}  segment",
            right("at", self.offset),
            right("for", self.length),
            right("CPU", CPU)
        );
        self.style.paint(Ink::Dim, &names)
    }

    fn segment(&self, segment: &SegmentReport, depth: usize, columns: usize) -> Vec<String> {
        let mut lines = self.first_lines(segment, columns);
        let below = columns.saturating_sub(BELOW).max(20);
        for evidence in segment.evidence.iter().take(self.amount.most_evidence()) {
            let wrapped = wrap_hanging(&for_terminal(&evidence.words()), below, 2);
            let painted = |line| self.style.paint(Ink::Dim, &format!("{}{line}", " ".repeat(BELOW)));
            lines.extend(wrapped.into_iter().map(painted));
        }
        let left_out = segment.evidence.len().saturating_sub(self.amount.most_evidence());
        if left_out > 0 && self.amount == Amount::Full {
            let more = match left_out {
                1 => "and 1 more record, packet or symbol".to_owned(),
                _ => format!("and {left_out} more records, packets and symbols"),
            };
            lines.push(self.style.paint(Ink::Dim, &format!("{}{more}", " ".repeat(BELOW))));
        }
        if depth > 0 && !segment.during.is_empty() {
            lines.extend(self.during(segment, depth, columns));
        }
        lines
    }

    /// Offset, length, CPU, cause, certainty and particulars; those go below where they do not fit beside.
    fn first_lines(&self, segment: &SegmentReport, columns: usize) -> Vec<String> {
        let more = self.style.glyph("…", "...");
        let cpu = segment.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
        let place = format!(
            "{}  {}  {}  ",
            right(&self.digits.show(segment.offset_ns), self.offset),
            right(&units::length(segment.duration_ns, self.unit), self.length),
            right(&cpu, CPU)
        );
        let room = columns.saturating_sub(width(&place)).max(20);
        let cause = cut(&for_terminal(&segment.cause), room.saturating_sub(CERTAINTY + 2), more);
        let certainty = segment.certainty.to_string();
        let words = format!("{}{}", for_terminal(&segment.detail), self.uncertainty(segment));
        let words = words.trim_start();
        let beside = format!("{}  {}  {words}", left(&cause, self.cause), left(&certainty, CERTAINTY));
        if width(&beside) <= room {
            return vec![place + beside.trim_end()];
        }
        let indent = " ".repeat(BELOW);
        let below = wrap(words, columns.saturating_sub(BELOW).max(20));
        let below = below.into_iter().filter(|line| !line.is_empty()).map(|line| format!("{indent}{line}"));
        [format!("{place}{}  {certainty}", left(&cause, self.cause.min(room - CERTAINTY - 2)))]
            .into_iter()
            .chain(below)
            .collect()
    }

    /// How far the edges may be off, where that matters.
    fn uncertainty(&self, segment: &SegmentReport) -> String {
        if segment.edge_uncertainty_ns == 0
            || segment.edge_uncertainty_ns <= segment.duration_ns / NOTABLE_PART
        {
            return String::new();
        }
        let sign = self.style.glyph("±", "+-");
        format!(" (edges {sign}{})", units::length(segment.edge_uncertainty_ns, self.unit))
    }

    /// What happened during a wait, one step to the right.
    fn during(&self, segment: &SegmentReport, depth: usize, columns: usize) -> Vec<String> {
        let bend = self.style.glyph("└", "`-");
        let title = format!("{}{bend} during this time, {}:", " ".repeat(STEP), who_meanwhile(segment));
        let mut lines = vec![self.style.paint(Ink::Dim, &title)];
        let inner = columns.saturating_sub(STEP).max(NARROWEST_LEVEL);
        let parts = serving::parts(segment, self.unit);
        if !parts.is_empty() {
            let indent = " ".repeat(2 * STEP);
            let wrapped = wrap(&parts, columns.saturating_sub(indent.len()).max(20));
            lines.extend(
                wrapped.into_iter().map(|line| self.style.paint(Ink::Dim, &format!("{indent}{line}"))),
            );
        }
        let level = self.level(&segment.during, MOST_DURING, depth - 1, inner).split_off(1);
        let margin = " ".repeat(columns.saturating_sub(inner));
        lines.extend(level.into_iter().map(|line| format!("{margin}{line}")));
        lines
    }
}

/// Whose time stands below `segment`.
fn who_meanwhile(segment: &SegmentReport) -> String {
    match (segment.cause.as_str(), segment.during.iter().find_map(|part| part.tid)) {
        ("queue.behind", Some(tid)) => format!("the thread that was busy (tid {tid})"),
        ("queue.runtime", Some(tid)) => format!("the worker that polled it then (tid {tid})"),
        (_, Some(tid)) => format!("the thread that ended the wait (tid {tid})"),
        // An interrupt, and the device, timer or network that it came from.
        (_, None) => "what ended the wait".to_owned(),
    }
}

/// The indices of the `most` longest, in order.
fn longest(segments: &[SegmentReport], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..segments.len()).collect();
    if order.len() > most {
        order.select_nth_unstable_by_key(most, |&at| (std::cmp::Reverse(segments[at].duration_ns), at));
        order.truncate(most);
        order.sort_unstable();
    }
    order
}
