//! Which CPUs share a core, by the capture's header.

use model::{Cpu, CpuList};
use perfdata::Features;

/// The lists of CPUs that the header holds; empty where it holds none.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    cores: Vec<CpuList>,
}

impl Topology {
    /// From the header; lists that cannot be read are left out.
    pub(crate) fn new(features: &Features) -> Topology {
        let cores = features.topology.as_ref().map_or(&[][..], |topology| &topology.cores);
        Topology { cores: cores.iter().filter_map(|text| CpuList::parse(text)).collect() }
    }

    /// The other hyper-threads of `cpu`'s core; `None` where its core is not in the header.
    pub(crate) fn siblings(&self, cpu: Cpu) -> Option<Vec<Cpu>> {
        let core = self.cores.iter().find(|core| core.contains(cpu))?;
        Some(core.iter().filter(|&other| other != cpu).collect())
    }
}

#[cfg(test)]
mod tests;
