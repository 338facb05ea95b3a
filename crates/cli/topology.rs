//! Which CPUs share a core, by the capture's header.

use model::{Cpu, CpuList};
use perfdata::Features;

/// The lists of CPUs that the header holds; empty where it holds none.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    cores: Vec<CpuList>,
}

impl Topology {
    /// As the header tells; lists that cannot be read are left out.
    pub(crate) fn new(features: &Features) -> Topology {
        let cores = features.topology.as_ref().map_or(&[][..], |topology| &topology.cores);
        Topology { cores: cores.iter().filter_map(|text| CpuList::parse(text)).collect() }
    }

    /// The other hyper-threads of `cpu`'s core; `None` where the header does not tell its core.
    pub(crate) fn siblings(&self, cpu: Cpu) -> Option<Vec<Cpu>> {
        let core = self.cores.iter().find(|core| core.contains(cpu))?;
        Some(core.iter().filter(|&other| other != cpu).collect())
    }
}

#[cfg(test)]
mod tests {
    use perfdata::CpuTopology;

    use super::*;

    #[test]
    fn lists_of_cpus_tell_siblings() {
        let cores = vec!["0,2".to_owned(), "1,3".to_owned(), "x".to_owned()];
        let topology = Some(CpuTopology { cores, ..CpuTopology::default() });
        let known = Topology::new(&Features { topology, ..Features::default() });
        assert_eq!(known.siblings(Cpu(0)), Some(vec![Cpu(2)]));
        assert_eq!(known.siblings(Cpu(7)), None);
    }
}
