//! The population's statistics and the choice, as the report shows them.

use intervals::{MarkLosses, PopulationStatistics, Selected};
use report::{Bin, CounterView, LostMarkers, Mode, Modes, Percentiles, PopulationSummary, SelectionSummary};

/// The selection, as the report shows it.
pub(crate) fn of_selection(selected: &Selected) -> SelectionSummary {
    SelectionSummary { rule: selected.rule.clone(), selected: selected.indices.len() as u64 }
}

/// The statistics, as the report shows them; how many of the intervals lie in the recording is not known from them.
pub(crate) fn of_population(
    statistics: &PopulationStatistics,
    counters: Vec<CounterView>,
    losses: MarkLosses,
) -> PopulationSummary {
    let percentiles = statistics.percentiles;
    PopulationSummary {
        count: statistics.count,
        in_recording: None,
        rule: statistics.rule.clone(),
        outliers: statistics.outliers,
        min_ns: statistics.min_ns,
        mean_ns: statistics.mean_ns,
        mean_without_outliers_ns: statistics.mean_without_outliers_ns,
        max_ns: statistics.max_ns,
        stdev_ns: statistics.stdev_ns,
        stdev_without_outliers_ns: statistics.stdev_without_outliers_ns,
        percentiles: Percentiles {
            p50: percentiles.p50,
            p90: percentiles.p90,
            p99: percentiles.p99,
            p99_9: percentiles.p99_9,
            p99_99: percentiles.p99_99,
        },
        histogram: statistics
            .histogram
            .bins
            .iter()
            .map(|bin| Bin { from_ns: bin.from, to_ns: bin.to, count: bin.count })
            .collect(),
        modes: statistics.modes.map(modes),
        counters,
        lost_markers: lost_markers(losses),
        snapshots: None,
    }
}

/// Markers that are missing; `None` where none is.
pub(crate) fn lost_markers(losses: MarkLosses) -> Option<LostMarkers> {
    (losses.lost > 0).then(|| LostMarkers { lost: losses.lost, made: losses.made() })
}

/// Two modes, as the report shows them.
pub(crate) fn modes(two: intervals::TwoModes) -> Modes {
    let mode = |mode: intervals::Mode| Mode { count: mode.count, mean_ns: mode.mean };
    Modes { fast: mode(two.fast), slow: mode(two.slow), threshold_ns: two.threshold }
}
