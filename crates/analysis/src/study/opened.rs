//! The study itself: opens what a request names, and explains intervals one by one or all at once.

mod overview;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use attribution::{Decode, Examined, Queues, examine, examine_baseline};
use intervals::{ClockPair, IntervalFile, IntervalSet, OutlierRule, Population, Selected};
use model::{Attribution, Calls, Diagnostic, Interval, TscRange};
use perfdata::PerfData;
use rayon::prelude::*;
use report::{HotRange, OutlierReport, Report, Timebase, View};

use super::carried::{Carried, Note};
use super::{account, machine, placement, places, typical};
use crate::capture::{
    Capture, Decoders, Meter, Observing, Phase, SeenWindow, Stretch, Watch, pairs_beside, while_reading_ahead,
};
use crate::checks::{self, Subject};
use crate::error::{Error, Result};
use crate::hot_code::{SourcePlaces, Timing};
use crate::intervals_of;
use crate::output;
use crate::population::{numa, pebs, view};
use crate::request::{Effort, Input, Request, Source};

/// The capture, all its intervals, and those that were chosen.
pub struct Study<'a> {
    request: &'a Request,
    capture: &'a Capture<'a>,
    set: &'a IntervalSet,
    population: &'a Population<'a>,
    /// From the recording's first record or sync point to the last one; of records alone where each interval lies in that.
    recording: Option<TscRange>,
    selected: Selected,
    rule: OutlierRule,
    is_outlier: Vec<bool>,
    queues: Queues,
    decoders: Decoders<'a>,
    /// By examined outlier: what the decoder met.
    seen: Mutex<BTreeMap<usize, Vec<SeenWindow>>>,
    /// What the capture carries where it is a slice.
    carried: Option<Carried>,
    meter: &'a dyn Meter,
}

/// What the report shows besides causes, segments and calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Nothing.
    None,
    /// What all CPUs of the machine did.
    Machine,
    /// That, and the code in which the time went: its disassembly and source, which takes decoding once more.
    Wanted,
}

/// By interval: the typical ones it is compared with.
pub type Baselines = BTreeMap<usize, Vec<usize>>;

