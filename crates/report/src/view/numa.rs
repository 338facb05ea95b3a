//! NUMA nodes: where threads ran, where the devices are that they waited for, where the memory is that they used.
//!
//! Plain figures, and their words. What nothing tells is said to be not known.

use serde::{Deserialize, Serialize};

use crate::units::counted;
use crate::view::words::percent;

/// Items of a list in words.
const MOST_NAMED: usize = 8;

/// What some intervals used, by NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaUse {
    /// Time on CPUs, by their node, in order of nodes; `None`: not known.
    pub threads: Vec<NodeTime>,
    /// Block devices that were waited for.
    pub devices: Vec<DeviceUse>,
    /// Sampled loads and stores; `None` where the capture samples none.
    pub memory: Option<MemoryUse>,
    /// Pages that the kernel gave; `None` where the capture has no records of them.
    pub pages: Option<MemoryUse>,
}

/// Slow and fast intervals side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaView {
    /// The slow ones.
    pub slow: NumaUse,
    /// The fast ones.
    pub fast: NumaUse,
}

/// Time on the CPUs of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTime {
    /// Which node.
    pub node: Option<u32>,
    /// How long.
    pub duration_ns: u64,
}

/// Waits for a block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Its number and name.
    pub device: String,
    /// The node that it is attached to.
    pub node: Option<u32>,
    /// How many waits.
    pub waits: u64,
    /// Those by a thread that had left a CPU of another node than the device's.
    pub remote: u64,
    /// Those of which that is not known.
    pub unknown: u64,
    /// Those that ended on a CPU of another node than the thread's.
    pub remote_ends: u64,
    /// Those of which that is not known.
    pub unknown_ends: u64,
}

/// Uses of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// How many.
    pub count: u64,
    /// Those of another node's memory or cache than the CPU's.
    pub remote: u64,
    /// Those of which that is not known.
    pub unknown: u64,
    /// By the memory's node, in order; `None`: not known.
    pub nodes: Vec<NodeCount>,
}

/// Uses of a node's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCount {
    /// Which node.
    pub node: Option<u32>,
    /// How many.
    pub count: u64,
}

impl NumaUse {
    /// One statement each: threads, devices, memory, pages. The first stands also where no CPU is known.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![format!("ran on {}", threads(&self.threads))];
        words.extend(devices(&self.devices));
        words.push(memory(self.memory.as_ref()));
        words.extend(
            self.pages
                .as_ref()
                .map(|pages| format!("{} got: {}", counted(pages.count, "page"), pages.words())),
        );
        words
    }
}

impl NumaView {
    /// One statement each: where slow and fast intervals ran, the devices of both, the memory of slow and fast ones.
    pub fn words(&self) -> Vec<String> {
        let (slow, fast) = (&self.slow, &self.fast);
        let mut words = vec![format!(
            "slow ones ran on {}; fast ones on {}",
            threads(&slow.threads),
            threads(&fast.threads)
        )];
        for (whose, used) in [("slow", slow), ("fast", fast)] {
            words.extend(devices(&used.devices).into_iter().map(|words| format!("{whose} ones: {words}")));
        }
        if slow.memory.is_none() && fast.memory.is_none() {
            words.push(memory(None));
        } else {
            let side = |used: &NumaUse| memory(Some(&used.memory.clone().unwrap_or_default()));
            words.push(format!("slow ones: {}; fast ones: {}", side(slow), side(fast)));
        }
        if slow.pages.is_some() || fast.pages.is_some() {
            let side = |used: &NumaUse| {
                let pages = used.pages.clone().unwrap_or_default();
                format!("{}: {}", counted(pages.count, "page"), pages.words())
            };
            words.push(format!("slow ones got {}; fast ones {}", side(slow), side(fast)));
        }
        words
    }
}

impl DeviceUse {
    /// `device 259:1 (nvme0n1) of node 1: 3 of 4 waits by a thread on another node, 4 of 4 ended on another node than the
    /// thread's`.
    fn words(&self) -> String {
        let place = self.node.map_or_else(String::new, |node| format!(" of node {node}"));
        let known = self.waits.saturating_sub(self.unknown);
        let remote = match (self.node, known) {
            (None, _) => "its node is not known".to_owned(),
            (Some(_), 0) => "the threads' nodes are not known".to_owned(),
            (Some(_), known) => format!("{} of {known} waits by a thread on another node", self.remote),
        };
        let ends = match self.waits.saturating_sub(self.unknown_ends) {
            0 => "where they ended is not known".to_owned(),
            known => format!(
                "{} of {known} waits ended by an interrupt on another node than the thread's",
                self.remote_ends
            ),
        };
        format!("device {}{place}: {remote}, {ends}", self.device)
    }
}

