//! Which CPUs share a core or a NUMA node, by the capture's header.

use model::Cpu;
use perfdata::Features;

use crate::source;

/// The lists of CPUs that the header holds; empty where it holds none.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    cores: Vec<Vec<Cpu>>,
    nodes: Vec<(u32, Vec<Cpu>)>,
}

impl Topology {
    /// As the header tells; lists that cannot be read are left out.
    pub(crate) fn new(features: &Features) -> Topology {
        let list = |text: &str| source::cpus(Some(text)).unwrap_or_default();
        let cores = features.topology.as_ref().map_or(&[][..], |topology| &topology.cores);
        Topology {
            cores: cores.iter().map(|text| list(text)).collect(),
            nodes: features.numa_nodes.iter().map(|node| (node.node, list(&node.cpus))).collect(),
        }
    }

    /// The other hyper-threads of `cpu`'s core; `None` where the header does not tell its core.
    pub(crate) fn siblings(&self, cpu: Cpu) -> Option<Vec<Cpu>> {
        let core = self.cores.iter().find(|core| core.contains(&cpu))?;
        Some(core.iter().copied().filter(|&other| other != cpu).collect())
    }

    /// The node of `cpu`; `None` on a machine with one node, where it says nothing.
    pub(crate) fn node(&self, cpu: Cpu) -> Option<u32> {
        let known = self.nodes.len() > 1;
        let found = self.nodes.iter().find(|(_, cpus)| known && cpus.contains(&cpu));
        found.map(|&(node, _)| node)
    }
}

#[cfg(test)]
mod tests {
    use perfdata::{CpuTopology, NumaNode};

    use super::*;

    fn node(node: u32, cpus: &str) -> NumaNode {
        NumaNode { node, total_kib: 0, free_kib: 0, cpus: cpus.to_owned() }
    }

    #[test]
    fn lists_of_cpus_tell_siblings_and_nodes() {
        let cores = vec!["0,2".to_owned(), "1,3".to_owned(), "x".to_owned()];
        let topology = Some(CpuTopology { cores, ..CpuTopology::default() });
        let numa_nodes = vec![node(0, "0,2"), node(1, "1,3")];
        let known = Topology::new(&Features { topology, numa_nodes, ..Features::default() });
        assert_eq!(known.siblings(Cpu(0)), Some(vec![Cpu(2)]));
        assert_eq!(known.siblings(Cpu(7)), None);
        assert_eq!((known.node(Cpu(3)), known.node(Cpu(9))), (Some(1), None));
        let one = Topology::new(&Features { numa_nodes: vec![node(0, "0-3")], ..Features::default() });
        assert_eq!((one.node(Cpu(0)), one.siblings(Cpu(0))), (None, None));
    }
}
