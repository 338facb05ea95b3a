//! Compares an outlier's user code with its baselines', function by function.
//!
//! For a function on which the baselines spend t ticks on average and the outlier o: as long as o lies within what
//! the baselines took, all of it is `user.expected`. Beyond, the first t ticks are expected and the rest is split by
//! instructions: what the additional instructions cost at the outlier's own pace is `user.extra-work`, what remains
//! is `user.slower`. Such edges are apportioned, so they are inferred.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Attribution, Cause, PartitionError, Slower, Ticks, TscRange};

use crate::examine::Examined;
use crate::segments::{Segments, Verdict, function_name, plain};

/// How much an interval used a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Use {
    ticks: u64,
    instructions: u64,
    calls: u64,
    /// Ticks in which the core:bus ratio was known.
    ticks_with_ratio: u64,
    /// Σ ticks x ratio over those, to average the ratio by time.
    ratio_ticks: u128,
}

type Profile = HashMap<Arc<str>, Use>;

/// What the baselines typically use of one function.
#[derive(Clone, Copy, Debug, Default)]
struct Typical {
    mean: Use,
    most_ticks: u64,
}

/// How the ticks of one function in the outlier are split, in the order in which they are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Budget {
    expected: u64,
    extra: u64,
    slower_frequency: u64,
}

/// The attribution of a baseline, or of an interval without baselines: user code as it is.
///
/// # Errors
/// [`PartitionError`], which is a bug: the pieces are a partition by construction.
pub fn attribute_alone(examined: &Examined) -> Result<Attribution, PartitionError> {
    Attribution::new(examined.interval.clone(), plain(examined))
}

/// The attribution of an outlier against its baselines.
///
/// # Errors
/// [`PartitionError`], which is a bug: the pieces are a partition by construction.
pub fn attribute(outlier: &Examined, baselines: &[&Examined]) -> Result<Attribution, PartitionError> {
    if baselines.is_empty() {
        return attribute_alone(outlier);
    }
    let typical = typical(&baselines.iter().map(|baseline| profile(baseline)).collect::<Vec<_>>());
    let own = profile(outlier);
    let mut budgets: HashMap<Arc<str>, Budget> =
        own.iter().map(|(name, used)| (name.clone(), budget(*used, typical.get(name)))).collect();
    let mut segments = Segments::default();
    for piece in &outlier.pieces {
        let Some(run) = outlier.run_of(piece) else {
            segments.add(outlier, piece, piece.range, None);
            continue;
        };
        let name = function_name(run);
        if let Some(budget) = budgets.get_mut(&name) {
            let used = own.get(&name).copied().unwrap_or_default();
            let usual = typical.get(&name).map(|typical| typical.mean).unwrap_or_default();
            for (range, cause) in deal_out(piece.range, budget) {
                let verdict = (cause != Cause::UserExpected)
                    .then(|| Verdict { cause, detail: tell(&name, used, usual) });
                segments.add(outlier, piece, range, verdict);
            }
        }
    }
    Attribution::new(outlier.interval.clone(), segments.finish(outlier.hand_off.as_ref()))
}

fn profile(examined: &Examined) -> Profile {
    let mut profile = Profile::new();
    for piece in &examined.pieces {
        let Some(run) = examined.run_of(piece) else { continue };
        let used = profile.entry(function_name(run)).or_default();
        used.ticks += piece.range.ticks().0;
        if run.ratio != 0 {
            used.ticks_with_ratio += piece.range.ticks().0;
            used.ratio_ticks += u128::from(piece.range.ticks().0) * u128::from(run.ratio);
        }
    }
    for run in &examined.runs {
        if examined.interval.range.contains(run.range.start) {
            let used = profile.entry(function_name(run)).or_default();
            used.instructions += run.instructions;
            used.calls += run.calls;
        }
    }
    profile
}

/// Means over the baselines; a function that a baseline does not use counts as zero there. What serves the average
/// ratio stays a sum.
fn typical(profiles: &[Profile]) -> HashMap<Arc<str>, Typical> {
    let mut typical: HashMap<Arc<str>, Typical> = HashMap::new();
    for profile in profiles {
        for (name, used) in profile {
            let sum = typical.entry(name.clone()).or_default();
            sum.mean.ticks += used.ticks;
            sum.mean.instructions += used.instructions;
            sum.mean.calls += used.calls;
            sum.mean.ticks_with_ratio += used.ticks_with_ratio;
            sum.mean.ratio_ticks += used.ratio_ticks;
            sum.most_ticks = sum.most_ticks.max(used.ticks);
        }
    }
    let count = profiles.len() as u64;
    for sum in typical.values_mut() {
        sum.mean.ticks /= count;
        sum.mean.instructions /= count;
        sum.mean.calls /= count;
    }
    typical
}

fn budget(own: Use, typical: Option<&Typical>) -> Budget {
    let typical = typical.copied().unwrap_or_default();
    if own.ticks <= typical.most_ticks {
        return Budget { expected: own.ticks, extra: 0, slower_frequency: 0 };
    }
    let expected = typical.mean.ticks.min(own.ticks);
    let excess = own.ticks - expected;
    let more = own.instructions.saturating_sub(typical.mean.instructions);
    let extra = excess.min(share(own.ticks, more, own.instructions));
    let slower_frequency = (excess - extra).min(lost_to_ratio(own, typical.mean));
    Budget { expected, extra, slower_frequency }
}

/// `whole * part / of`, without overflow; nothing where `of` is zero.
fn share(whole: u64, part: u64, of: u64) -> u64 {
    if of == 0 {
        return 0;
    }
    u64::try_from(u128::from(whole) * u128::from(part) / u128::from(of)).unwrap_or(u64::MAX)
}

/// The ticks that the outlier's lower core:bus ratio cost against the baselines' average ratio: of the time in which
/// its ratio was known, for of the rest nothing tells.
fn lost_to_ratio(own: Use, typical: Use) -> u64 {
    let (Some(ratio), Some(usual)) = (own.milliratio(), typical.milliratio()) else { return 0 };
    own.ticks_with_ratio - share(own.ticks_with_ratio, ratio.min(usual), usual)
}

impl Use {
    /// The average core:bus ratio in thousandths, where it was known at all.
    fn milliratio(self) -> Option<u64> {
        let average = (self.ratio_ticks * 1000).checked_div(u128::from(self.ticks_with_ratio))?;
        u64::try_from(average).ok().filter(|&ratio| ratio > 0)
    }
}

/// Splits `range` at the budget's borders and takes what it used from the budget.
fn deal_out(range: TscRange, budget: &mut Budget) -> [(TscRange, Cause); 4] {
    let mut position = range.start;
    let mut take = |left: &mut u64| {
        let part = TscRange::new(position, range.stop.min(position + Ticks(*left)));
        *left -= part.ticks().0;
        position = part.stop;
        part
    };
    [
        (take(&mut budget.expected), Cause::UserExpected),
        (take(&mut budget.extra), Cause::UserExtraWork),
        (take(&mut budget.slower_frequency), Cause::UserSlower(Slower::Frequency)),
        (take(&mut u64::MAX.clone()), Cause::UserSlower(Slower::Other)),
    ]
}

/// What is said about a function's excess.
fn tell(function: &str, own: Use, typical: Use) -> String {
    format!(
        "{function}: {} instructions, {} calls; typical {} and {}",
        own.instructions, own.calls, typical.instructions, typical.calls
    )
}

#[cfg(test)]
mod tests;
