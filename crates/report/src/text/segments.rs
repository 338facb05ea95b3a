//! The segments that took longest, in order of time, each with what supports it.

use super::Style;
use super::cells::{cut, left, right, width, wrap_within};
use super::paint::Ink;
use crate::escape::for_terminal;
use crate::{EvidenceReport, OutlierReport, SegmentReport, TimeUnit, units};

/// Segments shown of the interval, and of each level of `during`.
const MOST_SEGMENTS: usize = 12;
const MOST_DURING: usize = 4;
/// Levels of `during` shown.
const DURING_DEPTH: usize = 3;
/// Evidence shown of one segment.
const MOST_EVIDENCE: usize = 3;
/// An uncertain edge is shown where it is more than one part in so many of the segment (5 %).
const NOTABLE_PART: u64 = 20;

/// Columns of offset, length, CPU, cause and certainty.
const OFFSET: usize = 9;
const LENGTH: usize = 9;
const CPU: usize = 3;
const CAUSE: usize = 26;
const CERTAINTY: usize = 8;
/// Where a segment's own lines stand below it.
const BELOW: usize = OFFSET + 2 + LENGTH + 2 + CPU + 2;

/// Header, segments and what was left out, without indent.
pub(super) fn lines(outlier: &OutlierReport, columns: usize, style: Style) -> Vec<String> {
    if outlier.segments.is_empty() {
        return Vec::new();
    }
    let header = format!("{}  {}  {}  segment", right("at", OFFSET), right("for", LENGTH), right("CPU", CPU));
    let mut lines = vec![style.paint(Ink::Dim, &header)];
    let listing = Listing { unit: outlier.time_unit, style };
    lines.extend(listing.level(&outlier.segments, MOST_SEGMENTS, DURING_DEPTH, columns));
    lines
}

struct Listing {
    unit: TimeUnit,
    style: Style,
}

impl Listing {
    /// The `most` longest of `segments` in order of time, and a line on the others.
    fn level(&self, segments: &[SegmentReport], most: usize, depth: usize, columns: usize) -> Vec<String> {
        let shown = longest(segments, most);
        let mut lines: Vec<String> =
            shown.iter().flat_map(|&at| self.segment(&segments[at], depth, columns)).collect();
        if shown.len() < segments.len() {
            let all = segments.iter().fold(0u64, |sum, segment| sum.saturating_add(segment.duration_ns));
            let seen = shown.iter().fold(0u64, |sum, &at| sum.saturating_add(segments[at].duration_ns));
            let more = format!(
                "{} {} shorter ones, {} together",
                self.style.glyph("…", "..."),
                segments.len() - shown.len(),
                units::length(all.saturating_sub(seen), self.unit)
            );
            lines.push(self.style.paint(Ink::Dim, &format!("{}{more}", " ".repeat(BELOW))));
        }
        lines
    }

    fn segment(&self, segment: &SegmentReport, depth: usize, columns: usize) -> Vec<String> {
        let mut lines = self.first_lines(segment, columns);
        let below = columns.saturating_sub(BELOW + 2).max(20);
        for evidence in segment.evidence.iter().take(MOST_EVIDENCE) {
            let text = cut(&evidence_words(evidence), below, self.style.glyph("…", "..."));
            lines.push(self.style.paint(Ink::Dim, &format!("{}{text}", " ".repeat(BELOW + 2))));
        }
        if segment.evidence.len() > MOST_EVIDENCE {
            let more = format!("and {} more", segment.evidence.len() - MOST_EVIDENCE);
            lines.push(self.style.paint(Ink::Dim, &format!("{}{more}", " ".repeat(BELOW + 2))));
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
            right(&units::length(segment.offset_ns, self.unit), OFFSET),
            right(&units::length(segment.duration_ns, self.unit), LENGTH),
            right(&cpu, CPU)
        );
        let room = columns.saturating_sub(width(&place)).max(20);
        let cause = cut(&for_terminal(&segment.cause), room.saturating_sub(CERTAINTY + 2), more);
        let certainty = segment.certainty.to_string();
        let words = format!("{}{}", for_terminal(&segment.detail), self.uncertainty(segment));
        let words = words.trim_start();
        let beside = format!("{}  {}  {words}", left(&cause, CAUSE), left(&certainty, CERTAINTY));
        if width(&beside) <= room {
            return vec![place + beside.trim_end()];
        }
        let indent = " ".repeat(BELOW + 2);
        let below = wrap_within(words, columns.saturating_sub(BELOW + 2).max(20), 3, more);
        let below = below.into_iter().filter(|line| !line.is_empty()).map(|line| format!("{indent}{line}"));
        [format!("{place}{}  {certainty}", left(&cause, CAUSE.min(room - CERTAINTY - 2)))]
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
        let tid = segment.during.first().and_then(|first| first.tid);
        let who = tid.map_or_else(String::new, |tid| format!(" (tid {tid})"));
        let bend = self.style.glyph("└", "`-");
        let title = format!("{}{bend} meanwhile, what ended the wait{who}:", " ".repeat(BELOW));
        let mut lines = vec![self.style.paint(Ink::Dim, &title)];
        let inner = columns.saturating_sub(2).max(60);
        let level = self.level(&segment.during, MOST_DURING, depth - 1, inner);
        let margin = " ".repeat(columns.saturating_sub(inner));
        lines.extend(level.into_iter().map(|line| format!("{margin}{line}")));
        lines
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

/// Where to look and what stands there: `perf.data 0x1a2b0, CPU 3: irq:softirq_entry vec=3`.
pub(super) fn evidence_words(evidence: &EvidenceReport) -> String {
    let mut places = vec![evidence.kind.to_string()];
    if let Some(offset) = evidence.file_offset {
        places.push(format!("at {offset:#x}"));
    }
    if let Some(cpu) = evidence.cpu {
        places.push(format!("CPU {cpu}"));
    }
    if let Some(offset) = evidence.aux_offset {
        places.push(format!("AUX {offset:#x}"));
    }
    format!("{}: {}", places.join(" "), for_terminal(&evidence.text))
}
