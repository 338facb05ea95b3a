//! Splits the time of each node of an outlier's calls: expected, extra work, or slower and why.

use model::{Cause, Slower};

use super::front_end::FrontEnd;
use super::profile::{Baselines, Profile, SMALLEST, Typical, Use, stands_out, whole, with_jitter};
use super::share::share;
use crate::examine::examined::Examined;
use crate::samples::front_end::samples::run_at;
use crate::walk::user_code::{ByAddress, NodeKey, UserCode};

/// How the ticks of one node are split, in the order in which they are assigned; the rest is slower for an unknown
/// reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) expected: u64,
    pub(super) extra: u64,
    pub(super) slower_frequency: u64,
    pub(super) slower_front_end: u64,
    pub(super) slower_other: u64,
}

impl Budget {
    /// Keeps `of` in `whole` of one part; the rest of it is expected.
    fn keep(&mut self, part: impl Fn(&mut Budget) -> &mut u64, of: u64, whole: u64) {
        let claimed = *part(self);
        *part(self) = share(claimed, of, whole);
        self.expected += claimed - *part(self);
    }

    /// The parts with their causes, in order.
    pub(super) fn parts(&mut self) -> [(&mut u64, Cause); 5] {
        [
            (&mut self.expected, Cause::UserExpected),
            (&mut self.extra, Cause::UserExtraWork),
            (&mut self.slower_frequency, Cause::UserSlower(Slower::Frequency)),
            (&mut self.slower_front_end, Cause::UserSlower(Slower::FrontEnd)),
            (&mut self.slower_other, Cause::UserSlower(Slower::Other)),
        ]
    }
}

/// The instructions a node ran beyond any baseline's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extra {
    pub(super) instructions: u64,
    /// The block that ran the most of them, and how often.
    pub(super) block: u64,
    pub(super) executions: u64,
    pub(super) typical_executions: u64,
    /// Whether it was called more often than any baseline does, and its time passed in single string instructions: how much these
    /// did, their number does not show.
    pub(super) longer_strings: bool,
}

/// The extra instructions by node, block by block: of code that the baselines also run, only the excess over the
/// most.
pub(super) fn extras(code: &UserCode, baselines: &Baselines) -> ByAddress<NodeKey, Extra> {
    let mut extras: ByAddress<NodeKey, Extra> = ByAddress::default();
    let mut largest: ByAddress<NodeKey, u64> = ByAddress::default();
    for (&(node, block), used) in &code.blocks {
        let most = baselines.blocks.get(&(node, block)).copied().unwrap_or_default();
        let more = used.instructions.saturating_sub(most.instructions);
        if more == 0 {
            continue;
        }
        let extra = extras.entry(node).or_default();
        extra.instructions += more;
        let known = largest.entry(node).or_default();
        // Equal ones: the first address, so that the same capture gives the same text.
        if more > *known || (more == *known && block < extra.block) {
            *known = more;
            extra.block = block;
            extra.executions = used.executions;
            extra.typical_executions = most.executions;
        }
    }
    extras
}

/// Marks the nodes of `outlier` that were called more often and had half of what they took beyond typical in string instructions.
pub(super) fn mark_longer_strings(
    extras: &mut ByAddress<NodeKey, Extra>,
    outlier: &Examined,
    own: &Profile,
    baselines: &Baselines,
) {
    let mut ticks: ByAddress<NodeKey, u64> = ByAddress::default();
    for string in outlier.strings.iter().filter(|string| !string.kernel) {
        if let Some(run) = run_at(&outlier.runs, string.range.start) {
            *ticks.entry(run.node).or_default() += string.range.ticks().0;
        }
    }
    for (node, ticks) in ticks {
        let (Some(used), Some(typical)) = (own.get(&node), baselines.nodes.get(&node)) else { continue };
        let excess = used.ticks.saturating_sub(typical.mean.ticks);
        if used.calls > typical.most_calls && typical.most_calls > 0 && ticks >= excess / 2 {
            extras.entry(node).or_default().longer_strings = true;
        }
    }
}

/// The split of every node. `twin` gives for a node that no baseline has the node that its time is compared with. The
/// whole has `spun` ticks more, those of spin-wait loops.
pub(super) fn budgets(
    own: &Profile,
    baselines: &Baselines,
    extras: &ByAddress<NodeKey, Extra>,
    twin: &ByAddress<NodeKey, Typical>,
    (front_end, spun): (FrontEnd, u64),
) -> ByAddress<NodeKey, Budget> {
    let typical = |node: &NodeKey| baselines.nodes.get(node).or_else(|| twin.get(node)).copied();
    let mut budgets: ByAddress<NodeKey, Budget> = own
        .iter()
        .map(|(node, used)| {
            let extra = extras.get(node).copied().unwrap_or_default();
            let mut budget = budget(used, typical(node).as_ref(), extra.instructions);
            if extra.longer_strings {
                budget.extra += std::mem::take(&mut budget.slower_other);
            }
            (*node, budget)
        })
        .collect();
    let all = Use { ticks: whole(own).ticks + spun, ..whole(own) };
    let cold_start = has_cold_start(&all, &baselines.whole.mean, front_end);
    for (node, budget) in &mut budgets {
        let owed = match (front_end, own.get(node), typical(node)) {
            (FrontEnd::Starved, ..) => budget.slower_other,
            // Records show the amount: it need not be inferred.
            (FrontEnd::Counted { .. } | FrontEnd::Stalled, ..) => 0,
            (_, Some(used), Some(typical)) if cold_start => {
                used.cold_ticks.saturating_sub(typical.mean.cold_ticks)
            }
            _ => 0,
        };
        budget.slower_front_end = budget.slower_other.min(owed);
        budget.slower_other -= budget.slower_front_end;
    }
    settle(&mut budgets, &all, baselines);
    front_end.split(&mut budgets, own, &typical);
    budgets
}

