//! Which CPUs share a NUMA node, by the capture's header.

use model::Cpu;
use perfdata::Features;

use crate::source;

/// The lists of CPUs that the header holds; empty where it holds none.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    nodes: Vec<(u32, Vec<Cpu>)>,
}

impl Topology {
    /// As the header tells; lists that cannot be read are left out.
    pub(crate) fn new(features: &Features) -> Topology {
        let list = |text: &str| source::cpus(Some(text)).unwrap_or_default();
        Topology { nodes: features.numa_nodes.iter().map(|node| (node.node, list(&node.cpus))).collect() }
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
    use perfdata::NumaNode;

    use super::*;

    fn node(node: u32, cpus: &str) -> NumaNode {
        NumaNode { node, total_kib: 0, free_kib: 0, cpus: cpus.to_owned() }
    }

    #[test]
    fn lists_of_cpus_tell_nodes() {
        let numa_nodes = vec![node(0, "0,2"), node(1, "1,3"), node(2, "x")];
        let known = Topology::new(&Features { numa_nodes, ..Features::default() });
        assert_eq!((known.node(Cpu(3)), known.node(Cpu(9))), (Some(1), None));
        let one = Topology::new(&Features { numa_nodes: vec![node(0, "0-3")], ..Features::default() });
        assert_eq!(one.node(Cpu(0)), None, "one node says nothing");
    }
}
