//! What is reported on the capture, the population and the choice before any interval is decoded. The records of a slice do not
//! hold it: the slice carries what was found in the recording.

use model::Diagnostic;
use report::{LostMarkers, PopulationSummary, Report};

use super::{Carried, Study};
use crate::capture::Recorded;
use crate::intervals_of;
use crate::population::labels::{self, LabelFigures};
use crate::population::{summary, view};

impl Study<'_> {
    /// The population and the choice, and what is wrong with the capture and the source; no outlier yet.
    pub fn figures(&self) -> Report {
        if let Some(carried) = self.carried() {
            return carried.overview(self.capture().facts());
        }
        let statistics = self.population().statistics(self.rule());
        Report {
            capture: self.capture().facts(),
            population: PopulationSummary {
                in_recording: self.in_recording(),
                ..summary::of_population(&statistics, view::counters(self.population()), self.set().losses)
            },
            selection: summary::of_selection(self.selected()),
            diagnostics: self.source_diagnostics(),
            ..Report::default()
        }
    }

    /// [`Self::figures`] with the diagnostics of the capture, the source and the choice.
    pub fn overview(&self) -> Report {
        Report { diagnostics: self.input_diagnostics(), ..self.figures() }
    }

    /// What is wrong with the capture, the source and the choice.
    pub(crate) fn input_diagnostics(&self) -> Vec<Diagnostic> {
        if let Some(carried) = self.carried() {
            return carried.diagnostics().to_vec();
        }
        let mut diagnostics = self.source_diagnostics();
        diagnostics.extend(intervals_of::nothing_chosen(self.selected(), self.population()));
        diagnostics
    }

    fn source_diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = self.capture().diagnostics();
        if self.capture().streams().next().is_none() {
            diagnostics.push(Diagnostic::note(
                "there is no Intel PT in this capture: what ran on a CPU is known by records and samples only; `perf record -e \
                 intel_pt//` on a machine whose CPU has it records the flow",
            ));
        }
        diagnostics.extend(self.set().diagnostics.iter().cloned());
        diagnostics.extend(intervals_of::findings(self.selected(), self.population()));
        diagnostics
    }

    /// Where the recording's clocks disagree; a slice lacks the records that would show it.
    pub(crate) fn clock_findings(&self) -> &[Diagnostic] {
        match self.carried() {
            Some(carried) => carried.clock_findings(),
            None => self.capture().clock_findings(),
        }
    }

    /// Markers that the program made and the source does not hold; a slice carries the recording's figures.
    pub(crate) fn lost_markers(&self) -> Option<LostMarkers> {
        match self.carried() {
            Some(carried) => carried.lost_markers(),
            None => summary::lost_markers(self.set().losses),
        }
    }

    /// The population's durations by label, all labels together first, where the label is empty; a slice carries the recording's.
    pub fn labels(&self) -> Vec<LabelFigures> {
        match self.carried() {
            Some(carried) => carried.labels(),
            None => labels::figures(self.population(), self.is_outlier()),
        }
    }

    /// How many nanoseconds UTC is ahead of perf's clock; `None` where no clock of the capture, or beside it, is UTC. A slice carries it.
    pub fn utc_ahead_ns(&self) -> Option<i64> {
        self.carried().and_then(Carried::utc_ahead_ns).or_else(|| self.capture().utc_ahead_ns())
    }

    /// What was recorded; a slice holds only a part of it.
    pub(crate) fn recorded(&self) -> Recorded {
        self.carried().and_then(Carried::recorded).unwrap_or_else(|| self.capture().recorded())
    }
}
