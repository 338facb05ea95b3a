//! What a slice carries besides records and trace: gathers it from the study that the slice is cut for.

use std::collections::BTreeSet;

use intervals::ClockPair;
use model::{Interval, IntervalId, TimeConversion, Tsc};
use report::{Report, View};

use super::cut::examined;
use crate::study::{Baselines, DiagnosticTwin, IntervalTwin, Note, OutlierTwin, PairTwin, Study};

/// Clock pairs of a slice: seven minutes with one each 100 ms.
const MOST_PAIRS: usize = 4096;

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
        baselines_wanted: Some(study.effort().baselines),
        same_path: study.effort().same_path,
        conversion: study.capture().conversion().map(TimeConversion::numbers),
        labels: study.labels(),
        utc_ahead_ns: study.utc_ahead_ns(),
        monotonic: thinned(study.capture().pairs_of_jitdumps()).iter().map(PairTwin::of).collect(),
    }
}

/// At most [`MOST_PAIRS`], over all of their time.
fn thinned(mut pairs: Vec<ClockPair>) -> Vec<ClockPair> {
    pairs.sort_by_key(|pair| pair.tsc);
    while pairs.len() > MOST_PAIRS {
        let last = pairs.pop();
        pairs = pairs.into_iter().step_by(2).chain(last).collect();
    }
    pairs
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

#[cfg(test)]
mod tests {
    use intervals::Clock;

    use super::*;

    #[test]
    fn pairs_are_thinned_over_all_of_their_time() {
        let pair = |tsc| ClockPair { clock: Clock::Monotonic, tsc: Tsc(tsc), ns: tsc, error_ns: 0 };
        let times =
            |count| thinned((0..count).map(pair).collect()).iter().map(|pair| pair.tsc.0).collect::<Vec<_>>();
        assert_eq!(times(4096), (0..4096).collect::<Vec<_>>());
        let thin = times(10_000);
        assert!(thin.len() <= 4096 && thin.windows(2).all(|two| two[1] - two[0] <= 4));
        assert_eq!((thin[0], thin[thin.len() - 1]), (0, 9999));
    }
}
