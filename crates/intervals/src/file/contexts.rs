//! Threads of spans that name none: from records of which span each thread worked for, since when.
//!
//! Input: spans with their ids and parents, and [`SpanContext`]s. Output: the spans' threads, and their phases where a span was laid
//! aside or went from thread to thread. A thread that works for a span works for those around it, too. Nothing is guessed: a span that
//! no record names keeps no thread, and a diagnostic says so.

use std::collections::HashMap;

use model::{Interval, Phase, PhaseKind, Severity, ThreadId, Ticks, Tsc, TscRange};

use super::tree::{self, Link};
use crate::findings::{Findings, Origin};
use crate::pairing::MOST_PHASES;

/// How many spans around one are looked at.
const DEEPEST: usize = 64;
const REMEDY: &str = "give it the attribute `thread.id`, the kernel's number of the thread (gettid()), and its resource `process.pid`; or record which span each thread works for, as docs/interval-file.md (\"Spans without a thread\") shows";

/// From now on a thread works for this span, or for none (0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanContext {
    /// When.
    pub at: Tsc,
    /// The thread.
    pub thread: ThreadId,
    /// The span's id, as a number or as its eight bytes lie in memory: either order of bytes is understood.
    pub span: u64,
}

/// Spans by their ids.
struct Spans<'a> {
    intervals: &'a [Interval],
    /// In order.
    ids: Vec<(u64, usize)>,
    parents: HashMap<usize, usize>,
    /// How much the clocks may be apart.
    bound: Ticks,
}

/// A thread begins or ends to work for a span.
#[derive(Clone, Copy)]
struct Turn {
    span: usize,
    at: Tsc,
    thread: ThreadId,
    begins: bool,
}

/// A thread that works for a span.
type Run = (ThreadId, TscRange);

/// Gives each of the `lacking` intervals its threads; `links` has an entry for each interval, `bound` is by how much their times may be
/// off. What remains without one becomes a finding.
pub(super) fn give_threads(
    intervals: &mut [Interval],
    links: &[Link],
    lacking: &[(usize, Origin)],
    (contexts, bound): (&[SpanContext], Ticks),
    findings: &mut Findings,
) {
    let spans = Spans::new(intervals, links, bound);
    let mut contexts = contexts.to_vec();
    contexts.sort_by_key(|context| context.at);
    let mut is_lacking = vec![false; intervals.len()];
    for &(index, _) in lacking {
        is_lacking[index] = true;
    }
    let (mut turns, outside) = spans.turns(&contexts, &is_lacking);
    // Stable: those of a span stay in order of time.
    turns.sort_by_key(|turn| turn.span);
    let mut given: HashMap<usize, Vec<Run>> = HashMap::new();
    for of_span in turns.chunk_by(|a, b| a.span == b.span) {
        let span = of_span[0].span;
        given.insert(span, runs(of_span, intervals[span].range));
    }
    for &(index, origin) in lacking {
        let interval = &mut intervals[index];
        match given.remove(&index).filter(|runs| !runs.is_empty()) {
            Some(runs) => work_by(interval, &runs, origin, findings),
            None => say_lacking(&interval.label, outside.get(&index).copied(), origin, findings),
        }
    }
}

