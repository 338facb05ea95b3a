//! The population that the outliers come from: its counters, its waits by object, the devices' access times, NUMA nodes.
//!
//! Input: the population and the capture's records. Output: the report's [`View`]. Slow intervals are those of the slow
//! mode, or the outliers where there are not two modes. Waits are known by records alone, so all intervals are looked
//! at and not only the examined ones.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use attribution::{
    ObjectWait, Stay, WaitObject, Whereabouts, records_of_wait, wait_of_one_of_many, wait_of_stay,
};
use intervals::{CounterStatistics, Histogram, OutlierRule, Population, Side, TwoModes};
use model::{OffCpu, Ticks, TimeConversion, Tsc, TscRange};
use perfdata::LeaveReason;
use rayon::prelude::*;
use report::{Bin, CounterView, DeviceView, Lengths, OutlierReport, SplitView, View};

use super::times::{Times, share};
use super::{block_io, numa, objects, summary};
use crate::capture::Capture;

/// Waits that are looked at, the longest of the population.
const MOST_WAITS: usize = 20_000;
/// Records that are read for all waits together: some seconds.
const MOST_RECORDS: u64 = 20_000_000;
/// Stays of all intervals together: where many intervals share a thread's time, each has all of its stays.
const MOST_STAYS: usize = 4_000_000;
/// Intervals whose stays are in memory at once.
const INTERVALS_AT_ONCE: usize = 256;
/// Objects that are listed.
const MOST_OBJECTS: usize = 100;

/// A stay off the CPU, and whether its interval is slow.
struct Sleep {
    stay: Stay,
    is_slow: bool,
}

/// The view of `outliers` and of the population they come from.
pub(crate) fn of(
    capture: &Capture<'_>,
    population: &Population<'_>,
    rule: OutlierRule,
    outliers: &[OutlierReport],
) -> View {
    let mut view = View::of(outliers);
    let Some(conversion) = capture.conversion() else {
        view.remarks
            .push("the TSC to perf-time conversion is missing: waits and devices are unknown".to_owned());
        return view;
    };
    let is_slow = slow_ones(population, rule);
    let members = with_stays(capture, population, conversion);
    if members < population.members().len() {
        let all = population.members().len();
        view.remarks.push(format!("of {all} intervals the first {members} are searched for waits"));
    }
    let (sleeps, found) = sleeps(capture, population, &is_slow[..members]);
    let (mut waits, examined) = waits(capture, &sleeps, conversion);
    if examined < found {
        view.remarks.push(format!("of {found} waits the {examined} longest are examined"));
    }
    objects::settle_kinds(&mut waits, outliers, conversion);
    let times = Times::of(population, &is_slow);
    view.waits = objects::by_object(&waits, times, conversion, capture);
    if view.waits.len() > MOST_OBJECTS {
        view.remarks.push(format!("of {} objects waited for {MOST_OBJECTS} are listed", view.waits.len()));
        view.waits.truncate(MOST_OBJECTS);
    }
    view.devices = devices(capture, population, &waits, times, conversion);
    if !view.devices.is_empty() || waits.iter().any(|(_, wait)| wait.kind == OffCpu::BlockIo) {
        view.block_io = Some(block_io::of(capture, &waits, times, conversion, &mut view.remarks));
    }
    let is_slow = &is_slow[..members];
    view.numa = numa::of_population(capture, population, is_slow, &waits, conversion, &mut view.remarks);
    view
}

/// The population's counters, as the report shows them.
pub(crate) fn counters(population: &Population<'_>) -> Vec<CounterView> {
    population.counters().iter().map(counter).collect()
}

fn counter(found: &CounterStatistics) -> CounterView {
    CounterView {
        label: found.label.clone(),
        name: found.name.clone(),
        count: found.count,
        rho: found.correlation.map(|correlation| correlation.rho),
        confidence: found.correlation.and_then(|correlation| correlation.confidence),
        p: found.correlation.and_then(|correlation| correlation.p),
        split: found.split.map(|split| SplitView {
            is_below: split.side == Side::Below,
            threshold: split.threshold,
            slow_matched: split.slow_matched,
            slow: split.slow,
            fast_matched: split.fast_matched,
            fast: split.fast,
            p: split.p,
        }),
        is_significant: found.is_significant(),
    }
}

/// Which members are slow.
fn slow_ones(population: &Population<'_>, rule: OutlierRule) -> Vec<bool> {
    match TwoModes::find(population.sorted_durations()) {
        Some(modes) => population.durations().iter().map(|&duration| duration > modes.threshold).collect(),
        None => population.judge(rule).is_outlier,
    }
}

/// How many members, from the first on, have no more stays together than are looked at.
fn with_stays(capture: &Capture<'_>, population: &Population<'_>, conversion: TimeConversion) -> usize {
    let schedule = capture.perf().schedule();
    let stays = population.members().iter().scan(0, |sum: &mut usize, &index| {
        let interval = &population.intervals()[index];
        *sum = sum.saturating_add(attribution::most_stays(interval, schedule, conversion));
        Some(*sum)
    });
    stays.take_while(|&sum| sum <= MOST_STAYS).count()
}

