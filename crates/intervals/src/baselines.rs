//! Typical intervals to compare an outlier with: same label, spread over the durations of the non-outliers.
//!
//! Input: intervals and the outliers among them. Output: indices, the most typical first; the same for the same input.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use model::{Interval, ThreadId};

use crate::population::Population;

/// Up to `count` typical intervals for the outlier with index `outlier`, the most typical first.
///
/// Candidates are the members of the population with the outlier's label that `is_outlier` does not name (a verdict per
/// member) and that are neither empty nor the outlier itself; those on other threads only where its own have too few.
/// Of the candidates in order of duration, every n-th is taken: where a population has two modes, both are typical.
/// The result is in order of distance from the median, the earlier ones first where that is equal.
pub fn baselines(
    population: &Population<'_>,
    is_outlier: &[bool],
    outlier: usize,
    count: usize,
) -> Vec<usize> {
    baselines_of_all(population, is_outlier, &[outlier], count).pop().unwrap_or_default()
}

/// [`baselines`] of each of `outliers`, in their order.
///
/// One pass over the population, however many labels and threads the outliers have: outliers of the same label and threads
/// have the same typical intervals, which are looked for once.
pub fn baselines_of_all(
    population: &Population<'_>,
    is_outlier: &[bool],
    outliers: &[usize],
    count: usize,
) -> Vec<Vec<usize>> {
    let intervals = population.intervals();
    let labels = by_label(population, is_outlier, outliers);
    let mut known: HashMap<_, Vec<usize>> = HashMap::new();
    let of_one = |&outlier: &usize| {
        let slow = intervals.get(outlier)?;
        let alike = labels.get(slow.label.as_str())?;
        // Chosen though no rule names it, and a candidate for another one.
        if alike.candidates_themselves.contains(&outlier) {
            return Some(alike.typical(outlier, count));
        }
        let group = (slow.label.as_str(), threads_of(slow));
        Some(known.entry(group).or_insert_with(|| alike.typical(outlier, count)).clone())
    };
    outliers.iter().map(of_one).map(Option::unwrap_or_default).collect()
}

/// A duration, and the index of its interval.
type Candidate = (u64, usize);

/// As [`Interval::ends`].
type Threads = (Option<ThreadId>, Option<ThreadId>);

fn threads_of(interval: &Interval) -> Threads {
    interval.ends()
}

/// What may be typical of one label.
struct Alike<'a> {
    intervals: &'a [Interval],
    by_threads: HashMap<Threads, Vec<Candidate>>,
    /// Which of the outliers are among them.
    candidates_themselves: HashSet<usize>,
    /// All of them in order, from where some threads had too few.
    in_order: OnceCell<Vec<Candidate>>,
}

/// What may be typical of the labels of `outliers`.
fn by_label<'a>(
    population: &Population<'a>,
    is_outlier: &[bool],
    outliers: &[usize],
) -> HashMap<&'a str, Alike<'a>> {
    let intervals = population.intervals();
    let mut is_slow = vec![false; intervals.len()];
    let mut labels: HashMap<&str, Alike<'a>> = HashMap::new();
    for &outlier in outliers.iter().filter(|&&outlier| outlier < intervals.len()) {
        is_slow[outlier] = true;
        labels.entry(intervals[outlier].label.as_str()).or_insert_with(|| Alike {
            intervals,
            by_threads: HashMap::new(),
            candidates_themselves: HashSet::new(),
            in_order: OnceCell::new(),
        });
    }
    let members = population.members().iter().zip(population.durations()).enumerate();
    for (position, (&index, &duration)) in members {
        let is_typical = !is_outlier.get(position).copied().unwrap_or(false) && duration > 0;
        let interval = &intervals[index];
        if let Some(alike) = labels.get_mut(interval.label.as_str()).filter(|_| is_typical) {
            alike.by_threads.entry(threads_of(interval)).or_default().push((duration, index));
            alike.candidates_themselves.extend(is_slow[index].then_some(index));
        }
    }
    labels
}

