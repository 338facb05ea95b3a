//! The content of a file before its clock is converted: rows and marks in the file's clock, and the pairs, which may stand
//! anywhere in the file. [`Draft::finish`] joins, pairs and sorts.

use std::collections::HashSet;

use model::{Interval, Severity, ThreadId, Tsc, TscRange};

use crate::clock::{Clock, ClockPair, Clocks, Join};
use crate::error::Error;
use crate::findings::{Findings, Origin};
use crate::interval_set::IntervalSet;
use crate::losses::Counts;
use crate::pairing::{self, Loss, Mark};

use super::contexts::{self, SpanContext};
use super::mark_context::MarkContext;
use super::tree::{self, Link};

/// The most pairs that are kept of one file: a pair each millisecond for half an hour.
const MOST_PAIRS: usize = 2_000_000;

/// The most losses of one file that are kept apart.
const MOST_LOSSES: usize = 2_000_000;

/// All that a file said.
pub(super) struct Draft {
    pub(super) clock: Clock,
    /// Whether the file or its pairs say which clock that is.
    clock_is_named: bool,
    /// Lines and spans that are a whole interval each; their times are still the file's clock.
    pub(super) rows: Vec<Interval>,
    /// Where each row stands.
    origins: Vec<Origin>,
    /// Of each row its place in the tree of spans; empty where the form has no tree.
    pub(super) links: Vec<Link>,
    pub(super) marks: Vec<Mark>,
    pub(super) context: MarkContext,
    pub(super) pairs: Vec<ClockPair>,
    /// Where marks are missing.
    lost: Vec<Loss>,
    /// How many are.
    pub(super) losses: Counts,
    /// Moments, as the file's own counter of TSC ticks and `CLOCK_REALTIME` show them: its times begin at an unknown one.
    epochs: Vec<(u64, u64)>,
    pub(super) findings: Findings,
    ids: HashSet<u64>,
}

impl Draft {
    pub(super) fn new(clock: Clock, findings: Findings) -> Draft {
        Draft {
            clock,
            clock_is_named: true,
            rows: Vec::new(),
            origins: Vec::new(),
            links: Vec::new(),
            marks: Vec::new(),
            context: MarkContext::default(),
            pairs: Vec::new(),
            lost: Vec::new(),
            losses: Counts::default(),
            epochs: Vec::new(),
            findings,
            ids: HashSet::new(),
        }
    }

    /// A draft of a form whose times may be of any clock.
    pub(super) fn of_unnamed_clock(findings: Findings) -> Draft {
        Draft { clock_is_named: false, ..Draft::new(Clock::Monotonic, findings) }
    }

    /// The times are of this clock, unless something before said that they are of another.
    pub(super) fn name_clock(&mut self, clock: Clock) {
        if !self.clock_is_named {
            self.clock = clock;
            self.clock_is_named = true;
        }
    }

    /// The clock that the file names.
    pub(super) fn named_clock(&self) -> Option<Clock> {
        self.clock_is_named.then_some(self.clock)
    }

    /// Whether it is known which clock the times are of; the only clock of which there are pairs is that.
    pub(super) fn settle_clock(&mut self, clocks: &Clocks) -> bool {
        let mut paired = self.pairs.iter().chain(&clocks.pairs).map(|pair| pair.clock);
        if let (false, Some(first)) = (self.clock_is_named, paired.next())
            && paired.all(|clock| clock == first)
        {
            self.name_clock(first);
        }
        self.clock_is_named
    }

    /// A line that is left out, and why.
    pub(super) fn refuse(&mut self, line: u64, kind: &'static str, what: String) {
        self.findings.add(Severity::Error, kind, Origin::Line(line), || what);
    }

    /// A counter that is left out of what it belongs to; names and values are shown cut.
    pub(super) fn refuse_counter(&mut self, line: u64, name: &str, value: &str) {
        let cut = |text: &str| text.chars().take(40).collect::<String>();
        self.findings.add(Severity::Warning, "wrong counters", Origin::Line(line), || {
            format!(
                "counter {:?}: {:?} is not a finite number: the counter is left out",
                cut(name),
                cut(value)
            )
        });
    }

