//! Which NUMA node CPUs, memory and devices belong to, and what devices are called: the header and the machine file as one.
//!
//! The header goes before the machine file: it is the recording's own. What neither holds is `None`.

use std::collections::BTreeMap;

use model::{Cpu, CpuList, Device};

use crate::features::{Features, MemoryTopology};
use crate::policy::machine::Machine;

/// The machine's nodes.
#[derive(Clone, Debug, Default)]
pub struct Numa {
    nodes: Vec<(u32, CpuList)>,
    by_header: Option<MemoryTopology>,
    /// Start, end and node, in order; none overlaps another one.
    by_file: Vec<(u64, u64, u32)>,
    devices: BTreeMap<Device, (String, Option<u32>)>,
}

impl Numa {
    /// By what the capture holds.
    pub(crate) fn new(features: &Features, machine: Option<&Machine>) -> Numa {
        let list = |cpus: &str| CpuList::parse(cpus).unwrap_or_default();
        let mut nodes: Vec<(u32, CpuList)> =
            features.numa_nodes.iter().map(|node| (node.node, list(&node.cpus))).collect();
        let known = machine.map_or(&[][..], |machine| &machine.nodes);
        if nodes.is_empty() {
            nodes = known.iter().map(|node| (node.node, list(&node.cpus))).collect();
        }
        let ranges =
            known.iter().flat_map(|node| node.memory.iter().map(|one| (one.start, one.end, node.node)));
        let devices = machine
            .map_or(&[][..], |machine| &machine.block_devices)
            .iter()
            .rev()
            .map(|device| (Device::new(device.major, device.minor), (device.words(), device.node)));
        Numa {
            nodes,
            by_header: features.memory.clone(),
            by_file: disjoint(ranges.collect()),
            devices: devices.collect(),
        }
    }

    /// Whether the machine has more than one node, so that it matters where something is.
    pub fn has_several(&self) -> bool {
        let mut numbers = self.nodes.iter().map(|&(node, _)| node);
        let first = numbers.next();
        numbers.any(|node| Some(node) != first)
    }

    /// The node of `cpu`.
    pub fn of_cpu(&self, cpu: Cpu) -> Option<u32> {
        self.nodes.iter().find(|(_, cpus)| cpus.contains(cpu)).map(|&(node, _)| node)
    }

    /// The node of the byte at the physical address `address`; the kernel records 0 where it does not know the address.
    pub fn of_memory(&self, address: u64) -> Option<u32> {
        if address == 0 {
            return None;
        }
        if let Some(known) = &self.by_header {
            return known.node_of(address).and_then(|node| u32::try_from(node).ok());
        }
        let behind = self.by_file.partition_point(|&(start, ..)| start <= address);
        let &(_, end, node) = self.by_file.get(behind.checked_sub(1)?)?;
        (address < end).then_some(node)
    }

    /// The node that `device` is attached to.
    pub fn of_device(&self, device: Device) -> Option<u32> {
        self.devices.get(&device).and_then(|&(_, node)| node)
    }

    /// What `device` is called: by the machine file, else by its number if that is permanently assigned.
    pub fn name_of(&self, device: Device) -> Option<String> {
        let listed = self.devices.get(&device).map(|(name, _)| name.clone());
        listed.or_else(|| device.name())
    }
}

/// `ranges` in order, without those that overlap: of two that claim the same byte, neither is believed there.
fn disjoint(mut ranges: Vec<(u64, u64, u32)>) -> Vec<(u64, u64, u32)> {
    ranges.sort_unstable();
    let mut kept: Vec<(u64, u64, u32)> = Vec::new();
    let mut reached = 0;
    for (start, end, node) in ranges {
        if start < reached
            && let Some(last) = kept.last_mut()
        {
            last.1 = last.1.min(start);
        }
        let start = start.max(reached);
        if start < end {
            kept.push((start, end, node));
        }
        reached = reached.max(end);
    }
    kept.retain(|(start, end, _)| start < end);
    kept
}

#[cfg(test)]
mod tests;
