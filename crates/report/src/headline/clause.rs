//! One cause of an outlier in words: `waited 135.5 us for a mutex in worker() lock.c:107, held by auditor, which slept in keep()`.

use std::collections::BTreeMap;
use std::fmt;

use model::{Certainty, Role, Story};

use super::foremost::foremost;
use super::root::{self, DEEPEST};
use super::runners::runners;
use crate::causes::CauseTotal;
use crate::outlier::{OutlierReport, SegmentReport};
use crate::timebase::TimeUnit;
use crate::units;
use crate::view::stories::phrase;

/// Particulars of more than one part in so many of a cause's time lead, where none has most of it.
const LEADING: u64 = 4;

/// How many particulars a clause has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wording {
    Full,
    /// Without particulars but for the library's function in which most of the work was.
    Through,
    /// Without particulars.
    Brief,
    /// Also without the place of a wait, where the end of its chain is known.
    Terse,
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Clause<'a> {
    cause: &'a CauseTotal,
    /// What the cause took: beyond the typical time, where there is one.
    time: String,
    /// The segment that stands for the cause, where more than half of its time has one story.
    foremost: Option<&'a SegmentReport>,
    /// The particulars that most of its time shares.
    detail: &'a str,
    /// Where there are none, those that have the largest part of its time.
    leading: &'a str,
    root: Option<String>,
    /// Whether there is a typical time.
    compared: bool,
    unit: TimeUnit,
    wording: Wording,
}

