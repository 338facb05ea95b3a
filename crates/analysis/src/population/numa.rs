//! NUMA nodes of intervals: of their threads' CPUs, of the devices they waited for, of the memory they used.
//!
//! Input: stays, waits and sampled accesses. Output: the report's figures; none unless the capture has several
//! nodes, for with one it does not matter where something is.

use std::collections::{BTreeMap, HashMap};

use attribution::{Accessed, Examined, MemoryAccess, ObjectWait, Stay, WaitObject, wait_of_stay};
use intervals::Population;
use model::{Device, ThreadId, Tid, TimeConversion};
use perfdata::{Numa, PerfData};
use rayon::prelude::*;
use report::{DeviceUse, MemoryUse, NodeCount, NodeTime, NumaUse, NumaView};

use crate::capture::Capture;

/// Figures in the making.
struct Used<'a> {
    numa: &'a Numa,
    conversion: TimeConversion,
    threads: BTreeMap<Option<u32>, u64>,
    devices: BTreeMap<Device, DeviceUse>,
    memory: Memory,
    pages: Memory,
}

#[derive(Default)]
struct Memory {
    count: u64,
    remote: u64,
    unknown: u64,
    nodes: BTreeMap<Option<u32>, u64>,
}

/// Of one examined interval.
pub(crate) fn of_outlier(capture: &Capture<'_>, examined: &Examined) -> Option<NumaUse> {
    let (perf, conversion) = (capture.perf(), capture.conversion()?);
    let mut used = Used::new(perf.numa(), conversion)?;
    for stay in &examined.stays {
        used.add_stay(stay);
        if let Some(wait) = wait_of_stay(perf, capture.recent(), conversion, capture, stay) {
            used.add_wait(&wait);
        }
    }
    examined.memory_accesses().iter().for_each(|access| used.add_access(access));
    Some(used.finish(perf))
}

/// Of the first intervals, as many as `is_slow` has: the slow ones and the others. `waits` are theirs, each with whether its interval is slow. What is too
/// much to be counted is reported in `remarks`.
pub(crate) fn of_population(
    capture: &Capture<'_>,
    population: &Population<'_>,
    is_slow: &[bool],
    waits: &[(bool, ObjectWait)],
    conversion: TimeConversion,
    remarks: &mut Vec<String>,
) -> Option<NumaView> {
    let perf = capture.perf();
    let mut sides = [Used::new(perf.numa(), conversion)?, Used::new(perf.numa(), conversion)?];
    let side = |is_slow: bool| usize::from(!is_slow);
    let members: Vec<(usize, bool)> =
        population.members().iter().copied().zip(is_slow.iter().copied()).collect();
    let stays_of =
        |&(index, is_slow): &(usize, bool)| (is_slow, capture.stays_of(&population.intervals()[index]));
    let stays: Vec<(bool, Vec<Stay>)> = members.par_iter().map(stays_of).collect();
    let accesses = Accesses::of(perf, &stays, conversion, remarks);
    for (is_slow, stays) in &stays {
        let used = &mut sides[side(*is_slow)];
        for stay in stays {
            used.add_stay(stay);
            accesses.within(stay).iter().for_each(|access| used.add_access(access));
        }
    }
    for (is_slow, wait) in waits {
        sides[side(*is_slow)].add_wait(wait);
    }
    let [slow, fast] = sides.map(|used| used.finish(perf));
    Some(NumaView { slow, fast })
}

/// The population's sampled accesses, by thread and in order of time.
struct Accesses(HashMap<Tid, Vec<MemoryAccess>>);

impl Accesses {
    fn of(
        perf: &PerfData,
        stays: &[(bool, Vec<Stay>)],
        conversion: TimeConversion,
        remarks: &mut Vec<String>,
    ) -> Accesses {
        let all = stays.iter().flat_map(|(_, stays)| stays);
        let found = attribution::memory_accesses(perf, all, conversion);
        remarks.extend(found.remark());
        let mut by_thread: HashMap<Tid, Vec<MemoryAccess>> = HashMap::new();
        for access in found.kept {
            by_thread.entry(access.thread.tid).or_default().push(access);
        }
        for accesses in by_thread.values_mut() {
            accesses.sort_by_key(|access| access.time);
        }
        Accesses(by_thread)
    }

