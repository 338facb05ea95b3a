//! What the thread that ended a wait did during the wait, in words that follow "which": the end of the chain.

use std::collections::BTreeMap;

use model::{Part, Role, Story};

use super::foremost::foremost;
use super::runners::runners;
use crate::function::{function_of, unnamed_function};
use crate::outlier::SegmentReport;
use crate::serving::{ServingRow, client};
use crate::timebase::TimeUnit;
use crate::units;

/// What a thread was that another one preempted.
const OFF_ITS_CPU: &str = "was kept off its CPU";
/// How many waits are followed in one sentence.
pub(super) const DEEPEST: usize = 3;

/// `slept in keep() lock.c:38`: what took most of `during`; how long, where that is not nearly all. `None` where nothing is known.
pub(super) fn of(during: &[SegmentReport], unit: TimeUnit, depth: usize) -> Option<String> {
    let whole = during.iter().fold(0_u64, |sum, segment| sum.saturating_add(segment.duration_ns));
    let (foremost, time) = foremost(during.iter())?;
    let what = did(foremost, unit, depth)?;
    // One length is enough in a chain: that of its first link.
    let nearly_all = time >= whole / 10 * 7 || depth < DEEPEST;
    Some(if nearly_all { what } else { lasting(&what, &units::length(time, unit)) })
}

/// [`of_wait`] without lengths and counts: what waits of many outliers have in common.
pub(super) fn in_common(wait: &SegmentReport, unit: TimeUnit) -> Option<String> {
    of_wait(wait, unit, DEEPEST - 1)
}

/// The same below `wait`: where it is in parts, the part that took most beyond typical.
pub(super) fn of_wait(wait: &SegmentReport, unit: TimeUnit, depth: usize) -> Option<String> {
    of_parts(wait, unit, depth).or_else(|| of(&wait.during, unit, depth))
}

fn of_parts(wait: &SegmentReport, unit: TimeUnit, depth: usize) -> Option<String> {
    let (part, excess) = longest_part(&wait.serving)?;
    let rows: Vec<&ServingRow> = wait.serving.iter().filter(|row| row.part == Some(part)).collect();
    let worked = matches!(part, Part::OthersFirst | Part::OwnWork);
    let whole = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.duration_ns));
    // Which function was different says more than which kind of its time was longest.
    let different =
        rows.iter().find(|row| worked && !row.unusual.is_empty() && row.duration_ns >= whole / 10);
    let (waited, beside) = longest_wait(&rows).filter(|_| part == Part::Waits).unzip();
    let row = different.or(waited.as_ref()).or(rows.first()).filter(|_| excess > 0)?;
    let (foremost, _) = foremost(wait.during.iter().filter(|piece| row.counts(piece)))?;
    let what = did(foremost, unit, depth)?;
    let time = if worked { whole } else { row.duration_ns.saturating_add(beside.unwrap_or(0)) };
    let nearly_all = time >= wait.duration_ns / 10 * 7 || depth < DEEPEST;
    let length = units::length(time, unit);
    Some(match part {
        Part::OthersFirst if depth < DEEPEST => format!("first served others and {what}"),
        Part::OthersFirst => {
            let how_long = if nearly_all { String::new() } else { format!(" for {length}") };
            format!("first served {}{how_long} and {what}", client(&foremost.story))
        }
        _ if nearly_all => what,
        _ => lasting(&what, &length),
    })
}

/// Of the `rows` of waiting the wait that took most beyond typical, and how much was done beside it: while a job of its pool was at the
/// request, what the thread did is a part of its wait for events.
fn longest_wait<'a>(rows: &[&'a ServingRow]) -> Option<(&'a ServingRow, u64)> {
    let is_wait = |row: &&&ServingRow| row.kind.starts_with("offcpu.");
    let done = rows.iter().filter(|row| !is_wait(row));
    let done = done.fold(0, |sum: u64, row| sum.saturating_add(row.duration_ns));
    let beside = |row: &ServingRow| if row.kind == "offcpu.poll" { done } else { 0 };
    let excess = |row: &ServingRow| row.excess_ns().saturating_add_unsigned(beside(row));
    let longest = rows.iter().filter(is_wait).max_by_key(|row| excess(row))?;
    Some((longest, beside(longest)))
}

