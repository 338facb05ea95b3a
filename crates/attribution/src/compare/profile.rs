//! How much an interval used each node of its calls, and what its baselines typically use.

use std::collections::HashMap;
use std::sync::Arc;

use model::Ticks;

use super::pace::{Pace, Paces};
use super::share::share;
use crate::examine::examined::Examined;
use crate::samples::front_end::FrontEndRecords;
use crate::samples::front_end::samples::run_at;
use crate::samples::front_end::slots::Used;
use crate::samples::requested_frequency::requested_within;
use crate::walk::activity::Run;
use crate::walk::user_code::{BlockUse, ByAddress, NodeKey};

/// What one node, or the whole interval, used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) ticks: u64,
    pub(super) instructions: u64,
    pub(super) calls: u64,
    /// Whether some of these it made itself: several in one run.
    pub(super) recursive: bool,
    /// Ticks between time packets where a code line ran that had not run before in the interval.
    pub(super) cold_ticks: u64,
    /// Ticks by which instructions retired late after a stall of the front end, where samples show it.
    pub(super) stalled: u64,
    /// The core:bus ratio, where CBR packets reported it.
    pub(super) ratio: Pace,
    /// The requested frequency, in kHz, where no CBR packet reported the ratio.
    pub(super) asked: Pace,
}

impl Use {
    fn add(&mut self, other: &Use) {
        self.ticks += other.ticks;
        self.instructions += other.instructions;
        self.calls += other.calls;
        self.recursive |= other.recursive;
        self.cold_ticks += other.cold_ticks;
        self.stalled = self.stalled.saturating_add(other.stalled);
        self.ratio.add_all(&other.ratio);
        self.asked.add_all(&other.asked);
    }

    /// The ticks lost by a slower core against `usual`, in the time in which both are known in the same unit.
    pub(super) fn lost_to_frequency(&self, usual: &Use) -> u64 {
        self.ratio.lost_against(&usual.ratio) + self.asked.lost_against(&usual.asked)
    }

    /// Ticks in which all code had run before.
    pub(super) fn warm_ticks(&self) -> u64 {
        self.ticks.saturating_sub(self.cold_ticks)
    }
}

/// What an interval used, by node.
pub(super) type Profile = ByAddress<NodeKey, Use>;

/// The profile of an interval's own user code, without collectors.
pub(super) fn profile(examined: &Examined) -> Profile {
    let mut profile = Profile::default();
    let of_program = |run: &&Run| examined.code.collector(run.node).is_none();
    for piece in &examined.pieces {
        let Some(run) = examined.run_of(piece).filter(of_program) else { continue };
        let ticks = piece.range.ticks().0;
        let used = profile.entry(run.node).or_default();
        used.ticks += ticks;
        used.cold_ticks += share(ticks, run.cold.0, run.range.ticks().0);
        used.ratio.add(ticks, run.ratio);
        if run.ratio == 0 {
            // It may have changed during the run: each part of the run counts with what was in force in it.
            for (ticks, asked) in requested_within(&examined.asked, piece.range) {
                used.asked.add(ticks.0, asked.khz);
            }
        }
    }
    let within = |run: &&Run| examined.interval.range.contains(run.range.start);
    for run in examined.runs.iter().filter(within).filter(of_program) {
        let used = profile.entry(run.node).or_default();
        used.instructions += run.instructions;
        used.calls += run.calls;
        used.recursive |= run.calls > 1;
    }
    for sample in &examined.front_end.samples.told {
        if let Some(run) = run_at(&examined.runs, sample.at).filter(of_program) {
            let used = profile.entry(run.node).or_default();
            used.stalled = used.stalled.saturating_add(sample.stall.0);
        }
    }
    profile
}

/// What baselines use of one node, or of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Typical {
    /// The mean, but for the paces: those are the medians ([`Baselines::keep_usual`]). A baseline that does not use the node counts as zero.
    pub(super) mean: Use,
    /// The most that one of them took.
    pub(super) most_ticks: u64,
    /// The most calls in one of them.
    pub(super) most_calls: u64,
}

impl Typical {
    fn see(&mut self, used: &Use) {
        self.mean.add(used);
        self.most_ticks = self.most_ticks.max(used.ticks);
        self.most_calls = self.most_calls.max(used.calls);
    }

    fn divide(&mut self, count: u64) {
        let mean = &mut self.mean;
        let Use { ticks, instructions, calls, cold_ticks, stalled, recursive: _, ratio: _, asked: _ } = mean;
        for value in [ticks, instructions, calls, cold_ticks, stalled] {
            *value /= count;
        }
    }
}