impl<'a> Clause<'a> {
    /// The clause of `cause`, one of those of `outlier`.
    pub(super) fn of(outlier: &'a OutlierReport, cause: &'a CauseTotal) -> Clause<'a> {
        let segments = || outlier.segments.iter().filter(|segment| segment.cause == cause.cause);
        let ns = match outlier.baseline_mean_ns {
            Some(_) => cause.excess_ns.unsigned_abs(),
            None => cause.duration_ns,
        };
        let is_usual = cause.cause == model::Cause::UserExpected.to_string();
        let more = if !is_usual && cause.typical_ns > cause.duration_ns / 10 { " more" } else { "" };
        let most = foremost(segments()).filter(|&(_, time)| time > cause.duration_ns / 2);
        let foremost = most.map(|(segment, _)| segment);
        let mut details: BTreeMap<&str, u64> = BTreeMap::new();
        for segment in segments() {
            let time = details.entry(&segment.detail).or_default();
            *time = time.saturating_add(segment.duration_ns);
        }
        let (leading, time) = details.into_iter().max_by_key(|&(_, time)| time).unwrap_or_default();
        let is_shared = time > cause.duration_ns / 2;
        let is_leading = !is_shared && time > cause.duration_ns / LEADING;
        Clause {
            cause,
            time: format!("{}{more}", units::length(ns, outlier.time_unit)),
            foremost,
            detail: if is_shared { leading } else { "" },
            leading: if is_leading { leading } else { "" },
            compared: outlier.baseline_mean_ns.is_some(),
            wording: Wording::Full,
            unit: outlier.time_unit,
            root: foremost.and_then(|segment| root::of_wait(segment, outlier.time_unit, DEEPEST)),
        }
    }

    /// Without particulars: what was called how often by whom, but not what else that took.
    pub(super) fn brief(&self) -> String {
        self.worded(Wording::Brief)
    }

    /// The same, with the library's function in which most of the work was.
    pub(super) fn brief_through(&self) -> String {
        self.worded(Wording::Through)
    }

    /// The same, and without the place of a wait where the end of its chain is known.
    pub(super) fn terse(&self) -> String {
        self.worded(Wording::Terse)
    }

    fn worded(&self, wording: Wording) -> String {
        let (detail, leading) = (essence(self.detail), essence(self.leading));
        let brief: Clause<'_> = Clause { detail: &detail, leading: &leading, wording, ..self.clone() };
        brief.to_string()
    }

    /// Without what the thread that ended a wait did during it.
    pub(super) fn without_root(&self) -> Clause<'a> {
        Clause { root: None, ..self.clone() }
    }

    /// Without how long the thread that ended a wait did what it did during it.
    pub(super) fn without_lengths_below(&self) -> Clause<'a> {
        let root = self.foremost.and_then(|segment| root::in_common(segment, self.unit));
        Clause { root, ..self.clone() }
    }

    /// The same for what it has in common with those of other outliers: no lengths, no counts.
    pub(crate) fn in_common(outlier: &'a OutlierReport, cause: &'a CauseTotal) -> Clause<'a> {
        let whole = Clause::of(outlier, cause);
        let root = whole.foremost.and_then(|segment| root::in_common(segment, outlier.time_unit));
        Clause { root, ..whole }
    }

    /// `waited for mutex lock in worker() lock.c:107`: what happened, to which object and where.
    pub(crate) fn what(&self) -> String {
        let name = &*self.cause.cause;
        let object = self.part(|story| &story.object);
        match name {
            "user.extra-work" => format!("more work{}", self.place("in")),
            "user.expected" => format!("longer in the usual code{}", self.place("of")),
            _ if object.starts_with("stopped") => format!("{object}{}", self.place("in")),
            _ => match (object_of_wait(name), name.strip_prefix("kernel.syscall.")) {
                (Some(default), _) => {
                    let object = if object.is_empty() { default } else { object };
                    format!("waited for {object}{}", self.place("in"))
                }
                (_, Some(call)) => format!("{call}(){}", self.place("called by")),
                _ if name.starts_with("kernel.page-fault") => {
                    let major = if name == "kernel.page-fault.major" { "major " } else { "" };
                    format!("{major}page faults{}", self.place("of"))
                }
                _ if has_place(name) => format!("{}{}", phrase(name), self.place("in")),
                _ => phrase(name),
            },
        }
    }

    /// `held by auditor, which slept in keep() lock.c:38`: because of whom; empty where no thread is known.
    pub(crate) fn who(&self) -> String {
        let by = self.part(|story| &story.by);
        let ahead = match &*self.cause.cause {
            "offcpu.preempted" => "by",
            "offcpu.runnable" => "after",
            "queue.behind" => {
                return self.root.as_ref().map_or_else(String::new, |root| format!("which {root}"));
            }
            "queue.runtime" => return self.polled_first(),
            // A sleep ends by its timer.
            "offcpu.sleep" if by.starts_with("kernel.") => return String::new(),
            _ => return self.by().trim_start_matches(", ").to_owned(),
        };
        let (by, ran) = runners(self.story(), &format!("and {ahead}"));
        if by.is_empty() { by } else { format!("{ahead} {by}{ran}") }
    }

    /// `while worker shop-1 polled audit 3, which slept in flush_log()`
    fn polled_first(&self) -> String {
        let which = self.root.as_ref().map_or_else(String::new, |root| format!(", which {root}"));
        match (self.part(|story| &story.by), self.object()) {
            ("", _) => String::new(),
            (worker, "") => format!("until worker {worker} polled it{which}"),
            (worker, task) => format!("while worker {worker} polled {task}{which}"),
        }
    }

    /// `131.8 us held by auditor, which slept in keep(); waited for mutex lock in worker()`: what differs from others first.
    pub(super) fn who_first(&self) -> String {
        match self.who() {
            who if who.is_empty() => self.to_string(),
            who => format!("{} {who}; {}", self.time, self.what()),
        }
    }

    /// The object that was waited for or used; empty where none is known.
    pub(crate) fn object(&self) -> &'a str {
        self.part(|story| &story.object)
    }

    /// Whether a task waited, and no thread.
    pub(super) fn is_await(&self) -> bool {
        self.story().is_some_and(|story| story.is_not_run)
    }

    /// Where it happened: `worker() lock.c:107`; empty where that is not known.
    pub(crate) fn place_words(&self) -> &'a str {
        self.part(|story| &story.place)
    }

    /// Whether a thread ended it, and no interrupt.
    fn by_thread(&self) -> bool {
        self.story().is_some_and(|story| !story.by.is_empty() && !story.by.starts_with("kernel."))
    }

    fn is_brief(&self) -> bool {
        self.wording > Wording::Full
    }

    fn story(&self) -> Option<&Story> {
        self.foremost.map(|segment| &segment.story)
    }

    fn part(&self, part: impl Fn(&'a Story) -> &'a str) -> &'a str {
        self.foremost.map_or("", |segment| part(&segment.story))
    }

    /// ` in worker() lock.c:107`, with what a library did for it.
    fn place(&self, preposition: &str) -> String {
        match self.part(|story| &story.place) {
            "" => String::new(),
            _ if self.wording == Wording::Terse && self.root.is_some() => String::new(),
            place => format!(" {preposition} {place}"),
        }
    }

    /// ` called by weigh()`: whose wait it is, for the loop is often that of a lock.
    fn called_by(&self) -> String {
        match self.part(|story| &story.callers) {
            "" => String::new(),
            _ if self.is_brief() => String::new(),
            caller => format!(" called by {caller}"),
        }
    }

    /// Whether it is a loop that waits, in a function whose caller is known.
    pub(super) fn is_called_loop(&self) -> bool {
        self.cause.cause == "user.spin" && !self.part(|story| &story.callers).is_empty()
    }

    /// The same as [`Clause::place`], and on which worker that was, where the interval is a task's.
    fn placed(&self, preposition: &str) -> String {
        format!("{}{}", self.place(preposition), self.on_worker())
    }

    fn on_worker(&self) -> String {
        match self.part(|story| &story.worker) {
            "" => String::new(),
            worker => format!(" on {worker}"),
        }
    }

    /// `, held by auditor, which slept in keep() lock.c:38`
    fn by(&self) -> String {
        let Some(story) = self.story().filter(|story| !story.by.is_empty()) else { return String::new() };
        if let Some(interrupt) = story.by.strip_prefix("kernel.") {
            let during = self.foremost.map_or(&[][..], |segment| &segment.during);
            return format!(", woken by {}", root::interrupt(interrupt, during));
        }
        let call = if story.by_place.is_empty() { String::new() } else { format!(" in {}", story.by_place) };
        let part = match story.role {
            Role::Holder => "held by",
            Role::Runner => return String::new(),
            Role::Sender => return format!(", sent by {}{call}", story.by),
            Role::LikelySender => return format!(", most likely sent by {}{call}", story.by),
            Role::Beside => {
                let did = self.root.as_deref().unwrap_or("ran");
                return format!(", while {} {did}", story.by);
            }
            _ => "woken by",
        };
        let which = self.root.as_ref().map_or_else(String::new, |root| format!(", which {root}"));
        format!(", {part} {}{which}", story.by)
    }

    fn wait(&self, f: &mut fmt::Formatter<'_>, default: &str) -> fmt::Result {
        let object = match self.part(|story| &story.object) {
            "" => default,
            object => object,
        };
        if object.starts_with("stopped") {
            return write!(f, "{object} for {}{}{}", self.time, self.placed("in"), self.by());
        }
        write!(f, "waited {} for {object}{}{}", self.time, self.placed("in"), self.by())
    }

    fn kernel(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let (time, count) = (&self.time, self.cause.count);
        let (kind, of) = name.split_once('.').unwrap_or((name, ""));
        match kind {
            "syscall" if count > 1 => write!(f, "{time} in {count} {of}() calls{}", self.placed("of")),
            "syscall" => write!(f, "{time} in {of}(){}", self.placed("called by")),
            "page-fault" => {
                let major = if of == "major" { "major " } else { "" };
                let faults = units::counted(count, &format!("{major}page fault"));
                let did = match self.part(|story| &story.object) {
                    "" => String::new(),
                    did => format!(": {did}"),
                };
                write!(f, "{time} in {faults}{}{did}", self.placed("of"))
            }
            "softirq" => write!(f, "{time} in softirq {of}{}", self.particulars()),
            "irq" => write!(f, "{time} in interrupts of {of}{}", self.particulars()),
            "timer" => {
                write!(f, "{time} in {}{}", units::counted(count, "timer interrupt"), self.particulars())
            }
            "ipi" => {
                let interrupts = units::counted(count, "interrupt");
                // Who sent it is what the reader can act on.
                let more = if self.is_brief() { self.by() } else { self.particulars() };
                write!(f, "{time} in {interrupts} from other CPUs ({of}){more}")
            }
            "nmi" => write!(f, "{time} in {}{}", units::counted(count, "NMI"), self.particulars()),
            "schedule" => write!(f, "{time} in the scheduler"),
            "spin" => {
                let lock = match self.part(|story| &story.object) {
                    "" => String::new(),
                    lock => format!(", {lock}"),
                };
                write!(f, "spun {time} in the kernel{}{lock}{}", self.placed("called by"), self.by())
            }
            "thread" => write!(f, "{time} in the kernel thread {of}{}", self.particulars()),
            _ => write!(f, "{time} in the kernel{}{}", self.placed("called by"), self.particulars()),
        }
    }

    /// The library's function in which most of the work was, where nothing else says so.
    fn mostly_in(&self) -> Option<&'a str> {
        let through = self.part(|story| &story.through);
        (!through.is_empty() && !self.detail.contains(through)).then_some(through)
    }

    /// Whether the clause of extra work says in which function of a library most of it was.
    pub(super) fn goes_through(&self) -> bool {
        self.cause.cause == "user.extra-work" && self.mostly_in().is_some()
    }

    fn user(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let (time, detail) = (&self.time, self.detail);
        let through = self.mostly_in().filter(|_| self.wording <= Wording::Through);
        let through = through.map_or_else(String::new, |through| format!(", mostly in {through}"));
        let object = self.part(|story| &story.object);
        match name {
            "extra-work" if object.starts_with("an exception") => {
                let caught = object.trim_start_matches("an exception");
                write!(f, "{time} of extra work: an exception thrown{}{caught}", self.placed("in"))
            }
            "extra-work" if object.starts_with("a panic") => {
                let caught = object.trim_start_matches("a panic");
                write!(f, "{time} of extra work: a panic{}{caught}", self.placed("in"))
            }
            "extra-work" if detail.is_empty() => {
                let leading = match self.leading {
                    "" => through,
                    leading => format!(", above all {}", once_said(leading, time)),
                };
                write!(f, "{time} of extra work{}{leading}", self.placed("in"))
            }
            "extra-work" => {
                let place = self.part(|story| &story.place);
                let is_named = detail.contains(place.split("()").next().unwrap_or(place));
                let whose = if is_named { String::new() } else { self.place(", for") };
                let said = once_said(detail, time);
                let (what, typical) = said.split_at(said.find("; typical ").unwrap_or(said.len()));
                let (whose, on) = (whose.trim_start(), self.on_worker());
                write!(f, "{time} of extra work: {what}{whose}{on}{typical}{through}")
            }
            "spin" => write!(f, "spun {time}{}{}{}", self.placed("in"), self.called_by(), self.by()),
            "slower.frequency" => write!(f, "{time} slower at a lower frequency{}", self.particulars()),
            "slower.front-end" => write!(f, "{time} slower in the front end{}", self.particulars()),
            "slower.other" => write!(f, "{time} slower in the same code{}", self.particulars()),
            _ if !self.compared => write!(f, "{time} in the code{}", self.placed("of")),
            _ => write!(f, "{time} longer in the usual code{}", self.placed("of")),
        }
    }

    /// `moved to CPU 1 by sched_setaffinity() of config, runnable behind hog for 80.0 us`
    fn runnable(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moved = self.part(|story| &story.object);
        if !moved.is_empty() {
            write!(f, "{moved}, ")?;
        }
        let time = &self.time;
        let (by, ran) = runners(self.story(), "and behind");
        if by.is_empty() {
            return write!(f, "runnable for {time}");
        }
        write!(f, "runnable behind {by} for {time}{ran}")
    }

    /// `, consume: 13002 instructions, 12 calls`; of what many functions have a part of, where they meet.
    fn particulars(&self) -> String {
        // How it is known is for the list of causes, unless nothing else is.
        let detail = match self.detail.strip_prefix(UNTRACED) {
            Some(known) if self.cause.cause != "kernel.unknown" => known.trim_start_matches(", "),
            _ => self.detail,
        };
        match detail {
            "" => self.place("in").replacen(' ', ", ", 1),
            _ if self.is_brief() => String::new(),
            detail => format!(", {detail}"),
        }
    }
}