impl<'a> Spans<'a> {
    fn new(intervals: &'a [Interval], links: &[Link], bound: Ticks) -> Spans<'a> {
        let id = |(index, link): (usize, &Link)| match link {
            Link::Ids { span, .. } => Some((*span, index)),
            Link::Lane(_) => None,
        };
        let mut ids: Vec<(u64, usize)> = links.iter().enumerate().filter_map(id).collect();
        ids.sort_unstable();
        let parents = tree::by_ids(links).into_iter().map(|(parent, child)| (child, parent)).collect();
        Spans { intervals, ids, parents, bound }
    }

    /// What the intervals' threads begin and end to do, in order of time; and by how much records miss a span that they name.
    fn turns(&self, contexts: &[SpanContext], is_lacking: &[bool]) -> (Vec<Turn>, HashMap<usize, u64>) {
        let (mut turns, mut outside) = (Vec::new(), HashMap::new());
        let mut current: HashMap<ThreadId, Vec<usize>> = HashMap::new();
        for context in contexts {
            let (named, missed) = self.named(context);
            if let Some((span, ticks)) = missed {
                let least = outside.entry(span).or_insert(ticks);
                *least = ticks.min(*least);
            }
            let now = self.around(named, context.at);
            let before = current.entry(context.thread).or_default();
            let mut add = |span: usize, begins: bool| {
                if is_lacking[span] {
                    turns.push(Turn { span, at: context.at, thread: context.thread, begins });
                }
            };
            before.iter().filter(|span| !now.contains(span)).for_each(|&span| add(span, false));
            now.iter().filter(|span| !before.contains(span)).for_each(|&span| add(span, true));
            *before = now;
        }
        (turns, outside)
    }

    /// The span that a record names at its time; else one of that id, and by how many ticks the record misses it.
    fn named(&self, context: &SpanContext) -> (Option<usize>, Option<(usize, u64)>) {
        let mut missed = None;
        // 0 is none.
        for id in [context.span, context.span.swap_bytes()].into_iter().filter(|&id| id != 0) {
            let from = self.ids.partition_point(|&(other, _)| other < id);
            for &(_, span) in self.ids[from..].iter().take_while(|&&(other, _)| other == id).take(DEEPEST) {
                match self.distance(span, context.at) {
                    0 => return (Some(span), None),
                    ticks => missed = Some((span, ticks)),
                }
            }
        }
        (None, missed)
    }

    /// By how much a time lies outside of a span, beyond the bound.
    fn distance(&self, span: usize, at: Tsc) -> u64 {
        let TscRange { start, stop } = self.intervals[span].range;
        let outside = start.0.saturating_sub(at.0).max(at.0.saturating_sub(stop.0));
        outside.saturating_sub(self.bound.0)
    }

    /// A span and those around it that have not ended.
    fn around(&self, span: Option<usize>, at: Tsc) -> Vec<usize> {
        let parent = |span: &usize| self.parents.get(span).copied();
        let mut all: Vec<usize> = std::iter::successors(span, parent).take(DEEPEST).collect();
        all.retain(|&span| self.distance(span, at) == 0);
        all
    }
}

/// Who works for a span when. Where several threads do, it is the first of them, and after its end the next.
fn runs(turns: &[Turn], range: TscRange) -> Vec<Run> {
    let within = |at: Tsc| at.clamp(range.start, range.stop);
    let mut runs: Vec<Run> = Vec::new();
    let mut at_work: Vec<ThreadId> = Vec::new();
    for turn in turns {
        let before = at_work.first().copied();
        at_work.retain(|&thread| thread != turn.thread);
        if turn.begins {
            at_work.push(turn.thread);
        }
        let now = at_work.first().copied();
        if now == before {
            continue;
        }
        let at = within(turn.at);
        if let Some((_, last)) = runs.last_mut().filter(|_| before.is_some()) {
            last.stop = at;
        }
        if let Some(thread) = now {
            runs.push((thread, TscRange { start: at, stop: range.stop }));
        }
    }
    runs
}

/// One run is the thread's, all of it; several are phases.
fn work_by(interval: &mut Interval, runs: &[Run], origin: Origin, findings: &mut Findings) {
    let range = interval.range;
    interval.start_thread = runs.first().map(|(thread, _)| *thread);
    interval.stop_thread = runs.last().map(|(thread, _)| *thread);
    let mut phases: Vec<Phase> = Vec::new();
    let mut add = |kind, thread, range: TscRange| match phases.last_mut() {
        _ if range.is_empty() => {}
        Some(Phase { kind: last, thread: same, range: before })
            if (*last, *same) == (kind, Some(thread)) && before.stop == range.start =>
        {
            before.stop = range.stop;
        }
        _ => phases.push(Phase { kind, thread: Some(thread), range }),
    };
    let mut from = range.start;
    for (at, &(thread, run)) in runs.iter().enumerate() {
        // Before the first one the same thread worked for it already.
        let begin = if at == 0 { from } else { run.start };
        if let Some((aside, _)) = at.checked_sub(1).and_then(|before| runs.get(before)) {
            add(PhaseKind::Await, *aside, TscRange { start: from, stop: begin });
        }
        add(PhaseKind::Run, thread, TscRange { start: begin, stop: run.stop });
        from = run.stop;
    }
    if let Some((aside, _)) = runs.last() {
        add(PhaseKind::Await, *aside, TscRange { start: from, stop: range.stop });
    }
    if phases.iter().filter(|phase| phase.kind == PhaseKind::Run).count() < 2 {
        return;
    }
    if phases.len() > MOST_PHASES {
        findings.add(Severity::Warning, "phases beyond the limit", origin, || {
            format!(
                "span {:?} has {} phases: {MOST_PHASES} are kept, the last one lasts to its end",
                short(&interval.label),
                phases.len()
            )
        });
        phases.truncate(MOST_PHASES);
        phases.iter_mut().next_back().into_iter().for_each(|last| last.range.stop = range.stop);
    }
    interval.phases = phases;
}

fn say_lacking(label: &str, outside: Option<u64>, origin: Origin, findings: &mut Findings) {
    findings.add(Severity::Warning, "spans without a thread", origin, || {
        let label = short(label);
        match outside {
            None => format!(
                "span {label:?} names no thread, so it is measured but cannot be explained: {REMEDY}"
            ),
            Some(ticks) => format!(
                "span {label:?} names no thread, and the record that names it lies {ticks} ticks outside of its time, so it is measured but cannot be explained: check the clock pairs, and that the record is made between the span's start and its end"
            ),
        }
    });
}

fn short(label: &str) -> String {
    label.chars().take(60).collect()
}

#[cfg(test)]
mod tests;
