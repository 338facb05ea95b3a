//! Sections about the machine: which CPUs share what, NUMA nodes, caches.

use crate::bytes::Fields;

/// Which CPUs share a core, a die, a socket. CPU lists are the kernel's: `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTopology {
    /// One list of CPUs a socket.
    pub sockets: Vec<String>,
    /// One list of CPUs a core (hyper-threads).
    pub cores: Vec<String>,
    /// One list of CPUs a die; empty where perf did not write it.
    pub dies: Vec<String>,
    /// Core, socket and die of each CPU, by its number.
    pub cpus: Vec<CpuLocation>,
}

/// Where a CPU sits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLocation {
    /// The core's number in its socket.
    pub core: u32,
    /// The socket.
    pub socket: u32,
    /// The die; `None` where perf did not write it.
    pub die: Option<u32>,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaNode {
    /// Its number.
    pub node: u32,
    /// Memory in KiB.
    pub total_kib: u64,
    /// Memory that was free, in KiB.
    pub free_kib: u64,
    /// Its CPUs: `0-3,8`.
    pub cpus: String,
}

/// A cache and the CPUs that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuCache {
    /// 1, 2, 3.
    pub level: u32,
    /// Bytes of a line.
    pub line_size: u32,
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// `Data`, `Instruction`, `Unified`.
    pub kind: String,
    /// `32K`.
    pub size: String,
    /// Its CPUs: `0-3,8`.
    pub cpus: String,
}

pub(super) fn parse_topology(fields: &mut Fields<'_>, cpus: Option<u32>) -> Option<CpuTopology> {
    let mut topology =
        CpuTopology { sockets: fields.strings()?, cores: fields.strings()?, ..Default::default() };
    // Old versions of perf end here; the next ones before the dies.
    let Some(cpus) = fields.count(cpus.unwrap_or(0).into(), 8).filter(|_| !fields.is_empty()) else {
        return Some(topology);
    };
    for _ in 0..cpus {
        topology.cpus.push(CpuLocation { core: fields.u32()?, socket: fields.u32()?, die: None });
    }
    if !fields.is_empty() {
        topology.dies = fields.strings()?;
        for cpu in &mut topology.cpus {
            cpu.die = Some(fields.u32()?);
        }
    }
    Some(topology)
}

pub(super) fn parse_numa(fields: &mut Fields<'_>, nodes: &mut Vec<NumaNode>) -> Option<()> {
    let count = fields.u32()?;
    for _ in 0..fields.count(count.into(), 24)? {
        let (node, total_kib, free_kib) = (fields.u32()?, fields.u64()?, fields.u64()?);
        nodes.push(NumaNode { node, total_kib, free_kib, cpus: fields.string()? });
    }
    Some(())
}

pub(super) fn parse_caches(fields: &mut Fields<'_>, caches: &mut Vec<CpuCache>) -> Option<()> {
    let _version = fields.u32()?;
    let count = fields.u32()?;
    for _ in 0..fields.count(count.into(), 28)? {
        let (level, line_size, sets, ways) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
        let (kind, size, cpus) = (fields.string()?, fields.string()?, fields.string()?);
        caches.push(CpuCache { level, line_size, sets, ways, kind, size, cpus });
    }
    Some(())
}
