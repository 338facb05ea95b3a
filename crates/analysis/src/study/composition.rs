//! What the time of all intervals is made of: every interval of the population is decoded and attributed, within a bound of work.
//!
//! What no rule calls an outlier is what typical means, and is not compared. Outliers are compared with those of it that took their path.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use attribution::{Examined, attribute_baseline, examine_baseline};
use model::{Tsc, TscRange};
use report::{Composition, Constituents, OutlierReport, Timebase};

use super::opened::{Baselines, Study};
use super::path_classes::PathClasses;
use super::reasons::Bound;
use super::same_path::{entered, path_of};
use super::typical::is_traced;
use crate::capture::{Phase, Watch};
use crate::error::{Error, Result};

/// What is explained: on two cores a minute or so.
const MOST: Bound = Bound { intervals: 20_000, trace: 1 << 30, records: u64::MAX };
/// Outliers that are compared at a time: what was decoded of them is kept until then.
const AT_ONCE: usize = 256;

impl Study<'_> {
    /// What the time of the population is made of at each percentile.
    ///
    /// # Errors
    /// [`Error::NotInSlice`] of a slice; where an interval cannot be attributed, which is a bug and says so.
    pub fn composition(&self) -> Result<Composition> {
        let watch = Arc::new(Watch::default());
        let _shown = self.show(Phase::Decoding, &watch);
        self.composition_within(&watch)
    }

    /// The same; `watch` receives the progress and may stop the work, whose result is worth nothing then.
    ///
    /// # Errors
    /// As [`Study::composition`].
    pub fn composition_within(&self, watch: &Watch) -> Result<Composition> {
        if self.carried().is_some() {
            return Err(Error::NotInSlice(self.capture().path().to_owned()));
        }
        let members = self.population().members();
        let of_rule: BTreeSet<usize> = self.outliers().into_iter().collect();
        let sample = self.sample_of(members.to_vec(), MOST);
        let (outliers, mut quiet): (Vec<usize>, Vec<usize>) =
            sample.into_iter().partition(|index| of_rule.contains(index));
        quiet.sort_unstable();
        let since = Since::of(self);
        let decoded = self.constituents_of(&quiet, since, watch)?;
        // Where trace is missing the path is not known.
        let traced = quiet.into_iter().zip(&decoded).filter(|(_, (_, is_traced))| *is_traced);
        let paths = traced.map(|(index, (constituents, _))| (index, constituents.entered()));
        let classes = PathClasses::of(self.intervals(), self.capture().conversion(), paths);
        let mut explained: Vec<Constituents> =
            decoded.into_iter().map(|(constituents, _)| constituents).collect();
        let of_outlier =
            |report: OutlierReport| Constituents::of(&report).starting(since.start(Tsc(report.start_tsc)));
        for some in outliers.chunks(AT_ONCE).take_while(|_| !watch.is_stopped()) {
            explained.extend(self.explain_by_path(some, &classes, watch, of_outlier)?);
        }
        Ok(Composition::of(explained, members.len() as u64))
    }

    /// What `keep` keeps of the reports on `outliers`, each against the typical intervals of its path, or of its label where trace is missing.
    fn explain_by_path<T: Send>(
        &self,
        outliers: &[usize],
        classes: &PathClasses<'_>,
        watch: &Watch,
        keep: impl Fn(OutlierReport) -> T + Sync,
    ) -> Result<Vec<T>> {
        let none: Baselines = outliers.iter().map(|&index| (index, Vec::new())).collect();
        let mut examined = self.examine(&none, watch);
        let (traced, cut): (Vec<usize>, Vec<usize>) =
            outliers.iter().partition(|&index| is_traced(&examined[index]));
        let paths = traced.into_iter().map(|index| (index, path_of(&examined[&index])));
        let mut baselines = classes.typical(paths, self.effort().baselines);
        baselines.extend(self.baselines(&cut));
        examined.extend(self.examine_typical(baselines.values().flatten().copied(), watch));
        self.reports_on(outliers, &baselines, &examined, keep)
    }

    /// Examines each of `typical` once as a baseline, in parallel.
    fn examine_typical(
        &self,
        typical: impl IntoIterator<Item = usize>,
        watch: &Watch,
    ) -> BTreeMap<usize, Examined> {
        let context = self.capture().for_attribution(self.queues());
        let typical: BTreeSet<usize> = typical.into_iter().collect();
        let typical: Vec<usize> = typical.into_iter().collect();
        self.decode_each(&typical, watch, |index, decoder| {
            (index, examine_baseline(&context, &self.intervals()[index], decoder))
        })
    }

    /// The causes of each of `quiet`, without a comparison, and whether its trace is there.
    fn constituents_of(
        &self,
        quiet: &[usize],
        since: Since,
        watch: &Watch,
    ) -> Result<Vec<(Constituents, bool)>> {
        let context = self.capture().for_attribution(self.queues());
        self.decode_each(quiet, watch, |index, decoder| {
            let examined = examine_baseline(&context, &self.intervals()[index], decoder);
            Ok((constituents(&examined, since)?, is_traced(&examined)))
        })
    }
}

fn constituents(examined: &Examined, since: Since) -> Result<Constituents> {
    let attribution = attribute_baseline(examined)?;
    let causes = attribution.segments().iter();
    let causes = causes.map(|segment| (segment.cause.to_string(), since.timebase.duration(segment.range)));
    let start = since.start(examined.interval.range.start);
    Ok(Constituents::of_causes(causes).starting(start).entering(entered(attribution::calls(examined))))
}

/// When intervals began, from the start of the first one.
#[derive(Clone, Copy)]
struct Since {
    first: Tsc,
    timebase: Timebase,
}

impl Since {
    fn of(study: &Study<'_>) -> Since {
        let starts = study.population().members().iter().map(|&index| study.intervals()[index].range.start);
        let timebase = Timebase::new(study.capture().conversion(), None);
        Since { first: starts.min().unwrap_or_default(), timebase }
    }

    fn start(self, at: Tsc) -> u64 {
        self.timebase.duration(TscRange::new(self.first, at))
    }
}
