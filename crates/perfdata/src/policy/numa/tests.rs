//! Nodes by a header and a file made by hand.

use super::*;
use crate::{BlockDevice, MachineNode, MemoryRange, NodeMemory, NumaNode};

fn features(nodes: &[(u32, &str)]) -> Features {
    let node =
        |&(node, cpus): &(u32, &str)| NumaNode { node, total_kib: 0, free_kib: 0, cpus: cpus.to_owned() };
    Features { numa_nodes: nodes.iter().map(node).collect(), ..Features::default() }
}

fn machine() -> Machine {
    let node = |node, cpus: &str, memory: &[(u64, u64)]| MachineNode {
        node,
        cpus: cpus.to_owned(),
        memory: memory.iter().map(|&(start, end)| MemoryRange { start, end }).collect(),
    };
    let disk = |minor, name: &str, node| BlockDevice {
        major: 259,
        minor,
        name: name.to_owned(),
        node,
        ..BlockDevice::default()
    };
    Machine {
        nodes: vec![node(0, "0,2", &[(0, 0x1000), (0x3000, 0x4000)]), node(1, "1,3", &[(0x1000, 0x3000)])],
        block_devices: vec![disk(0, "nvme0n1", Some(1)), disk(1, "nvme1n1", None), disk(0, "again", Some(0))],
        ..Machine::default()
    }
}

#[test]
fn cpus_belong_to_nodes_by_the_header_else_by_the_file() {
    let known = Numa::new(&features(&[(0, "0,2"), (1, "1,3")]), None);
    assert_eq!((known.of_cpu(Cpu(3)), known.of_cpu(Cpu(9)), known.has_several()), (Some(1), None, true));
    let swapped = Numa::new(&features(&[(0, "1,3"), (1, "0,2")]), Some(&machine()));
    assert_eq!(swapped.of_cpu(Cpu(3)), Some(0), "the header is the recording's own");
    let by_file = Numa::new(&Features::default(), Some(&machine()));
    assert_eq!((by_file.of_cpu(Cpu(3)), by_file.has_several()), (Some(1), true));
    assert!(!Numa::new(&features(&[(0, "0-3")]), None).has_several());
    assert!(!Numa::default().has_several());
    assert!(!Numa::new(&features(&[(0, "0,2"), (0, "1,3")]), None).has_several(), "one node, told twice");
    assert!(Numa::new(&features(&[(0, "0"), (0, "1"), (2, "2")]), None).has_several());
}

#[test]
fn memory_belongs_to_nodes_by_blocks_or_ranges() {
    let by_file = Numa::new(&Features::default(), Some(&machine()));
    let nodes = [1, 0xfff, 0x1000, 0x2fff, 0x3000, 0x4000].map(|address| by_file.of_memory(address));
    assert_eq!(nodes, [Some(0), Some(0), Some(1), Some(1), Some(0), None]);
    assert_eq!(by_file.of_memory(0), None, "the kernel's word for an address that it does not know");
    // Blocks of 0x100 bytes: 0 to 15 and 64 are node 2's, 16 to 31 node 5's.
    let node = |node, blocks: &[u64]| NodeMemory { node, blocks: blocks.to_vec() };
    let nodes = vec![node(2, &[0xffff, 1]), node(5, &[0xffff_0000])];
    let header =
        Features { memory: Some(MemoryTopology { block_size: 0x100, nodes }), ..Features::default() };
    let by_header = Numa::new(&header, Some(&machine()));
    let nodes = [1, 0xfff, 0x1000, 0x1fff, 0x2000, 0x4000, 0x40ff, 0x4100, u64::MAX];
    let found = nodes.map(|address| by_header.of_memory(address));
    assert_eq!(found, [Some(2), Some(2), Some(5), Some(5), None, Some(2), Some(2), None, None]);
}

#[test]
fn what_two_nodes_claim_is_nobodys() {
    assert_eq!(disjoint(vec![(0, 50, 0), (40, 60, 1), (60, 70, 2)]), [(0, 40, 0), (50, 60, 1), (60, 70, 2)]);
    assert_eq!(disjoint(vec![(0, 50, 0), (40, 60, 1), (45, 100, 2)]), [(0, 40, 0), (60, 100, 2)]);
    let topology = MemoryTopology {
        block_size: 16,
        nodes: vec![NodeMemory { node: 0, blocks: vec![0b11] }, NodeMemory { node: 1, blocks: vec![0b10] }],
    };
    assert_eq!((topology.node_of(15), topology.node_of(16), topology.node_of(32)), (Some(0), None, None));
    assert_eq!(MemoryTopology::default().node_of(5), None, "blocks without a size");
}

#[test]
fn devices_have_the_files_names_before_their_numbers() {
    let known = Numa::new(&Features::default(), Some(&machine()));
    let device = |minor| Device::new(259, minor);
    assert_eq!((known.name_of(device(0)).as_deref(), known.of_device(device(0))), (Some("nvme0n1"), Some(1)));
    assert_eq!((known.name_of(device(1)).as_deref(), known.of_device(device(1))), (Some("nvme1n1"), None));
    assert_eq!(known.name_of(device(2)), None);
    assert_eq!(known.name_of(Device::new(8, 0)).as_deref(), Some("sda"));
}
