//! What a recording that keeps only what was slow kept of it, and why not the rest: a population of slices is not all that was slow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::escape::bounded_for_json;
use crate::timebase::TimeUnit;
use crate::units::{grouped, length};

/// The account of a recording with `tailtrace record --snapshot-over`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "snapshots")]
pub struct Snapshots {
    /// Whether it was counted; a recording that goes on, or was killed, has only the limits.
    pub is_complete: bool,
    /// Whether the numbers are those of a part: of the time since the bundle before, in a recording that goes on. Those of all its bundles
    /// add up.
    #[serde(default)]
    pub is_part: bool,
    /// What was slow.
    pub limits: Vec<SlowLimit>,
    /// All intervals that a limit is for.
    pub intervals: u64,
    /// Those that took longer than their limit.
    pub slow: u64,
    /// Those of them that are in slices.
    pub kept: u64,
    /// The others, by reason; each counts once.
    pub skipped: SkippedIntervals,
}

/// From when on an interval is slow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "slow_limit")]
pub struct SlowLimit {
    /// Of which label; null: of all that have no limit of their own.
    pub label: Option<String>,
    /// Longer than so many nanoseconds; null where it is a percentile.
    pub over_ns: Option<u64>,
    /// A running percentile, `99.9`: longer than the label's were until then.
    #[serde(default)]
    pub percentile: Option<String>,
}

/// Slow intervals that are in no slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "skipped_intervals")]
pub struct SkippedIntervals {
    /// The snapshots of the minute were used up.
    pub rate_limit: u64,
    /// perf was writing another snapshot, and records nothing then.
    pub while_writing: u64,
    /// The rings had overwritten a part of them, or the file ended within them.
    pub ring_overwritten: u64,
    /// No snapshot was taken for them: the program did not ring, or the recording ended.
    pub no_snapshot: u64,
    /// Their bundle could not be written, or was removed to make room on the disk.
    #[serde(default)]
    pub no_bundle: u64,
}

impl SkippedIntervals {
    /// All of them.
    pub fn count(self) -> u64 {
        self.reasons().iter().map(|(_, count)| count).sum()
    }

    fn reasons(self) -> [(&'static str, u64); 5] {
        [
            ("rate limit", self.rate_limit),
            ("perf was writing", self.while_writing),
            ("ring overwritten", self.ring_overwritten),
            ("no snapshot", self.no_snapshot),
            ("no bundle", self.no_bundle),
        ]
    }
}

impl Snapshots {
    /// What counts as slow: `over 1.00 ms`, `order over p99.9, over 2.00 ms`; empty where no limit is known.
    pub fn trigger(&self) -> String {
        let limits: Vec<String> = self.limits.iter().map(SlowLimit::words).collect();
        limits.join(", ")
    }

    /// The same, with texts of a length that a reader of JSON can expect.
    pub(crate) fn bounded(&self) -> Snapshots {
        let mut bounded = self.clone();
        for limit in &mut bounded.limits {
            limit.label = limit.label.as_deref().map(bounded_for_json);
            limit.percentile = limit.percentile.as_deref().map(bounded_for_json);
        }
        bounded
    }

    /// `3 of 53 slow intervals (over 1.00 ms) were skipped (rate limit: 2, ring overwritten: 1)`; empty where none was.
    pub fn skips(&self) -> String {
        let limits = self.trigger();
        if !self.is_complete {
            return format!(
                "the recording of slow intervals ({limits}) goes on, or was killed: how many were skipped is not known"
            );
        }
        let reasons = self.skipped.reasons().into_iter().filter(|&(_, count)| count > 0);
        let reasons: Vec<String> =
            reasons.map(|(reason, count)| format!("{reason}: {}", grouped(count))).collect();
        if reasons.is_empty() {
            return String::new();
        }
        let of = if self.is_part { "since the bundle before this one " } else { "" };
        format!(
            "{of}{} of {} slow intervals ({limits}) were skipped ({})",
            grouped(self.skipped.count()),
            grouped(self.slow),
            reasons.join(", ")
        )
    }
}

impl SlowLimit {
    fn words(&self) -> String {
        let length = self.over_ns.map(|over| length(over, TimeUnit::Nanoseconds));
        let percentile = self.percentile.as_ref().map(|percentile| format!("p{percentile}"));
        let over = length.or(percentile).unwrap_or_default();
        match &self.label {
            Some(label) => format!("{label} over {over}"),
            None => format!("over {over}"),
        }
    }
}
