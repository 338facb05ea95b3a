//! Begin and end marks become intervals.
//!
//! Input: marks in any order. Output: intervals, and a diagnostic for each mark that is left over: every begin and end
//! is in exactly one of the two. With a key, the end of a label and key ends its open begin on whatever thread; without,
//! the innermost open begin of its label on its own thread. Marks are sorted by time first; equal times keep their order.
//! Where marks are known to be missing, nothing is paired that they make doubtful (`losses.rs`).

mod ids;
mod losses;
mod open;
mod phases;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use model::{Counter, Cpu, Details, Interval, IntervalId, PhaseKind, Severity, ThreadId, Tsc, TscRange};

use crate::findings::{Findings, Origin};
use crate::interval_set::IntervalSet;
pub use losses::Loss;
use losses::Losses;
use open::Open;
pub use open::{MOST_COUNTERS, MOST_STAGES};
pub use phases::MOST_PHASES;

/// The most begins without a key that may be open on a thread at once (per label).
const DEEPEST_NESTING: usize = 1 << 16;

/// What a mark says.
#[derive(Clone, Debug, PartialEq)]
pub enum MarkKind {
    /// An interval begins.
    Begin,
    /// It ends.
    End,
    /// A named part of it begins.
    Stage(Arc<str>),
    /// The start thread hands over to the stop thread.
    Publish,
    /// Nothing but its counters.
    Counter,
    /// A thread runs the interval's task, wakes it, or has run it as far as it could go.
    Phase(PhaseKind),
}

/// One mark of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// What it says.
    pub kind: MarkKind,
    /// What kind of interval it belongs to.
    pub label: Arc<str>,
    /// What pairs it with others across threads.
    pub key: Option<Box<str>>,
    /// When.
    pub at: Tsc,
    /// Who executed it.
    pub thread: Option<ThreadId>,
    /// Where, if that is known: this distinguishes the idle tasks, which all are thread 0.
    pub cpu: Option<Cpu>,
    /// The id of the interval, where the begin states one.
    pub id: Option<u64>,
    /// Counters that came with it.
    pub counters: Vec<Counter>,
    /// Where it stands.
    pub origin: Origin,
}

/// Pairs `marks`; `findings` are those of reading them.
///
/// An interval's id is the one its begin states, else its number in order of the begins (of all paired ones, from 0).
pub fn pair(marks: Vec<Mark>, findings: Findings) -> IntervalSet {
    pair_beside(marks, Vec::new(), Vec::new(), findings)
}

/// Pairs `marks` of a source in which those of `losses` are missing.
pub fn pair_around(marks: Vec<Mark>, losses: Vec<Loss>, findings: Findings) -> IntervalSet {
    pair_beside(marks, losses, Vec::new(), findings)
}

/// Pairs `marks` of a source that also states whole `intervals`; ids that they have taken are given to no other.
pub(crate) fn pair_beside(
    mut marks: Vec<Mark>,
    losses: Vec<Loss>,
    intervals: Vec<Interval>,
    findings: Findings,
) -> IntervalSet {
    marks.sort_by_key(|mark| mark.at);
    let mut pairing = Pairing { findings, losses: Losses::new(losses), ..Pairing::default() };
    for mark in marks {
        pairing.take(mark);
    }
    pairing.finish(intervals)
}

/// Marks that may pair with each other: with a key on any thread, without one on their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lane {
    Keyed(Arc<str>, Box<str>),
    Nested(Arc<str>, Option<ThreadId>, Option<Cpu>),
}

/// A paired interval.
#[derive(Debug)]
struct Done {
    /// The id that its begin states.
    id: Option<u64>,
    interval: Interval,
    /// It has a key, and marks are missing within it.
    spans_loss: bool,
}

#[derive(Debug, Default)]
struct Pairing {
    open: HashMap<Lane, VecDeque<Open>>,
    /// The last end of a keyed lane that had no begin, until the next begin.
    early_ends: HashMap<Lane, Mark>,
    done: Vec<Done>,
    losses: Losses,
    /// Labels of which a key began twice.
    begun_again: HashSet<Arc<str>>,
    findings: Findings,
}

impl Lane {
    fn of(mark: &Mark) -> Lane {
        if let Some(key) = &mark.key {
            return Lane::Keyed(Arc::clone(&mark.label), key.clone());
        }
        let cpu = mark.cpu.filter(|_| mark.thread.is_none_or(ThreadId::is_idle));
        Lane::Nested(Arc::clone(&mark.label), mark.thread, cpu)
    }
}

