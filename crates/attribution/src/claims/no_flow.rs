//! Time on a CPU in a recording without a trace: what samples and page faults say of it.
//!
//! The records of switches measure that the thread was on its CPU; the functions are inferred, for a sample stands for the time
//! around it. Samples and faults within what another claim explains, a system call, are that claim's and not counted here; the
//! sample that a timer takes lies in the timer's interrupt, which explains nothing of what it interrupted.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Cause, Certainty, Evidence, SampledFunction, Tsc, TscRange};

use crate::claims::claim::Claim;
use crate::claims::precedence::Rank;
use crate::inputs::functions::Functions;
use crate::inputs::scene::Sampled;
use crate::records::event::{EventKind, SidebandEvent};
use crate::records::sampled::SampledAddress;
use crate::records::sideband::Sideband;
use crate::threads::follow::FollowedStay;
use crate::threads::stays::Stay;

/// Functions that are named in words, and in all: those with the most samples.
const NAMED: usize = 3;
const MOST: usize = 16;
/// Samples named as evidence.
const SHOWN: usize = 3;

/// The lowest claims: of each of the stays on a CPU, below `claims`, which other sources made.
pub(crate) fn claims_without_flow(
    followed: &[FollowedStay],
    claims: &[Claim],
    sideband: &Sideband,
    samples: &Sampled<'_>,
    functions: &dyn Functions,
) -> Vec<Claim> {
    let explained = Explained {
        all: joined(claims.iter()),
        without_timers: joined(claims.iter().filter(|claim| claim.cause != Cause::Timer)),
    };
    followed
        .iter()
        .map(|followed| {
            let stay = &followed.stay;
            let own = |sample: &SampledAddress| {
                stay.thread.is_some_and(|thread| thread.tid == sample.thread.tid)
                    && stay.range.contains(sample.time)
                    && !has(explained.of(sample), sample.time)
            };
            let samples: Vec<SampledAddress> = samples(stay.range).into_iter().filter(own).collect();
            claim(stay, page_faults(stay, sideband, &explained), &samples, functions)
        })
        .collect()
}

fn claim(stay: &Stay, faults: usize, samples: &[SampledAddress], functions: &dyn Functions) -> Claim {
    let mut claim = Claim::new(stay.range, Rank::Uncovered, Cause::TraceFiltered, Certainty::Measured);
    claim.cpu = stay.place.cpu();
    claim.occurrence = stay.range.start.0;
    claim.say("on its CPU, no flow was recorded");
    claim.say(&match faults {
        0 => String::new(),
        1 => "a page fault".to_owned(),
        count => format!("{count} page faults"),
    });
    let ran = functions_sampled(samples, functions);
    claim.say(&said(&ran, samples.len()));
    claim.story.sampled = ran;
    let evidence = samples.iter().take(SHOWN).map(|sample| {
        let text = format!("sampled in {}", name(sample, functions));
        Evidence::record(sample.offset, sample.cpu, text)
    });
    claim.evidence.extend(evidence);
    claim
}

/// How many page faults the thread of `stay` had in it, outside of what is explained.
fn page_faults(stay: &Stay, sideband: &Sideband, explained: &Explained) -> usize {
    let tid = stay.thread.map(|thread| thread.tid);
    let own = |event: &&SidebandEvent| {
        matches!(event.kind, EventKind::PageFault { .. })
            && event.thread.map(|thread| thread.tid) == tid
            && !has(&explained.all, event.time)
    };
    sideband.within(stay.range).iter().filter(own).count()
}

/// Functions by their samples, those with the most first.
fn functions_sampled(samples: &[SampledAddress], functions: &dyn Functions) -> Vec<SampledFunction> {
    let mut counts: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for sample in samples {
        *counts.entry(name(sample, functions)).or_default() += 1;
    }
    let mut counts: Vec<(Arc<str>, u64)> = counts.into_iter().collect();
    counts.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.cmp(b)));
    let counts = counts.into_iter().take(MOST);
    counts.map(|(name, samples)| SampledFunction { function: name.to_string(), samples }).collect()
}

/// `inferred by 36 samples: clear_page() 30, main() 6`.
fn said(ran: &[SampledFunction], samples: usize) -> String {
    let functions: Vec<String> =
        ran.iter().take(NAMED).map(|of| format!("{} {}", of.function, of.samples)).collect();
    match (samples, ran.first()) {
        (1, Some(of)) => format!("inferred by 1 sample: {}", of.function),
        (total, Some(_)) => format!("inferred by {total} samples: {}", functions.join(", ")),
        (_, None) => String::new(),
    }
}

fn name(sample: &SampledAddress, functions: &dyn Functions) -> Arc<str> {
    match functions.function_at(sample.thread.pid, sample.address, sample.time) {
        Some(function) => format!("{}()", function.name).into(),
        None => "unknown code".into(),
    }
}

/// The time that claims explain: disjoint ranges in order.
struct Explained {
    all: Vec<TscRange>,
    /// The same without interrupts of timers.
    without_timers: Vec<TscRange>,
}

impl Explained {
    /// The time in which `sample` would be another claim's.
    fn of(&self, sample: &SampledAddress) -> &[TscRange] {
        if sample.by_timer { &self.without_timers } else { &self.all }
    }
}

/// The time of `claims`, disjoint and in order.
fn joined<'c>(claims: impl Iterator<Item = &'c Claim>) -> Vec<TscRange> {
    let mut ranges: Vec<TscRange> = claims.map(Claim::range).collect();
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<TscRange> = Vec::new();
    for range in ranges {
        match joined.last_mut().filter(|last| range.start <= last.stop) {
            Some(last) => last.stop = last.stop.max(range.stop),
            None => joined.push(range),
        }
    }
    joined
}

fn has(ranges: &[TscRange], time: Tsc) -> bool {
    let next = ranges.partition_point(|range| range.stop <= time);
    ranges.get(next).is_some_and(|range| range.contains(time))
}

#[cfg(test)]
mod tests;
