use serde_json::{Value, json};

use super::*;

fn parsed(document: &str) -> Value {
    serde_json::from_str(document).expect("JSON")
}

#[test]
fn a_population_of_none_has_no_figures() {
    let document = parsed(&render_json(&Report::default()));
    assert_eq!(document["schema"], "tailtrace-report/1");
    assert_eq!(document["population"]["count"], 0);
    assert_eq!(document["population"]["min_ns"], Value::Null);
    assert_eq!(document["population"]["stdev_ns"], Value::Null);
    assert_eq!(document["population"]["percentiles"]["p99_9"], Value::Null);
    assert_eq!(document["outliers"], json!([]));
}

#[test]
fn where_all_are_outliers_nothing_is_left_without_them() {
    let mut report = Report::default();
    report.population.count = 2;
    report.population.outliers = 2;
    report.population.mean_ns = 51.926_000_1;
    let document = parsed(&render_json(&report));
    assert_eq!(document["population"]["mean_ns"], json!(51.926));
    assert_eq!(document["population"]["mean_without_outliers_ns"], Value::Null);
    assert_eq!(document["population"]["min_ns"], 0);
}

#[test]
fn stat_has_the_population_only() {
    let document = parsed(&render_stat_json(&Report::default()));
    let mut fields: Vec<&String> = document.as_object().expect("an object").keys().collect();
    fields.sort_unstable();
    assert_eq!(fields, ["capture", "diagnostics", "population", "schema"]);
}

#[test]
fn the_largest_numbers_survive() {
    let mut report = Report::default();
    report.outliers.push(crate::OutlierReport {
        start_tsc: u64::MAX,
        start_ns: Some(u64::MAX),
        duration_ns: u64::MAX,
        ..crate::OutlierReport::default()
    });
    let document = parsed(&render_json(&report));
    assert_eq!(document["outliers"][0]["start_tsc"], "18446744073709551615");
    assert_eq!(document["outliers"][0]["start_ns"], "18446744073709551615");
    assert_eq!(document["outliers"][0]["duration_ns"], json!(u64::MAX));
}

#[test]
fn what_is_no_number_is_null() {
    assert_eq!(picoseconds(f64::NAN), None);
    assert_eq!(picoseconds(f64::INFINITY), None);
    assert_eq!(picoseconds(0.000_4), Some(0.0));
}
