//! The view's figures in words, not yet escaped for any format.

use super::{CounterView, DeviceView, IoShare, SplitView, Story};
use crate::distribution::{Bin, Lengths, Modes};
use crate::reasons::{Reason, Reasons};
use crate::timebase::TimeUnit;
use crate::units::{self, chance, percent};

/// Whom one reason is due to: so many are named in a sentence.
const MOST_BLAMED: usize = 3;

/// `slow when send_bytes < 1448: 97 of 98 slow ones, 2 of 4000 fast ones; rho -0.63 (-0.66 to -0.60), p < 0.001`.
pub(crate) fn counter(counter: &CounterView) -> String {
    let mut parts = Vec::new();
    match &counter.split {
        Some(found) => parts.push(split(&counter.name, found)),
        None => parts.push(format!("{} over {}", counter.name, units::counted(counter.count, "interval"))),
    }
    if let Some(rho) = counter.rho {
        let confidence =
            counter.confidence.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
        let p = counter.p.map_or_else(String::new, |p| format!(", {}", chance(p)));
        parts.push(format!("rank correlation {rho:.2}{confidence}{p}"));
    }
    parts.join("; ")
}

fn split(name: &str, split: &SplitView) -> String {
    let sign = if split.is_below { '<' } else { '>' };
    let (slow, fast) = (split.slow, split.fast);
    format!(
        "slow when {name} {sign} {}: {} of {slow} slow ones, {} of {fast} fast ones, {}",
        split.threshold,
        split.slow_matched,
        split.fast_matched,
        chance(split.p)
    )
}

/// `12 of p50 84.0 us, p99 1.20 ms, longest 1.20 ms`; `none` of nothing.
pub(crate) fn lengths(lengths: &Lengths, unit: TimeUnit) -> String {
    let length = |ns| units::length(ns, unit);
    match lengths.count {
        0 => "none".to_owned(),
        1 => format!("1 of {}", length(lengths.max_ns)),
        count => format!(
            "{count}, p50 {}, p99 {}, longest {}",
            length(lengths.p50_ns),
            length(lengths.p99_ns),
            length(lengths.max_ns)
        ),
    }
}

/// `Why they are slow (all 198 explained)`; of more than that, [`Reasons::outliers`] says which were taken.
pub(crate) fn explained(reasons: &Reasons) -> String {
    explained_of(reasons, "at equal distances by duration")
}

/// The same where `which` of them were taken.
pub(crate) fn explained_of(reasons: &Reasons, which: &str) -> String {
    let (explained, outliers) = (reasons.explained, reasons.outliers);
    match outliers {
        _ if outliers == explained => format!("Why they are slow (all {outliers} explained)"),
        _ => format!("Why they are slow ({explained} of {outliers} explained, {which})"),
    }
}

/// `71 % of all excess, first in 116: waited for mutex lock in worker() lock.c:107 (62 times held by auditor, which slept in keep())`.
pub(crate) fn reason(reason: &Reason) -> String {
    let (shown, others) = reason.blamed_up_to(MOST_BLAMED);
    let all = shown.iter().chain(&others);
    let blamed: Vec<String> = all.map(|blame| format!("{} x {}", blame.first, blame.who)).collect();
    let words = units::noted(&reason.what, &blamed.join("; "));
    format!("{} of all excess, first in {}: {words}", percent(reason.share), reason.first)
}

/// `41.2 us to 1.02 ms, 94 % of all excess`.
pub(crate) fn lengths_of(story: &Story, unit: TimeUnit) -> String {
    let (shortest, longest) = (units::length(story.shortest_ns, unit), units::length(story.longest_ns, unit));
    let range = if shortest == longest { longest } else { format!("{shortest} to {longest}") };
    format!("{range}, {} of all excess", percent(story.share))
}

/// `12, p50 84.0 us, p99 1.20 ms, longest 1.20 ms; two modes: 9 up to 90.0 us, 3 longer; waited for 12 % of intervals'
/// time`.
pub(crate) fn accesses(device: &DeviceView, unit: TimeUnit) -> String {
    let modes = device.modes.as_ref().map_or_else(String::new, |found| modes(found, unit));
    let (lengths, waited) = (lengths(&device.accesses, unit), percent(device.wait_share));
    format!("{lengths}{modes}; waited for {waited} of all intervals' time")
}

/// `12 % of all intervals' time waiting for block devices: 83 % of the slow ones', 1 % of the fast ones', by their own threads; 7 % by
/// threads that they waited for`.
pub(crate) fn block_io(io: &IoShare) -> String {
    let [all, slow, fast, others] = [io.share, io.slow_share, io.fast_share, io.others_share].map(percent);
    format!(
        "{all} of all intervals' time waiting for block devices: {slow} of the slow ones', {fast} of the fast ones', by their own \
         threads; {others} by threads that they waited for"
    )
}

/// `; two modes: 5980 up to 13.8 ms, 12 longer`.
fn modes(modes: &Modes, unit: TimeUnit) -> String {
    let (fast, slow) = (modes.fast.count, modes.slow.count);
    format!("; two modes: {fast} up to {}, {slow} longer", units::length(modes.threshold_ns, unit))
}

/// `▁▂█▁··▁ from 12.0 us to 3.10 ms`: a distribution in one line, its heights logarithmic; empty without bins.
pub(crate) fn sparkline(bins: &[Bin], unit: TimeUnit) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return String::new() };
    // Bits of a count: each step is twice as many.
    let height = |count: u64| (u64::BITS - count.leading_zeros()) as usize;
    let highest = bins.iter().map(|bin| height(bin.count)).max().unwrap_or(0).max(1);
    let glyph = |bin: &Bin| match height(bin.count) {
        0 => '·',
        own => HEIGHTS[(own * HEIGHTS.len()).div_ceil(highest) - 1],
    };
    let drawn: String = bins.iter().map(glyph).collect();
    format!("{drawn} from {} to {}", units::length(first.from_ns, unit), units::length(last.to_ns, unit))
}
