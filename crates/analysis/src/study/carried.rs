//! What a slice carries besides records and trace: its intervals, the typical ones, the population in figures.
//!
//! JSON in the slice's own feature section. The twins own the spelling of model types, which know no format.

mod interval_twin;

use std::collections::BTreeSet;

use intervals::{Clock, ClockPair, IntervalSet, Population, Selected, Selection};
use model::{Cpu, Diagnostic, FileOffset, Interval, Place, Severity, TimeConversion, Tsc};
use perfdata::PerfData;
use report::{
    CaptureFacts, LostMarkers, OutlierReport, PopulationSummary, ReplaceTexts, Report, SelectionSummary,
    Snapshots, View,
};
use serde::{Deserialize, Serialize};

use crate::capture::{Capture, Recorded};
use crate::error::{Error, Result};
use crate::intervals_of;
use crate::population::labels::{self, LabelFigures};
use crate::request::{Effort, Filters, Request};
pub(crate) use interval_twin::IntervalTwin;

/// The carried facts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Note {
    /// Who made it.
    pub(crate) tool: String,
    pub(crate) intervals: Vec<IntervalTwin>,
    pub(crate) outliers: Vec<OutlierTwin>,
    pub(crate) population: PopulationSummary,
    pub(crate) selection: SelectionSummary,
    pub(crate) view: View,
    pub(crate) diagnostics: Vec<DiagnosticTwin>,
    #[serde(default)]
    pub(crate) clock_findings: Vec<DiagnosticTwin>,
    #[serde(default)]
    pub(crate) recorded: Option<Recorded>,
    #[serde(default)]
    pub(crate) baselines_wanted: Option<usize>,
    /// Whether those on an outlier's path are chosen from its baselines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) same_path: bool,
    /// The numbers of the conversion where the recording itself has none: shift, multiplier, zero.
    #[serde(default)]
    pub(crate) conversion: Option<(u16, u32, u64)>,
    /// The recording's durations by label; a slice of an earlier version has none.
    #[serde(default)]
    pub(crate) labels: Vec<LabelFigures>,
    /// Nanoseconds by which UTC is ahead of the recording's clock.
    #[serde(default)]
    pub(crate) utc_ahead_ns: Option<i64>,
    /// What relates the times of jitdumps to the TSC.
    #[serde(default)]
    pub(crate) monotonic: Vec<PairTwin>,
}

/// A reading of `CLOCK_MONOTONIC` beside the TSC: TSC, nanoseconds, and how far apart they may be.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct PairTwin(u64, u64, u64);

impl PairTwin {
    pub(crate) fn of(pair: &ClockPair) -> PairTwin {
        PairTwin(pair.tsc.0, pair.ns, pair.error_ns)
    }

    fn into_pair(self) -> ClockPair {
        let PairTwin(tsc, ns, error_ns) = self;
        ClockPair { clock: Clock::Monotonic, tsc: Tsc(tsc), ns, error_ns }
    }
}

/// An outlier and its typical intervals, as indices.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OutlierTwin {
    pub(crate) interval: usize,
    pub(crate) baselines: Vec<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DiagnosticTwin {
    severity: u8,
    what: String,
    file: Option<String>,
    file_offset: Option<u64>,
    line: Option<u64>,
    cpu: Option<u32>,
    aux_offset: Option<u64>,
}

impl Note {
    /// The note of a slice; `None` in a recording.
    ///
    /// # Errors
    /// Where the note is there and cannot be understood.
    pub(crate) fn of(perf: &PerfData) -> Result<Option<Note>> {
        let Some(note) = perf.slice_note() else { return Ok(None) };
        serde_json::from_slice(&note.bytes).map(Some).map_err(Error::SliceNote)
    }

    /// The clock pairs that the recording had, as far as they are needed.
    pub(crate) fn pairs(&self) -> Vec<ClockPair> {
        self.monotonic.iter().map(|pair| pair.into_pair()).collect()
    }

    /// The conversion that the recording had from its interval file.
    pub(crate) fn conversion(&self) -> Option<TimeConversion> {
        self.conversion.and_then(|(shift, mult, zero)| TimeConversion::new(shift, mult, zero))
    }