/// `waited 51.6 us for disk 259:1, woken by the interrupt of nvme0q2`, `was stopped for 51.6 us until rival continued it`: the length belongs to what was done, not
/// to what ended it.
pub(super) fn lasting(what: &str, length: &str) -> String {
    if let Some(object) = what.strip_prefix("waited for ") {
        return format!("waited {length} for {object}");
    }
    if let Some(by) = what.strip_prefix(OFF_ITS_CPU) {
        return format!("{OFF_ITS_CPU} for {length}{by}");
    }
    let ends =
        [", woken by ", ", held by ", ", which ", " until "].into_iter().filter_map(|end| what.find(end));
    let (done, end) = what.split_at(ends.min().unwrap_or(what.len()));
    format!("{done} for {length}{end}")
}

/// The part with the largest excess of all its rows.
fn longest_part(rows: &[ServingRow]) -> Option<(Part, i64)> {
    let mut sums: BTreeMap<Part, i64> = BTreeMap::new();
    for (part, excess) in rows.iter().filter_map(|row| Some((row.part?, row.excess_ns()))) {
        let sum = sums.entry(part).or_default();
        *sum = sum.saturating_add(excess);
    }
    sums.into_iter().max_by_key(|&(_, excess)| excess)
}

/// `softirq net_rx after a timer had expired`: an interrupt that ended a wait, and what it followed from.
pub(super) fn interrupt(name: &str, during: &[SegmentReport]) -> String {
    let is_timer = |name: &str| matches!(name, "timer" | "softirq.timer" | "softirq.hrtimer");
    let spoken = match name.split_once('.') {
        _ if is_timer(name) => return "a timer".to_owned(),
        Some(("softirq", of)) => format!("softirq {of}"),
        Some(("irq", of)) => format!("the interrupt of {of}"),
        Some(("ipi", _)) => "another CPU".to_owned(),
        _ => name.to_owned(),
    };
    let serves_timers =
        |segment: &&SegmentReport| segment.cause.strip_prefix("kernel.").is_some_and(is_timer);
    let timers = || during.iter().filter(serves_timers);
    if timers().next().is_none() {
        return spoken;
    }
    let named = timers().map(|segment| &*segment.story.object).find(|name| !name.is_empty());
    format!("{spoken} after {} had expired", named.unwrap_or("a timer"))
}

fn did(segment: &SegmentReport, unit: TimeUnit, depth: usize) -> Option<String> {
    let (story, cause) = (&segment.story, &*segment.cause);
    let place = |preposition: &str| match &*story.place {
        "" => String::new(),
        place => format!(" {preposition} {place}"),
    };
    if cause == "user.spin" {
        return Some(format!("spun{}", place("in")));
    }
    if cause.starts_with("user.") {
        return Some(if story.place.is_empty() {
            "computed".to_owned()
        } else {
            format!("ran {}", story.place)
        });
    }
    if let Some(name) = cause.strip_prefix("kernel.syscall.") {
        return Some(format!("was in {name}(){}", place("called by")));
    }
    if cause.starts_with("kernel.page-fault") {
        return Some(format!("had page faults{}", place("in")));
    }
    if let Some(runtime) = cause.strip_prefix("runtime.gc.") {
        // Who had it collected; of a collector that runs by itself the place is a function of its own.
        let requested = if story.unusual { place("in") } else { String::new() };
        return Some(format!("collected {runtime}'s garbage{requested}"));
    }
    if cause.starts_with("runtime.idle.") {
        return Some(idle(segment, unit, depth));
    }
    Some(match cause {
        "offcpu.sleep" => format!("slept{}", place("in")),
        "offcpu.preempted" if !story.by.is_empty() => {
            let (by, ran) = runners(Some(story), "and by");
            format!("{OFF_ITS_CPU}{} by {by}{ran}", within(story))
        }
        "offcpu.preempted" => format!("{OFF_ITS_CPU}{}", within(story).trim_end_matches(',')),
        "offcpu.runnable" if !story.by.is_empty() => {
            let (by, ran) = runners(Some(story), "and behind");
            format!("was runnable behind {by}{ran}")
        }
        "offcpu.runnable" => "was runnable".to_owned(),
        "hardware.gap" => format!("stalled{}", place("in")),
        cause if interrupts(cause) => format!("was interrupted ({cause})"),
        "queue.behind" => format!("was busy with {}", story.object),
        "queue.runtime" => not_polled(segment, unit, depth),
        cause if cause.starts_with("offcpu.") => waited(segment, unit, depth),
        "trace.loss" => "ran code that could not be decoded".to_owned(),
        cause if cause.starts_with("trace.") || cause == "unexplained" => return None,
        cause => format!("spent it in {cause}"),
    })
}

