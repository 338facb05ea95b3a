//! Test that every JSON document follows its schema, that the schemas are the ones the types make, and that they can
//! refuse a document. The validator is not ours.

mod reports;

use jsonschema::Validator;
use serde_json::{Value, json};
use tailtrace_report::{
    DIFFERENCE_SCHEMA, SCHEMA, difference_schema, render_difference_json, render_json, render_stat_json,
    report_schema,
};

const STORED: [(&str, &str); 2] = [
    (SCHEMA, include_str!("../schema/tailtrace-report-1.json")),
    (DIFFERENCE_SCHEMA, include_str!("../schema/tailtrace-diff-1.json")),
];

fn parsed(document: &str) -> Value {
    serde_json::from_str(document).expect("the document is JSON")
}

fn validator(schema: &str) -> Validator {
    jsonschema::validator_for(&parsed(schema)).expect("a sound schema")
}

/// Where the document breaks the schema.
fn violations(validator: &Validator, document: &Value) -> Vec<String> {
    validator.iter_errors(document).map(|error| error.instance_path().to_string()).collect()
}

/// What others read is what the types say; `TAILTRACE_BLESS=1` writes it anew.
#[test]
fn the_stored_schemas_are_the_generated_ones() {
    for (generated, (name, stored)) in [report_schema(), difference_schema()].iter().zip(STORED) {
        if std::env::var_os("TAILTRACE_BLESS").is_some() {
            let file = format!("{}/schema/{}.json", env!("CARGO_MANIFEST_DIR"), name.replace('/', "-"));
            std::fs::write(file, generated).expect("written");
        } else {
            assert_eq!(generated, stored, "{name}");
        }
        assert_eq!(parsed(generated)["properties"]["schema"]["const"], name);
    }
}

#[test]
fn every_document_follows_the_schema() {
    let validator = validator(&report_schema());
    for report in [
        reports::page_faults(),
        reports::lock_wait(),
        reports::bare(),
        reports::empty(),
        reports::two_modes(),
        reports::with_calls(),
        reports::with_view(),
        reports::composed(),
    ] {
        for document in [render_json(&report), render_stat_json(&report)] {
            assert_eq!(violations(&validator, &parsed(&document)), Vec::<String>::new());
        }
    }
}

#[test]
fn every_difference_follows_the_schema() {
    let validator = validator(&difference_schema());
    let document = parsed(&render_difference_json(&reports::difference()));
    assert_eq!(violations(&validator, &document), Vec::<String>::new());
}

/// Hostile names change no form. Only the causes, which are hostile in these reports too, are none that exist.
#[test]
fn hostile_documents_follow_the_schema_but_for_their_causes() {
    for (schema, document) in [
        (report_schema(), render_json(&reports::hostile())),
        (difference_schema(), render_difference_json(&reports::hostile_difference())),
    ] {
        let of_cause = |path: &String| path.ends_with("/cause") || path.contains("/causes/");
        let found = violations(&validator(&schema), &parsed(&document));
        assert!(found.iter().any(of_cause));
        assert_eq!(found.iter().find(|path| !of_cause(path)), None);
    }
}

/// Each change breaks one rule: a missing field, an unknown one, a number where a string belongs, a time that is none,
/// a negative length, a certainty and causes that do not exist, a version of another kind.
#[test]
fn the_schema_refuses_what_breaks_it() {
    let validator = validator(&report_schema());
    let good = parsed(&render_json(&reports::lock_wait()));
    let changes: [fn(&mut Value); 10] = [
        |document| drop(document["outliers"][0].as_object_mut().expect("object").remove("causes")),
        |document| document["outliers"][0]["extra"] = json!(1),
        |document| document["capture"]["extra"] = json!(1),
        |document| document["outliers"][0]["start_tsc"] = json!(17),
        |document| document["outliers"][0]["start_tsc"] = json!("-17"),
        |document| document["outliers"][0]["segments"][2]["during"][0]["duration_ns"] = json!(-1),
        |document| document["outliers"][0]["causes"][0]["certainty"] = json!("guessed"),
        |document| document["outliers"][0]["causes"][0]["cause"] = json!("offcpu"),
        |document| document["outliers"][0]["causes"][0]["cause"] = json!("user.spin.more"),
        |document| document["schema"] = json!("tailtrace-report/2"),
    ];
    assert_eq!(violations(&validator, &good), Vec::<String>::new());
    for (index, change) in changes.iter().enumerate() {
        let mut document = good.clone();
        change(&mut document);
        assert_eq!(violations(&validator, &document).len(), 1, "change {index}");
    }
    let mut halved = good;
    halved.as_object_mut().expect("object").remove("selection");
    assert!(!validator.is_valid(&halved), "outliers without their selection");
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

/// Every field that the schemas name stands in the contract's text.
#[test]
fn the_contract_describes_every_field() {
    let text = include_str!("../../../docs/report-schema.md");
    for (name, schema) in STORED {
        let schema = parsed(schema);
        let definitions = schema["$defs"].as_object().expect("definitions").values();
        let named =
            definitions.chain([&schema]).filter_map(|definition| definition["properties"].as_object());
        let missing: Vec<&String> = named
            .flat_map(|fields| fields.keys())
            .filter(|name| !text.contains(&format!("`{name}`")))
            .collect();
        assert_eq!(missing, Vec::<&String>::new(), "{name}");
    }
}
