//! Samples that show which memory a thread used: loads and stores with their data's source or physical address, and
//! pages that the kernel allocated for it.
//!
//! Input: the records of a stretch of time and whose time it was. Output: each access with the NUMA node of the
//! memory, and whether the data came from another node than the CPU's. Source: `PERF_SAMPLE_DATA_SRC`,
//! `PERF_SAMPLE_PHYS_ADDR` (`perf mem record --phys-data`), and `kmem:mm_page_alloc` of
//! `include/trace/events/kmem.h`.

use std::collections::HashMap;

use model::{Cpu, Evidence, FileOffset, PerfTime, ThreadId, Tid, TimeConversion, Tsc, TscRange};
use perfdata::{Attr, DataSource, Distance, PerfData, Record, Sample, TimedRecord, sample_type};

use crate::threads::stays::Stay;

/// The kernel's event of a page allocation.
const PAGE_ALLOC: &str = "kmem:mm_page_alloc";
/// Bytes of a page on x86-64, the unit of `pfn`.
const PAGE: u64 = 4096;
/// The highest plausible order of an allocation: 4 GiB. The kernel's own limit is 10 by default.
const HIGHEST_ORDER: u64 = 20;
/// Uses kept; more do not change the shares noticeably.
const MOST_KEPT: usize = 4_000_000;
/// Records named as evidence.
const NAMED: usize = 3;

/// What a sample shows about memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accessed {
    /// A load or store, and where its data came from where that is recorded.
    Data(Option<DataSource>),
    /// The kernel allocated this number of contiguous pages for the thread.
    Pages(u64),
}

/// A sampled use of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// When.
    pub time: Tsc,
    /// The thread.
    pub thread: ThreadId,
    /// The CPU.
    pub cpu: Option<Cpu>,
    /// The record.
    pub offset: FileOffset,
    /// Its kind.
    pub what: Accessed,
    /// The memory's node, by its physical address.
    pub node: Option<u32>,
    /// Whether it was another node's: by the data's source, else by the nodes of memory and CPU. `None` where neither
    /// is known.
    pub is_remote: Option<bool>,
}

/// Sampled uses of memory in some threads' time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryAccesses {
    /// The earliest ones, in time order.
    pub kept: Vec<MemoryAccess>,
    /// How many more followed.
    pub left_out: usize,
}

/// Which time is whose: ranges by thread, in order, disjoint and not adjacent.
struct OwnTime(HashMap<Tid, Vec<TscRange>>);

/// How many accesses went to which node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remote {
    /// Those of which the node is known.
    pub(crate) known: usize,
    /// Those to another node.
    pub(crate) remote: usize,
}

/// Whether the capture has events whose samples show loads and stores, and pages that the kernel allocated.
pub fn memory_is_sampled(perf: &PerfData) -> (bool, bool) {
    let has = |wanted: &dyn Fn(&Attr) -> bool| perf.attrs().iter().any(wanted);
    let data = has(&|attr| attr.samples(sample_type::DATA_SRC) || attr.samples(sample_type::PHYS_ADDR));
    (data, has(&|attr| attr.name.as_deref() == Some(PAGE_ALLOC)))
}

/// The uses of memory by the threads of `stays`, each while its time was the interval's. Without such events the
/// result is empty, and costs nothing.
pub fn memory_accesses<'a>(
    perf: &PerfData,
    stays: impl Iterator<Item = &'a Stay>,
    conversion: TimeConversion,
) -> MemoryAccesses {
    if memory_is_sampled(perf) == (false, false) {
        return MemoryAccesses::default();
    }
    let own = OwnTime::of(stays);
    let Some(range) = own.whole() else { return MemoryAccesses::default() };
    let to = PerfTime(conversion.to_perf_time(range.stop).0.saturating_add(1));
    let records = perf.records_in(conversion.to_perf_time(range.start)..to);
    own.earliest(records.filter_map(|timed| access(perf, &timed, conversion)), MOST_KEPT)
}

