//! Which CPUs share a core, by the capture's header, else by its machine file.

use model::{Cpu, CpuList};
use perfdata::{Features, Machine};

/// The lists of CPUs that share a core; empty where none are known.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    cores: Vec<CpuList>,
}

impl Topology {
    /// From the header, or where it has none from the machine file; lists that cannot be read are left out.
    pub(crate) fn new(features: &Features, machine: Option<&Machine>) -> Topology {
        let cores = features.topology.as_ref().map_or(&[][..], |topology| &topology.cores);
        let of_machine = machine.iter().flat_map(|machine| &machine.cpus).map(|cpu| &cpu.siblings);
        let of_machine = of_machine.filter(|_| cores.is_empty());
        Topology { cores: cores.iter().chain(of_machine).filter_map(|text| CpuList::parse(text)).collect() }
    }

    /// The other hyper-threads of `cpu`'s core; `None` where its core is not in the header.
    pub(crate) fn siblings(&self, cpu: Cpu) -> Option<Vec<Cpu>> {
        let core = self.cores.iter().find(|core| core.contains(cpu))?;
        Some(core.iter().filter(|&other| other != cpu).collect())
    }
}

#[cfg(test)]
mod tests;
