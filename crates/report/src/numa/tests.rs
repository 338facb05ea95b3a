//! Nodes of memory and devices, in words and sums.

use super::*;

fn memory_of(remote: u64, unknown: u64, nodes: &[(Option<u32>, u64)]) -> MemoryUse {
    let nodes: Vec<NodeCount> = nodes.iter().map(|&(node, count)| NodeCount { node, count }).collect();
    MemoryUse { count: nodes.iter().map(|node| node.count).sum(), remote, unknown, nodes }
}

fn used() -> NumaUse {
    NumaUse {
        threads: vec![
            NodeTime { node: None, duration_ns: 5 },
            NodeTime { node: Some(0), duration_ns: 95 },
            NodeTime { node: Some(1), duration_ns: 0 },
        ],
        devices: vec![DeviceUse {
            device: "259:1 (nvme0n1)".to_owned(),
            node: Some(1),
            waits: 4,
            remote: 3,
            unknown: 0,
            remote_ends: 1,
            unknown_ends: 2,
        }],
        memory: Some(memory_of(3, 1, &[(None, 1), (Some(0), 1), (Some(1), 3)])),
        pages: None,
    }
}

#[test]
fn an_interval_in_words() {
    let expected = [
        "ran on an unknown node (5 %), node 0 (95 %)",
        "device 259:1 (nvme0n1) of node 1: 3 of 4 waits by a thread on another node, 1 of 2 waits ended by an \
         interrupt on another node than the thread's",
        "5 sampled accesses: 3 of 4 of another node (75 %); by memory: an unknown node 1, node 0 1, node 1 3",
    ];
    assert_eq!(used().words(), expected);
}

#[test]
fn what_nothing_tells_is_not_known() {
    let device =
        DeviceUse { device: "8:0".to_owned(), waits: 1, unknown: 1, unknown_ends: 1, ..DeviceUse::default() };
    let pages = Some(memory_of(0, 2, &[(None, 2)]));
    let used = NumaUse { devices: vec![device], pages, ..NumaUse::default() };
    let expected = [
        "ran on no known CPU",
        "device 8:0: its node is unknown, where they ended is unknown",
        "the NUMA node of the memory is unknown: no sampled access",
        "2 pages allocated: unknown whether of another node; by memory: an unknown node 2",
    ];
    assert_eq!(used.words(), expected);
}

/// Ten nodes of a tenth each: eight are named.
#[test]
fn nodes_that_are_not_named_are_counted() {
    let times = |count| (0..count).map(|node| NodeTime { node: Some(node), duration_ns: 100 }).collect();
    let nodes: Vec<(Option<u32>, u64)> = (0..10).map(|node| (Some(node), 1)).collect();
    let used = |count| NumaUse {
        threads: times(count),
        memory: Some(memory_of(0, 0, &nodes[..count as usize])),
        ..NumaUse::default()
    };
    let words = used(10).words();
    assert!(words[0].ends_with("node 6 (10 %), node 7 (10 %) and 2 more"), "{words:?}");
    assert!(words[1].ends_with("node 6 1, node 7 1 and 2 more"), "{words:?}");
    assert!(used(8).words().iter().all(|words| !words.contains("more")));
}

/// Ten devices, waited for 0 to 9 times: the last two, 8 and 9, are counted.
#[test]
fn devices_that_are_not_named_are_counted() {
    let device =
        |waits| DeviceUse { device: format!("8:{waits}"), waits, unknown: waits, ..DeviceUse::default() };
    let used = |count| NumaUse { devices: (0..count).map(device).collect(), ..NumaUse::default() };
    assert_eq!(used(10).words()[9], "2 more devices: 17 waits");
    assert_eq!(used(8).words().len(), 1 + 8 + 1);
    let view = NumaView { slow: used(9), fast: used(0) };
    assert_eq!(view.words()[9], "slow ones: 1 more device: 8 waits");
}

#[test]
fn slow_and_fast_stand_side_by_side() {
    let fast = NumaUse { memory: Some(memory_of(0, 0, &[(Some(0), 1)])), ..NumaUse::default() };
    let view = NumaView { slow: NumaUse { devices: Vec::new(), ..used() }, fast };
    let expected = [
        "slow ones ran on an unknown node (5 %), node 0 (95 %); fast ones on no known CPU",
        "slow ones: 5 sampled accesses: 3 of 4 of another node (75 %); by memory: an unknown node 1, node 0 1, node \
         1 3; fast ones: 1 sampled access: 0 of 1 of another node (0 %); by memory: node 0 1",
    ];
    assert_eq!(view.words(), expected);
}