impl MemoryUse {
    /// `3 of another node (75 %); node 0 1, node 1 3`.
    fn words(&self) -> String {
        let known = self.count.saturating_sub(self.unknown);
        let remote = match known {
            0 if self.count == 0 => return "none".to_owned(),
            0 => "whether of another node is not known".to_owned(),
            known => format!("{} of {known} of another node ({})", self.remote, share(self.remote, known)),
        };
        let nodes = self.nodes.iter().map(|one| format!("{} {}", named(one.node), one.count));
        format!("{remote}; by memory: {}", listed(nodes))
    }
}

/// `node 0 (92 %) and node 1 (8 %)`, by time on CPUs.
fn threads(times: &[NodeTime]) -> String {
    let whole = times.iter().fold(0_u64, |sum, time| sum.saturating_add(time.duration_ns));
    if whole == 0 {
        return "no CPU that is known".to_owned();
    }
    let told = times.iter().filter(|time| time.duration_ns > 0);
    listed(told.map(|time| format!("{} ({})", named(time.node), share(time.duration_ns, whole))))
}

/// `node 0 1, node 1 3 and 4 more`.
fn listed(nodes: impl Iterator<Item = String>) -> String {
    let mut told: Vec<String> = nodes.collect();
    let more = told.len().saturating_sub(MOST_NAMED);
    told.truncate(MOST_NAMED);
    let told = told.join(", ");
    if more == 0 { told } else { format!("{told} and {more} more") }
}

/// A statement for each device; of those that are not named, how many and how often they were waited for.
fn devices(devices: &[DeviceUse]) -> Vec<String> {
    let (told, rest) = devices.split_at(devices.len().min(MOST_NAMED));
    let waits = rest.iter().fold(0_u64, |sum, device| sum.saturating_add(device.waits));
    let more = (!rest.is_empty())
        .then(|| format!("{}: {}", counted(rest.len() as u64, "more device"), counted(waits, "wait")));
    told.iter().map(DeviceUse::words).chain(more).collect()
}

fn memory(used: Option<&MemoryUse>) -> String {
    match used {
        None => "the memory's node is not known: no sample tells of an access".to_owned(),
        Some(used) if used.count == 1 => format!("1 sampled access: {}", used.words()),
        Some(used) => format!("{} sampled accesses: {}", used.count, used.words()),
    }
}

fn named(node: Option<u32>) -> String {
    node.map_or_else(|| "a node not known".to_owned(), |node| format!("node {node}"))
}

#[allow(clippy::cast_precision_loss)] // a share to be shown
fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
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
            "ran on a node not known (5 %), node 0 (95 %)",
            "device 259:1 (nvme0n1) of node 1: 3 of 4 waits by a thread on another node, 1 of 2 waits ended by an \
             interrupt on another node than the thread's",
            "5 sampled accesses: 3 of 4 of another node (75 %); by memory: a node not known 1, node 0 1, node 1 3",
        ];
        assert_eq!(used().words(), expected);
    }

    #[test]
    fn what_nothing_tells_is_not_known() {
        let device = DeviceUse {
            device: "8:0".to_owned(),
            waits: 1,
            unknown: 1,
            unknown_ends: 1,
            ..DeviceUse::default()
        };
        let pages = Some(memory_of(0, 2, &[(None, 2)]));
        let used = NumaUse { devices: vec![device], pages, ..NumaUse::default() };
        let expected = [
            "ran on no CPU that is known",
            "device 8:0: its node is not known, where they ended is not known",
            "the memory's node is not known: no sample tells of an access",
            "2 pages got: whether of another node is not known; by memory: a node not known 2",
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
            "slow ones ran on a node not known (5 %), node 0 (95 %); fast ones on no CPU that is known",
            "slow ones: 5 sampled accesses: 3 of 4 of another node (75 %); by memory: a node not known 1, node 0 1, node \
             1 3; fast ones: 1 sampled access: 0 of 1 of another node (0 %); by memory: node 0 1",
        ];
        assert_eq!(view.words(), expected);
    }
}