impl Pairing {
    fn take(&mut self, mark: Mark) {
        let lane = Lane::of(&mark);
        self.losses.pass(mark.at);
        if matches!(lane, Lane::Nested(..)) {
            self.close_incomplete(&lane, mark.thread);
        }
        match mark.kind {
            MarkKind::Begin => self.begin(lane, mark),
            MarkKind::End => self.end(lane, mark),
            MarkKind::Stage(_) | MarkKind::Publish | MarkKind::Counter | MarkKind::Phase(_) => {
                self.within(&lane, &mark);
            }
        }
    }

    fn begin(&mut self, lane: Lane, mark: Mark) {
        let early_end = self.early_ends.remove(&lane).map(Box::new);
        let keyed = matches!(lane, Lane::Keyed(..));
        if !keyed && self.losses.lasts(mark.thread, mark.at) {
            return self.left_over(INCOMPLETE, &mark, IN_LOSS);
        }
        let losses = self.losses.count(mark.thread);
        // A million lanes with one open begin each: a first push would make room for four.
        let stack = self.open.entry(lane).or_insert_with(|| VecDeque::with_capacity(1));
        let displaced = match stack.len() {
            1.. if keyed => stack.pop_back(),
            DEEPEST_NESTING.. => stack.pop_front(),
            _ => None,
        };
        stack.push_back(Open::new(mark, losses, early_end));
        match displaced {
            Some(open) if keyed => {
                self.begun_again.insert(Arc::clone(&open.begin.label));
                self.never_ended(open, "duplicate begins", "begins again before it ended");
            }
            Some(open) => self.never_ended(open, NO_END, "is the outermost of 65536 open ones on its thread"),
            None => {}
        }
    }

    fn end(&mut self, lane: Lane, mark: Mark) {
        let open = match self.open.entry(lane.clone()) {
            Entry::Occupied(mut entry) => {
                let open = entry.get_mut().pop_back();
                if entry.get().is_empty() {
                    entry.remove();
                }
                open
            }
            Entry::Vacant(_) => None,
        };
        match open {
            Some(open) => self.close(open, mark),
            None if matches!(lane, Lane::Keyed(..)) => {
                if let Some(earlier) = self.early_ends.insert(lane, mark) {
                    self.left_over("ends without begin", &earlier, END_ALONE);
                }
            }
            None => self.left_over("ends without begin", &mark, END_ALONE),
        }
    }

    /// Closes what was open without a key before its thread's latest loss.
    fn close_incomplete(&mut self, lane: &Lane, thread: Option<ThreadId>) {
        let losses = self.losses.count(thread);
        // Each mark of the lane comes by here, so all of its open ones are from before the loss, or none.
        let is_from_before = |stack: &VecDeque<Open>| stack.back().is_some_and(|open| open.losses < losses);
        if losses > 0 && self.open.get(lane).is_some_and(is_from_before) {
            for open in self.open.remove(lane).unwrap_or_default() {
                self.left_over(INCOMPLETE, &open.begin, IN_LOSS);
            }
        }
    }

    fn within(&mut self, lane: &Lane, mark: &Mark) {
        let Some(open) = self.open.get_mut(lane).and_then(VecDeque::back_mut) else {
            // A probe on a runtime's function fires for all tasks, also for those that are no intervals.
            if matches!((&mark.kind, mark.origin), (MarkKind::Phase(_), Origin::Record(_))) {
                return;
            }
            return self.left_over(
                "markers outside of an interval",
                mark,
                "lies in no open interval: it is left out",
            );
        };
        let room = open.add(mark.kind.clone(), mark.at, mark.thread, mark.counters.clone());
        if !room {
            self.left_over(
                "markers beyond the limits",
                mark,
                "is one too many of its interval: it is left out",
            );
        }
    }

    fn close(&mut self, mut open: Open, end: Mark) {
        if let Some(early) = open.early_end.take() {
            self.left_over("ends without begin", &early, END_ALONE);
        }
        open.add(MarkKind::Counter, end.at, end.thread, end.counters);
        let id = open.begin.id;
        let range = TscRange::new(open.begin.at, end.at);
        let spans_loss = open.begin.key.is_some() && self.losses.any_between(range.start, range.stop);
        let mut phases = open.phases.finish(range, open.begin.thread);
        if spans_loss && !phases.is_empty() {
            phases.clear();
            self.findings.add(Severity::Warning, "phases beside lost markers", end.origin, || {
                let (label, start, stop) = (name(&open.begin), range.start.0, range.stop.0);
                format!(
                    "{label} from {start} to {stop} lost markers, and a phase may be among them: its phases are left out"
                )
            });
        }
        let details = Details {
            key: open.begin.key.map(String::from),
            publish: open.publish,
            stages: open.stages,
            phases,
            counters: open.counters,
            record: if let Origin::Record(offset) = end.origin { Some(offset) } else { None },
            ..Details::default()
        };
        let mut interval =
            Interval::new(IntervalId(0), open.begin.label, range, open.begin.thread).with(details);
        interval.stop_thread = end.thread;
        self.done.push(Done { id, interval, spans_loss });
    }

