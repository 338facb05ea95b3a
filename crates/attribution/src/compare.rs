//! Compares an outlier's user code with its baselines', node by node of the call tree.
//!
//! For a node on which the baselines spend t ticks on average and the outlier o: as long as o lies within what the
//! baselines took, all of it is `user.expected`. Beyond, the first t ticks are expected and the rest is split: the
//! cost of blocks that ran more often than in any baseline is `user.extra-work`, the remainder is `user.slower`. Such
//! boundaries are apportioned, so they are inferred; a call that no baseline makes is extra work as a whole.

mod budget;
pub(crate) mod call_tree;
mod callers;
mod front_end;
mod inclusive;
mod pace;
mod profile;
mod serving;
mod share;
mod spread;
mod story;

use std::cmp::Reverse;
use std::collections::HashSet;

use model::{Attribution, Cause, Certainty, Evidence, PartitionError, Slower, Ticks, TscRange};

use crate::claims::partition::Piece;
use crate::examine::examined::Examined;
use crate::examine::segments::{Segments, Verdict, plain};
use crate::examine::spin_budget::SpinBudget;
use crate::examine::stories::with_places;
use crate::inputs::functions::Functions;
use crate::samples::memory::{MemoryAccess, Remote, tell_remote};
use crate::samples::requested_frequency::{RequestedFrequency, requested_within};
use crate::walk::user_code::{ByAddress, NodeKey};
use budget::{Budget, Extra, budgets, extras, mark_longer_strings};
use front_end::FrontEnd;
use inclusive::{Whole, inclusive};
use profile::{Baselines, Profile, SMALLEST, Typical, Use, profile, whole, with_jitter};
use story::Story;

/// The attribution of a baseline: the time of each cause, without the stories that headlines are made of.
///
/// # Errors
/// [`PartitionError`], which is a bug: the pieces are a partition by construction.
pub fn attribute_baseline(examined: &Examined) -> Result<Attribution, PartitionError> {
    Attribution::new(examined.interval.clone(), plain(examined))
}

/// The attribution of an interval without baselines: user code is not compared.
///
/// # Errors
/// As [`attribute_baseline`].
pub fn attribute_alone(examined: &Examined) -> Result<Attribution, PartitionError> {
    Attribution::new(examined.interval.clone(), with_places(plain(examined), examined))
}

/// The attribution of an outlier against its baselines; `functions` gives the lines of extra work.
///
/// # Errors
/// [`PartitionError`], which is a bug: the pieces are a partition by construction.
pub fn attribute(
    outlier: &Examined,
    baselines: &[&Examined],
    functions: &dyn Functions,
) -> Result<Attribution, PartitionError> {
    if baselines.is_empty() {
        return attribute_alone(outlier);
    }
    let mut spins = SpinBudget::of(outlier, baselines);
    let mut comparison = Comparison::new(outlier, baselines, &mut spins);
    let mut segments = Segments::comparing(spins);
    for piece in &outlier.pieces {
        // A collector's time is its own, whatever the baselines collected.
        let of_program = outlier.run_of(piece).filter(|run| outlier.code.collector(run.node).is_none());
        let Some(run) = of_program else {
            segments.add(outlier, piece, piece.range, None);
            continue;
        };
        for (range, cause) in comparison.deal_out(run.node, piece.range) {
            let verdict = comparison.verdict(run.node, cause, functions);
            segments.add(outlier, piece, range, verdict);
        }
    }
    let mut segments = with_places(segments.finish(outlier), outlier);
    spread::name_places(&mut segments, outlier);
    callers::name_unusual(&mut segments, outlier, baselines);
    serving::name_unusual(&mut segments, outlier, baselines);
    Attribution::new(outlier.interval.clone(), segments)
}

/// What the edges of an interval cut off is as long as this part of the baselines at most.
const SHARE_AT_EDGES: u64 = 20;

/// What has this part of its longest time on average is in few of the baselines.
const RARE: u64 = 4;

/// An outlier beside its baselines.
struct Comparison<'a> {
    outlier: &'a Examined,
    own: Profile,
    baselines: Baselines,
    twins: ByAddress<NodeKey, Typical>,
    extras: ByAddress<NodeKey, Extra>,
    budgets: ByAddress<NodeKey, Budget>,
    front_end: FrontEnd,
    /// Of the sampled accesses of all baselines.
    typical_memory: Remote,
    inclusive: ByAddress<NodeKey, Whole>,
    /// The explanations so far, by node and cause: they are the same for all pieces.
    verdicts: ByAddress<NodeKey, Vec<Verdict>>,
    /// The words for extra work so far, by the node that they are about.
    extra_work: ByAddress<NodeKey, String>,
}

