//! The population's waits by object: futex, descriptor, device.
//!
//! Input: waits known by records, and the explained outliers. Output: a row for each object. Where no record shows of what kind a
//! descriptor is, an explained wait for it does: the view and the verdicts have one word for it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use attribution::{Functions, ObjectWait, WaitObject};
use intervals::TwoModes;
use model::{Cause, Certainty, OffCpu, TimeConversion, Tsc};
use report::{Lengths, OutlierReport, WaitView};

use super::summary;
use super::times::{Times, share};

/// The kinds that a descriptor may have for all waits for it; a file is waited for because of locks, devices and memory.
const KINDS: [OffCpu; 2] = [OffCpu::Socket, OffCpu::Poll];

/// The waits for one object, in nanoseconds.
struct Waits {
    /// When one of them began.
    at: Tsc,
    fast: Vec<u64>,
    slow: Vec<u64>,
}

impl Waits {
    fn from(at: Tsc) -> Waits {
        Waits { at, fast: Vec::new(), slow: Vec::new() }
    }
}

/// Where explained threads waited, by thread and begin, in perf time: until when, and for what kind of thing.
type Explained = BTreeMap<(i32, u64), (u64, OffCpu)>;

/// Gives the waits for a descriptor whose kind no record shows the kind of the explained waits for the same descriptor, where these agree.
pub(super) fn settle_kinds(
    waits: &mut [(bool, ObjectWait)],
    outliers: &[OutlierReport],
    conversion: TimeConversion,
) {
    let explained = explained(outliers);
    let is_open = |wait: &ObjectWait| {
        let is_guessed = wait.kind == OffCpu::Other && wait.certainty == Certainty::Measured;
        is_guessed && matches!(wait.object, WaitObject::Descriptor { .. })
    };
    let mut kinds: HashMap<WaitObject, Option<OffCpu>> = HashMap::new();
    for (_, wait) in waits.iter().filter(|(_, wait)| is_open(wait)) {
        let middle = Tsc(wait.range.start.0 + wait.range.ticks().0 / 2);
        let (tid, at) = (wait.thread.tid.0, conversion.to_perf_time(middle).0);
        let last = explained.range((tid, 0)..=(tid, at)).next_back();
        if let Some((_, &(_, kind))) = last.filter(|(_, (stop, _))| at < *stop) {
            let known = kinds.entry(wait.object.clone()).or_insert(Some(kind));
            *known = known.filter(|&known| known == kind);
        }
    }
    for (_, wait) in waits.iter_mut().filter(|(_, wait)| is_open(wait)) {
        wait.kind = kinds.get(&wait.object).copied().flatten().unwrap_or(wait.kind);
    }
}

fn explained(outliers: &[OutlierReport]) -> Explained {
    let mut explained = Explained::new();
    for outlier in outliers {
        let Some(start) = outlier.start_ns else { continue };
        for segment in &outlier.segments {
            let kind = KINDS.into_iter().find(|&kind| Cause::OffCpu(kind).to_string() == segment.cause);
            let (Some(tid), Some(kind)) = (segment.tid, kind) else { continue };
            let begin = start.saturating_add(segment.offset_ns);
            explained.insert((tid, begin), (begin.saturating_add(segment.duration_ns), kind));
        }
    }
    explained
}

/// A row for each object, those that slow intervals waited for longest first.
pub(super) fn by_object(
    waits: &[(bool, ObjectWait)],
    times: Times,
    conversion: TimeConversion,
    functions: &dyn Functions,
) -> Vec<WaitView> {
    let mut objects: BTreeMap<(&WaitObject, OffCpu), Waits> = BTreeMap::new();
    for (is_slow, wait) in waits {
        let of_object =
            objects.entry((&wait.object, wait.kind)).or_insert_with(|| Waits::from(wait.range.start));
        let side = if *is_slow { &mut of_object.slow } else { &mut of_object.fast };
        side.push(conversion.duration_ns(wait.range));
    }
    let mut views: Vec<WaitView> = objects
        .into_iter()
        .map(|((object, kind), waits)| {
            let mut all: Vec<u64> = waits.fast.iter().chain(&waits.slow).copied().collect();
            all.sort_unstable();
            let at = waits.at;
            let (fast, slow) = (Lengths::of(waits.fast), Lengths::of(waits.slow));
            WaitView {
                object: called(object, at, functions),
                cause: Cause::OffCpu(kind).to_string(),
                slow_share: share(slow.total_ns.into(), times.slow),
                fast_share: share(fast.total_ns.into(), times.fast),
                modes: TwoModes::find(&all).map(summary::modes),
                fast,
                slow,
            }
        })
        .collect();
    views.sort_by_key(|view| Reverse((view.slow.total_ns, view.fast.total_ns)));
    views
}

/// `lock (futex 0x4cf400 of pid 142)`: a futex that lies in a variable is called by it, as in the verdicts.
fn called(object: &WaitObject, at: Tsc, functions: &dyn Functions) -> String {
    let variable = match object {
        WaitObject::Futex { pid, address } => functions.variable_at(*pid, *address, at),
        _ => None,
    };
    variable.map_or_else(|| object.to_string(), |variable| format!("{} ({object})", variable.called()))
}

#[cfg(test)]
mod tests;