/// How the particulars of kernel work begin in a trace of user code alone.
const UNTRACED: &str = "tracing was off";

/// `rehash() called 1 time by insert(); one rep …` of `rehash() called 1 time by insert(), 34.9 us, and 26.9 us in the kernel; typical 0; one rep …`.
fn essence(detail: &str) -> String {
    let mut parts = detail.split("; ").filter(|part| !part.starts_with("typical "));
    let what = parts.next().unwrap_or_default();
    let is_length = |at: &usize| what[at + 3..].starts_with(|first: char| first.is_ascii_digit());
    let end = what.match_indices("), ").map(|(at, _)| at).find(is_length);
    let what = end.map_or(what, |at| &what[..=at]);
    std::iter::once(what).chain(parts).collect::<Vec<_>>().join("; ")
}

/// `rehash() called by insert()` of `rehash() called 1 time by insert(), 41.2 us; typical 0` beside `time`: extra work has
/// no typical time, and a call is one unless more are counted.
fn once_said(detail: &str, time: &str) -> String {
    let detail = detail.replace("; typical 0", "").replace(" called 1 time by ", " called by ");
    match detail.rsplit_once(", ") {
        Some((what, length)) if is_same_length(length, time) => what.to_owned(),
        _ => detail,
    }
}

/// Whether two lengths are the same but for the digits that are shown: `9.1 us` and `9.12 us`.
fn is_same_length(one: &str, other: &str) -> bool {
    let tenths = |length: &str| {
        let (number, unit) = length.split_once(' ')?;
        Some((format!("{:.1}", number.parse::<f64>().ok()?), unit.to_owned()))
    };
    tenths(one).is_some_and(|one| tenths(other) == Some(one))
}

