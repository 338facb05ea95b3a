//! Any bytes as an interval file, its first line included; then its statistics, selection and baselines.
#![no_main]

use std::path::Path;

use intervals::{Clocks, OutlierRule, Population, Selection, baselines, read_intervals};
use libfuzzer_sys::fuzz_target;
use model::TimeConversion;

fuzz_target!(|bytes: &[u8]| {
    let Ok(set) = read_intervals(Path::new("fuzz"), bytes, &Clocks::default()) else { return };
    let conversion = TimeConversion::new(31, 825_959_061, 18_446_744_073_673_297_304);
    for conversion in [conversion, None] {
        let population = Population::all(&set.intervals, conversion);
        let statistics = population.statistics(OutlierRule::default());
        assert_eq!(statistics.histogram.bins.iter().map(|bin| bin.count).sum::<u64>(), statistics.count);
        let judgement = population.judge(OutlierRule::default());
        let selection =
            Selection { percentile: Some(50.0), slow_mode: bytes.len() % 2 == 0, ..Selection::default() };
        for index in selection.select(&population).indices {
            assert!(!baselines(&population, &judgement.is_outlier, index, 4).contains(&index));
        }
    }
});
