//! An opened capture with its population and the chosen intervals; each interval's explanation comes on demand.
//!
//! Input: the command line's source, filters and selection. Opening decodes nothing (but where the marks lie in the
//! trace itself). [`Study::baselines`] names whom an interval is compared with, [`Study::examine`] decodes, and
//! [`Study::outlier_report`] joins both: the same whether all chosen intervals are wanted at once or one of them.

mod overview;
mod typical;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use attribution::{Examined, Queues, examine, examine_baseline};
use intervals::{IntervalSet, OutlierRule, Population, Selected};
use model::{Attribution, Calls, Diagnostic, Interval};
use rayon::prelude::*;
use report::{HotRange, OutlierReport, Report, Timebase, View};

use crate::args::{AnalysisArgs, InputArgs};
use crate::capture::{self, Capture};
use crate::checks::{self, Subject};
use crate::decoding::Decoders;
use crate::hot_code::Timing;
use crate::meter::Meter;
use crate::read_ahead::{self, Stretch};
use crate::seen::{Observing, SeenWindow};
use crate::slice::{Carried, Note};
use crate::watch::Watch;
use crate::{numa, places, source, view};

/// The capture, all its intervals, and those that were chosen.
pub(crate) struct Study<'a> {
    args: &'a AnalysisArgs,
    capture: &'a Capture<'a>,
    set: &'a IntervalSet,
    population: &'a Population<'a>,
    selected: Selected,
    rule: OutlierRule,
    is_outlier: Vec<bool>,
    queues: Queues,
    decoders: Decoders<'a>,
    /// By examined outlier: what the decoder met.
    seen: Mutex<BTreeMap<usize, Vec<SeenWindow>>>,
    /// What the capture carries where it is a slice.
    carried: Option<Carried>,
    meter: Meter,
}

/// Whether the code in which the time went is wanted, too: that takes decoding once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// The report shows no code.
    None,
    /// The report shows disassembly and source.
    Wanted,
}

/// By interval: the typical ones it is compared with.
pub(crate) type Baselines = BTreeMap<usize, Vec<usize>>;

