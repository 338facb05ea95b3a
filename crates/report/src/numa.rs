//! NUMA nodes: where threads ran, where the devices are that they waited for, where the memory is that they used.
//!
//! Plain figures, and their words. What is unknown is reported as unknown.

use serde::{Deserialize, Serialize};

use crate::units::{counted, percent};

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
                .map(|pages| format!("{} allocated: {}", counted(pages.count, "page"), pages.words())),
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
            words.push(format!("slow ones allocated {}; fast ones {}", side(slow), side(fast)));
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
            (None, _) => "its node is unknown".to_owned(),
            (Some(_), 0) => "the threads' nodes are unknown".to_owned(),
            (Some(_), known) => format!("{} of {known} waits by a thread on another node", self.remote),
        };
        let ends = match self.waits.saturating_sub(self.unknown_ends) {
            0 => "where they ended is unknown".to_owned(),
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
            0 => "unknown whether of another node".to_owned(),
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
        return "no known CPU".to_owned();
    }
    let known = times.iter().filter(|time| time.duration_ns > 0);
    listed(known.map(|time| format!("{} ({})", named(time.node), share(time.duration_ns, whole))))
}

/// `node 0 1, node 1 3 and 4 more`.
fn listed(nodes: impl Iterator<Item = String>) -> String {
    let mut named: Vec<String> = nodes.collect();
    let more = named.len().saturating_sub(MOST_NAMED);
    named.truncate(MOST_NAMED);
    let named = named.join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

/// A statement for each device; of those that are not named, how many and how often they were waited for.
fn devices(devices: &[DeviceUse]) -> Vec<String> {
    let (named, rest) = devices.split_at(devices.len().min(MOST_NAMED));
    let waits = rest.iter().fold(0_u64, |sum, device| sum.saturating_add(device.waits));
    let more = (!rest.is_empty())
        .then(|| format!("{}: {}", counted(rest.len() as u64, "more device"), counted(waits, "wait")));
    named.iter().map(DeviceUse::words).chain(more).collect()
}

fn memory(used: Option<&MemoryUse>) -> String {
    match used {
        None => "the NUMA node of the memory is unknown: no sampled access".to_owned(),
        Some(used) if used.count == 1 => format!("1 sampled access: {}", used.words()),
        Some(used) => format!("{} sampled accesses: {}", used.count, used.words()),
    }
}

fn named(node: Option<u32>) -> String {
    node.map_or_else(|| "an unknown node".to_owned(), |node| format!("node {node}"))
}

#[allow(clippy::cast_precision_loss)] // a share to be shown
fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests;
