//! The thread that opens the capture and decodes, so that the screen never waits.
//!
//! Input: [`Request`]s. Output: [`Answer`]s, one per request, in order, after the first one: the population. A request
//! whose [`Watch`] is stopped is answered by [`Answer::Stopped`] soon. The capture never leaves this thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use analysis::capture::Watch;
use analysis::hot_code::SourcePlaces;
use analysis::study::{self, Study};
use analysis::{NoMeter, Request as Analysis};
use anyhow::{Context as _, Result};
use attribution::{Examined, Stay};
use model::{Cpu, Pid, ThreadId, Tid, Tsc, TscRange};
use report::{Composition, HotRange, OutlierReasons, OutlierReport, SegmentReport, Timebase};

use crate::advice;
use crate::tui::pages::ask::Ask;
use crate::tui::pages::explained::Explained;
use crate::tui::pages::flow::{BlockUse, Flow, Wanted};
use crate::tui::pages::lanes::{self, Lane, Presence};
use crate::tui::pages::listing::{self, BlockListing};
use crate::tui::pages::overview::Overview;

/// Intervals whose reasons are found at once.
const AT_ONCE: usize = 8;

/// Something to decode.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// What.
    pub(crate) ask: Ask,
    /// Where to say how far it is, and whether it is still wanted.
    pub(crate) watch: Arc<Watch>,
}

/// What comes back.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The capture is open.
    Opened(Box<Overview>),
    /// An interval is explained.
    Explained(usize, Box<Explained>),
    /// Why these intervals took their time: by index in the source.
    Reasons(Vec<(usize, OutlierReasons)>),
    /// All intervals are decoded.
    MadeOf(Box<Composition>),
    /// A stretch is decoded.
    Flow(usize, Box<Flow>),
    /// Its hottest code is timed.
    Code(usize, Vec<HotRange>),
    /// A block is looked up.
    Block(Box<BlockListing>),
    /// The request's watch was stopped.
    Stopped,
    /// The request cannot be met: why.
    Failed(String),
}

/// Opens the capture, reporting the progress to `opening`, then answers until there are no more requests.
///
/// # Errors
/// What makes the capture unusable.
pub(crate) fn run(
    analysis: &Analysis,
    opening: &Watch,
    requests: &Receiver<Request>,
    answer: &dyn Fn(Answer),
) -> Result<()> {
    let opened = study::watched(analysis, &NoMeter, opening, |study| {
        let overview = Overview::of(study);
        let with_reasons = overview.with_reasons.clone();
        answer(Answer::Opened(Box::new(overview)));
        let places = SourcePlaces::of(&analysis.input.code);
        let mut worker = Worker { study, places, with_reasons, explained: BTreeMap::new(), last: None };
        for request in requests {
            let found = worker.answer(&request);
            answer(match found {
                _ if request.watch.is_stopped() => Answer::Stopped,
                Ok(found) => found,
                Err(error) => Answer::Failed(format!("{error:#}")),
            });
        }
        Ok(())
    });
    opened.map_err(advice::on)
}

struct Worker<'s, 'a> {
    study: &'s Study<'a>,
    places: SourcePlaces,
    /// As in the overview.
    with_reasons: Vec<usize>,
    /// Of explained intervals where their threads were, and their segments.
    explained: BTreeMap<usize, (Vec<Stay>, Vec<SegmentReport>)>,
    /// What the interval last explained and its typical intervals came to: timing its code needs that again.
    last: Option<(usize, BTreeMap<usize, Examined>)>,
}

impl Worker<'_, '_> {
    fn answer(&mut self, request: &Request) -> Result<Answer> {
        match request.ask {
            Ask::Explain { index } => {
                Ok(Answer::Explained(index, Box::new(self.explain(index, &request.watch)?)))
            }
            Ask::Reasons { from } => Ok(Answer::Reasons(self.reasons(from)?)),
            Ask::MadeOf => Ok(Answer::MadeOf(Box::new(self.study.composition_within(&request.watch)?))),
            Ask::Code { index } => Ok(Answer::Code(index, self.code(index, &request.watch))),
            Ask::Flow { index, range } => {
                Ok(Answer::Flow(index, Box::new(self.flow(index, range, &request.watch)?)))
            }
            Ask::Block { index, used } => Ok(Answer::Block(Box::new(self.listing(index, &used)?))),
        }
    }