impl<'a> Comparison<'a> {
    /// Time in slow spin-wait loops counts as far as the whole interval is slower.
    fn new(outlier: &'a Examined, baselines: &[&Examined], spins: &mut SpinBudget) -> Comparison<'a> {
        let typical_memory = Remote::of(baselines.iter().flat_map(|baseline| &baseline.memory));
        let (own, baselines) = (profile(outlier), Baselines::of(baselines));
        let all = whole(&own).ticks + spins.total() + spins.slow();
        let is_usual = all <= with_jitter(&baselines.whole);
        spins.keep_slow(if is_usual { 0 } else { all - baselines.whole.mean.ticks });
        let mut extras = extras(&outlier.code, &baselines);
        mark_longer_strings(&mut extras, outlier, &own, &baselines);
        let twins = twins(outlier, &own, &baselines);
        let front_end = FrontEnd::of(outlier, &Use { ticks: all, ..whole(&own) }, &baselines);
        let budgets = budgets(&own, &baselines, &extras, &twins, (front_end, spins.total()));
        let inclusive = inclusive(outlier, &own);
        Comparison {
            outlier,
            own,
            baselines,
            twins,
            extras,
            budgets,
            front_end,
            typical_memory,
            inclusive,
            verdicts: ByAddress::default(),
            extra_work: ByAddress::default(),
        }
    }

    /// Splits `range` at the boundaries of the node's budget and takes what it used from the budget.
    fn deal_out(&mut self, node: NodeKey, range: TscRange) -> Vec<(TscRange, Cause)> {
        self.budgets
            .get_mut(&node)
            .map_or_else(|| vec![(range, Cause::UserExpected)], |budget| deal_out(range, budget))
    }

    /// The explanation of a stretch of `node` with `cause`; none for expected time.
    fn verdict(&mut self, node: NodeKey, cause: Cause, functions: &dyn Functions) -> Option<Verdict> {
        if cause == Cause::UserExpected {
            return None;
        }
        let mut known = self.verdicts.get(&node).into_iter().flatten();
        if let Some(verdict) = known.find(|verdict| verdict.cause == cause) {
            return Some(verdict.clone());
        }
        let verdict = self.new_verdict(node, cause, functions);
        self.verdicts.entry(node).or_default().push(verdict.clone());
        Some(verdict)
    }

    fn new_verdict(&mut self, node: NodeKey, cause: Cause, functions: &dyn Functions) -> Verdict {
        let is_compared = self.baselines.nodes.contains_key(&node) || self.twins.contains_key(&node);
        let is_measured = self.front_end.measures(&cause);
        let certainty = match (is_compared, is_measured) {
            (_, true) => Certainty::Measured,
            (false, false) => Certainty::Decoded,
            (true, false) => Certainty::Inferred,
        };
        let story = self.story(functions);
        let by_governor = cause == Cause::UserSlower(Slower::Frequency) && story.is_told_by_governor(node);
        let asked = if by_governor { self.slowest_asked(node) } else { None };
        let mut evidence: Vec<Evidence> = asked.map(evidence_of_asked).into_iter().collect();
        if is_measured {
            evidence.extend(self.front_end.evidence(self.outlier));
        }
        let mut detail = self.tell(node, &cause, functions);
        if cause == Cause::UserSlower(Slower::Other)
            && let Some((told, records)) = tell_remote(&self.accesses_of(node), self.typical_memory)
        {
            detail = if detail.is_empty() { told } else { format!("{detail}; {told}") };
            evidence.extend(records);
        }
        Verdict { cause, detail, certainty, evidence }
    }

    fn story<'s>(&'s self, functions: &'s dyn Functions) -> Story<'s> {
        Story {
            outlier: self.outlier,
            own: &self.own,
            baselines: &self.baselines,
            twins: &self.twins,
            extras: &self.extras,
            front_end: self.front_end,
            inclusive: &self.inclusive,
            functions,
        }
    }

    /// Explains `node`'s time with `cause`; thousands of nodes may share one explanation.
    fn tell(&mut self, node: NodeKey, cause: &Cause, functions: &dyn Functions) -> String {
        let story = self.story(functions);
        if *cause != Cause::UserExtraWork {
            return story.tell(node, cause);
        }
        let subject = story.subject(node);
        if let Some(words) = self.extra_work.get(&subject) {
            return words.clone();
        }
        let words = story.tell(subject, cause);
        self.extra_work.insert(subject, words.clone());
        words
    }

    /// The sampled accesses of the time in which `node` ran.
    fn accesses_of(&self, node: NodeKey) -> Vec<&'a MemoryAccess> {
        let (outlier, memory) = (self.outlier, &self.outlier.memory);
        let of_node =
            outlier.pieces.iter().filter(|piece| outlier.run_of(piece).is_some_and(|run| run.node == node));
        let within = |piece: &'a Piece| {
            let from = memory.partition_point(|access| access.time < piece.range.start);
            memory[from..].iter().take_while(|access| access.time < piece.range.stop)
        };
        of_node.flat_map(within).collect()
    }

    /// The lowest frequency requested where `node` ran without a known ratio; the first of several.
    fn slowest_asked(&self, node: NodeKey) -> Option<&RequestedFrequency> {
        let of_node =
            |piece: &&Piece| self.outlier.run_of(piece).is_some_and(|run| run.node == node && run.ratio == 0);
        let pieces = self.outlier.pieces.iter().filter(of_node);
        let asked = pieces.flat_map(|piece| requested_within(&self.outlier.asked, piece.range));
        asked.map(|(_, asked)| asked).min_by_key(|asked| asked.khz)
    }
}

