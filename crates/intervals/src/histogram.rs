//! Durations in bins of equal ratio, and whether they fall into two kinds.
//!
//! Input: durations in ascending order. Output: bins for people, and [`TwoModes`] where a valley separates a fast from
//! a slow kind that both hold enough intervals to be no accident.

// Bin edges and means of durations: see population.rs.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

/// The most bins that are shown.
const MOST_BINS: usize = 40;

/// Bins per factor of two in which modes are searched.
const FINE: f64 = 16.0;

/// Adjacent bins on each side that a fine bin is smoothed with.
const SMOOTHING: usize = 2;

/// The fewest intervals that are a mode, and the smallest share.
const FEWEST: usize = 8;
const SMALLEST_SHARE: f64 = 0.01;

/// One bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Shortest duration inside.
    pub from: u64,
    /// First duration after it.
    pub to: u64,
    /// How many durations lie inside.
    pub count: u64,
}

/// Durations in bins of equal ratio, without a hole from the shortest to the longest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// In ascending order.
    pub bins: Vec<Bin>,
}

/// One of two kinds of intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// How many.
    pub count: u64,
    /// Their mean duration.
    pub mean: f64,
}

/// Two kinds of intervals, fast and slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoModes {
    /// Those up to the threshold.
    pub fast: Mode,
    /// Those above.
    pub slow: Mode,
    /// Longer intervals are slow ones: the middle of the valley between the two.
    pub threshold: u64,
}

impl Histogram {
    /// Counts the ascending durations in at most 40 bins.
    pub fn of(sorted: &[u64]) -> Histogram {
        let (Some(&shortest), Some(&longest)) = (sorted.first(), sorted.last()) else {
            return Histogram::default();
        };
        Histogram::counted(sorted, &edges(shortest, longest))
    }

    /// Counts both in the same bins, at most 40 from the shortest to the longest of either, so that they compare bin by bin. Both
    /// ascend; no bins where one of them is empty.
    pub fn of_both(a: &[u64], b: &[u64]) -> [Histogram; 2] {
        let (Some(shortest), Some(longest)) = (a.first().min(b.first()), a.last().max(b.last())) else {
            return [Histogram::default(), Histogram::default()];
        };
        let edges = edges(*shortest, *longest);
        [a, b].map(|sorted| Histogram::counted(sorted, &edges))
    }

    /// Counts between each edge and the next.
    fn counted(sorted: &[u64], edges: &[u64]) -> Histogram {
        let last = edges.len().saturating_sub(2);
        let mut done = 0;
        let bin = |(number, two): (usize, &[u64])| {
            // Beyond the last number there is no edge.
            let upto =
                if number == last { sorted.len() } else { sorted.partition_point(|&value| value < two[1]) };
            let count = (upto - done) as u64;
            done = upto;
            Bin { from: two[0], to: two[1], count }
        };
        Histogram { bins: edges.windows(2).enumerate().map(bin).collect() }
    }
}

/// Where the bins from `shortest` to `longest` begin and end.
fn edges(shortest: u64, longest: u64) -> Vec<u64> {
    let low = shortest.max(1) as f64;
    let octaves = (longest.max(1) as f64 / low).log2();
    let per_octave =
        [16.0, 8.0, 4.0, 2.0, 1.0].into_iter().find(|per| octaves * per <= MOST_BINS as f64 - 2.0);
    let step = per_octave.map_or_else(|| octaves / (MOST_BINS as f64 - 2.0), |per| 1.0 / per);
    let mut edges = vec![shortest];
    for number in 1..=MOST_BINS + 1 {
        let before = edges.last().copied().unwrap_or(shortest);
        let to = ((low * (step * number as f64).exp2()).ceil() as u64).max(before.saturating_add(1));
        edges.push(to);
        if to > longest || to == u64::MAX {
            break;
        }
    }
    edges
}

impl TwoModes {
    /// The two modes of the ascending durations, where there are two.
    ///
    /// In fine, smoothed bins of equal ratio, a split is wanted with a peak on each side that stands out of the valley
    /// by three times its own counting error (√), both sides holding 1 % and 8 intervals at least, and peaks half an
    /// octave apart.
    pub fn find(sorted: &[u64]) -> Option<TwoModes> {
        let fine = Fine::of(sorted)?;
        let valley = fine.deepest_valley(sorted.len())?;
        let threshold = fine.edge(valley);
        let fast = sorted.partition_point(|&value| value <= threshold);
        Some(TwoModes { fast: Mode::of(&sorted[..fast])?, slow: Mode::of(&sorted[fast..])?, threshold })
    }
}

