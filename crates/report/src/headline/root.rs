//! What the thread that ended a wait did during the wait, in words that follow "which": the end of the chain.

use model::{Part, Role};

use super::foremost::foremost;
use crate::outlier::SegmentReport;
use crate::timebase::TimeUnit;
use crate::units;

/// How many waits are followed in one sentence.
pub(super) const DEEPEST: usize = 3;

/// `slept in keep() lock.c:38`: what took most of `during`; how long, where that is not nearly all. `None` where nothing is known.
pub(super) fn of(during: &[SegmentReport], unit: TimeUnit, depth: usize) -> Option<String> {
    let whole = during.iter().fold(0_u64, |sum, segment| sum.saturating_add(segment.duration_ns));
    let (foremost, time) = foremost(during.iter())?;
    let what = did(foremost, unit, depth)?;
    let nearly_all = time >= whole / 10 * 7;
    Some(if nearly_all { what } else { format!("{what} for {}", units::length(time, unit)) })
}

/// The same below `wait`: where it is in parts, the part that took most beyond typical.
pub(super) fn of_wait(wait: &SegmentReport, unit: TimeUnit, depth: usize) -> Option<String> {
    let row = wait.serving.first().filter(|row| row.excess_ns() > 0);
    let Some(row) = row else { return of(&wait.during, unit, depth) };
    let pieces = wait.during.iter().filter(|piece| row.counts(piece));
    let (foremost, _) = foremost(pieces)?;
    let Some(what) = did(foremost, unit, depth) else { return of(&wait.during, unit, depth) };
    let what = match row.part {
        Some(Part::OthersFirst) if foremost.story.object.is_empty() => {
            format!("first served others: it {what}")
        }
        Some(Part::OthersFirst) => format!("first served {}: it {what}", foremost.story.object),
        _ => what,
    };
    let nearly_all = row.duration_ns >= wait.duration_ns / 10 * 7;
    Some(if nearly_all { what } else { format!("{what} for {}", units::length(row.duration_ns, unit)) })
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
    let by_timer = during.iter().any(|segment| segment.cause.strip_prefix("kernel.").is_some_and(is_timer));
    if by_timer { format!("{spoken} after a timer had expired") } else { spoken }
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
        return Some(format!("collected {runtime}'s garbage"));
    }
    Some(match cause {
        "offcpu.sleep" => format!("slept{}", place("in")),
        "offcpu.preempted" if !story.by.is_empty() => format!("{} kept off its CPU", story.by),
        "offcpu.preempted" => "was kept off its CPU".to_owned(),
        "offcpu.runnable" if !story.by.is_empty() => format!("was runnable behind {}", story.by),
        "offcpu.runnable" => "was runnable".to_owned(),
        "hardware.gap" => format!("stalled{}", place("in")),
        cause if interrupts(cause) => format!("was interrupted ({cause})"),
        "queue.behind" => format!("was busy with {}", story.object),
        cause if cause.starts_with("offcpu.") => waited(segment, unit, depth),
        cause if cause.starts_with("trace.") || cause == "unexplained" => return None,
        cause => format!("spent it in {cause}"),
    })
}

fn interrupts(cause: &str) -> bool {
    let kinds = ["kernel.timer", "kernel.irq.", "kernel.softirq.", "kernel.ipi.", "kernel.nmi"];
    kinds.iter().any(|kind| cause.starts_with(kind))
}

/// `waited for data in a pipe, woken by source, which ran fetch()`
fn waited(segment: &SegmentReport, unit: TimeUnit, depth: usize) -> String {
    let story = &segment.story;
    let object = if story.object.is_empty() { "an event" } else { &story.object };
    if story.by.is_empty() {
        return format!("waited for {object}");
    }
    if let Some(name) = story.by.strip_prefix("kernel.") {
        return format!("waited for {object}, woken by {}", interrupt(name, &segment.during));
    }
    let part = if story.role == Role::Holder { "held by" } else { "woken by" };
    let next = depth.checked_sub(1).and_then(|depth| of(&segment.during, unit, depth));
    let which = next.map_or_else(String::new, |root| format!(", which {root}"));
    format!("waited for {object}, {part} {}{which}", story.by)
}
