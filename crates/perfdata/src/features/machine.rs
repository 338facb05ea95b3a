//! Sections about the machine: which CPUs share what, NUMA nodes, caches.

use crate::bytes::Fields;

/// Which CPUs share a core, a die, a socket. CPU lists are the kernel's: `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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

/// Which blocks of physical memory are on which NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryTopology {
    /// Bytes of a block.
    pub block_size: u64,
    /// Nodes and their blocks.
    pub nodes: Vec<NodeMemory>,
}

/// The memory of a NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeMemory {
    /// The node's number.
    pub node: u64,
    /// A bit for each block of the machine's memory that is this node's, lowest first.
    pub blocks: Vec<u64>,
}

impl MemoryTopology {
    /// The node of the byte at physical address `address`; `None` where no node, or more than one, claims it.
    pub fn node_of(&self, address: u64) -> Option<u64> {
        let block = address.checked_div(self.block_size)?;
        let word = usize::try_from(block / 64).ok()?;
        let holds =
            |node: &&NodeMemory| node.blocks.get(word).is_some_and(|bits| bits >> (block % 64) & 1 == 1);
        let mut found = self.nodes.iter().filter(holds);
        found.next().filter(|_| found.next().is_none()).map(|node| node.node)
    }
}

/// A cache and the CPUs that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

/// The bitmap's size stands there twice: as the kernel's, and as the bitmap's own.
pub(super) fn parse_memory(fields: &mut Fields<'_>) -> Option<MemoryTopology> {
    let (_version, block_size, count) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let mut nodes = Vec::new();
    for _ in 0..fields.count(count, 24)? {
        let (node, _size, bits) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let words = fields.counted_bytes(bits.div_ceil(64).checked_mul(8)?)?;
        let blocks = words.chunks_exact(8).filter_map(|word| Fields::new(word).u64()).collect();
        nodes.push(NodeMemory { node, blocks });
    }
    Some(MemoryTopology { block_size, nodes })
}