    /// Keeps a clock pair, up to a limit.
    pub(super) fn keep_pair(&mut self, pair: ClockPair, origin: Origin) {
        if self.pairs.len() < MOST_PAIRS {
            self.pairs.push(pair);
        } else {
            self.findings.add(Severity::Error, "clock pairs beyond the limit", origin, || {
                "2 million are kept: it is left out".to_owned()
            });
        }
    }

    /// Notes that marks are missing, up to a limit; then it is one loss of all threads.
    pub(super) fn lost_between(&mut self, loss: Loss) {
        if self.lost.len() < MOST_LOSSES {
            self.lost.push(loss);
        } else if let Some(last) = self.lost.last_mut() {
            *last = Loss { thread: None, first: last.first.min(loss.first), last: last.last.max(loss.last) };
        }
    }

    /// The file's times are TSC ticks since some moment; at this one it was `realtime_ns`.
    pub(super) fn add_epoch(&mut self, ticks: u64, realtime_ns: u64) {
        self.epochs.push((ticks, realtime_ns));
    }

    /// Keeps a row, unless it runs backwards.
    pub(super) fn keep(&mut self, interval: Interval, start: u64, stop: u64, origin: Origin) {
        if stop < start {
            let what = format!(
                "interval {} stops at {stop}, before it starts at {start}: it is left out",
                interval.id
            );
            return self.findings.add(Severity::Error, "negative intervals", origin, || what);
        }
        self.keep_row(interval, origin);
    }

    /// Keeps a row, and gives its index.
    pub(super) fn keep_row(&mut self, interval: Interval, origin: Origin) -> usize {
        self.rows.push(interval);
        self.origins.push(origin);
        self.rows.len() - 1
    }

    /// Whether `id`, which the file itself states, is new; a diagnostic where it is not.
    pub(super) fn is_new_id(&mut self, id: u64, line: u64) -> bool {
        let new = self.ids.insert(id);
        if !new {
            self.refuse(line, "duplicate ids", format!("id {id} occurred before: the line is left out"));
        }
        new
    }

    /// The ids of all spans, where one of them has no thread.
    pub(super) fn threadless(&self) -> Option<HashSet<u64>> {
        let id = |link: &Link| if let Link::Ids { span, .. } = link { Some(*span) } else { None };
        let mut rows = self.rows.iter().zip(&self.links);
        let is_any = rows.any(|(row, link)| row.start_thread.is_none() && id(link).is_some());
        is_any.then(|| self.links.iter().filter_map(id).collect())
    }

    /// Joins the clock, with `clocks` and the file's own pairs. Spans without a thread get those of `contexts`.
    pub(super) fn finish(mut self, clocks: &Clocks, contexts: &[SpanContext]) -> Result<IntervalSet, Error> {
        let mut known = clocks.clone();
        known.pairs.append(&mut self.pairs);
        self.shift_to_tsc(&known)?;
        let join = known.join(self.clock)?;
        note_bound(&join, &mut self.findings);
        let mut findings = self.findings;
        let mut intervals = self.rows;
        let (mut origins, mut links) = (self.origins.into_iter(), self.links.into_iter());
        let (mut kept, mut kept_links, mut lacking) = (0, Vec::new(), Vec::new());
        // In place: there may be millions.
        intervals.retain_mut(|interval| {
            let (origin, link) = (origins.next().unwrap_or_default(), links.next());
            let is_joined = join_interval(interval, &join);
            if is_joined {
                if interval.start_thread.is_none() && matches!(link, Some(Link::Ids { .. })) {
                    lacking.push((kept, origin));
                }
                kept += 1;
                kept_links.extend(link);
            } else {
                let what = format!("interval {}", interval.id);
                outside_pairs(&what, &join, origin, &mut findings);
            }
            is_joined
        });
        drop(origins);
        if !lacking.is_empty() {
            let known = (contexts, join.bound());
            contexts::give_threads(&mut intervals, &kept_links, &lacking, known, &mut findings);
        }
        if !kept_links.is_empty() {
            tree::divide(&mut intervals, &kept_links);
        }
        if self.losses.are_anywhere() {
            // Of no thread that has marks here: it concerns what is paired across threads.
            let thread = Some(ThreadId::new(-1, -1));
            self.lost.push(Loss { thread, first: Tsc(0), last: Tsc(u64::MAX) });
        }
        let losses = self.losses.finish(&mut findings);
        if self.marks.is_empty() {
            return Ok(IntervalSet { losses, ..findings.into_set(intervals) });
        }
        let joined = join_marks(self.marks, &join, &mut findings);
        let lost = self.lost.into_iter().filter_map(|loss| join_loss(loss, &join)).collect();
        Ok(IntervalSet { losses, ..pairing::pair_beside(joined, lost, intervals, findings) })
    }
}

