//! The findings as JSON: `tailtrace-doctor/1`, whose schema `tailtrace generate schema doctor` prints.

use schemars::JsonSchema;
use serde::Serialize;

use super::finding::{Finding, stops};

/// The format and its version.
const SCHEMA: &str = "tailtrace-doctor/1";

/// The document.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "doctor", extend("$id" = "urn:tailtrace:doctor:1"))]
pub(crate) struct Document<'a> {
    /// The format: `tailtrace-doctor/1`.
    schema: &'static str,
    /// Who wrote it.
    tool: &'static str,
    /// Whether nothing stops `tailtrace record`.
    can_record: bool,
    /// The command that `tailtrace record` would run.
    command: &'a str,
    /// What each check found, in a fixed order.
    findings: &'a [Finding],
}

/// The document of these findings.
///
/// # Errors
/// None that these types can have.
pub(crate) fn render(findings: &[Finding], command: &str) -> serde_json::Result<String> {
    let document = Document {
        schema: SCHEMA,
        tool: concat!("tailtrace ", env!("CARGO_PKG_VERSION")),
        can_record: !stops(findings),
        command,
        findings,
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
