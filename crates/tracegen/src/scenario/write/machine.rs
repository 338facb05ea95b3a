//! What the capture holds about its machine: NUMA nodes and their memory as feature sections, and the machine file.
//!
//! Source: tools/perf/Documentation/perf.data-file-format.txt (`HEADER_NUMA_TOPOLOGY`, `HEADER_MEM_TOPOLOGY`),
//! tools/perf/util/header.c; docs/machine-file.md.

use std::ops::RangeInclusive;

use super::super::program::{Disk, Machine};
use crate::container::text;

/// Numbers of the feature sections.
const NUMA_TOPOLOGY: usize = 14;
const MEM_TOPOLOGY: usize = 22;

/// Memory of a node, and what of it is free, in KiB.
const NODE_MEMORY: [u64; 2] = [16 << 20, 8 << 20];
/// Bytes of a block of memory.
const BLOCK: u64 = 128 << 20;

/// The feature sections of the machine's nodes.
pub(super) fn features(machine: &Machine) -> Vec<(usize, Vec<u8>)> {
    let mut sections = Vec::new();
    if !machine.nodes.is_empty() {
        sections.push((NUMA_TOPOLOGY, numa(&machine.nodes)));
    }
    if !machine.memory.is_empty() {
        sections.push((MEM_TOPOLOGY, memory(&machine.memory)));
    }
    sections
}

/// The section of NUMA nodes: number, memory, CPUs.
fn numa(nodes: &[(u32, String)]) -> Vec<u8> {
    let mut out = (nodes.len() as u32).to_le_bytes().to_vec();
    for (node, cpus) in nodes {
        out.extend(node.to_le_bytes());
        out.extend(NODE_MEMORY.iter().flat_map(|size| size.to_le_bytes()));
        out.extend(text(cpus));
    }
    out
}

/// The section of memory: version, size of a block, and for each node its number and a bitmap of blocks, whose size stands
/// there twice.
fn memory(nodes: &[(u32, RangeInclusive<u64>)]) -> Vec<u8> {
    let mut words = vec![1, BLOCK, nodes.len() as u64];
    for (node, blocks) in nodes {
        let bits = blocks.end() + 1;
        words.extend([u64::from(*node), bits, bits]);
        let word =
            |index: u64| (0..64).filter(|bit| blocks.contains(&(index * 64 + bit))).map(|bit| 1 << bit).sum();
        words.extend((0..bits.div_ceil(64)).map(word).collect::<Vec<u64>>());
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The machine file; `None` of a machine without named disks.
pub(super) fn file(machine: &Machine) -> Option<String> {
    if machine.disks.is_empty() {
        return None;
    }
    let nodes = machine.nodes.iter().map(|(node, cpus)| {
        let own = machine.memory.iter().filter(|(of, _)| of == node);
        let ranges = own.map(|(_, blocks)| {
            format!("{{\"start\": {}, \"end\": {}}}", blocks.start() * BLOCK, (blocks.end() + 1) * BLOCK)
        });
        let ranges = ranges.collect::<Vec<_>>().join(", ");
        format!("{{\"node\": {node}, \"cpus\": \"{cpus}\", \"memory\": [{ranges}]}}")
    });
    let disks = machine.disks.iter().map(|Disk { major, minor, name, node }| {
        let node = node.map_or_else(|| "null".to_owned(), |node| node.to_string());
        format!("{{\"major\": {major}, \"minor\": {minor}, \"name\": \"{name}\", \"node\": {node}}}")
    });
    Some(format!(
        "{{\n\"schema\": \"tailtrace-machine/1\",\n\"memory_block_bytes\": {BLOCK},\n\"nodes\": [\n{}\n],\n\
         \"block_devices\": [\n{}\n]\n}}\n",
        nodes.collect::<Vec<_>>().join(",\n"),
        disks.collect::<Vec<_>>().join(",\n"),
    ))
}
