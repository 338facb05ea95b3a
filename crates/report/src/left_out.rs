//! Segments that a format does not show one by one, summed by cause and by whose code they are of: however many there are, a reader sees
//! what took their time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::outlier::SegmentReport;
use crate::timebase::TimeUnit;
use crate::units;

/// Those of one cause and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) duration_ns: u64,
    count: u64,
    cause: String,
    place: String,
}

impl Sum {
    /// `user.expected, 120 times in handle_request()`.
    pub(crate) fn words(&self) -> String {
        let times = if self.count == 1 { "once".to_owned() } else { format!("{} times", self.count) };
        if self.place.is_empty() {
            return format!("{}, {times}", self.cause);
        }
        format!("{}, {times} {} {}", self.cause, preposition(&self.cause), self.place)
    }
}

/// What took time in a function, and what a function called.
fn preposition(cause: &str) -> &'static str {
    if cause.starts_with("kernel.syscall.") { "called by" } else { "in" }
}

/// All time of `segments`.
pub(crate) fn together<'a>(segments: impl Iterator<Item = &'a SegmentReport>) -> u64 {
    segments.fold(0, |sum, segment| sum.saturating_add(segment.duration_ns))
}

/// The sums of `segments`, the longest first: that one, and the others that hold a twentieth of `whole`. Empty where all together hold less
/// than a tenth, and where there is one alone.
pub(crate) fn sums<'a>(segments: impl Iterator<Item = &'a SegmentReport> + Clone, whole: u64) -> Vec<Sum> {
    if together(segments.clone()) < whole / 10 || segments.clone().count() < 2 {
        return Vec::new();
    }
    let mut found: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for segment in segments {
        let (duration, count) = found.entry((&segment.cause, &segment.story.place)).or_default();
        *duration = duration.saturating_add(segment.duration_ns);
        *count += 1;
    }
    let sum = |((cause, place), (duration_ns, count)): ((&str, &str), _)| Sum {
        duration_ns,
        count,
        cause: cause.to_owned(),
        place: place.to_owned(),
    };
    let mut sums: Vec<Sum> = found.into_iter().map(sum).collect();
    sums.sort_by_key(|sum| Reverse(sum.duration_ns));
    let notable = sums.iter().take_while(|sum| sum.duration_ns >= whole / 20).count();
    sums.truncate(notable.max(1));
    sums
}

/// `150 shorter ones, 1.00 ms together`.
pub(crate) fn counted(count: u64, duration_ns: u64, unit: TimeUnit) -> String {
    let together = if count > 1 { " together" } else { "" };
    format!("{}, {}{together}", units::counted(count, "shorter one"), units::length(duration_ns, unit))
}

#[cfg(test)]
mod tests;