impl Draft {
    /// Makes TSC of ticks since an unknown moment, by the median of what the file's readings say of it: a reading is late where
    /// its program was interrupted in it.
    fn shift_to_tsc(&mut self, known: &Clocks) -> Result<(), Error> {
        if self.epochs.is_empty() {
            return Ok(());
        }
        let join = known.join(Clock::Realtime)?;
        let began = |&(ticks, ns): &(u64, u64)| join.tsc(ns).map(|tsc| i128::from(tsc.0) - i128::from(ticks));
        let mut began: Vec<i128> = self.epochs.iter().filter_map(began).collect();
        began.sort_unstable();
        let Some(&began) = began.get(began.len() / 2) else {
            let why = "the file's readings of CLOCK_REALTIME lie outside of its clock pairs".to_owned();
            return Err(Error::ClockNotJoined { clock: Clock::Realtime, why });
        };
        note_bound(&join, &mut self.findings);
        let shift = |tsc: Tsc| Tsc(u64::try_from(i128::from(tsc.0) + began).unwrap_or_default());
        for interval in &mut self.rows {
            interval.range =
                TscRange { start: shift(interval.range.start), stop: shift(interval.range.stop) };
        }
        Ok(())
    }
}

fn join_loss(loss: Loss, join: &Join) -> Option<Loss> {
    Some(Loss { first: join.tsc(loss.first.0)?, last: join.tsc(loss.last.0)?, ..loss })
}

fn join_marks(mut marks: Vec<Mark>, join: &Join, findings: &mut Findings) -> Vec<Mark> {
    marks.retain_mut(|mark| {
        let at = join.tsc(mark.at.0);
        if at.is_none() {
            outside_pairs("the mark", join, mark.origin, findings);
        }
        mark.at = at.unwrap_or(mark.at);
        at.is_some()
    });
    marks
}

fn note_bound(join: &Join, findings: &mut Findings) {
    if join.limits().is_some() {
        let (clock, bound) = (join.clock(), join.bound_ns());
        findings.add(Severity::Note, "clock bounds", Origin::Unknown, || {
            format!(
                "times were converted from {clock} by its clock pairs; each may be off by up to {bound} ns"
            )
        });
    }
}

/// Replaces the file's clock by the TSC; false where a mark lies outside the pairs.
fn join_interval(interval: &mut Interval, join: &Join) -> bool {
    if join.clock() == Clock::Tsc {
        return true;
    }
    let convert = |time: Tsc| join.tsc(time.0);
    let (Some(start), Some(stop)) = (convert(interval.range.start), convert(interval.range.stop)) else {
        return false;
    };
    interval.range = TscRange::new(start, stop);
    if let Some(details) = interval.details_mut() {
        details.publish = details.publish.and_then(convert);
        details.stages.retain_mut(|stage| convert(stage.start).map(|start| stage.start = start).is_some());
    }
    true
}

fn outside_pairs(what: &str, join: &Join, origin: Origin, findings: &mut Findings) {
    findings.add(Severity::Error, "times outside the clock pairs", origin, || {
        let limits = join.limits().unwrap_or_default();
        format!(
            "{what} does not lie between the first and the last clock pair ({} {} to {}): it is left out",
            join.clock(),
            limits.0,
            limits.1
        )
    });
}