fn evidence_of_asked(asked: &RequestedFrequency) -> Evidence {
    let said = format!("cpu_frequency: {} kHz requested", asked.khz);
    Evidence::record(asked.record, Some(asked.cpu), said)
}

/// For nodes that no baseline has, what the baselines spend on the same function in nodes that the outlier lacks: the
/// same work, called from elsewhere, once. New calls that took too little to matter, with all that they called, are their own twins; so is
/// what the edges of the interval cut off, where it is short: the same code may lie on either side of a mark.
fn twins(outlier: &Examined, own: &Profile, baselines: &Baselines) -> ByAddress<NodeKey, Typical> {
    let mut twins = ByAddress::default();
    let cut_off = cut_off(outlier, own);
    let at_edges = baselines.whole.mean.ticks / SHARE_AT_EDGES;
    let new_calls = new_calls(outlier, own, baselines);
    let mut new: Vec<(&NodeKey, &Use)> =
        own.iter().filter(|(node, _)| !baselines.nodes.contains_key(node)).collect();
    new.sort_unstable_by_key(|&(node, used)| (Reverse(used.ticks), *node));
    let mut taken: HashSet<NodeKey> = HashSet::new();
    for (node, used) in new {
        let Some(function) = outlier.code.nodes.get(node).map(|node| &node.function) else { continue };
        let elsewhere = baselines.names.get(function).into_iter().flatten();
        let lacked = elsewhere.filter(|other| !own.contains_key(other) && !taken.contains(other));
        let lacked = lacked.filter_map(|other| Some((*other, *baselines.nodes.get(other)?)));
        let is_small = new_calls.get(node).is_none_or(|&whole| whole <= SMALLEST.0);
        if let Some((other, twin)) = lacked.max_by_key(|(other, typical)| (typical.mean.ticks, *other)) {
            taken.insert(other);
            twins.insert(*node, as_usual(twin));
        } else if is_small || (used.ticks <= at_edges && cut_off.contains(node)) {
            let itself = Typical { mean: *used, most_ticks: used.ticks, most_calls: used.calls };
            twins.insert(*node, itself);
        }
    }
    twins
}

/// What few baselines do elsewhere is not usual: beyond its mean over all of them it is new here.
fn as_usual(twin: Typical) -> Typical {
    let is_rare = twin.mean.ticks < twin.most_ticks / RARE;
    if is_rare { Typical { most_ticks: twin.mean.ticks, ..twin } } else { twin }
}

/// For each node that no baseline has the ticks of the outermost such node that called it, with all that this called. A parser has a
/// hundred functions that are short each.
fn new_calls(outlier: &Examined, own: &Profile, baselines: &Baselines) -> ByAddress<NodeKey, u64> {
    let is_new = |node: &NodeKey| !baselines.nodes.contains_key(node);
    let outermost = |node: NodeKey| {
        let callers = outlier.code.lineage(node).map(|(key, _)| key);
        callers.take_while(is_new).last().unwrap_or(node)
    };
    let tops: Vec<(NodeKey, NodeKey)> =
        own.keys().filter(|node| is_new(node)).map(|&node| (node, outermost(node))).collect();
    let mut whole: ByAddress<NodeKey, u64> = ByAddress::default();
    for (node, top) in &tops {
        *whole.entry(*top).or_default() += own.get(node).map_or(0, |used| used.ticks);
    }
    tops.into_iter().map(|(node, top)| (node, whole.get(&top).copied().unwrap_or_default())).collect()
}

/// The nodes in which the interval began, without a call of them, and in which it ended, with all their time.
fn cut_off(outlier: &Examined, own: &Profile) -> Vec<NodeKey> {
    let mut runs =
        outlier.pieces.iter().filter_map(|piece| Some((outlier.run_of(piece)?.node, piece.range.ticks().0)));
    let first = runs.next();
    let last = runs.next_back().or(first);
    let uses = |node: &NodeKey| own.get(node).copied().unwrap_or_default();
    let began = first.filter(|(node, _)| uses(node).calls == 0);
    let ended = last.filter(|&(node, ticks)| uses(&node).ticks == ticks && uses(&node).calls <= 1);
    began.into_iter().chain(ended).map(|(node, _)| node).collect()
}

fn deal_out(range: TscRange, budget: &mut Budget) -> Vec<(TscRange, Cause)> {
    let mut position = range.start;
    let mut parts = Vec::new();
    for (left, cause) in budget.parts() {
        let part = TscRange::new(position, range.stop.min(position + Ticks(*left)));
        *left -= part.ticks().0;
        position = part.stop;
        if !part.is_empty() {
            parts.push((part, cause));
        }
    }
    // The budgets are made of the same pieces, so nothing is left; any rest would be expected.
    let rest = TscRange::new(position, range.stop);
    if !rest.is_empty() {
        parts.push((rest, Cause::UserExpected));
    }
    parts
}

#[cfg(test)]
mod tests;
