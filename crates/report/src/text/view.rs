//! All chosen outliers together, and what the population waited for; counters for `stat`, too.

use super::cells::{left, right, width};
use super::head::{fact, hanging};
use super::population::histogram;
use super::style::{Ink, Style};
use crate::report::Report;
use crate::timebase::TimeUnit;
use crate::units::{self, counted};
use crate::view::{CauseShare, CounterView, DeviceView, Story, WaitView, words};

/// Items of each list, in full and in brief.
const MOST_ITEMS: usize = 8;
const MOST_IN_BRIEF: usize = 2;
/// Devices with a histogram.
const MOST_HISTOGRAMS: usize = 2;

/// What the population waited for, and which counters correlate with slow intervals: the foremost of each.
pub(super) fn brief(report: &Report, style: Style) -> Vec<String> {
    let (view, unit) = (&report.view, report.capture.time_unit);
    let mut lines = counters(&report.population.counters, style);
    lines.extend(first_of("devices", &view.devices, |one| device(one, unit), MOST_IN_BRIEF, style));
    lines.extend(list("block I/O", view.block_io.as_slice(), words::block_io, style));
    lines.extend(first_of("waits", &view.waits, |one| wait(one, unit), MOST_IN_BRIEF, style));
    lines.extend(list("NUMA", &view.nodes(), Clone::clone, style));
    lines.extend(view.remarks.iter().flat_map(|remark| fact("", remark, Ink::Dim, style)));
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// The same in full, with causes and stories. One outlier alone has no view of causes.
pub(super) fn lines(report: &Report, style: Style) -> Vec<String> {
    let (view, unit) = (&report.view, report.capture.time_unit);
    let mut lines = Vec::new();
    if report.outliers.len() > 1 {
        let exceeding: Vec<&CauseShare> = view.causes.iter().filter(|share| share.excess_ns > 0).collect();
        lines.extend(list("causes", &exceeding, |share| cause(share, report.outliers.len(), unit), style));
        lines.extend(list("stories", &view.stories, |told| story(told, unit), style));
    }
    lines.extend(counters(&report.population.counters, style));
    lines.extend(list("devices", &view.devices, |one| device(one, unit), style));
    lines.extend(list("block I/O", view.block_io.as_slice(), words::block_io, style));
    lines.extend(list("waits", &view.waits, |one| wait(one, unit), style));
    lines.extend(list("NUMA", &view.nodes(), Clone::clone, style));
    lines.extend(view.remarks.iter().flat_map(|remark| fact("", remark, Ink::Dim, style)));
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines.extend(histograms(&view.devices, unit, style));
    lines
}

/// The counters that correlate with slow intervals; how many were examined if none does.
pub(super) fn counters(counters: &[CounterView], style: Style) -> Vec<String> {
    let telling: Vec<&CounterView> = counters.iter().filter(|counter| counter.is_significant).collect();
    if telling.is_empty() && !counters.is_empty() {
        let none =
            format!("{}: none correlates with slow intervals", counted(counters.len() as u64, "counter"));
        return fact("counters", &none, Ink::Dim, style);
    }
    list("counters", &telling, |counter| words::counter(counter), style)
}

/// The items below one another, the first beside the list's name. What does not fit on a line goes on below it, two columns
/// to the right.
fn list<T>(name: &str, items: &[T], tell: impl Fn(&T) -> String, style: Style) -> Vec<String> {
    first_of(name, items, tell, MOST_ITEMS, style)
}

/// The first `most` of them.
fn first_of<T>(
    name: &str,
    items: &[T],
    tell: impl Fn(&T) -> String,
    most: usize,
    style: Style,
) -> Vec<String> {
    let names = [name].into_iter().chain(std::iter::repeat(""));
    let shown = names.zip(items.iter().take(most));
    let mut lines: Vec<String> =
        shown.flat_map(|(name, item)| hanging(name, &tell(item), Ink::Dim, style)).collect();
    if items.len() > most {
        lines.extend(fact("", &format!("and {} more; JSON has all", items.len() - most), Ink::Dim, style));
    }
    lines
}

fn cause(share: &CauseShare, outliers: usize, unit: TimeUnit) -> String {
    let percent = right(&units::percent(share.share), 6);
    let excess = right(&units::length(share.excess_ns, unit), 9);
    let cause = left(&share.cause, 28.max(width(&share.cause)));
    format!("{percent} {excess}  {cause} first in {} of {outliers}, in {}", share.dominates, share.outliers)
}

fn story(story: &Story, unit: TimeUnit) -> String {
    format!("{} x {} ({})", story.ids.len(), story.words, words::lengths_of(story, unit))
}

fn device(device: &DeviceView, unit: TimeUnit) -> String {
    format!("{} {}: {}", device.device, device.direction, words::accesses(device, unit))
}

/// The distributions of the busiest devices' access times.
fn histograms(devices: &[DeviceView], unit: TimeUnit, style: Style) -> Vec<String> {
    let drawn = devices.iter().filter(|device| device.histogram.len() > 1).take(MOST_HISTOGRAMS);
    drawn
        .flat_map(|device| {
            let name = format!("{} {}", device.device, device.direction);
            let mut lines = vec![String::new()];
            lines.extend(fact("accesses", &name, Ink::Dim, style));
            lines.extend(histogram(&device.histogram, "accesses", unit, style));
            lines
        })
        .collect()
}

fn wait(wait: &WaitView, unit: TimeUnit) -> String {
    let side = |name: &str, lengths: &crate::distribution::Lengths, share: f64| {
        format!("{name} {} ({} of their time)", words::lengths(lengths, unit), units::percent(share))
    };
    let slow = side("slow", &wait.slow, wait.slow_share);
    let fast = side("fast", &wait.fast, wait.fast_share);
    format!("{} on {}: {slow}; {fast}", wait.cause, wait.object)
}
