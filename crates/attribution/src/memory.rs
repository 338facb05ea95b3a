//! Samples that say which memory a thread used: loads and stores with their data's source or physical address, and pages that
//! the kernel gave it.
//!
//! Input: the records of a time. Output: each access with the NUMA node of the memory, and whether the data came from another
//! node than the CPU's. Source: `PERF_SAMPLE_DATA_SRC`, `PERF_SAMPLE_PHYS_ADDR` (`perf mem record --phys-data`), and
//! `kmem:mm_page_alloc` of `include/trace/events/kmem.h`.

use model::{Cpu, Evidence, FileOffset, PerfTime, ThreadId, TimeConversion, Tsc, TscRange};
use perfdata::{Attr, DataSource, Distance, PerfData, Record, Sample, TimedRecord, sample_type};

use crate::timeline::{Stay, stay_at};

/// The kernel's event of a page that is given away.
const PAGE_ALLOC: &str = "kmem:mm_page_alloc";
/// Bytes of a page on x86-64; `pfn` counts these.
const PAGE: u64 = 4096;
/// Accesses kept; more tell no more about shares.
const MOST_KEPT: usize = 4_000_000;
/// Records named as evidence.
const NAMED: usize = 3;

/// What a sample tells of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accessed {
    /// A load or store, and where its data came from where that is recorded.
    Data(Option<DataSource>),
    /// The kernel gave the thread a page.
    Page,
}

/// A sampled use of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// When.
    pub time: Tsc,
    /// Who.
    pub thread: ThreadId,
    /// On which CPU.
    pub cpu: Option<Cpu>,
    /// The record.
    pub offset: FileOffset,
    /// What it was.
    pub what: Accessed,
    /// The memory's node, by its physical address.
    pub node: Option<u32>,
    /// Whether it was another node's: by the data's source, else by the nodes of memory and CPU. `None` where neither tells.
    pub is_remote: Option<bool>,
}

/// How many accesses went where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remote {
    /// Those of which it is known.
    pub(crate) known: usize,
    /// Those to another node.
    pub(crate) remote: usize,
}

/// Whether the capture has events whose samples tell of loads and stores, and of pages that the kernel gave.
pub fn memory_is_sampled(perf: &PerfData) -> (bool, bool) {
    let has = |wanted: &dyn Fn(&Attr) -> bool| perf.attrs().iter().any(wanted);
    let data = has(&|attr| attr.samples(sample_type::DATA_SRC) || attr.samples(sample_type::PHYS_ADDR));
    (data, has(&|attr| attr.name.as_deref() == Some(PAGE_ALLOC)))
}

/// The sampled uses of memory within `range`, in order of time; without events that tell of any none, and at no cost.
pub fn memory_accesses(perf: &PerfData, range: TscRange, conversion: TimeConversion) -> Vec<MemoryAccess> {
    if memory_is_sampled(perf) == (false, false) {
        return Vec::new();
    }
    let to = PerfTime(conversion.to_perf_time(range.stop).0.saturating_add(1));
    let records = perf.records_in(conversion.to_perf_time(range.start)..to);
    let accesses = records.filter_map(|timed| access(perf, &timed, conversion));
    accesses.filter(|access| range.contains(access.time)).take(MOST_KEPT).collect()
}

fn access(perf: &PerfData, timed: &TimedRecord<'_>, conversion: TimeConversion) -> Option<MemoryAccess> {
    let Record::Sample(sample) = &timed.record else { return None };
    let (what, address) = used(sample)?;
    let numa = perf.numa();
    let node = address.and_then(|address| numa.of_memory(address));
    let by_node = || Some(node? != numa.of_cpu(timed.cpu?)?);
    let by_source = match what {
        Accessed::Data(source) => source.and_then(DataSource::distance).map(|far| far == Distance::Remote),
        Accessed::Page => None,
    };
    Some(MemoryAccess {
        time: conversion.to_tsc(timed.time?),
        thread: timed.thread?,
        cpu: timed.cpu,
        offset: timed.offset,
        what,
        node,
        is_remote: by_source.or_else(by_node),
    })
}

/// What a sample tells, and the physical address.
fn used(sample: &Sample<'_>) -> Option<(Accessed, Option<u64>)> {
    if sample.event_name() == Some(PAGE_ALLOC) {
        // Where there was no page, all bits are set.
        let number = sample.field("pfn")?.as_u64().filter(|&number| number != u64::MAX)?;
        return Some((Accessed::Page, number.checked_mul(PAGE)));
    }
    let address = sample.phys_addr.filter(|&address| address != 0);
    if sample.data_src.is_none() && address.is_none() {
        return None;
    }
    Some((Accessed::Data(sample.data_src), address))
}

/// Those of `accesses` that belong to the threads of `stays`, each while its time was the interval's.
pub(crate) fn of_stays(accesses: Vec<MemoryAccess>, stays: &[Stay]) -> Vec<MemoryAccess> {
    let own = |access: &MemoryAccess| {
        let thread = stay_at(stays, access.time).and_then(|stay| stay.thread);
        thread.is_some_and(|thread| thread.tid == access.thread.tid)
    };
    accesses.into_iter().filter(own).collect()
}

impl MemoryAccess {
    /// It as a record that a reader can look up.
    fn evidence(&self) -> Evidence {
        let what = match self.what {
            Accessed::Data(Some(source)) => format!("data from {source}"),
            Accessed::Data(None) => "memory access".to_owned(),
            Accessed::Page => "page given".to_owned(),
        };
        let node = self.node.map_or_else(String::new, |node| format!(", memory of node {node}"));
        Evidence::record(self.offset, self.cpu, format!("{what}{node}"))
    }
}

impl Remote {
    /// Of these loads and stores.
    pub(crate) fn of<'a>(accesses: impl Iterator<Item = &'a MemoryAccess>) -> Remote {
        accesses.filter(|access| access.what != Accessed::Page).fold(Remote::default(), |sum, access| {
            Remote {
                known: sum.known + usize::from(access.is_remote.is_some()),
                remote: sum.remote + usize::from(access.is_remote == Some(true)),
            }
        })
    }
}

/// What the sampled accesses among `own` say of slowness: "3 of 4 sampled accesses went to another NUMA node (node 1),
/// typical 0 of 8", and the records; `None` where none went to another node.
pub(crate) fn tell_remote(own: &[&MemoryAccess], typical: Remote) -> Option<(String, Vec<Evidence>)> {
    let counts = Remote::of(own.iter().copied());
    let remote =
        || own.iter().filter(|access| access.is_remote == Some(true) && access.what != Accessed::Page);
    if counts.remote == 0 {
        return None;
    }
    let mut nodes: Vec<u32> = remote().filter_map(|access| access.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let nodes: Vec<String> = nodes.iter().map(|node| format!("node {node}")).collect();
    let nodes = if nodes.is_empty() { String::new() } else { format!(" ({})", nodes.join(", ")) };
    let typical = match typical.known {
        0 => String::new(),
        known => format!(", typical {} of {known}", typical.remote),
    };
    let told = format!(
        "{} of {} sampled accesses went to another NUMA node{nodes}{typical}",
        counts.remote, counts.known
    );
    Some((told, remote().take(NAMED).map(|access| access.evidence()).collect()))
}

#[cfg(test)]
mod tests;
