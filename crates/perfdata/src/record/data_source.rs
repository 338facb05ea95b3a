//! Where a sampled load or store found its data.
//!
//! Source: `union perf_mem_data_src` in `include/uapi/linux/perf_event.h`. The level stands there twice: in `mem_lvl`, bits
//! that the first kernels had, and in `mem_lvl_num`, a number since Linux 4.14, together with `mem_remote`; `mem_hops` came
//! with 5.16.

use std::fmt;

/// `perf_mem_data_src` of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSource(pub u64);

/// Whether data came from the NUMA node of the CPU that requested it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distance {
    /// It did, or from a cache of that node.
    Local,
    /// It came from another node's memory or cache.
    Remote,
}

/// What held the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryLevel {
    /// Cache of this level.
    Cache(u8),
    /// Some cache; the level is unknown.
    AnyCache,
    /// A line that was on its way already.
    FillBuffer,
    /// Memory.
    Ram,
    /// Persistent memory.
    PersistentMemory,
    /// Memory on a CXL link.
    Cxl,
    /// A device, or memory that is not cached.
    Uncached,
}

/// Bits of `mem_lvl`.
mod level_bit {
    pub(super) const HIT: u64 = 0x02;
    pub(super) const L1: u64 = 0x08;
    pub(super) const FILL_BUFFER: u64 = 0x10;
    pub(super) const L2: u64 = 0x20;
    pub(super) const L3: u64 = 0x40;
    pub(super) const LOCAL_RAM: u64 = 0x80;
    pub(super) const REMOTE_RAM: u64 = 0x100 | 0x200;
    pub(super) const REMOTE_CACHE: u64 = 0x400 | 0x800;
    pub(super) const IO: u64 = 0x1000;
    pub(super) const UNCACHED: u64 = 0x2000;
}

impl DataSource {
    const fn field(self, shift: u32, bits: u32) -> u64 {
        self.0 >> shift & ((1 << bits) - 1)
    }

    /// The bits of `mem_lvl`; none where they report a miss only.
    const fn levels(self) -> u64 {
        let levels = self.field(5, 14);
        if levels & level_bit::HIT == 0 { 0 } else { levels }
    }

    /// What held the data; `None` where that is unknown.
    pub fn level(self) -> Option<MemoryLevel> {
        let levels = self.levels();
        let has = |bits| levels & bits != 0;
        Some(match self.field(33, 4) {
            level @ 1..=4 => MemoryLevel::Cache(u8::try_from(level).ok()?),
            // The buffer between L2 and memory, and a cache of the memory's side: levels of their own.
            5 => MemoryLevel::Cache(2),
            6 | 0xb => MemoryLevel::AnyCache,
            8 | 0xa => MemoryLevel::Uncached,
            9 => MemoryLevel::Cxl,
            0xc => MemoryLevel::FillBuffer,
            0xd => MemoryLevel::Ram,
            0xe => MemoryLevel::PersistentMemory,
            _ if has(level_bit::L1) => MemoryLevel::Cache(1),
            _ if has(level_bit::FILL_BUFFER) => MemoryLevel::FillBuffer,
            _ if has(level_bit::L2) => MemoryLevel::Cache(2),
            _ if has(level_bit::L3) => MemoryLevel::Cache(3),
            _ if has(level_bit::LOCAL_RAM | level_bit::REMOTE_RAM) => MemoryLevel::Ram,
            _ if has(level_bit::REMOTE_CACHE) => MemoryLevel::AnyCache,
            _ if has(level_bit::IO | level_bit::UNCACHED) => MemoryLevel::Uncached,
            _ => return None,
        })
    }

    /// Whether the data came from the CPU's own node; `None` where the level is unknown, or is none that has a node.
    ///
    /// The number of hops is the most exact: another core of the same node is remote to the core, but not to the node.
    pub fn distance(self) -> Option<Distance> {
        let is_remote = self.field(37, 1) == 1;
        match self.field(43, 3) {
            1 => return Some(Distance::Local),
            2..=4 => return Some(Distance::Remote),
            _ => {}
        }
        if is_remote || self.levels() & (level_bit::REMOTE_RAM | level_bit::REMOTE_CACHE) != 0 {
            return Some(Distance::Remote);
        }
        match self.level()? {
            MemoryLevel::Cxl | MemoryLevel::Uncached => None,
            _ => Some(Distance::Local),
        }
    }
}

impl fmt::Display for DataSource {
    /// "RAM of another node", "L3 cache".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level() {
            Some(MemoryLevel::Cache(level)) => write!(f, "L{level} cache")?,
            Some(MemoryLevel::AnyCache) => f.write_str("a cache")?,
            Some(MemoryLevel::FillBuffer) => f.write_str("a line fill buffer (LFB)")?,
            Some(MemoryLevel::Ram) => f.write_str("RAM")?,
            Some(MemoryLevel::PersistentMemory) => f.write_str("persistent memory")?,
            Some(MemoryLevel::Cxl) => f.write_str("CXL memory")?,
            Some(MemoryLevel::Uncached) => f.write_str("uncached memory")?,
            None => f.write_str("N/A")?,
        }
        match self.distance() {
            Some(Distance::Remote) => f.write_str(" of another node"),
            Some(Distance::Local) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