/// ` in deflate()`, ` in work() called by audit() < serve(),`: the function in which the thread was; the line is that of a chance instruction.
fn within(story: &Story) -> String {
    function_of(&story.place).map_or_else(String::new, |name| {
        let parentheses = if unnamed_function(name).is_none() { "()" } else { "" };
        let called = match &*story.callers {
            "" => String::new(),
            callers => format!(" called by {callers},"),
        };
        format!(" in {name}{parentheses}{called}")
    })
}

/// `was ready while worker shop-1 polled audit 3`
fn not_polled(segment: &SegmentReport, unit: TimeUnit, depth: usize) -> String {
    let story = &segment.story;
    if story.object.is_empty() {
        return "was ready and not polled".to_owned();
    }
    let next = depth.checked_sub(1).and_then(|depth| of(&segment.during, unit, depth));
    let which = next.map_or_else(String::new, |root| format!(", which {root}"));
    format!("was ready while worker {} polled {}{which}", story.by, story.object)
}

fn interrupts(cause: &str) -> bool {
    let kinds = ["kernel.timer", "kernel.irq.", "kernel.softirq.", "kernel.ipi.", "kernel.nmi"];
    kinds.iter().any(|kind| cause.starts_with(kind))
}

/// `was idle until a timer expired`, `was idle, woken by gopher, which ran parse()`
fn idle(segment: &SegmentReport, unit: TimeUnit, depth: usize) -> String {
    match segment.story.by.strip_prefix("kernel.") {
        _ if segment.story.by.is_empty() => "was idle".to_owned(),
        Some("timer" | "softirq.timer" | "softirq.hrtimer") => "was idle until a timer expired".to_owned(),
        _ => format!("was idle{}", woken(segment, unit, depth)),
    }
}

/// `waited for data in a pipe, woken by source, which ran fetch()`
fn waited(segment: &SegmentReport, unit: TimeUnit, depth: usize) -> String {
    let story = &segment.story;
    let object = if story.object.is_empty() { "an event" } else { &story.object };
    if object.starts_with("stopped") {
        let by =
            if story.by.is_empty() { String::new() } else { format!(" until {} continued it", story.by) };
        return format!("was {object}{by}");
    }
    let place = if story.unusual { format!(" in {}", story.place) } else { String::new() };
    format!("waited for {object}{place}{}", woken(segment, unit, depth))
}

/// `, woken by source, which ran fetch()`; empty where that is not known.
fn woken(segment: &SegmentReport, unit: TimeUnit, depth: usize) -> String {
    let story = &segment.story;
    if story.by.is_empty() {
        return String::new();
    }
    if let Some(name) = story.by.strip_prefix("kernel.") {
        return format!(", woken by {}", interrupt(name, &segment.during));
    }
    let next = depth.checked_sub(1).and_then(|depth| of(&segment.during, unit, depth));
    if story.role == Role::Beside {
        return format!(", while {} {}", story.by, next.as_deref().unwrap_or("ran"));
    }
    let part = if story.role == Role::Holder { "held by" } else { "woken by" };
    let which = next.map_or_else(String::new, |root| format!(", which {root}"));
    format!(", {part} {}{which}", story.by)
}
