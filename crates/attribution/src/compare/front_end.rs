//! Whether an outlier's user code is slower because instructions did not arrive in time: by the best evidence.

use model::{Cause, Evidence, Slower};

use super::budget::Budget;
use super::profile::{Baselines, Profile, SMALLEST, Typical, Use};
use super::share::share;
use crate::examine::examined::Examined;
use crate::samples::front_end::samples::FrontEndSample;
use crate::samples::front_end::slots::Slots;
use crate::walk::user_code::{ByAddress, NodeKey};

/// What is known about an interval's front end beside its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrontEnd {
    /// Top-down counters show how many ticks the front end cost beyond the typical value, and by how many the
    /// interval took longer.
    Counted { lost: u64, longer: u64 },
    /// Samples show by how much later than typical their instructions retired.
    Stalled,
    /// Samples show that it starved, more often than in any baseline.
    Starved,
    /// The code exceeds the core's caches.
    Outgrown,
    /// Nothing.
    NotKnown,
}

/// This many samples of front-end events above twice the most of a baseline are no accident.
const TELLING_SAMPLES: u64 = 4;

/// A segment names this many samples: those of the latest instructions.
const SHOWN_SAMPLES: usize = 8;

impl FrontEnd {
    /// For `outlier`, whose user code used `own` in total.
    pub(super) fn of(outlier: &Examined, own: &Use, baselines: &Baselines) -> FrontEnd {
        if let Some(counted) = counted(outlier, own, baselines) {
            return counted;
        }
        let samples = &outlier.front_end.samples;
        let most = baselines.most_front_end_samples;
        let are_telling = samples.count >= TELLING_SAMPLES.saturating_add(most.saturating_mul(2));
        let stalled = own.stalled.saturating_sub(baselines.whole.mean.stalled);
        if stalled >= SMALLEST.0 && (are_telling || samples.are_all()) {
            return FrontEnd::Stalled;
        }
        // Where samples give the amount, their number adds nothing.
        if are_telling && samples.cycles().is_none() {
            return FrontEnd::Starved;
        }
        let more = outlier.caches.is_some_and(|caches| {
            let uops = outlier.code.distinct_instructions();
            outlier.code.footprint.lines() > caches.l1i_lines
                || caches.uop_cache.is_some_and(|most| uops > most)
        });
        if more { FrontEnd::Outgrown } else { FrontEnd::NotKnown }
    }

    /// Whether records show that `cause` made code slower.
    pub(super) fn measures(self, cause: &Cause) -> bool {
        match (self, cause) {
            (FrontEnd::Counted { .. }, Cause::UserSlower(Slower::FrontEnd | Slower::Other)) => true,
            (FrontEnd::Stalled | FrontEnd::Starved, cause) => *cause == Cause::UserSlower(Slower::FrontEnd),
            _ => false,
        }
    }

    /// Splits the unexplained excess of each node, where records show how much of it was the front end's.
    pub(super) fn split(
        self,
        budgets: &mut ByAddress<NodeKey, Budget>,
        own: &Profile,
        typical: &impl Fn(&NodeKey) -> Option<Typical>,
    ) {
        for (node, budget) in budgets {
            let owed = match self {
                FrontEnd::Counted { lost, longer } => share(budget.slower_other, lost, longer),
                FrontEnd::Stalled => {
                    let usual = typical(node).map_or(0, |typical| typical.mean.stalled);
                    own.get(node).map_or(0, |used| used.stalled.saturating_sub(usual))
                }
                FrontEnd::Starved | FrontEnd::Outgrown | FrontEnd::NotKnown => return,
            };
            let front_end = owed.min(budget.slower_other);
            budget.slower_front_end += front_end;
            budget.slower_other -= front_end;
        }
    }

    /// The records that show it.
    pub(super) fn evidence(self, outlier: &Examined) -> Vec<Evidence> {
        match self {
            FrontEnd::Counted { .. } => {
                outlier.front_end.slots.as_ref().map_or_else(Vec::new, evidence_of_reads)
            }
            FrontEnd::Stalled | FrontEnd::Starved => {
                let mut latest: Vec<&FrontEndSample> = outlier.front_end.samples.told.iter().collect();
                latest.sort_by_key(|sample| std::cmp::Reverse(sample.cycles));
                latest.into_iter().take(SHOWN_SAMPLES).map(evidence_of_sample).collect()
            }
            FrontEnd::Outgrown | FrontEnd::NotKnown => Vec::new(),
        }
    }
}

/// By top-down counters, where those of baselines are known, too: the share of slots that the front end lost counts
/// as that share of the time.
fn counted(outlier: &Examined, own: &Use, baselines: &Baselines) -> Option<FrontEnd> {
    let slots = outlier.front_end.slots.as_ref()?;
    let typical = baselines.slots.filter(|typical| typical.all > 0)?;
    let lost = share(own.ticks, slots.used.front_end, slots.used.all);
    let usual = share(baselines.whole.mean.ticks, typical.front_end, typical.all);
    let longer = own.ticks.saturating_sub(baselines.whole.mean.ticks);
    Some(FrontEnd::Counted { lost: lost.saturating_sub(usual), longer })
}

/// The content of the front end's records, beside the typical value; `None` where there are none.
pub(super) fn told(outlier: &Examined, baselines: &Baselines) -> Option<String> {
    let records = &outlier.front_end;
    let counted = records.slots.as_ref().map(|slots| {
        let typical = match (baselines.slots, baselines.with_slots) {
            (None, _) => "unknown for typical intervals".to_owned(),
            (Some(used), count) => {
                let shares = Slots { used, ..slots.clone() }.shares();
                format!("typical {shares} in {count} interval{}", if count == 1 { "" } else { "s" })
            }
        };
        format!("top-down counters: {}, {}; {typical}", slots.shares(), slots.coverage())
    });
    let sampled = records.samples.story().map(|story| {
        let most = baselines.most_front_end_samples;
        let usual = records
            .samples
            .cycles()
            .map_or_else(String::new, |_| format!(", about {} cycles", baselines.stalled_cycles));
        format!("{story}; typical up to {most}{usual}")
    });
    let told: Vec<String> = counted.into_iter().chain(sampled).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn evidence_of_reads(slots: &Slots) -> Vec<Evidence> {
    let [first, last] = slots.records;
    [("first", first), ("last", last)]
        .map(|(which, (record, cpu))| {
            Evidence::record(record, cpu, format!("{which} read of the top-down counters"))
        })
        .into()
}

fn evidence_of_sample(sample: &FrontEndSample) -> Evidence {
    let at = sample.ip.map_or_else(String::new, |ip| format!(" at {ip:#x}"));
    let late = sample.cycles.map_or_else(String::new, |cycles| format!(": retire latency {cycles} cycles"));
    Evidence::record(sample.record, sample.cpu, format!("{}{at}{late}", sample.event))
}

#[cfg(test)]
mod tests;
