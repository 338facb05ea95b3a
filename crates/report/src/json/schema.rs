//! The JSON Schema (2020-12) of a document, generated from the types that write it.
//!
//! Strict, for it says what this version writes: every field is named, and every list of words is closed. Readers are
//! to tolerate more (`docs/report-schema.md`).

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};

/// The schema of the document that `Twin` writes, as text.
pub fn schema_of<Twin: JsonSchema>() -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Twin>();
    RecursiveTransform(close).transform(&mut schema);
    super::document(&schema)
}

/// An object has the properties that it names, and no other.
fn close(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}
