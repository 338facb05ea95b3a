//! Records of PEBS in the trace of an outlier.

use schemars::JsonSchema;
use serde::Serialize;

use crate::escape::bounded_for_json;
use crate::pebs::{PebsFunction, PebsMemory, PebsUse};

/// An address in hexadecimal.
const ADDRESS: &str = "^0x[0-9a-f]{1,16}$";

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "pebs")]
pub(super) struct PebsTwin {
    events: Vec<String>,
    records: u64,
    typical_records: u64,
    typical_intervals: u64,
    functions: Vec<PebsFunctionTwin>,
    more_functions: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "pebs_function")]
struct PebsFunctionTwin {
    function: String,
    records: u64,
    typical_records: u64,
    memory: Option<PebsMemoryTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "pebs_memory")]
struct PebsMemoryTwin {
    accesses: u64,
    mean_cycles: u64,
    most_cycles: u64,
    #[schemars(regex(pattern = ADDRESS))]
    address: Option<String>,
}

impl PebsTwin {
    pub(super) fn new(used: &PebsUse) -> PebsTwin {
        PebsTwin {
            events: used.events.iter().map(|event| bounded_for_json(event)).collect(),
            records: used.records,
            typical_records: used.typical_records,
            typical_intervals: used.typical_intervals,
            functions: used.functions.iter().map(PebsFunctionTwin::new).collect(),
            more_functions: used.more_functions,
        }
    }
}

impl PebsFunctionTwin {
    fn new(used: &PebsFunction) -> PebsFunctionTwin {
        PebsFunctionTwin {
            function: bounded_for_json(&used.function),
            records: used.records,
            typical_records: used.typical_records,
            memory: used.memory.as_ref().map(PebsMemoryTwin::new),
        }
    }
}

impl PebsMemoryTwin {
    fn new(memory: &PebsMemory) -> PebsMemoryTwin {
        PebsMemoryTwin {
            accesses: memory.accesses,
            mean_cycles: memory.mean_cycles,
            most_cycles: memory.most_cycles,
            address: memory.address.map(|address| format!("{address:#x}")),
        }
    }
}