/// Whether a cause is the doing of the code in which it took its time.
fn has_place(cause: &str) -> bool {
    let kinds = ["user.", "offcpu.", "runtime.", "kernel.spin", "kernel.unknown", "hardware."];
    kinds.iter().any(|kind| cause.starts_with(kind))
}

/// What a wait of this cause is for, where nothing says more.
fn object_of_wait(cause: &str) -> Option<&'static str> {
    Some(match cause {
        "offcpu.lock" => "a lock",
        "offcpu.socket" => "a socket",
        "offcpu.block-io" => "block I/O",
        "offcpu.poll" => "events",
        "offcpu.other" => "an event",
        _ => return None,
    })
}

impl fmt::Display for Clause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, name) = (&self.time, &*self.cause.cause);
        if let Some(kernel) = name.strip_prefix("kernel.") {
            return self.kernel(f, kernel);
        }
        if let Some(user) = name.strip_prefix("user.") {
            return self.user(f, user);
        }
        if let Some(state) = name.strip_prefix("power.c-state-exit.") {
            return write!(f, "{time} until its CPU had left {state}");
        }
        if let Some(runtime) = name.strip_prefix("runtime.gc.") {
            let place = self.placed("at");
            return match self.part(|story| &story.by) {
                "" => write!(f, "{time} in {runtime}'s garbage collector{place}"),
                by => write!(f, "waited {time} for {runtime}'s garbage collector{place}, which {by} ran"),
            };
        }
        if let Some(runtime) = name.strip_prefix("runtime.idle.") {
            return write!(f, "{time} idle in {runtime}'s scheduler{}", self.by());
        }
        // A task that sleeps is woken by the worker that serves the timers.
        let is_of_task = name == "offcpu.sleep" && !self.object().is_empty() && self.by_thread();
        if let Some(default) = object_of_wait(name).or(is_of_task.then_some("a timer")) {
            return self.wait(f, default);
        }
        match name {
            "offcpu.sleep" => write!(f, "slept {time}{}", self.placed("in")),
            "offcpu.preempted" => {
                let ((by, ran), place) = (runners(self.story(), "and by"), self.placed("in"));
                match &*ran {
                    _ if by.is_empty() => write!(f, "preempted for {time}{place}"),
                    "" => write!(f, "preempted for {time} by {by}{place}"),
                    ran => write!(f, "preempted for {time}{place} by {by}{ran}"),
                }
            }
            "offcpu.runnable" => self.runnable(f),
            "queue.behind" => {
                let which = self.root.as_ref().map_or_else(String::new, |root| format!(", which {root}"));
                write!(f, "queued {time} behind {}{which}", self.part(|story| &story.object))
            }
            "queue.runtime" => write!(f, "ready for {time} {}", self.polled_first()),
            "power.frequency-switch" if self.cause.count > 1 => {
                write!(f, "{time} in {} frequency switches", self.cause.count)
            }
            "power.frequency-switch" => write!(f, "{time} in a frequency switch"),
            "hardware.gap" => write!(f, "no instruction retired for {time}{}", self.placed("in")),
            // No record shows a loss: the trace may not have begun.
            "trace.loss" if self.cause.certainty == Certainty::Unknown => {
                write!(f, "{time} without a trace{}", self.particulars())
            }
            "trace.loss" => write!(f, "{time} of trace lost{}", self.particulars()),
            "trace.filtered" => write!(f, "{time} not traced{}", self.particulars()),
            "unexplained" => write!(f, "{time} unexplained{}", self.particulars()),
            _ => write!(f, "{time} {name}{}", self.particulars()),
        }
    }
}
