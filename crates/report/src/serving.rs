//! A wait for an answer in parts, beside the same parts of typical intervals: where the time of the thread that answered went.
//!
//! Input: what that thread did during the wait, each piece with its part. Output: rows that add up to the wait.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::{Attribution, Part, Segment, Story};

use crate::outlier::SegmentReport;
use crate::timebase::{TimeUnit, Timebase};
use crate::units;

/// One part of a wait, by kind of cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingRow {
    /// The part; `None` where it is not known.
    pub part: Option<Part>,
    /// The kind of cause: a cause's name, or `user` for user code of any.
    pub kind: String,
    /// The function that no typical interval runs there; empty where it is the usual code.
    pub unusual: String,
    /// How long, in ns.
    pub duration_ns: u64,
    /// The mean of the baselines' longest waits for the same thread, in ns.
    pub typical_ns: u64,
}

/// What a row stands for.
type Key = (Option<Part>, String, String);

impl ServingRow {
    /// How much longer than typical.
    pub fn excess_ns(&self) -> i64 {
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        signed(self.duration_ns) - signed(self.typical_ns)
    }

    /// Whether `segment`, below the wait, is counted in this row.
    pub(crate) fn counts(&self, segment: &SegmentReport) -> bool {
        let story = &segment.story;
        story.part == self.part && kind(&segment.cause) == self.kind && unusual(story) == self.unusual
    }
}

/// User code is one kind, whatever the comparison says of it.
pub(crate) fn kind(cause: &str) -> &str {
    if cause.starts_with("user.") { "user" } else { cause }
}

fn key(part: Option<Part>, cause: &str, unusual: &str) -> Key {
    (part, kind(cause).to_owned(), unusual.to_owned())
}

fn unusual(story: &Story) -> &str {
    if story.unusual { &story.place } else { "" }
}

/// Fills the rows of the waits among `segments` whose pieces have parts.
pub(crate) fn compare<B: Borrow<Attribution>>(
    segments: &mut [SegmentReport],
    baselines: &[B],
    timebase: Timebase,
) {
    for segment in segments.iter_mut().filter(|segment| is_divided(segment)) {
        let mut rows: BTreeMap<Key, (u64, u64)> = BTreeMap::new();
        for piece in &segment.during {
            let row = rows.entry(key(piece.story.part, &piece.cause, unusual(&piece.story))).or_default();
            row.0 = row.0.saturating_add(piece.duration_ns);
        }
        for (key, sum) in typical(&segment.story.by, baselines, timebase) {
            rows.entry(key).or_default().1 = sum / baselines.len().max(1) as u64;
        }
        segment.serving = rows
            .into_iter()
            .map(|((part, kind, unusual), (duration_ns, typical_ns))| ServingRow {
                part,
                kind,
                unusual,
                duration_ns,
                typical_ns,
            })
            .filter(|row| row.duration_ns > 0 || row.typical_ns > 0)
            .collect();
        segment.serving.sort_by_key(|row| Reverse(row.excess_ns()));
    }
}

/// One part of a wait, whatever its time went into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSum {
    /// The part; `None` where it is not known.
    pub part: Option<Part>,
    /// How long, in ns.
    pub duration_ns: u64,
    /// The mean of the baselines' longest waits for the same thread, in ns; `None` where it is compared with none.
    pub typical_ns: Option<u64>,
}

/// The sums of the parts of `wait`: the part of the kind with the largest excess first, in order of time where it is not compared; empty
/// where it has none.
pub fn part_sums(wait: &SegmentReport) -> Vec<PartSum> {
    let mut sums: Vec<PartSum> = Vec::new();
    let mut add = |part, duration_ns, typical_ns: Option<u64>| {
        let place = sums.iter().position(|sum| sum.part == part).unwrap_or(sums.len());
        if place == sums.len() {
            sums.push(PartSum { part, duration_ns: 0, typical_ns: None });
        }
        let sum = &mut sums[place];
        sum.duration_ns = sum.duration_ns.saturating_add(duration_ns);
        sum.typical_ns = typical_ns.map(|typical| typical.saturating_add(sum.typical_ns.unwrap_or(0)));
    };
    if !wait.serving.is_empty() {
        wait.serving.iter().for_each(|row| add(row.part, row.duration_ns, Some(row.typical_ns)));
    } else if is_divided(wait) {
        wait.during.iter().for_each(|piece| add(piece.story.part, piece.duration_ns, None));
    }
    sums
}

/// `working for others 300.1 us (typical 0 ns), working for this request 21.0 us (typical 18.2 us)`; empty where it is not compared.
pub(crate) fn parts(wait: &SegmentReport, unit: TimeUnit) -> String {
    let tell = |sum: &PartSum| {
        let own = units::length(sum.duration_ns, unit);
        let typical = units::length(sum.typical_ns?, unit);
        Some(format!("{} {own} (typical {typical})", part_words(sum.part)))
    };
    part_sums(wait).iter().filter_map(tell).collect::<Vec<_>>().join(", ")
}

/// `others first`: a part's name as people read it; in JSON names are a contract.
pub(crate) fn part_name(part: Part) -> String {
    part.name().replace('-', " ")
}

/// What a part is, in words.
pub fn part_words(part: Option<Part>) -> &'static str {
    match part {
        Some(Part::NotRun) => "ready but not running",
        Some(Part::OthersFirst) => "working for others",
        Some(Part::Waits) => "waiting itself",
        Some(Part::OwnWork) => "working for this request",
        Some(Part::Between) => "until the request was read, and between requests",
        _ => "not known",
    }
}

/// `rival (fd 11: 19 bytes in)`, whom the thread served first; not escaped.
pub fn client(story: &Story) -> String {
    match (&*story.by, &*story.object) {
        ("", "") => "others".to_owned(),
        ("", object) => units::noted("another client", object),
        (by, object) => units::noted(by, object),
    }
}

fn is_divided(segment: &SegmentReport) -> bool {
    segment.during.iter().any(|piece| piece.story.part.is_some())
}

/// The sums over the baselines' longest waits for thread `by`.
fn typical<B: Borrow<Attribution>>(by: &str, baselines: &[B], timebase: Timebase) -> BTreeMap<Key, u64> {
    let mut sums: BTreeMap<Key, u64> = BTreeMap::new();
    for baseline in baselines {
        let waits = baseline
            .borrow()
            .segments()
            .iter()
            .filter(|segment| segment.story.by == by && !segment.during.is_empty());
        let Some(wait) = waits.max_by_key(|segment: &&Segment| segment.range.ticks()) else { continue };
        for piece in &wait.during {
            let sum = sums.entry(key(piece.story.part, &piece.cause.to_string(), "")).or_default();
            *sum = sum.saturating_add(timebase.duration(piece.range));
        }
    }
    sums
}

#[cfg(test)]
mod tests;
