//! Test that every JSON document follows `schema/tailtrace-report-1.json`, and that the schema can refuse one.

mod reports;
#[path = "schema/validator.rs"]
mod validator;

use serde_json::{Value, json};
use tailtrace_report::{SCHEMA, render_json, render_stat_json};
use validator::violations;

fn schema() -> Value {
    serde_json::from_str(include_str!("../schema/tailtrace-report-1.json")).expect("the schema is JSON")
}

fn parsed(document: &str) -> Value {
    serde_json::from_str(document).expect("the document is JSON")
}

#[test]
fn every_document_follows_the_schema() {
    for report in [
        reports::page_faults(),
        reports::lock_wait(),
        reports::bare(),
        reports::empty(),
        reports::two_modes(),
        reports::hostile(),
        reports::with_calls(),
        reports::with_view(),
    ] {
        for document in [render_json(&report), render_stat_json(&report)] {
            assert_eq!(violations(&schema(), &parsed(&document)), Vec::<String>::new());
        }
    }
}

#[test]
fn the_schema_names_the_version_that_is_written() {
    assert_eq!(schema()["properties"]["schema"]["const"], SCHEMA);
    assert_eq!(schema()["title"], SCHEMA);
}

/// Each change breaks one rule: a missing field, an unknown one, a number where a string belongs, a negative length,
/// a certainty that does not exist, outliers without their selection.
#[test]
fn the_schema_refuses_what_breaks_it() {
    let good = parsed(&render_json(&reports::lock_wait()));
    let changes: [fn(&mut Value); 6] = [
        |document| drop(document["outliers"][0].as_object_mut().expect("object").remove("causes")),
        |document| document["outliers"][0]["extra"] = json!(1),
        |document| document["outliers"][0]["start_tsc"] = json!(17),
        |document| document["outliers"][0]["segments"][2]["during"][0]["duration_ns"] = json!(-1),
        |document| document["outliers"][0]["causes"][0]["certainty"] = json!("guessed"),
        |document| drop(document.as_object_mut().expect("object").remove("selection")),
    ];
    assert_eq!(violations(&schema(), &good), Vec::<String>::new());
    for (index, change) in changes.iter().enumerate() {
        let mut document = good.clone();
        change(&mut document);
        assert_eq!(violations(&schema(), &document).len(), 1, "change {index}");
    }
}

/// The contract with those who read the document: sums are exact, times are strings, lengths are numbers.
#[test]
fn sums_are_exact_in_the_document() {
    for report in [reports::page_faults(), reports::lock_wait(), reports::bare()] {
        let document = parsed(&render_json(&report));
        let outlier = &document["outliers"][0];
        let duration = outlier["duration_ns"].as_i64().expect("a number");
        let mean = outlier["baseline_mean_ns"].as_i64().unwrap_or(0);
        let sum = |list: &str, field: &str| -> i64 {
            let items = outlier[list].as_array().expect("a list");
            items.iter().map(|item| item[field].as_i64().expect("a number")).sum()
        };
        assert_eq!(sum("segments", "duration_ns"), duration);
        assert_eq!(sum("causes", "duration_ns"), duration);
        assert_eq!(sum("causes", "excess_ns"), duration - mean);
        assert!(outlier["start_tsc"].is_string() && outlier["stop_tsc"].is_string());
    }
    let document = parsed(&render_json(&reports::page_faults()));
    assert_eq!(document["outliers"][0]["start_ns"], "7000001000000");
}

/// Every field that the schema names stands in the contract's text.
#[test]
fn the_contract_describes_every_field() {
    let text = include_str!("../../../docs/report-schema.md");
    let schema = schema();
    let definitions = schema["$defs"].as_object().expect("definitions").values();
    let named = definitions.chain([&schema]).filter_map(|definition| definition["properties"].as_object());
    let missing: Vec<&String> =
        named.flat_map(|fields| fields.keys()).filter(|name| !text.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, Vec::<&String>::new());
}