impl Alike<'_> {
    /// Up to `count` typical intervals for the one with index `slow`, the most typical first.
    fn typical(&self, slow: usize, count: usize) -> Vec<usize> {
        let threads = threads_of(&self.intervals[slow]);
        let of_threads = self.by_threads.get(&threads).map_or(&[][..], Vec::as_slice);
        let mut own: Vec<Candidate> = of_threads.iter().filter(|other| other.1 != slow).copied().collect();
        let (mut chosen, median) = spread(&mut own, count, |a, b| self.order(a, b));
        let (others, others_median) = match count - chosen.len() {
            0 => (Vec::new(), None),
            missing => self.others(of_threads, missing),
        };
        let median = median.or(others_median).unwrap_or(0);
        chosen.extend(others);
        chosen.sort_unstable_by_key(|&(duration, index)| {
            let interval = &self.intervals[index];
            let elsewhere = threads_of(interval) != threads;
            (elsewhere, duration.abs_diff(median), interval.range.start, interval.id)
        });
        chosen.into_iter().map(|candidate| candidate.1).collect()
    }

    /// `count` of those that are not `own`, evenly apart in their order, and their median. All of the label are put in order
    /// once; the own ones, fewer than were wanted, are stepped over.
    fn others(&self, own: &[Candidate], count: usize) -> (Vec<Candidate>, Option<u64>) {
        let all = self.in_order.get_or_init(|| {
            let mut all: Vec<Candidate> = self.by_threads.values().flatten().copied().collect();
            all.sort_unstable_by(|a, b| self.order(a, b));
            all
        });
        let place = |own| all.binary_search_by(|other| self.order(other, own)).ok();
        let mut own: Vec<usize> = own.iter().filter_map(place).collect();
        own.sort_unstable();
        let length = all.len() - own.len();
        let nth = |rank: usize| all[own.iter().fold(rank, |at, &own| at + usize::from(own <= at))];
        let median = (length > 0).then(|| nth(length / 2).0);
        (ranks_evenly_apart(length, count).into_iter().map(nth).collect(), median)
    }

    /// By duration. Only where durations are equal does anything else count: looking there costs a miss of the caches each.
    fn order(&self, a: &Candidate, b: &Candidate) -> Ordering {
        let further = |index: usize| (self.intervals[index].range.start, self.intervals[index].id, index);
        a.0.cmp(&b.0).then_with(|| further(a.1).cmp(&further(b.1)))
    }
}

/// `count` ranks evenly apart below `length`: the middle of each of so many equal parts. All where there are no more.
pub fn ranks_evenly_apart(length: usize, count: usize) -> Vec<usize> {
    let at = |part: usize| (2 * part as u128 + 1) * length as u128 / (2 * count as u128);
    if length <= count {
        (0..length).collect()
    } else {
        (0..count).filter_map(|part| usize::try_from(at(part)).ok()).collect()
    }
}

/// `count` of `candidates`, evenly apart in their order, and the median duration; all where there are no more.
fn spread(
    candidates: &mut [Candidate],
    count: usize,
    order: impl Fn(&Candidate, &Candidate) -> Ordering,
) -> (Vec<Candidate>, Option<u64>) {
    let length = candidates.len();
    let mut ranks = ranks_evenly_apart(length, count);
    let middle = length / 2;
    let own = ranks.partition_point(|&rank| rank < middle);
    let is_added = length > 0 && ranks.get(own) != Some(&middle);
    if is_added {
        ranks.insert(own, middle);
    }
    bring_to_place(candidates, 0, &ranks, &order);
    let median = candidates.get(middle).map(|candidate| candidate.0);
    if is_added {
        ranks.remove(own);
    }
    (ranks.into_iter().map(|rank| candidates[rank]).collect(), median)
}

/// Moves to each of the ascending `ranks` what stands there in order; `part` begins at rank `first`. The middle rank
/// first, then either side by itself: log n steps through all, where sorting a million takes twenty.
fn bring_to_place(
    part: &mut [Candidate],
    first: usize,
    ranks: &[usize],
    order: &impl Fn(&Candidate, &Candidate) -> Ordering,
) {
    let (before, behind) = ranks.split_at(ranks.len() / 2);
    let [rank, behind @ ..] = behind else { return };
    let (below, _, above) = part.select_nth_unstable_by(rank - first, order);
    bring_to_place(below, first, before, order);
    bring_to_place(above, rank + 1, behind, order);
}

#[cfg(test)]
mod tests;