    /// Those of the stay's thread while it lasted.
    fn within(&self, stay: &Stay) -> &[MemoryAccess] {
        let own = |thread: ThreadId| self.0.get(&thread.tid);
        let all = stay.thread.and_then(own).map_or(&[][..], Vec::as_slice);
        let from = all.partition_point(|access| access.time < stay.range.start);
        let to = all.partition_point(|access| access.time < stay.range.stop);
        all.get(from..to).unwrap_or(&[])
    }
}

impl<'a> Used<'a> {
    /// Nothing yet; `None` where the machine is not known to have several nodes.
    fn new(numa: &'a Numa, conversion: TimeConversion) -> Option<Used<'a>> {
        numa.has_several().then(|| Used {
            numa,
            conversion,
            threads: BTreeMap::new(),
            devices: BTreeMap::new(),
            memory: Memory::default(),
            pages: Memory::default(),
        })
    }

    fn add_stay(&mut self, stay: &Stay) {
        if let Some(cpu) = stay.place.cpu() {
            let on_node = self.threads.entry(self.numa.of_cpu(cpu)).or_default();
            *on_node = on_node.saturating_add(self.conversion.duration_ns(stay.range));
        }
    }

    fn add_wait(&mut self, wait: &ObjectWait) {
        let WaitObject::Device { device, .. } = &wait.object else { return };
        let own = wait.cpu.and_then(|cpu| self.numa.of_cpu(cpu));
        let ended = wait.ended_on.and_then(|cpu| self.numa.of_cpu(cpu));
        let node = self.numa.of_device(*device);
        let used = self.devices.entry(*device).or_default();
        used.node = node;
        used.waits += 1;
        let differs = |other: Option<u32>| Some(own? != other?);
        match differs(node) {
            Some(is_remote) => used.remote += u64::from(is_remote),
            None => used.unknown += 1,
        }
        match differs(ended) {
            Some(is_remote) => used.remote_ends += u64::from(is_remote),
            None => used.unknown_ends += 1,
        }
    }

    fn add_access(&mut self, access: &MemoryAccess) {
        let (memory, count) = match access.what {
            Accessed::Data(_) => (&mut self.memory, 1),
            Accessed::Pages(pages) => (&mut self.pages, pages),
        };
        memory.add(access, count);
    }

    fn finish(self, perf: &PerfData) -> NumaUse {
        let named = |(device, used): (Device, DeviceUse)| DeviceUse {
            device: device.called(self.numa.name_of(device).as_deref()),
            ..used
        };
        let (data, pages) = attribution::memory_is_sampled(perf);
        NumaUse {
            threads: self
                .threads
                .iter()
                .map(|(&node, &duration_ns)| NodeTime { node, duration_ns })
                .collect(),
            devices: self.devices.into_iter().map(named).collect(),
            memory: data.then(|| self.memory.finish()),
            pages: pages.then(|| self.pages.finish()),
        }
    }
}

impl Memory {
    /// Adds `count` uses like `access`.
    fn add(&mut self, access: &MemoryAccess, count: u64) {
        let add = |sum: &mut u64| *sum = sum.saturating_add(count);
        add(&mut self.count);
        match access.is_remote {
            Some(true) => add(&mut self.remote),
            Some(false) => {}
            None => add(&mut self.unknown),
        }
        add(self.nodes.entry(access.node).or_default());
    }

    fn finish(self) -> MemoryUse {
        let Memory { count, remote, unknown, nodes } = self;
        let nodes = nodes.into_iter().map(|(node, count)| NodeCount { node, count }).collect();
        MemoryUse { count, remote, unknown, nodes }
    }
}