fn access(perf: &PerfData, timed: &TimedRecord<'_>, conversion: TimeConversion) -> Option<MemoryAccess> {
    let Record::Sample(sample) = &timed.record else { return None };
    let (what, address) = used(sample)?;
    let numa = perf.numa();
    let node = address.and_then(|address| numa.of_memory(address));
    let by_node = || Some(node? != numa.of_cpu(timed.cpu?)?);
    let by_source = match what {
        Accessed::Data(source) => source.and_then(DataSource::distance).map(|far| far == Distance::Remote),
        Accessed::Pages(_) => None,
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

/// What a sample shows, and the physical address.
fn used(sample: &Sample<'_>) -> Option<(Accessed, Option<u64>)> {
    if sample.event_name() == Some(PAGE_ALLOC) {
        // Where there was no page, all bits are set.
        let number = sample.field("pfn")?.as_u64().filter(|&number| number != u64::MAX)?;
        let pages = pages_of(sample.field("order")?.as_u64()?)?;
        return Some((Accessed::Pages(pages), number.checked_mul(PAGE)));
    }
    let address = sample.phys_addr().filter(|&address| address != 0);
    if sample.data_src().is_none() && address.is_none() {
        return None;
    }
    Some((Accessed::Data(sample.data_src()), address))
}

/// The pages of an allocation of this order; `None` where only damage explains it.
fn pages_of(order: u64) -> Option<u64> {
    (order <= HIGHEST_ORDER).then(|| 1 << order)
}

impl OwnTime {
    fn of<'a>(stays: impl Iterator<Item = &'a Stay>) -> OwnTime {
        let mut by_thread: HashMap<Tid, Vec<TscRange>> = HashMap::new();
        for stay in stays {
            if let Some(thread) = stay.thread {
                by_thread.entry(thread.tid).or_default().push(stay.range);
            }
        }
        by_thread.values_mut().for_each(join);
        OwnTime(by_thread)
    }

    /// From the first moment to the last one; `None` where there is no thread.
    fn whole(&self) -> Option<TscRange> {
        let ranges = || self.0.values().flatten();
        let (start, stop) =
            (ranges().map(|range| range.start).min()?, ranges().map(|range| range.stop).max()?);
        Some(TscRange::new(start, stop))
    }

    fn has(&self, access: &MemoryAccess) -> bool {
        let ranges = self.0.get(&access.thread.tid).map_or(&[][..], Vec::as_slice);
        let index = ranges.partition_point(|range| range.stop <= access.time);
        ranges.get(index).is_some_and(|range| range.contains(access.time))
    }

    /// The part of `accesses` within these ranges: the first `most`, and how many more there are.
    fn earliest(&self, accesses: impl Iterator<Item = MemoryAccess>, most: usize) -> MemoryAccesses {
        let mut own = accesses.filter(|access| self.has(access));
        let kept = own.by_ref().take(most).collect();
        MemoryAccesses { kept, left_out: own.count() }
    }
}

/// Sorts `ranges` and merges those that touch.
fn join(ranges: &mut Vec<TscRange>) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let touches = next.start <= before.stop;
        if touches {
            *before = TscRange::new(before.start, before.stop.max(next.stop));
        }
        touches
    });
}

impl MemoryAccesses {
    /// What a reader must know: that not all uses are counted.
    pub fn remark(&self) -> Option<String> {
        let (kept, all) = (self.kept.len(), self.kept.len().saturating_add(self.left_out));
        (self.left_out > 0)
            .then(|| format!("of {all} sampled uses of memory the {kept} earliest are counted"))
    }
}

impl MemoryAccess {
    /// Whether it is a load or store.
    fn is_data(&self) -> bool {
        matches!(self.what, Accessed::Data(_))
    }

    /// Its record, as a reader can look it up.
    fn evidence(&self) -> Evidence {
        let what = match self.what {
            Accessed::Data(Some(source)) => format!("data from {source}"),
            Accessed::Data(None) => "memory access".to_owned(),
            Accessed::Pages(1) => "page allocated".to_owned(),
            Accessed::Pages(pages) => format!("{pages} pages allocated"),
        };
        let node = self.node.map_or_else(String::new, |node| format!(", memory of node {node}"));
        Evidence::record(self.offset, self.cpu, format!("{what}{node}"))
    }
}

impl Remote {
    /// The counts of these loads and stores.
    pub(crate) fn of<'a>(accesses: impl Iterator<Item = &'a MemoryAccess>) -> Remote {
        accesses.filter(|access| access.is_data()).fold(Remote::default(), |sum, access| Remote {
            known: sum.known + usize::from(access.is_remote.is_some()),
            remote: sum.remote + usize::from(access.is_remote == Some(true)),
        })
    }
}

/// How the sampled accesses among `own` may explain slowness: "3 of 4 sampled accesses went to another NUMA node
/// (node 1), typical 0 of 8", and the records; `None` where none went to another node.
pub(crate) fn tell_remote(own: &[&MemoryAccess], typical: Remote) -> Option<(String, Vec<Evidence>)> {
    let counts = Remote::of(own.iter().copied());
    let remote = || own.iter().filter(|access| access.is_remote == Some(true) && access.is_data());
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
