//! What a check found: how much it matters, what follows from it, and what mends it.

use schemars::JsonSchema;
use serde::Serialize;

/// How much a finding matters, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "level")]
pub(crate) enum Level {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// The recording shows less, or the machine is slower than it could be.
    Warning,
    /// `tailtrace record` fails.
    Stops,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "finding")]
pub(crate) struct Finding {
    /// The check's name.
    pub(crate) check: &'static str,
    /// How much it matters.
    pub(crate) level: Level,
    /// What is there.
    pub(crate) found: String,
    /// What follows from it; null where nothing does.
    pub(crate) means: Option<String>,
    /// Commands that mend it, and settings for containers, a line each.
    pub(crate) mend: Vec<String>,
}

/// Whether any of them stops a recording.
pub(crate) fn stops(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.level == Level::Stops)
}

impl Finding {
    /// A finding that is as it should be.
    pub(super) fn fine(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { check, level: Level::Fine, found: found.into(), means: None, mend: Vec::new() }
    }

    /// A finding of this level, and what follows from it.
    pub(super) fn of(
        level: Level,
        check: &'static str,
        found: impl Into<String>,
        means: impl Into<String>,
    ) -> Finding {
        Finding { level, means: Some(means.into()), ..Finding::fine(check, found) }
    }

    /// The same with a command that mends it.
    pub(super) fn mended_by(mut self, command: impl Into<String>) -> Finding {
        self.mend.push(command.into());
        self
    }
}