    fn explain(&mut self, index: usize, watch: &Watch) -> Result<Explained> {
        let baselines = self.study.baselines(&[index]);
        let typical = &baselines[&index];
        let examined = self.study.examine(&baselines, watch);
        if watch.is_stopped() {
            return Ok(Explained::default());
        }
        let mut remarks = examined[&index].remarks();
        let alone = |index: &usize| self.study.baseline_report(&examined[index]);
        let outlier = self.study.outlier_report(index, typical, &examined)?;
        let explained = Explained {
            lanes: self.lanes(&examined[&index], &outlier),
            reasons: OutlierReasons::of(&outlier),
            outlier,
            baselines: typical.iter().map(alone).collect::<Result<_, _>>()?,
            remarks: {
                remarks.extend(self.study.capture().late_diagnostics());
                remarks
            },
        };
        let of_it = (examined[&index].stays.clone(), explained.outlier.segments.clone());
        self.explained.insert(index, of_it);
        self.last = Some((index, examined));
        Ok(explained)
    }

    /// Those of a few intervals that are not explained for themselves: soon done, so that the user never waits for them.
    fn reasons(&self, from: usize) -> Result<Vec<(usize, OutlierReasons)>> {
        let few: Vec<usize> = self.with_reasons.iter().skip(from).take(AT_ONCE).copied().collect();
        let reasons = self.study.reasons_of(&few)?;
        Ok(few.into_iter().zip(reasons).collect())
    }

    /// The lanes of an explained interval: the schedule shows which other threads were on the CPUs that its threads were on or left.
    fn lanes(&self, examined: &Examined, outlier: &OutlierReport) -> Vec<Lane> {
        let (capture, interval) = (self.study.capture(), examined.interval.range);
        let name = |thread: ThreadId, at: Tsc| match (thread.tid.0, capture.comm(thread, at)) {
            (0, _) => "idle".to_owned(),
            (tid, Some(comm)) => format!("{comm} {tid}"),
            (tid, None) => format!("tid {tid}"),
        };
        let mut cpus: Vec<Cpu> = Vec::new();
        for cpu in examined.stays.iter().filter_map(|stay| stay.place.cpu().or(stay.left_cpu)) {
            if !cpus.contains(&cpu) {
                cpus.push(cpu);
            }
        }
        let timebase = Timebase::new(capture.conversion(), None);
        let on = |cpu: Cpu| {
            let runs = capture.runs_on(cpu, interval);
            let presence = |(thread, range): (ThreadId, TscRange)| Presence {
                offset: timebase.duration(TscRange::new(interval.start, range.start)),
                duration: timebase.duration(range),
                name: name(thread, range.start),
            };
            (cpu.0, runs.map(presence).collect())
        };
        let of_tid = |tid: i32| name(ThreadId { pid: Pid(tid), tid: Tid(tid) }, interval.start);
        lanes::lanes(outlier, cpus.into_iter().map(on).collect(), &of_tid)
    }

    /// The code of an interval that was explained before; its flows are decoded once more.
    fn code(&mut self, index: usize, watch: &Watch) -> Vec<HotRange> {
        let baselines = self.study.baselines(&[index]);
        let known = self.last.take().filter(|(last, _)| *last == index);
        let (_, examined) = known.unwrap_or_else(|| (index, self.study.examine(&baselines, watch)));
        if watch.is_stopped() {
            return Vec::new();
        }
        let ranges = self.study.code(index, &baselines[&index], &examined, watch);
        self.last = Some((index, examined));
        ranges
    }

    fn flow(&self, index: usize, (from, to): (u64, u64), watch: &Watch) -> Result<Flow> {
        let capture = self.study.capture();
        let interval = self.study.intervals().get(index).context("there is no such interval")?;
        let (stays, segments) = self.explained.get(&index).context("the interval is not explained yet")?;
        let tsc = |offset: u64| match capture.conversion() {
            Some(conversion) => interval.range.start + conversion.ns_to_ticks(offset),
            None => interval.range.start + model::Ticks(offset),
        };
        // Nanoseconds are rounded down: one more, and no tick of the stretch is missing.
        let range = TscRange::new(tsc(from), tsc(to.saturating_add(1)).min(interval.range.stop));
        let wanted = Wanted {
            interval: interval.range,
            range,
            functions: capture,
            timebase: Timebase::new(capture.conversion(), None),
            segments,
        };
        Ok(self.study.decoders().with(|decoding| wanted.decode((from, to), stays, &mut watch.over(decoding))))
    }

    fn listing(&self, index: usize, used: &BlockUse) -> Result<BlockListing> {
        let interval = self.study.intervals().get(index).context("there is no such interval")?;
        let thread = used.block.thread.or(interval.stop_thread).or(interval.start_thread);
        let thread = thread.context("the process of this block is not recorded")?;
        Ok(listing::of(self.study.capture(), &self.places, used, thread))
    }
}