/// What the baselines use.
#[derive(Clone, Debug, Default)]
pub(super) struct Baselines {
    /// By node.
    pub(super) nodes: ByAddress<NodeKey, Typical>,
    /// The nodes of a function.
    pub(super) names: HashMap<Arc<str>, Vec<NodeKey>>,
    /// All user code together, with its spin-wait loops.
    pub(super) whole: Typical,
    /// The highest number of times that one of them ran a block.
    pub(super) blocks: ByAddress<(NodeKey, u64), BlockUse>,
    /// The most 64-byte lines that one of them touched.
    pub(super) most_lines: u64,
    /// The most samples of front-end events that one of them took.
    pub(super) most_front_end_samples: u64,
    /// The core cycles that the front end's samples of one of them represent, on average.
    pub(super) stalled_cycles: u64,
    /// How their slots were used, of all together, where top-down counters show it, and for how many baselines.
    pub(super) slots: Option<Used>,
    pub(super) with_slots: usize,
}

impl Baselines {
    /// Of at least one baseline.
    pub(super) fn of(baselines: &[&Examined]) -> Baselines {
        let mut all = Baselines::default();
        let (mut paces, mut whole_paces) = (ByAddress::<NodeKey, Paces>::default(), Paces::default());
        for baseline in baselines {
            let spun = baseline.spins().iter().map(|(_, ticks)| ticks).sum();
            let mut whole = Use { ticks: spun, ..Use::default() };
            for (node, used) in &profile(baseline) {
                all.nodes.entry(*node).or_insert_with(|| {
                    if let Some(known) = baseline.code.nodes.get(node) {
                        all.names.entry(known.function.clone()).or_default().push(*node);
                    }
                    Typical::default()
                });
                all.nodes.entry(*node).and_modify(|typical| typical.see(used));
                paces.entry(*node).or_default().see(used.ratio, used.asked);
                whole.add(used);
            }
            whole_paces.see(whole.ratio, whole.asked);
            all.whole.see(&whole);
            for (block, used) in &baseline.code.blocks {
                let most = all.blocks.entry(*block).or_default();
                *most = if used.executions > most.executions { *used } else { *most };
            }
            all.most_lines = all.most_lines.max(baseline.code.footprint.lines());
            all.see_front_end(&baseline.front_end);
        }
        let count = (baselines.len() as u64).max(1);
        all.stalled_cycles /= count;
        all.nodes.values_mut().for_each(|typical| typical.divide(count));
        all.whole.divide(count);
        all.keep_usual(whole_paces, paces, baselines.len());
        all
    }

    /// Of a node that has time in fewer than half of the `count` baselines, the pace of all their code says how fast the core
    /// usually is: its own may be that of one baseline on a slow core.
    fn keep_usual(&mut self, whole: Paces, nodes: ByAddress<NodeKey, Paces>, count: usize) {
        let usual = whole.medians(1, <(Pace, Pace)>::default());
        (self.whole.mean.ratio, self.whole.mean.asked) = usual;
        for (node, paces) in nodes {
            if let Some(Typical { mean, .. }) = self.nodes.get_mut(&node) {
                (mean.ratio, mean.asked) = paces.medians(count.div_ceil(2), usual);
            }
        }
    }

    fn see_front_end(&mut self, records: &FrontEndRecords) {
        self.most_front_end_samples = self.most_front_end_samples.max(records.samples.count);
        self.stalled_cycles = self.stalled_cycles.saturating_add(records.samples.estimate());
        if let Some(slots) = &records.slots {
            self.slots = Some(self.slots.map_or(slots.used, |all| all.and(&slots.used)));
            self.with_slots += 1;
        }
    }
}

/// All that `profile` holds.
pub(super) fn whole(profile: &Profile) -> Use {
    let mut whole = Use::default();
    for used in profile.values() {
        whole.add(used);
    }
    whole
}

/// Smaller differences are meaningless: a few hundred cycles are a few mispredicted branches and cache misses.
pub(super) const SMALLEST: Ticks = Ticks(300);

/// The longest that the same code occasionally takes without any reason visible in a trace: memory, the SMT sibling.
/// The baselines are a few of many, so an excess over their mean of up to three times the slowest one's excess is
/// normal, within 30 to 70 %. Intervals without an injected cause exceed these limits in one of 100 cases, in the
/// steadiest and the least steady of the stored captures.
pub(super) fn with_jitter(typical: &Typical) -> u64 {
    let mean = typical.mean.ticks;
    let seen = typical.most_ticks.saturating_sub(mean).saturating_mul(3);
    mean.saturating_add(seen.clamp(mean / 10 * 3, mean / 10 * 7).max(SMALLEST.0))
}

/// Whether one function is slow on its own, though all code together is within jitter: it took longer for the same work by more than jitter
/// may add to all code of the steadiest baselines, and than its own jitter, which has no ceiling here. Jitter hits now this function, now that one.
pub(super) fn stands_out(slower: u64, typical: &Typical, whole: &Typical) -> bool {
    let mean = typical.mean.ticks;
    let seen = typical.most_ticks.saturating_sub(mean).saturating_mul(3);
    let of_all = whole.mean.ticks / 10 * 3;
    slower > of_all.max(SMALLEST.0) && slower > seen.max(mean / 10 * 7)
}