    /// A begin without end: alone, or with an end that came too early.
    fn never_ended(&mut self, mut open: Open, kind: &'static str, what: &str) {
        match open.early_end.take() {
            Some(end) if end.at == open.begin.at => self.close(open, *end),
            Some(end) => self.findings.add(Severity::Error, "negative intervals", open.begin.origin, || {
                let ticks = open.begin.at.since(end.at).0;
                format!("{} ends {ticks} ticks before it begins: it is left out", name(&open.begin))
            }),
            None => self.left_over(kind, &open.begin, &format!("{what}: it is left out")),
        }
    }

    fn left_over(&mut self, kind: &'static str, mark: &Mark, what: &str) {
        self.findings.add(Severity::Warning, kind, mark.origin, || {
            format!("{} of {} at {} {what}", mark.kind.name(), name(mark), mark.at.0)
        });
    }

    fn finish(mut self, stated: Vec<Interval>) -> IntervalSet {
        let mut open: Vec<Open> = std::mem::take(&mut self.open).into_values().flatten().collect();
        open.sort_by(|a, b| order(&a.begin).cmp(&order(&b.begin)));
        self.losses.pass_all();
        for open in open {
            let is_keyed = open.begin.key.is_some();
            if !is_keyed && open.losses < self.losses.count(open.begin.thread) {
                self.left_over(INCOMPLETE, &open.begin, IN_LOSS);
            } else {
                self.never_ended(open, NO_END, "has no end");
            }
        }
        let mut ends: Vec<Mark> = std::mem::take(&mut self.early_ends).into_values().collect();
        ends.sort_by(|a, b| order(a).cmp(&order(b)));
        for end in ends {
            self.left_over("ends without begin", &end, END_ALONE);
        }
        self.leave_out_doubtful();
        let intervals = ids::number(self.done, stated, &mut self.findings);
        self.findings.into_set(intervals)
    }

    /// Leaves out what spans a loss under a key, where the label's keys are used again.
    fn leave_out_doubtful(&mut self) {
        if !self.done.iter().any(|done| done.spans_loss) {
            return;
        }
        let mut keys: HashSet<(&str, &str)> = HashSet::new();
        let keyed = self
            .done
            .iter()
            .filter_map(|Done { interval, .. }| Some((interval.label.as_str(), interval.key.as_deref()?)));
        let mut used_again: HashSet<String> = self.begun_again.iter().map(ToString::to_string).collect();
        used_again.extend(keyed.filter(|key| !keys.insert(*key)).map(|(label, _)| label.to_owned()));
        let findings = &mut self.findings;
        self.done.retain(|Done { interval, spans_loss, .. }| {
            let doubtful = *spans_loss && used_again.contains(interval.label.as_str());
            if doubtful {
                findings.add(Severity::Warning, "doubtful intervals", Origin::Unknown, || {
                    let (start, stop) = (interval.range.start.0, interval.range.stop.0);
                    format!(
                        "{:?} with key {:?} from {start} to {stop} spans lost markers, and keys of its label are used \
                         again: its begin and its end may be those of two intervals: it is left out",
                        interval.label,
                        interval.key.as_deref().unwrap_or_default()
                    )
                });
            }
            !doubtful
        });
    }
}

const END_ALONE: &str = "has no begin: it is left out";
const NO_END: &str = "begins without end";
const INCOMPLETE: &str = "begins that lost markers leave open";
const IN_LOSS: &str = "is open where markers of its thread were lost: it is left out";

/// Makes the order of left-over marks the same in every run.
fn order(mark: &Mark) -> (Tsc, &str, Option<&str>, Option<ThreadId>) {
    (mark.at, &mark.label, mark.key.as_deref(), mark.thread)
}

impl MarkKind {
    fn name(&self) -> &'static str {
        match self {
            MarkKind::Begin => "begin",
            MarkKind::End => "end",
            MarkKind::Stage(_) => "stage",
            MarkKind::Publish => "publish",
            MarkKind::Counter => "counter",
            MarkKind::Phase(PhaseKind::Run) => "run",
            MarkKind::Phase(PhaseKind::Ready) => "ready",
            MarkKind::Phase(PhaseKind::Await) => "await",
        }
    }
}

fn name(mark: &Mark) -> String {
    match &mark.key {
        Some(key) => format!("{:?} with key {key:?}", mark.label),
        None => format!("{:?}", mark.label),
    }
}

#[cfg(test)]
mod tests;