    /// Replaces its texts by what `new` makes of them.
    pub(crate) fn replace_texts(&mut self, new: &dyn Fn(&str) -> String) {
        for diagnostic in self.diagnostics.iter_mut().chain(&mut self.clock_findings) {
            diagnostic.what = new(&diagnostic.what);
            diagnostic.file = diagnostic.file.as_deref().map(new);
        }
        self.view.replace_texts(new);
    }

    /// The bytes for the slice.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// The intervals, and their diagnostics. Outliers that are not among them are left out.
    pub(crate) fn into_parts(self) -> (IntervalSet, Carried) {
        let count = self.intervals.len();
        let known = |outlier: &OutlierTwin| {
            outlier.interval < count && outlier.baselines.iter().all(|&index| index < count)
        };
        let outliers = self.outliers.into_iter().filter(known);
        let set = IntervalSet {
            intervals: self.intervals.into_iter().map(IntervalTwin::into_interval).collect(),
            ..IntervalSet::default()
        };
        let carried = Carried {
            outliers: outliers.map(|outlier| (outlier.interval, outlier.baselines)).collect(),
            population: self.population,
            selection: self.selection,
            view: self.view,
            diagnostics: self.diagnostics.into_iter().map(DiagnosticTwin::into_diagnostic).collect(),
            clock_findings: self.clock_findings.into_iter().map(DiagnosticTwin::into_diagnostic).collect(),
            recorded: self.recorded,
            baselines_wanted: self.baselines_wanted,
            same_path: self.same_path,
            labels: self.labels,
            utc_ahead_ns: self.utc_ahead_ns,
        };
        (set, carried)
    }
}

/// What a slice says of the intervals that it carries.
pub(crate) struct Carried {
    /// The outliers in the order of the report, each with its typical intervals.
    outliers: Vec<(usize, Vec<usize>)>,
    population: PopulationSummary,
    selection: SelectionSummary,
    /// Of the recording's population.
    view: View,
    diagnostics: Vec<Diagnostic>,
    clock_findings: Vec<Diagnostic>,
    recorded: Option<Recorded>,
    baselines_wanted: Option<usize>,
    same_path: bool,
    labels: Vec<LabelFigures>,
    utc_ahead_ns: Option<i64>,
}

impl Carried {
    /// Adds what the account beside the slice says of its recording, or what is wrong with it.
    pub(crate) fn add_account(&mut self, account: std::result::Result<Option<Snapshots>, Diagnostic>) {
        match account {
            Ok(None) => {}
            Ok(found) => self.population.snapshots = found,
            Err(wrong) => self.diagnostics.push(wrong),
        }
    }

    /// Keeps the outliers among `intervals` that pass the filters of `request` and meet its criteria, and says which of these cannot be
    /// judged by what the slice holds.
    ///
    /// # Errors
    /// Where a filter needs a clock that the capture does not have.
    pub(crate) fn choose(
        &mut self,
        request: &Request,
        intervals: &[Interval],
        capture: &Capture<'_>,
    ) -> Result<()> {
        let Selection { top, over_ns, percentile, mad, slow_mode, ids } = request.selection.clone();
        let is_filtered = request.filters != Filters::default();
        if percentile.is_some() || mad.is_some() || slow_mode {
            self.warn("--percentile, --mad and --slow-mode compare with all intervals of the recording, which a slice does not hold: its outliers are those of its own choice");
        }
        if is_filtered {
            self.warn(
                "the filters choose among the outliers of the slice; the population is that of its recording",
            );
        }
        let own = Selection { top, over_ns, ids, ..Selection::default() };
        if own.is_default() && !is_filtered {
            return Ok(());
        }
        let passing = intervals_of::members(&request.filters, intervals, capture)?;
        let there: BTreeSet<usize> = self.outliers.iter().map(|&(index, _)| index).collect();
        let members: Vec<usize> = passing.into_iter().filter(|index| there.contains(index)).collect();
        let population = Population::of(intervals, members, capture.conversion());
        let selected = if own.is_default() {
            let indices = population.members().to_vec();
            Selected {
                rule: format!("{} that pass the filters", indices.len()),
                indices,
                ..Selected::default()
            }
        } else {
            own.select(&population)
        };
        self.diagnostics.extend(intervals_of::missing_ids(&selected, "outlier of the slice"));
        let chosen: BTreeSet<usize> = selected.indices.into_iter().collect();
        self.outliers.retain(|(index, _)| chosen.contains(index));
        self.selection.rule = format!("{}, of those that the slice holds", selected.rule);
        self.selection.selected = self.outliers.len() as u64;
        Ok(())
    }

