//! Outliers that were slow for the same reasons, in the same order of weight.
//!
//! An outlier's story is its causes with at least a fifth of its whole excess, the largest first, at most three. What
//! is smaller varies from one to the next and would tear apart what belongs together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outlier::OutlierReport;
use crate::units::share;

/// A cause is part of the story from this part of the excess on: 1/5.
const SMALLEST_PART: u128 = 5;
/// Causes of a story.
const MOST_CAUSES: usize = 3;

/// Outliers with the same story.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Story {
    /// What happened, in words.
    pub words: String,
    /// The causes, the one with the largest excess first; empty where none exceeds typical.
    pub causes: Vec<String>,
    /// The outliers' ids, in the order of the selection.
    pub ids: Vec<u64>,
    /// What they took above typical together, cause by cause.
    pub excess_ns: u64,
    /// That as a share of all outliers' excess, from 0 to 1.
    pub share: f64,
    /// The shortest of them.
    pub shortest_ns: u64,
    /// The longest of them.
    pub longest_ns: u64,
}

/// The groups of `outliers`, the largest first.
pub(super) fn stories(outliers: &[OutlierReport]) -> Vec<Story> {
    let mut groups: BTreeMap<Vec<&str>, Vec<&OutlierReport>> = BTreeMap::new();
    for outlier in outliers {
        groups.entry(signature(outlier)).or_default().push(outlier);
    }
    let whole = outliers.iter().map(excess).sum();
    let mut stories: Vec<Story> =
        groups.into_iter().map(|(causes, members)| Story::of(&causes, &members, whole)).collect();
    stories.sort_by_key(|story| (Reverse(story.ids.len()), Reverse(story.excess_ns)));
    stories
}

/// The causes that make an outlier's story; where many small ones share the excess, the largest of them.
fn signature(outlier: &OutlierReport) -> Vec<&str> {
    let whole = excess(outlier);
    let mut ordered: Vec<(u128, &str)> = outlier
        .causes
        .iter()
        .filter_map(|total| Some((u128::try_from(total.excess_ns).ok()?, total.cause.as_str())))
        .filter(|&(excess, _)| excess > 0)
        .collect();
    ordered.sort_by_key(|&(excess, cause)| (Reverse(excess), cause));
    let is_part = |place: usize, excess: u128| place == 0 || excess * SMALLEST_PART >= whole;
    let parts = ordered.iter().enumerate().filter(|&(place, &(excess, _))| is_part(place, excess));
    parts.take(MOST_CAUSES).map(|(_, &(_, cause))| cause).collect()
}

/// What took longer than typical, without what took less.
fn excess(outlier: &OutlierReport) -> u128 {
    outlier.causes.iter().filter_map(|total| u128::try_from(total.excess_ns).ok()).sum()
}

impl Story {
    fn of(causes: &[&str], members: &[&OutlierReport], whole: u128) -> Story {
        let excess: u128 = members.iter().map(|outlier| excess(outlier)).sum();
        Story {
            words: words(causes),
            causes: causes.iter().map(|&cause| cause.to_owned()).collect(),
            ids: members.iter().map(|outlier| outlier.id).collect(),
            excess_ns: u64::try_from(excess).unwrap_or(u64::MAX),
            share: share(excess, whole),
            shortest_ns: members.iter().map(|outlier| outlier.duration_ns).min().unwrap_or(0),
            longest_ns: members.iter().map(|outlier| outlier.duration_ns).max().unwrap_or(0),
        }
    }
}

fn words(causes: &[&str]) -> String {
    let said: Vec<String> = causes.iter().map(|cause| phrase(cause)).collect();
    match said.split_first() {
        None => "took no longer than typical".to_owned(),
        Some((first, [])) => first.clone(),
        Some((first, others)) => format!("{first}, and {}", others.join(", and ")),
    }
}

/// What a cause means for the interval; `{}` is the rest of its name.
const PHRASES: [(&str, &str); 37] = [
    ("user.extra-work", "did more work"),
    ("user.slower.frequency", "ran at a lower frequency"),
    ("user.slower.front-end", "stalled in the front end"),
    ("user.slower", "ran the same code slower"),
    ("user.spin", "spun for another thread"),
    ("user.expected", "ran its own code"),
    ("kernel.syscall.unknown", "was in a system call"),
    ("kernel.syscall.", "was in the system call {}"),
    ("kernel.page-fault.minor", "touched new pages"),
    ("kernel.page-fault.major", "waited for pages to be read"),
    ("kernel.page-fault", "had page faults"),
    ("kernel.irq.", "was interrupted by device {}"),
    ("kernel.timer", "was interrupted by the timer"),
    ("kernel.ipi.", "was interrupted by another CPU ({})"),
    ("kernel.softirq.", "was interrupted by softirq {}"),
    ("kernel.nmi", "was interrupted by NMIs"),
    ("kernel.schedule", "switched threads"),
    ("kernel.spin", "spun in the kernel for a lock"),
    ("kernel.thread.", "was kernel thread {} at work"),
    ("kernel.", "was in the kernel"),
    ("offcpu.preempted", "was preempted"),
    ("offcpu.runnable", "queued for a CPU"),
    ("offcpu.lock", "waited for a lock or an event"),
    ("offcpu.socket", "waited for a socket"),
    ("offcpu.block-io", "waited for a block device"),
    ("offcpu.sleep", "slept"),
    ("offcpu.poll", "waited in poll"),
    ("offcpu.", "waited for something the records do not name"),
    ("power.c-state-exit.", "woke a CPU from {}"),
    ("power.frequency-switch", "stalled for a frequency switch"),
    ("runtime.gc.", "paused for the {} GC"),
    ("runtime.idle.", "had nothing to run ({} scheduler)"),
    ("queue.behind", "queued behind another interval"),
    ("queue.runtime", "was ready and not polled"),
    ("hardware.gap", "stalled: no instruction retired (SMI? hypervisor?)"),
    ("trace.", "was not traced"),
    ("", "passed unexplained"),
];

/// What happened in a cause's time, in words that follow "it".
pub(crate) fn phrase(cause: &str) -> String {
    let found = PHRASES.iter().find_map(|(prefix, phrase)| Some((cause.strip_prefix(prefix)?, phrase)));
    found.map_or_else(|| cause.to_owned(), |(rest, phrase)| phrase.replace("{}", rest))
}
