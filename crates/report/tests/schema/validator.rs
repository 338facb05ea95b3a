//! A validator for the part of JSON Schema (2020-12) that our schema uses; any other keyword is an error, so that a
//! schema cannot grow rules that nobody checks.
//!
//! Unlike a standard validator it is closed: a property that the schema does not name is an error too. Readers must
//! tolerate new fields, but we must not write undocumented ones.

use serde_json::{Map, Value};

/// Everything in `value` that `schema` does not allow, each with its path.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let rules = schema.as_object().expect("a schema is an object");
    for (keyword, rule) in rules {
        let holds = match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let name =
                    rule.as_str().and_then(|name| name.strip_prefix("#/$defs/")).expect("a local reference");
                check(root, &root["$defs"][name], value, path, found);
                true
            }
            "type" => types(rule).iter().any(|name| has_type(value, name)),
            "const" => value == rule,
            "enum" => rule.as_array().expect("enum").contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("minimum")),
            "minLength" => {
                value.as_str().is_none_or(|text| text.len() as u64 >= rule.as_u64().expect("minLength"))
            }
            "pattern" => {
                value.as_str().is_none_or(|text| matches_pattern(rule.as_str().expect("pattern"), text))
            }
            "anyOf" => rule.as_array().expect("anyOf").iter().any(|one| {
                let mut inner = Vec::new();
                check(root, one, value, path, &mut inner);
                inner.is_empty()
            }),
            "required" => names(rule).iter().all(|name| value.get(name).is_some()),
            "dependentRequired" => dependents_present(rule, value),
            "properties" => {
                check_properties(root, rule, value, path, found);
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{path}[{index}]"), found);
                }
                true
            }
            other => panic!("the schema uses {other}, which this validator does not know"),
        };
        if !holds {
            found.push(format!("{path}: {keyword} {rule} does not hold for {value}"));
        }
    }
}

fn check_properties(root: &Value, rule: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let properties = rule.as_object().expect("properties");
    for (name, item) in value.as_object().unwrap_or(&Map::new()) {
        match properties.get(name) {
            Some(schema) => check(root, schema, item, &format!("{path}.{name}"), found),
            None => found.push(format!("{path}: the field {name} is not in the schema")),
        }
    }
}

fn dependents_present(rule: &Value, value: &Value) -> bool {
    rule.as_object().expect("dependentRequired").iter().all(|(name, needed)| {
        value.get(name).is_none() || names(needed).iter().all(|name| value.get(name).is_some())
    })
}

fn types(rule: &Value) -> Vec<&str> {
    rule.as_str().map_or_else(|| names(rule), |one| vec![one])
}

fn names(rule: &Value) -> Vec<&str> {
    rule.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name")).collect()
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("unknown type {other}"),
    }
}

/// The one pattern of the schema.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    assert_eq!(pattern, "^[0-9]{1,20}$");
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}
