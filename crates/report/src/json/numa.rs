//! NUMA nodes, of an outlier and of the view.

use schemars::JsonSchema;
use serde::Serialize;

use crate::escape::bounded_for_json;
use crate::numa::{DeviceUse, MemoryUse, NumaUse, NumaView};

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "numa_view")]
pub(super) struct NumaViewTwin {
    slow: NumaTwin,
    fast: NumaTwin,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "numa")]
pub(super) struct NumaTwin {
    threads: Vec<NodeTimeTwin>,
    devices: Vec<DeviceUseTwin>,
    memory: Option<MemoryUseTwin>,
    pages: Option<MemoryUseTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "node_time")]
struct NodeTimeTwin {
    node: Option<u32>,
    duration_ns: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "device_use")]
struct DeviceUseTwin {
    device: String,
    node: Option<u32>,
    waits: u64,
    remote: u64,
    unknown: u64,
    remote_ends: u64,
    unknown_ends: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "memory_use")]
struct MemoryUseTwin {
    count: u64,
    remote: u64,
    unknown: u64,
    nodes: Vec<NodeCountTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "node_count")]
struct NodeCountTwin {
    node: Option<u32>,
    count: u64,
}

impl NumaViewTwin {
    pub(super) fn new(view: &NumaView) -> NumaViewTwin {
        NumaViewTwin { slow: NumaTwin::new(&view.slow), fast: NumaTwin::new(&view.fast) }
    }
}

impl NumaTwin {
    pub(super) fn new(used: &NumaUse) -> NumaTwin {
        let times = used.threads.iter();
        NumaTwin {
            threads: times
                .map(|time| NodeTimeTwin { node: time.node, duration_ns: time.duration_ns })
                .collect(),
            devices: used.devices.iter().map(DeviceUseTwin::new).collect(),
            memory: used.memory.as_ref().map(MemoryUseTwin::new),
            pages: used.pages.as_ref().map(MemoryUseTwin::new),
        }
    }
}

impl DeviceUseTwin {
    fn new(used: &DeviceUse) -> DeviceUseTwin {
        DeviceUseTwin {
            device: bounded_for_json(&used.device),
            node: used.node,
            waits: used.waits,
            remote: used.remote,
            unknown: used.unknown,
            remote_ends: used.remote_ends,
            unknown_ends: used.unknown_ends,
        }
    }
}

impl MemoryUseTwin {
    fn new(used: &MemoryUse) -> MemoryUseTwin {
        let nodes = used.nodes.iter().map(|one| NodeCountTwin { node: one.node, count: one.count });
        MemoryUseTwin {
            count: used.count,
            remote: used.remote,
            unknown: used.unknown,
            nodes: nodes.collect(),
        }
    }
}
