//! The closed lists of words in the documents, one type each: what is written and what the schema allows cannot differ.

use std::borrow::Cow;

use model::{CallLayer, Cause, Certainty, EvidenceKind, Part, Severity};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::escape::bounded_for_json;
use crate::outlier::CheckState;
use crate::timebase::TimeUnit;

/// Of what lengths are counted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "time_unit", inline)]
pub(crate) enum UnitWord {
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "ticks")]
    Ticks,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "certainty", inline)]
pub(super) enum CertaintyWord {
    Measured,
    Decoded,
    Inferred,
    Unknown,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "severity", inline)]
pub(super) enum SeverityWord {
    Note,
    Warning,
    Error,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "check_state", inline)]
pub(super) enum CheckWord {
    Good,
    Partial,
    Missing,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "evidence_kind", inline)]
pub(super) enum EvidenceWord {
    Record,
    Packet,
    Symbol,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "layer", inline)]
pub(super) enum LayerWord {
    User,
    Kernel,
    Waiting,
}

/// What a thread that answered did for the request.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "part", inline)]
pub(super) enum PartWord {
    NotRun,
    OthersFirst,
    Waits,
    OwnWork,
    Between,
}

impl PartWord {
    /// The word of `part`; `None` for one that this version of the schema has no word for.
    pub(super) fn new(part: Part) -> Option<PartWord> {
        Some(match part {
            Part::NotRun => PartWord::NotRun,
            Part::OthersFirst => PartWord::OthersFirst,
            Part::Waits => PartWord::Waits,
            Part::OwnWork => PartWord::OwnWork,
            Part::Between => PartWord::Between,
            _ => return None,
        })
    }
}

/// Where a counter's threshold has the slow ones.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "side", inline)]
pub(super) enum SideWord {
    Below,
    Above,
}

/// A cause's dotted name. One that holds a name of the capture (`kernel.irq.nvme0q1`) is allowed by its beginning.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct CauseWord(String);

impl CauseWord {
    pub(crate) fn new(cause: &str) -> CauseWord {
        CauseWord(bounded_for_json(cause))
    }
}

impl JsonSchema for CauseWord {
    fn schema_name() -> Cow<'static, str> {
        "cause_name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (open, closed): (Vec<String>, Vec<String>) =
            Cause::all().iter().map(Cause::to_string).partition(|name| name.ends_with('.'));
        let beginnings = open.iter().map(|name| name.replace('.', r"\.")).collect::<Vec<_>>().join("|");
        json_schema!({
            "description": "docs/causes.md describes each.",
            "type": "string",
            "anyOf": [{"enum": closed}, {"pattern": format!("^({beginnings})")}],
        })
    }
}

impl From<TimeUnit> for UnitWord {
    fn from(unit: TimeUnit) -> UnitWord {
        match unit {
            TimeUnit::Nanoseconds => UnitWord::Nanoseconds,
            TimeUnit::Ticks => UnitWord::Ticks,
        }
    }
}

impl From<Certainty> for CertaintyWord {
    fn from(certainty: Certainty) -> CertaintyWord {
        match certainty {
            Certainty::Measured => CertaintyWord::Measured,
            Certainty::Decoded => CertaintyWord::Decoded,
            Certainty::Inferred => CertaintyWord::Inferred,
            Certainty::Unknown => CertaintyWord::Unknown,
        }
    }
}

impl From<Severity> for SeverityWord {
    fn from(severity: Severity) -> SeverityWord {
        match severity {
            Severity::Note => SeverityWord::Note,
            Severity::Warning => SeverityWord::Warning,
            Severity::Error => SeverityWord::Error,
        }
    }
}

impl From<CheckState> for CheckWord {
    fn from(state: CheckState) -> CheckWord {
        match state {
            CheckState::Good => CheckWord::Good,
            CheckState::Partial => CheckWord::Partial,
            CheckState::Missing => CheckWord::Missing,
        }
    }
}

impl From<EvidenceKind> for EvidenceWord {
    fn from(kind: EvidenceKind) -> EvidenceWord {
        match kind {
            EvidenceKind::Record => EvidenceWord::Record,
            EvidenceKind::Packet => EvidenceWord::Packet,
            EvidenceKind::Symbol => EvidenceWord::Symbol,
        }
    }
}

impl From<CallLayer> for LayerWord {
    fn from(layer: CallLayer) -> LayerWord {
        match layer {
            CallLayer::User => LayerWord::User,
            CallLayer::Kernel => LayerWord::Kernel,
            CallLayer::Waiting => LayerWord::Waiting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names are the contract, so they say what is the kernel's.
    #[test]
    fn causes_of_the_kernel_are_those_named_so() {
        for cause in Cause::all() {
            assert_eq!(cause.is_kernel(), cause.to_string().starts_with("kernel."), "{cause}");
        }
    }
}