impl Mode {
    fn of(values: &[u64]) -> Option<Mode> {
        let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
        (!values.is_empty())
            .then(|| Mode { count: values.len() as u64, mean: sum as f64 / values.len() as f64 })
    }
}

/// Counts per fine bin, smoothed, and how many lie below each bin.
struct Fine {
    low: f64,
    smooth: Vec<f64>,
    below: Vec<usize>,
    /// The smallest difference between two durations that differ.
    resolution: u64,
}

impl Fine {
    fn of(sorted: &[u64]) -> Option<Fine> {
        let low = (*sorted.first()?).max(1) as f64;
        let bin = |value: u64| ((value.max(1) as f64 / low).log2() * FINE) as usize;
        let mut counts = vec![0.0; bin(*sorted.last()?) + 1];
        let mut resolution = u64::MAX;
        for (at, &value) in sorted.iter().enumerate() {
            counts[bin(value)] += 1.0;
            let step = value - sorted[at.saturating_sub(1)];
            resolution = if step > 0 { resolution.min(step) } else { resolution };
        }
        let mut below = Vec::with_capacity(counts.len());
        below.extend(counts.iter().scan(0, |sum, count| {
            let before = *sum;
            *sum += *count as usize;
            Some(before)
        }));
        Some(Fine { low, smooth: smoothed(&counts), below, resolution })
    }

    /// The duration at the lower edge of a bin.
    fn edge(&self, bin: usize) -> u64 {
        (self.low * (bin as f64 / FINE).exp2()) as u64
    }

    /// The middle of the valley that separates the modes best.
    fn deepest_valley(&self, count: usize) -> Option<usize> {
        let fewest = FEWEST.max((count as f64 * SMALLEST_SHARE).ceil() as usize);
        let left = peaks(self.smooth.iter().copied());
        let mut right = peaks(self.smooth.iter().rev().copied());
        for peak in &mut right {
            peak.0 = self.smooth.len() - 1 - peak.0;
        }
        right.reverse();
        let splits = (1..self.smooth.len().saturating_sub(1)).filter(|&split| {
            let enough = self.below[split] >= fewest && count - self.below[split] >= fewest;
            enough && self.separates(left[split], right[split], self.smooth[split])
        });
        let depth = |split: usize| self.smooth[split] / left[split].1.min(right[split].1);
        let best = splits.clone().map(depth).fold(f64::INFINITY, f64::min);
        let ties: Vec<usize> = splits.filter(|&split| depth(split) <= best).collect();
        longest_run(&ties).map(|(first, last)| usize::midpoint(first, last))
    }

    fn separates(&self, fast: (usize, f64), slow: (usize, f64), valley: f64) -> bool {
        let peak = fast.1.min(slow.1);
        let window = (2 * SMOOTHING + 1) as f64;
        let stands_out = (peak - valley) * window >= 3.0 * ((peak + valley) * window).sqrt();
        let bins_apart = slow.0 as f64 - fast.0 as f64;
        let (fast, slow) = (self.edge(fast.0), self.edge(slow.0));
        // A coarse clock makes combs: adjacent teeth are no modes.
        let beyond_resolution = (slow - fast) / self.resolution.max(1) >= 8 || slow / fast.max(1) >= 4;
        stands_out && valley <= peak / 2.0 && bins_apart >= FINE / 2.0 && beyond_resolution
    }
}

/// Mean over each bin and the adjacent ones.
fn smoothed(counts: &[f64]) -> Vec<f64> {
    let window = (2 * SMOOTHING + 1) as f64;
    let around = |at: usize| {
        let near = &counts[at.saturating_sub(SMOOTHING)..counts.len().min(at + SMOOTHING + 1)];
        near.iter().sum::<f64>() / window
    };
    (0..counts.len()).map(around).collect()
}

/// For each position the highest value so far and where it stands.
fn peaks(values: impl Iterator<Item = f64>) -> Vec<(usize, f64)> {
    let highest = |best: &mut (usize, f64), (at, value): (usize, f64)| {
        if value > best.1 {
            *best = (at, value);
        }
        Some(*best)
    };
    values.enumerate().scan((0, f64::NEG_INFINITY), highest).collect()
}

/// First and last of the longest run of consecutive numbers; of equal ones the first.
fn longest_run(ascending: &[usize]) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize)> = None;
    for run in ascending.chunk_by(|a, b| a + 1 == *b) {
        let (first, last) = (*run.first()?, *run.last()?);
        if best.is_none_or(|(from, to)| last - first > to - from) {
            best = Some((first, last));
        }
    }
    best
}

#[cfg(test)]
mod tests;
