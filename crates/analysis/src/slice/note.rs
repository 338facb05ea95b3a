//! What a slice carries besides records and trace: gathers it from the study that the slice is cut for.

use std::collections::BTreeSet;

use model::{Interval, IntervalId, TimeConversion, Tsc};
use report::{Report, View};

use super::cut::examined;
use crate::study::{Baselines, DiagnosticTwin, IntervalTwin, Note, OutlierTwin, Study};

/// What a slice of `study` carries; `report` is the one on the whole recording.
pub(super) fn of(study: &Study<'_>, baselines: &Baselines, report: &Report) -> Note {
    let intervals = study.intervals();
    let carried: Vec<usize> = carried(study, baselines).into_iter().collect();
    let place = |index: usize| carried.binary_search(&index).unwrap_or(0);
    let outlier = |index: &usize| OutlierTwin {
        interval: place(*index),
        baselines: baselines[index].iter().map(|&index| place(index)).collect(),
    };
    let view = View { causes: Vec::new(), stories: Vec::new(), ..report.view.clone() };
    Note {
        tool: concat!("tailtrace ", env!("CARGO_PKG_VERSION")).to_owned(),
        intervals: carried.iter().map(|&index| IntervalTwin::of(&intervals[index])).collect(),
        outliers: study.selected().indices.iter().map(outlier).collect(),
        population: report.population.clone(),
        selection: report.selection.clone(),
        view,
        diagnostics: study.input_diagnostics().iter().map(DiagnosticTwin::of).collect(),
        clock_findings: study.clock_findings().iter().map(DiagnosticTwin::of).collect(),
        recorded: Some(study.recorded()),
        baselines_wanted: Some(study.baselines_wanted()),
        conversion: study.capture().conversion().map(TimeConversion::numbers),
        labels: study.labels(),
        utc_ahead_ns: study.utc_ahead_ns(),
    }
}

/// The examined intervals, those that theirs may have queued behind, and the tasks that have a part in their time.
fn carried(study: &Study<'_>, baselines: &Baselines) -> BTreeSet<usize> {
    let intervals = study.intervals();
    let mut carried = examined(baselines);
    let queues = study.queues();
    let of_one = |index: &usize| {
        let interval = &intervals[*index];
        queues.before(interval).into_iter().chain(queues.beside(interval))
    };
    let ahead: BTreeSet<(Tsc, IntervalId)> = carried.iter().flat_map(of_one).collect();
    if !ahead.is_empty() {
        let is_ahead = |interval: &Interval| ahead.contains(&(interval.range.stop, interval.id));
        carried.extend((0..intervals.len()).filter(|&index| is_ahead(&intervals[index])));
    }
    carried
}