/// Opens what the request names and does `work` with it; `meter` receives the progress of long work.
///
/// # Errors
/// What opening finds unusable, and what `work` fails with.
pub fn with<T, E: From<Error>>(
    request: &Request,
    meter: &dyn Meter,
    work: impl FnOnce(&Study<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let watch = Arc::new(Watch::default());
    let scan = meter.show(Phase::Scanning, &watch);
    watched(request, meter, &watch, |study| {
        drop(scan);
        work(study)
    })
}

/// As [`with`]; `watch` receives the progress of the scan where opening needs one, and may stop it. `meter` shows what is
/// decoded later.
///
/// # Errors
/// As [`with`].
pub fn watched<T, E: From<Error>>(
    request: &Request,
    meter: &dyn Meter,
    watch: &Watch,
    work: impl FnOnce(&Study<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let mut perf = PerfData::open(&request.input.path).map_err(Error::from)?;
    let named = Named::of(request, &mut perf)?;
    let capture = Capture::new(&perf, &request.input).with_pairs(&named.pairs());
    let (mut set, carried) = named.read(&capture, request, watch)?;
    let recording = recording(&capture, &set);
    if carried.is_none() {
        intervals_of::ensure_some_inside(&set.intervals, recording)?;
    }
    let members = if carried.is_some() {
        (0..set.intervals.len()).collect()
    } else {
        set.diagnostics.extend(intervals_of::unmatched(&request.filters, &set.intervals, &capture));
        intervals_of::members(&request.filters, &set.intervals, &capture)?
    };
    let population = Population::of(&set.intervals, members, capture.conversion());
    intervals_of::check_selection(&request.selection)?;
    let rule = request.selection.outlier_rule();
    let selected = carried.as_ref().map(Carried::selected);
    let done = work(&Study {
        request,
        capture: &capture,
        set: &set,
        selected: selected.unwrap_or_else(|| request.selection.select(&population)),
        rule,
        is_outlier: population.judge(rule).is_outlier,
        queues: Queues::new(&set.intervals),
        decoders: Decoders::new(&capture),
        seen: Mutex::default(),
        population: &population,
        recording,
        carried,
        meter,
    })?;
    ensure_none_served(&request.outputs, &capture)?;
    Ok(done)
}

/// No output is a file that served for code: these are found beside the inputs that a request names, by recorded paths and build IDs.
fn ensure_none_served(outputs: &[PathBuf], capture: &Capture<'_>) -> Result<()> {
    if outputs.is_empty() {
        return Ok(());
    }
    let mut served = Vec::new();
    for file in capture.images().used_files() {
        served.extend(file.debug_file.map(|debug_file| debug_file.path));
        served.push(file.path);
    }
    outputs.iter().try_for_each(|output| output::ensure_no_input(output, &served))
}

/// From the first record or sync point of the recording to the last one; a slice holds a part of that time. The trace is looked into
/// only where an interval lies outside of the records' time: how long that takes depends on the trace's size.
fn recording(capture: &Capture<'_>, set: &IntervalSet) -> Option<TscRange> {
    let noted = || Note::of(capture.perf()).ok()??.recorded?.range(capture.conversion()?);
    let of_records = || {
        let all = set.intervals.len() as u64;
        let range = capture.conversion().and_then(|_| capture.perf().tsc_range())?;
        (intervals_of::inside(set.intervals.iter(), range) == all).then_some(range)
    };
    noted().or_else(of_records).or_else(|| capture.extent())
}

/// Where the intervals come from, with what of them is read before the capture is: their file may relate the capture's clock.
enum Named {
    /// A slice carries its own.
    Carried(Box<Note>),
    /// The request names a source, or one lies beside the capture, as clock pairs may; what there is to say about that, and about
    /// the clock.
    Source(Box<(Source, Option<IntervalFile>, Vec<ClockPair>)>, Vec<Diagnostic>),
}

impl Named {
    /// Finds the source, and relates the clock of `perf` where it can.
    fn of(request: &Request, perf: &mut PerfData) -> Result<Named> {
        let mut said = Vec::new();
        let note = Note::of(perf)?;
        if let Some(conversion) = note.as_ref().and_then(Note::conversion) {
            perf.relate(conversion);
        }
        let source = match (&request.source, note) {
            (Some(source), _) => source.clone(),
            (None, Some(note)) => return Ok(Named::Carried(Box::new(note))),
            (None, None) => {
                let (source, beside) = intervals_of::source_beside(request)?;
                let what =
                    format!("the intervals are those of {}, which lies beside the capture", beside.display());
                said.push(Diagnostic::note(what));
                source
            }
        };
        let file = match &source {
            Source::File(path) => Some(IntervalFile::read(path)?),
            _ => None,
        };
        let (pairs, of_pairs) = pairs_beside(perf);
        said.extend(of_pairs);
        said.extend(intervals_of::relate(perf, file.as_ref(), &pairs, &source));
        Ok(Named::Source(Box::new((source, file, pairs)), said))
    }

    /// The clock pairs of the interval file, or those that a slice carries.
    fn pairs(&self) -> Vec<ClockPair> {
        match self {
            Named::Carried(note) => note.pairs(),
            Named::Source(named, _) => named.1.as_ref().map(IntervalFile::pairs).unwrap_or_default().to_vec(),
        }
    }

    fn read(
        self,
        capture: &Capture<'_>,
        request: &Request,
        watch: &Watch,
    ) -> Result<(IntervalSet, Option<Carried>)> {
        match self {
            Named::Carried(note) => {
                let (set, mut carried) = note.into_parts();
                carried.choose(request, &set.intervals, capture)?;
                let known = request.input.account.clone();
                carried.add_account(
                    known.map_or_else(|| account::of_slice(capture.path()), |known| Ok(Some(known))),
                );
                Ok((set, Some(carried)))
            }
            Named::Source(named, said) => {
                let (source, file, pairs) = *named;
                let mut set = intervals_of::read(&source, file, pairs, capture, watch)?;
                set.diagnostics.splice(0..0, said);
                Ok((set, None))
            }
        }
    }
}

impl<'a> Study<'a> {
    /// The capture.
    pub fn capture(&self) -> &'a Capture<'a> {
        self.capture
    }

    /// What was asked.
    pub(super) fn request(&self) -> &'a Request {
        self.request
    }

    /// All of the source, and what was wrong with it.
    pub(super) fn set(&self) -> &'a IntervalSet {
        self.set
    }

    /// What the capture carries where it is a slice.
    pub(super) fn carried(&self) -> Option<&Carried> {
        self.carried.as_ref()
    }

    /// Whether the capture is a slice: it holds what its chosen intervals need, and carries the recording's population in figures.
    pub fn is_of_slice(&self) -> bool {
        self.carried.is_some()
    }

    /// What is called an outlier.
    pub(super) fn rule(&self) -> OutlierRule {
        self.rule
    }

    /// From now on shows how far `phase` is, as `watch` counts it, until what is returned is dropped.
    pub(super) fn show(&self, phase: Phase, watch: &Arc<Watch>) -> Box<dyn Any> {
        self.meter.show(phase, watch)
    }

    /// The decoders, with what they know of the code already.
    pub fn decoders(&self) -> &Decoders<'a> {
        &self.decoders
    }

    /// All intervals of the source.
    pub fn intervals(&self) -> &'a [Interval] {
        &self.set.intervals
    }

    /// Those that pass the filters.
    pub fn population(&self) -> &'a Population<'a> {
        self.population
    }

    /// How many of the population lie in the recording; `None` where its time is not known.
    pub(super) fn in_recording(&self) -> Option<u64> {
        let members = self.population.members().iter().map(|&index| &self.set.intervals[index]);
        Some(intervals_of::inside(members, self.recording?))
    }

    /// When which thread was done with which interval.
    pub(crate) fn queues(&self) -> &Queues {
        &self.queues
    }

    /// The chosen ones.
    pub fn selected(&self) -> &Selected {
        &self.selected
    }

    /// By member of the population: whether the rule calls it an outlier.
    pub fn is_outlier(&self) -> &[bool] {
        &self.is_outlier
    }

    /// Those of the population that the rule calls outliers.
    pub(super) fn outliers(&self) -> Vec<usize> {
        let judged = self.population.members().iter().zip(&self.is_outlier);
        judged.filter(|(_, is_outlier)| **is_outlier).map(|(&index, _)| index).collect()
    }

    /// The population's durations, in its own order.
    pub(crate) fn durations(&self) -> &[u64] {
        self.population.durations()
    }

    /// The interval of median length; `None` where there is none.
    pub(crate) fn median(&self) -> Option<usize> {
        let mut order: Vec<(u64, usize)> =
            self.durations().iter().copied().zip(self.population.members().iter().copied()).collect();
        order.sort_unstable();
        order.get(order.len() / 2).map(|&(_, index)| index)
    }

    /// The chosen intervals explained, added to the overview, their view, and why all outliers are slow.
    pub fn report(&self, listing: Listing) -> Report {
        let mut report = self.report_on_chosen(listing);
        self.add_reasons(&mut report);
        report
    }

    /// The same without why all outliers are slow.
    pub(super) fn report_on_chosen(&self, listing: Listing) -> Report {
        let mut report = self.explained(&self.baselines(&self.selected.indices), listing);
        report.view = self.view(&report.outliers);
        report
    }

    /// Adds why all outliers are slow; a slice has those of its recording already.
    pub(crate) fn add_reasons(&self, report: &mut Report) {
        if self.carried.is_some() {
            return;
        }
        match self.reasons(&report.outliers) {
            Ok(reasons) => report.view.reasons = reasons,
            Err(error) => {
                let what = format!("the reasons of all outliers are left out: {error}");
                report.diagnostics.push(Diagnostic::error(what));
            }
        }
    }

    /// The view of `outliers` and of the population they come from.
    pub(crate) fn view(&self, outliers: &[OutlierReport]) -> View {
        match &self.carried {
            Some(carried) => carried.view(outliers),
            None => view::of(self.capture, self.population, self.rule, outliers),
        }
    }

    /// The chosen intervals explained against `baselines`, theirs, and added to the overview: all that needs trace and
    /// records of their own time.
    pub(crate) fn explained(&self, baselines: &Baselines, listing: Listing) -> Report {
        let wanted = &self.selected.indices;
        let examined = self.examine_shown(baselines);
        let mut report = self.overview();
        let watch = Arc::new(Watch::default());
        let _shown = (listing == Listing::Wanted).then(|| self.meter.show(Phase::TimingCode, &watch));
        for index in wanted {
            report.diagnostics.extend(examined[index].remarks());
            match self.outlier_report(*index, &baselines[index], &examined) {
                Ok(mut outlier) => {
                    if listing != Listing::None {
                        outlier.machine = machine::within(self.capture, examined[index].interval.range);
                    }
                    if listing == Listing::Wanted {
                        outlier.code = self.code(*index, &baselines[index], &examined, &watch);
                    }
                    report.outliers.push(outlier);
                }
                Err(error) => report.diagnostics.push(no_report(&self.intervals()[*index], &error)),
            }
        }
        report.diagnostics.extend(self.clock_findings().iter().cloned());
        report.diagnostics.extend(self.late_diagnostics());
        places::of_recording(self.capture.perf(), &mut report);
        report
    }

    /// What came up while decoding so far.
    pub fn late_diagnostics(&self) -> Vec<Diagnostic> {
        self.capture.late_diagnostics()
    }

    /// Whom each of `wanted` is compared with: typical intervals, none of them chosen.
    pub fn baselines(&self, wanted: &[usize]) -> Baselines {
        if let Some(carried) = &self.carried {
            return wanted.iter().map(|&index| (index, carried.baselines(index))).collect();
        }
        let chosen: BTreeSet<usize> = self.selected.indices.iter().chain(wanted).copied().collect();
        // What is to be explained is no baseline of anything, whether a rule names it or not.
        let verdicts = self.is_outlier.iter().zip(self.population.members());
        let is_outlier: Vec<bool> =
            verdicts.map(|(is_outlier, index)| *is_outlier || chosen.contains(index)).collect();
        let count = typical::candidates(self.effort());
        let typical = intervals::baselines_of_all(self.population, &is_outlier, wanted, count);
        wanted.iter().copied().zip(typical).collect()
    }

    /// [`Self::examine`], with how far it is on the meter.
    pub(crate) fn examine_shown(&self, baselines: &Baselines) -> BTreeMap<usize, Examined> {
        let watch = Arc::new(Watch::default());
        let _shown = self.meter.show(Phase::Decoding, &watch);
        self.examine(baselines, &watch)
    }

    /// Examines every outlier and every baseline once, in parallel. Where `watch` stops the work, what is left out is
    /// explained as lost: the caller drops it.
    pub fn examine(&self, baselines: &Baselines, watch: &Watch) -> BTreeMap<usize, Examined> {
        let context = self.capture.for_attribution(&self.queues);
        let pairs = baselines.iter();
        let mut wanted: Vec<usize> =
            pairs.flat_map(|(&outlier, typical)| typical.iter().copied().chain([outlier])).collect();
        wanted.sort_unstable();
        wanted.dedup();
        self.decode_each(&wanted, watch, |index, decoder| {
            let interval = &self.intervals()[index];
            if !baselines.contains_key(&index) {
                return (index, examine_baseline(&context, interval, decoder));
            }
            let mut observing = Observing::new(decoder);
            let examined = examine(&context, interval, &mut observing);
            self.seen().insert(index, observing.windows);
            (index, examined)
        })
    }

    /// What `work` makes of each of `wanted`, in parallel, while their trace is read ahead in their order; counted and stoppable by
    /// `watch`.
    pub(super) fn decode_each<T: Send, All: FromParallelIterator<T>>(
        &self,
        wanted: &[usize],
        watch: &Watch,
        work: impl Fn(usize, &mut dyn Decode) -> T + Sync,
    ) -> All {
        watch.expect(wanted.len());
        self.capture.recent().set_dense(self.lie_close(wanted));
        let stretches: Vec<Vec<Stretch<'_>>> =
            wanted.iter().map(|&index| self.capture.stretches_of(&self.intervals()[index])).collect();
        while_reading_ahead(self.capture.perf(), &stretches, |pace| {
            let one = |&index: &usize| {
                let made = self.decoders.with(|decoding| work(index, &mut watch.over(decoding)));
                watch.done();
                pace.finished();
                made
            };
            wanted.par_iter().with_max_len(1).map(one).collect()
        })
    }

    /// The report on one examined outlier against its examined baselines.
    ///
    /// # Errors
    /// Where attribution yields no partition of the interval, which is a bug and says so.
    pub fn outlier_report(
        &self,
        outlier: usize,
        baselines: &[usize],
        examined: &BTreeMap<usize, Examined>,
    ) -> Result<OutlierReport> {
        let capture = self.capture;
        let own = &examined[&outlier];
        let (typical, baseline_rule) = typical::of(own, baselines, examined, self.effort());
        let attribution = attribution::attribute(own, &typical, capture)?;
        let baselines: Vec<Attribution> = typical
            .iter()
            .map(|baseline| attribution::attribute_baseline(baseline))
            .collect::<Result<_, _>>()?;
        let timebase = Timebase::new(capture.conversion(), None);
        let mut report =
            OutlierReport::new(&attribution, &baselines, timebase, |thread, at| capture.comm(thread, at));
        if let Some(machine) = capture.perf().machine() {
            placement::add(&mut report, &own.stays, machine);
        }
        let others = typical.iter().map(|baseline| &*baseline.stays);
        placement::add_cores(&mut report, &own.stays, others, &capture.perf().features().hybrid);
        report.checks = checks::of(&Subject {
            capture,
            recorded: self.recorded(),
            lost_markers: self.lost_markers(),
            clocks_disagree: !self.clock_findings().is_empty(),
            examined: own,
            attribution: &attribution,
            seen: self.seen().get(&outlier).map_or(&[], Vec::as_slice),
        });
        report.numa = numa::of_outlier(capture, own);
        report.pebs = pebs::of_outlier(capture, own, &typical);
        report.baseline_rule = baseline_rule;
        if typical.is_empty() {
            report = report.uncompared();
        }
        let calls: Vec<&Calls> = typical.iter().map(|baseline| attribution::calls(baseline)).collect();
        let report = report.with_calls(attribution::calls(own), &calls, own.interval.range, timebase);
        // A slice holds little of the requests that are not its own.
        let report = match &self.carried {
            Some(_) => report,
            None => report.with_server_requests(&self.request.input.path.to_string_lossy()),
        };
        Ok(with_commands(report, &self.request.input))
    }

    /// How many typical intervals each outlier is compared with, and which.
    pub(crate) fn effort(&self) -> Effort {
        let own = self.request.effort;
        let carried = self.carried.as_ref().and_then(Carried::effort);
        carried.map_or(own, |carried| Effort { same_path: carried.same_path || own.same_path, ..carried })
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, Vec<SeenWindow>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code in which most of an examined outlier's time went, beside its examined baselines. Worth nothing where
    /// `watch` stopped the work.
    pub fn code(
        &self,
        outlier: usize,
        baselines: &[usize],
        examined: &BTreeMap<usize, Examined>,
        watch: &Watch,
    ) -> Vec<HotRange> {
        let own = &examined[&outlier];
        let (typical, _) = typical::of(own, baselines, examined, self.effort());
        let places = SourcePlaces::of(&self.request.input.code);
        let timing = Timing { capture: self.capture, decoders: &self.decoders, watch };
        timing.ranges(places, own, &typical)
    }
}

impl Study<'_> {
    /// The report on an examined interval alone.
    ///
    /// # Errors
    /// As [`Self::outlier_report`].
    pub fn baseline_report(&self, examined: &Examined) -> Result<OutlierReport> {
        let attribution = attribution::attribute_alone(examined)?;
        let timebase = Timebase::new(self.capture.conversion(), None);
        let comm = |thread, at| self.capture.comm(thread, at);
        let report = OutlierReport::new::<Attribution>(&attribution, &[], timebase, comm);
        let none: &[Calls] = &[];
        Ok(report.with_calls(attribution::calls(examined), none, examined.interval.range, timebase))
    }
}

/// Adds the command that shows the outlier with stock perf, and to all commands where the files are.
fn with_commands(outlier: OutlierReport, input: &Input) -> OutlierReport {
    let mut outlier = outlier.with_perf_script(&input.path.to_string_lossy());
    for (name, path) in input.code.given() {
        outlier = outlier.with_option(name, &path.to_string_lossy());
    }
    outlier
}

fn no_report(interval: &Interval, error: &Error) -> Diagnostic {
    Diagnostic::error(format!("interval {} has no report: {error}", interval.id))
}