/// Opens what the arguments name and does `work` with it; what takes long is shown on stderr.
///
/// # Errors
/// What opening finds unusable, and what `work` fails with.
pub(crate) fn with<T>(args: &AnalysisArgs, work: impl FnOnce(&Study<'_>) -> Result<T>) -> Result<T> {
    let meter = Meter::on_stderr();
    let watch = Arc::new(Watch::default());
    let scan = meter.show("scanning the whole trace", &watch);
    watched(args, meter, &watch, |study| {
        drop(scan);
        work(study)
    })
}

/// As [`with`]; `watch` is told how far the scan is where opening needs one, and may stop it. `meter` shows what is
/// decoded later.
///
/// # Errors
/// As [`with`].
pub(crate) fn watched<T>(
    args: &AnalysisArgs,
    meter: Meter,
    watch: &Watch,
    work: impl FnOnce(&Study<'_>) -> Result<T>,
) -> Result<T> {
    if let Some(jobs) = args.effort.jobs {
        rayon::ThreadPoolBuilder::new().num_threads(usize::from(jobs)).build_global()?;
    }
    let perf = capture::open(&args.input)?;
    let capture = Capture::new(&perf, &args.input);
    let own = if source::is_given(&args.source) { None } else { Note::of(&perf)? };
    let (set, carried) = match own {
        Some(note) => note.into_parts(),
        None => (source::read(&args.source, &capture, watch)?, None),
    };
    let members = match &carried {
        Some(_) => (0..set.intervals.len()).collect(),
        None => source::members(&args.selection, &set.intervals, &capture)?,
    };
    let population = Population::of(&set.intervals, members, capture.conversion());
    let selection = source::selection(&args.selection)?;
    let rule = selection.outlier_rule();
    let selected = carried.as_ref().map(Carried::selected);
    work(&Study {
        args,
        capture: &capture,
        set: &set,
        selected: selected.unwrap_or_else(|| selection.select(&population)),
        rule,
        is_outlier: population.judge(rule).is_outlier,
        queues: Queues::new(&set.intervals),
        decoders: Decoders::new(&capture),
        seen: Mutex::default(),
        population: &population,
        carried,
        meter,
    })
}

impl<'a> Study<'a> {
    /// The capture.
    pub(crate) fn capture(&self) -> &'a Capture<'a> {
        self.capture
    }

    /// The decoders, with what they know of the code already.
    pub(crate) fn decoders(&self) -> &Decoders<'a> {
        &self.decoders
    }

    /// All intervals of the source.
    pub(crate) fn intervals(&self) -> &'a [Interval] {
        &self.set.intervals
    }

    /// Those that pass the filters.
    pub(crate) fn population(&self) -> &'a Population<'a> {
        self.population
    }

    /// When which thread was done with which interval.
    pub(crate) fn queues(&self) -> &Queues {
        &self.queues
    }

    /// The chosen ones.
    pub(crate) fn selected(&self) -> &Selected {
        &self.selected
    }

    /// By member of the population: whether the rule calls it an outlier.
    pub(crate) fn is_outlier(&self) -> &[bool] {
        &self.is_outlier
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

    /// The chosen intervals explained, added to the overview, and their view.
    pub(crate) fn report(&self, listing: Listing) -> Report {
        let mut report = self.explained(&self.baselines(&self.selected.indices), listing);
        report.view = self.view(&report.outliers);
        report
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
        let _shown = (listing == Listing::Wanted).then(|| self.meter.show("timing the code", &watch));
        for index in wanted {
            report.diagnostics.extend(examined[index].remarks());
            match self.outlier_report(*index, &baselines[index], &examined) {
                Ok(mut outlier) => {
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
    pub(crate) fn late_diagnostics(&self) -> Vec<Diagnostic> {
        self.capture.late_diagnostics()
    }

    /// Whom each of `wanted` is compared with: typical intervals, none of them chosen.
    pub(crate) fn baselines(&self, wanted: &[usize]) -> Baselines {
        if let Some(carried) = &self.carried {
            return wanted.iter().map(|&index| (index, carried.baselines(index))).collect();
        }
        let chosen: BTreeSet<usize> = self.selected.indices.iter().chain(wanted).copied().collect();
        // What is to be explained is no baseline of anything, whether a rule names it or not.
        let verdicts = self.is_outlier.iter().zip(self.population.members());
        let is_outlier: Vec<bool> =
            verdicts.map(|(is_outlier, index)| *is_outlier || chosen.contains(index)).collect();
        let count = self.args.effort.baselines;
        let typical = intervals::baselines_of_all(self.population, &is_outlier, wanted, count);
        wanted.iter().copied().zip(typical).collect()
    }

    /// [`Self::examine`], with how far it is on the meter.
    pub(crate) fn examine_shown(&self, baselines: &Baselines) -> BTreeMap<usize, Examined> {
        let watch = Arc::new(Watch::default());
        let _shown = self.meter.show("decoding", &watch);
        self.examine(baselines, &watch)
    }

    /// Examines every outlier and every baseline once, in parallel. Where `watch` stops the work, what is left out is
    /// explained as lost: the caller drops it.
    pub(crate) fn examine(&self, baselines: &Baselines, watch: &Watch) -> BTreeMap<usize, Examined> {
        let context = self.capture.for_attribution(&self.queues);
        let pairs = baselines.iter();
        let mut wanted: Vec<usize> =
            pairs.flat_map(|(&outlier, typical)| typical.iter().copied().chain([outlier])).collect();
        wanted.sort_unstable();
        wanted.dedup();
        watch.expect(wanted.len());
        let stretches: Vec<Vec<Stretch<'_>>> =
            wanted.iter().map(|&index| self.capture.stretches_of(&self.intervals()[index])).collect();
        read_ahead::during(self.capture.perf(), &stretches, |progress| {
            let one = |&index: &usize| {
                let interval = &self.intervals()[index];
                let examined = self.decoders.with(|decoding| {
                    let mut watched = watch.over(decoding);
                    if !baselines.contains_key(&index) {
                        return examine_baseline(&context, interval, &mut watched);
                    }
                    let mut observing = Observing::new(&mut watched);
                    let examined = examine(&context, interval, &mut observing);
                    self.seen().insert(index, observing.windows);
                    examined
                });
                watch.done();
                progress.finished();
                (index, examined)
            };
            wanted.par_iter().with_max_len(1).map(one).collect()
        })
    }

    /// The report on one examined outlier against its examined baselines.
    ///
    /// # Errors
    /// Where attribution yields no partition of the interval, which is a bug and says so.
    pub(crate) fn outlier_report(
        &self,
        outlier: usize,
        baselines: &[usize],
        examined: &BTreeMap<usize, Examined>,
    ) -> Result<OutlierReport> {
        let capture = self.capture;
        let typical = typical::with_trace(baselines, examined);
        let own = &examined[&outlier];
        let attribution = attribution::attribute(own, &typical, capture)?;
        let baselines: Vec<Attribution> = typical
            .iter()
            .map(|baseline| attribution::attribute_alone(baseline))
            .collect::<Result<_, _>>()?;
        let timebase = Timebase::new(capture.conversion(), None);
        let mut report =
            OutlierReport::new(&attribution, &baselines, timebase, |thread, at| capture.comm(thread, at));
        report.checks = checks::of(&Subject {
            capture,
            recorded: self.recorded(),
            clocks_disagree: !self.clock_findings().is_empty(),
            examined: own,
            attribution: &attribution,
            seen: self.seen().get(&outlier).map_or(&[], Vec::as_slice),
        });
        report.numa = numa::of_outlier(capture, own);
        report.baseline_rule =
            typical::rule(&own.interval, (self.baselines_wanted(), baselines.len()), &typical);
        if typical.is_empty() {
            report = report.uncompared();
        }
        let calls: Vec<Calls> = typical.iter().map(|baseline| attribution::calls(baseline)).collect();
        let report = report.with_calls(&attribution::calls(own), &calls, own.interval.range, timebase);
        Ok(with_command(report, &self.args.input))
    }

    /// How many typical intervals each outlier was to be compared with.
    pub(crate) fn baselines_wanted(&self) -> usize {
        self.carried.as_ref().and_then(Carried::baselines_wanted).unwrap_or(self.args.effort.baselines)
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, Vec<SeenWindow>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code in which most of an examined outlier's time went, beside its examined baselines. Worth nothing where
    /// `watch` stopped the work.
    pub(crate) fn code(
        &self,
        outlier: usize,
        baselines: &[usize],
        examined: &BTreeMap<usize, Examined>,
        watch: &Watch,
    ) -> Vec<HotRange> {
        let typical = typical::with_trace(baselines, examined);
        let symfs = self.args.input.code.symfs.as_deref();
        let timing = Timing { capture: self.capture, decoders: &self.decoders, watch };
        timing.ranges(symfs, &examined[&outlier], &typical)
    }
}

impl Study<'_> {
    /// The report on an examined interval alone.
    ///
    /// # Errors
    /// As [`Self::outlier_report`].
    pub(crate) fn baseline_report(&self, examined: &Examined) -> Result<OutlierReport> {
        let attribution = attribution::attribute_alone(examined)?;
        let timebase = Timebase::new(self.capture.conversion(), None);
        let comm = |thread, at| self.capture.comm(thread, at);
        let report = OutlierReport::new::<Attribution>(&attribution, &[], timebase, comm);
        Ok(report.with_calls(&attribution::calls(examined), &[], examined.interval.range, timebase))
    }
}

/// Adds the command that shows the outlier with stock perf, with the options that perf needs as well.
fn with_command(outlier: OutlierReport, input: &InputArgs) -> OutlierReport {
    let mut outlier = outlier.with_perf_script(&input.input.to_string_lossy());
    for (name, path) in input.code.given() {
        outlier = outlier.with_perf_option(name, &path.to_string_lossy());
    }
    outlier
}

fn no_report(interval: &Interval, error: &anyhow::Error) -> Diagnostic {
    Diagnostic::error(format!("interval {} has no report: {error:#}", interval.id))
}