    fn warn(&mut self, what: &str) {
        self.diagnostics.push(Diagnostic::warning(what.to_owned()));
    }

    /// The choice by which the slice was made.
    pub(crate) fn selected(&self) -> Selected {
        let indices = self.outliers.iter().map(|&(index, _)| index).collect();
        Selected { indices, rule: self.selection.rule.clone(), missing_ids: Vec::new() }
    }

    /// What was wrong with the recording, the source and the choice.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Where the recording's clocks disagreed.
    pub(crate) fn clock_findings(&self) -> &[Diagnostic] {
        &self.clock_findings
    }

    /// Markers that the recording's interval file does not hold.
    pub(crate) fn lost_markers(&self) -> Option<LostMarkers> {
        self.population.lost_markers
    }

    /// What was recorded; `None` in a slice without this note.
    pub(crate) fn recorded(&self) -> Option<Recorded> {
        self.recorded
    }

    /// The recording's durations by label, as far as they are known.
    pub(crate) fn labels(&self) -> Vec<LabelFigures> {
        if self.labels.is_empty() { vec![labels::of_summary(&self.population)] } else { self.labels.clone() }
    }

    /// How many nanoseconds UTC is ahead of the recording's clock, where that is known.
    pub(crate) fn utc_ahead_ns(&self) -> Option<i64> {
        self.utc_ahead_ns
    }

    /// How many typical intervals each outlier was to be compared with, and which.
    pub(crate) fn effort(&self) -> Option<Effort> {
        self.baselines_wanted.map(|baselines| Effort { baselines, same_path: self.same_path })
    }

    /// The typical intervals of the outlier at `index`; none of another interval.
    pub(crate) fn baselines(&self, index: usize) -> Vec<usize> {
        let own = self.outliers.iter().find(|(outlier, _)| *outlier == index);
        own.map(|(_, typical)| typical.clone()).unwrap_or_default()
    }

    /// The recording's population and choice; `capture` is the slice.
    pub(crate) fn overview(&self, capture: CaptureFacts) -> Report {
        Report {
            capture,
            population: self.population.clone(),
            selection: self.selection.clone(),
            diagnostics: self.diagnostics.clone(),
            ..Report::default()
        }
    }

    /// The view of `outliers` in the recording's population.
    pub(crate) fn view(&self, outliers: &[OutlierReport]) -> View {
        let View { causes, stories, .. } = View::of(outliers);
        View { causes, stories, ..self.view.clone() }
    }
}

impl DiagnosticTwin {
    /// The diagnostic as it is carried.
    pub(crate) fn of(diagnostic: &Diagnostic) -> DiagnosticTwin {
        let place = &diagnostic.place;
        DiagnosticTwin {
            severity: diagnostic.severity as u8,
            what: diagnostic.what.clone(),
            file: place.file.clone(),
            file_offset: place.file_offset.map(|offset| offset.0),
            line: place.line,
            cpu: place.cpu.map(|cpu| cpu.0),
            aux_offset: place.aux_offset,
        }
    }

    fn into_diagnostic(self) -> Diagnostic {
        let severity = match self.severity {
            0 => Severity::Note,
            1 => Severity::Warning,
            _ => Severity::Error,
        };
        let place = Place {
            file: self.file,
            file_offset: self.file_offset.map(FileOffset),
            line: self.line,
            cpu: self.cpu.map(Cpu),
            aux_offset: self.aux_offset,
        };
        Diagnostic { severity, what: self.what, place }
    }
}