/// The longest waits of the first members, as many as `is_slow` has; and how many waits these have.
fn sleeps(capture: &Capture<'_>, population: &Population<'_>, is_slow: &[bool]) -> (Vec<Sleep>, usize) {
    let of_member = |&(&index, &is_slow): &(&usize, &bool)| {
        let stays = capture.stays_of(&population.intervals()[index]);
        let slept = |stay: &Stay| matches!(stay.place, Whereabouts::OffCpu(LeaveReason::Slept(_)));
        stays.into_iter().filter(slept).map(|stay| Sleep { stay, is_slow }).collect::<Vec<Sleep>>()
    };
    let members: Vec<(&usize, &bool)> = population.members().iter().zip(is_slow).collect();
    let (mut longest, mut found) = (Vec::new(), 0);
    for some in members.chunks(INTERVALS_AT_ONCE) {
        let before = longest.len();
        longest.par_extend(some.par_iter().flat_map_iter(of_member));
        found += longest.len() - before;
        if longest.len() > 16 * MOST_WAITS {
            longest.select_nth_unstable_by_key(MOST_WAITS, longest_first);
            longest.truncate(MOST_WAITS);
        }
    }
    longest.sort_by_key(longest_first);
    longest.truncate(MOST_WAITS);
    (longest, found)
}

fn longest_first(sleep: &Sleep) -> (Reverse<Ticks>, Tsc) {
    (Reverse(sleep.stay.range.ticks()), sleep.stay.range.start)
}

/// What each of `sleeps` was for, in their order, as long as the records of their time are not too many; and how many were
/// looked at. Intervals that share a thread's time share its waits, which are looked at once.
fn waits(
    capture: &Capture<'_>,
    sleeps: &[Sleep],
    conversion: TimeConversion,
) -> (Vec<(bool, ObjectWait)>, usize) {
    let perf = capture.perf();
    let key = |stay: &Stay| (stay.thread, stay.range.start, stay.range.stop, stay.left_at);
    let (mut seen, mut different) = (HashSet::new(), Vec::new());
    let (mut examined, mut read) = (0, 0);
    for sleep in sleeps {
        if read > MOST_RECORDS {
            break;
        }
        if seen.insert(key(&sleep.stay)) {
            different.push(&sleep.stay);
            read += 1 + records_of_wait(perf, conversion, &sleep.stay) as u64;
        }
        examined += 1;
    }
    // One after the other in time: what is read for one is read for the next.
    different.sort_by_key(|stay| (stay.range.start, stay.range.stop));
    let records_between =
        |from: Tsc, to: Tsc| perf.count_in(conversion.to_perf_time(from)..conversion.to_perf_time(to)) as u64;
    let ends = different.first().zip(different.last());
    let all = ends.map_or(0, |(first, last)| records_between(first.range.start, last.range.stop));
    // Each record is read for several of them.
    let wait = if read > 2 * all { wait_of_one_of_many } else { wait_of_stay };
    let of_stay = |stay: &&Stay| (key(stay), wait(perf, capture.recent(), conversion, capture, stay));
    let known: HashMap<_, _> = different.par_iter().map(of_stay).collect();
    let wait = |sleep: &Sleep| Some((sleep.is_slow, known.get(&key(&sleep.stay))?.clone()?));
    (sleeps[..examined].iter().filter_map(wait).collect(), examined)
}

/// The access times of all devices, from the first interval's start to the last one's end.
fn devices(
    capture: &Capture<'_>,
    population: &Population<'_>,
    waits: &[(bool, ObjectWait)],
    times: Times,
    conversion: TimeConversion,
) -> Vec<DeviceView> {
    let ranges = || population.members().iter().map(|&index| population.intervals()[index].range);
    let (Some(start), Some(stop)) =
        (ranges().map(|range| range.start).min(), ranges().map(|range| range.stop).max())
    else {
        return Vec::new();
    };
    let mut by_device: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for access in attribution::accesses(capture.perf(), TscRange::new(start, stop), conversion) {
        let of_device = by_device.entry((access.device, access.direction)).or_default();
        of_device.push(conversion.duration_ns(access.range));
    }
    let waited = |device| {
        let is_for =
            |wait: &ObjectWait| matches!(wait.object, WaitObject::Device { device: of, .. } if of == device);
        let of_device = waits.iter().filter(|(_, wait)| is_for(wait));
        of_device.map(|(_, wait)| u128::from(conversion.duration_ns(wait.range))).sum()
    };
    let mut views: Vec<DeviceView> = by_device
        .into_iter()
        .map(|((device, direction), mut lengths)| {
            lengths.sort_unstable();
            let bin = |bin: &intervals::Bin| Bin { from_ns: bin.from, to_ns: bin.to, count: bin.count };
            DeviceView {
                device: device.called(capture.perf().numa().name_of(device).as_deref()),
                direction: direction.to_string(),
                histogram: Histogram::of(&lengths).bins.iter().map(bin).collect(),
                modes: TwoModes::find(&lengths).map(summary::modes),
                accesses: Lengths::of(lengths),
                wait_share: share(waited(device), times.slow + times.fast),
            }
        })
        .collect();
    views.sort_by_key(|view| Reverse(view.accesses.total_ns));
    views
}