/// The split of one node that ran `extra` instructions more than the baselines.
pub(super) fn budget(own: &Use, typical: Option<&Typical>, extra: u64) -> Budget {
    let Some(typical) = typical else { return Budget { extra: own.ticks, ..Budget::default() } };
    let lost = own.lost_to_frequency(&typical.mean);
    if own.ticks <= typical.most_ticks {
        // Time lost to a slower core is not expected, even if one baseline ran on a slow core, too.
        let slower_frequency = if lost > own.ticks / 20 { lost } else { 0 };
        return Budget { expected: own.ticks - slower_frequency, slower_frequency, ..Budget::default() };
    }
    let expected = typical.mean.ticks.min(own.ticks);
    let excess = own.ticks - expected;
    // If one baseline ran as much in less time than this, it is still more than typical.
    let extra = extra.max(own.instructions.saturating_sub(typical.mean.instructions));
    // Items differ in size: up to 30 % more instructions are the same work.
    let other_work = extra > typical.mean.instructions / 10 * 3;
    let extra = if other_work { share(own.ticks, extra, own.instructions).min(excess) } else { 0 };
    // Of the extra work the slowness is extra, too. What a slower core costs is known by its ratio: items that are smaller than
    // typical lose it as well.
    let of_usual_code = share(lost, own.ticks - extra, own.ticks);
    let is_clear = of_usual_code > own.ticks / 20;
    let slower_frequency = if is_clear { of_usual_code } else { lost.min(excess - extra) };
    let expected = expected.min(own.ticks - extra - slower_frequency);
    let slower_other = own.ticks - extra - slower_frequency - expected;
    Budget { expected, extra, slower_frequency, slower_front_end: 0, slower_other }
}

/// Whether the interval is slow where it runs code for the first time, and not where it runs code again: then the
/// code had to be fetched. Where almost nothing runs twice, cold data would look the same, so the answer is no unless
/// the code exceeds the caches.
fn has_cold_start(own: &Use, typical: &Use, front_end: FrontEnd) -> bool {
    let cold = own.cold_ticks.saturating_sub(typical.cold_ticks);
    let warm = own.warm_ticks().saturating_sub(typical.warm_ticks());
    let comparable = typical.warm_ticks() >= typical.ticks / 4 && typical.warm_ticks() > SMALLEST.0;
    (comparable || front_end == FrontEnd::Outgrown) && cold >= SMALLEST.0 && cold / 4 >= warm
}

/// Takes back an excess of parts that the whole does not show: time moved between adjacent functions by a late time
/// packet, and slowness within jitter for the whole interval, but for functions that stand out. Calls that no baseline makes and what a
/// slower core explains stay.
fn settle(budgets: &mut ByAddress<NodeKey, Budget>, own: &Use, baselines: &Baselines) {
    let is_known = |node: &NodeKey| baselines.nodes.contains_key(node);
    let total = |part: &dyn Fn(&NodeKey, &Budget) -> u64| -> u64 {
        budgets.iter().map(|(node, budget)| part(node, budget)).sum()
    };
    let owed = total(&|node, budget| budget.slower_frequency + if is_known(node) { 0 } else { budget.extra });
    let extra = total(&|node, budget| if is_known(node) { budget.extra } else { 0 });
    let typical = baselines.whole;
    let net = own.ticks.saturating_sub(owed).saturating_sub(typical.mean.ticks);
    let real_extra = extra.min(net);
    let rest = own.ticks.saturating_sub(owed + real_extra);
    let usual = rest <= with_jitter(&typical);
    let slower_of = |budget: &Budget| budget.slower_front_end + budget.slower_other;
    let is_slow = |node: &NodeKey, budget: &Budget| {
        let known = baselines.nodes.get(node);
        !usual || known.is_some_and(|known| stands_out(slower_of(budget), known, &typical))
    };
    let slower = total(&|node, budget| if is_slow(node, budget) { slower_of(budget) } else { 0 });
    let real_slower = slower.min(net - real_extra);
    for (node, budget) in budgets {
        if is_known(node) {
            budget.keep(|budget| &mut budget.extra, real_extra, extra);
        }
        let (real_slower, slower) = if is_slow(node, budget) { (real_slower, slower) } else { (0, 1) };
        budget.keep(|budget| &mut budget.slower_front_end, real_slower, slower);
        budget.keep(|budget| &mut budget.slower_other, real_slower, slower);
    }
}

#[cfg(test)]
mod tests;
