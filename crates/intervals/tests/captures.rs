//! The interval files of the emulated captures, against figures that Python's `statistics` and `fractions` modules gave
//! for the same rows (population deviation `pstdev`, nearest rank by exact fractions), and against `truth.json`.

mod support;

use std::io::Read;
use std::path::Path;

use model::TimeConversion;
use tailtrace_intervals::{
    Clocks, IntervalSet, OutlierRule, Population, Selection, baselines, read_intervals,
};

/// One capture's interval file, conversion and injected intervals.
struct Capture {
    set: IntervalSet,
    conversion: TimeConversion,
    planted: Vec<u64>,
    p50_not_planted: u64,
}

/// `intervals.csv` and `truth.json` of a packed capture.
fn texts(path: &Path) -> (String, serde_json::Value) {
    let file = std::fs::File::open(path).expect("the capture opens");
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).expect("zstd"));
    let (mut csv, mut truth) = (String::new(), String::new());
    for entry in archive.entries().expect("a tar") {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a name").file_name().map(std::ffi::OsStr::to_owned);
        let text = match name.as_deref().and_then(std::ffi::OsStr::to_str) {
            Some("intervals.csv") => &mut csv,
            Some("truth.json") => &mut truth,
            _ => continue,
        };
        entry.read_to_string(text).expect("text");
    }
    (csv, serde_json::from_str(&truth).expect("JSON"))
}

fn capture(name: &str) -> Option<Capture> {
    let (csv, truth) = texts(&support::archive(name)?);
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let time_conv = &truth["time_conv"];
    let conversion = TimeConversion::new(
        u16::try_from(number(&time_conv["shift"])).expect("a shift"),
        u32::try_from(number(&time_conv["mult"])).expect("a multiplier"),
        number(&time_conv["zero"]),
    );
    let planted = truth["truth"].as_array().expect("a list").iter().map(|planted| number(&planted["index"]));
    Some(Capture {
        set: read_intervals(Path::new("intervals.csv"), csv.as_bytes(), &Clocks::default())
            .expect("readable"),
        conversion: conversion.expect("usable"),
        planted: planted.collect(),
        p50_not_planted: number(&truth["population_not_planted_ns"]["p50"]),
    })
}

/// What Python said: count, outliers, min, max, percentiles; mean, mean without, deviation, deviation without.
type Expected = ([u64; 4], [u64; 5], [f64; 4]);

#[test]
fn statistics_agree_with_python() {
    let expected: [(&str, Expected); 3] = [
        (
            "fault",
            (
                [500, 39, 14_864, 359_476],
                [16_365, 18_990, 190_973, 359_476, 359_476],
                [22_819.474, 16_400.407_809_110_628, 37_776.132_807_386_784, 979.992_960_411_087_2],
            ),
        ),
        (
            "preempt",
            (
                [500, 20, 22_882, 1_168_701],
                [25_512, 27_590, 1_063_121, 1_168_701, 1_168_701],
                [48_758.004, 25_534.231_25, 146_327.322_266_731_8, 1_324.159_932_853_066_5],
            ),
        ),
        (
            "noise",
            (
                [2400, 54, 17_224, 424_330],
                [18_971, 20_294, 23_707, 40_523, 424_330],
                [
                    19_327.899_166_666_666,
                    19_013.179_880_647_913,
                    8_404.850_328_371_864,
                    875.836_451_275_056_7,
                ],
            ),
        ),
    ];
    for (name, (whole, percentiles, moments)) in expected {
        let Some(capture) = capture(name) else { continue };
        assert_eq!(capture.set.diagnostics, [], "{name}");
        let of = Population::all(&capture.set.intervals, Some(capture.conversion))
            .statistics(OutlierRule::default());
        assert_eq!([of.count, of.outliers, of.min_ns, of.max_ns], whole, "{name}");
        let at = of.percentiles;
        assert_eq!([at.p50, at.p90, at.p99, at.p99_9, at.p99_99], percentiles, "{name}");
        let found = [of.mean_ns, of.mean_without_outliers_ns, of.stdev_ns, of.stdev_without_outliers_ns];
        for (found, expected) in found.into_iter().zip(moments) {
            assert!((found - expected).abs() < 1e-6, "{name}: {found} instead of {expected}");
        }
        if name == "noise" {
            assert_eq!(of.modes, None, "nothing was planted");
        }
    }
}

#[test]
fn the_longest_are_the_planted_ones() {
    for name in ["fault", "preempt"] {
        let Some(capture) = capture(name) else { continue };
        let population = Population::all(&capture.set.intervals, Some(capture.conversion));
        let selected =
            Selection { top: Some(capture.planted.len()), ..Selection::default() }.select(&population);
        let mut ids: Vec<u64> =
            selected.indices.iter().map(|&index| capture.set.intervals[index].id.0).collect();
        ids.sort_unstable();
        assert_eq!(ids, capture.planted, "{name}");
    }
}

#[test]
fn baselines_are_typical() {
    for name in ["fault", "preempt"] {
        let Some(capture) = capture(name) else { continue };
        let population = Population::all(&capture.set.intervals, Some(capture.conversion));
        let judgement = population.judge(OutlierRule::default());
        let slowest = Selection { top: Some(1), ..Selection::default() }.select(&population).indices[0];
        let found = baselines(&population, &judgement.is_outlier, slowest, 8);
        assert_eq!(found.len(), 8);
        let of = |bound: fn(&u64, &u64) -> bool| {
            found
                .iter()
                .filter(|&&index| bound(&population.durations()[index], &capture.p50_not_planted))
                .count()
        };
        assert_eq!((of(u64::lt), of(u64::gt)), (4, 4), "{name}: spread around the typical duration");
        for index in found {
            assert!(!capture.planted.contains(&capture.set.intervals[index].id.0), "{name}: planted");
        }
    }
}
