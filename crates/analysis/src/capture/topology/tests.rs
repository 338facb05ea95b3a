use perfdata::CpuTopology;

use super::*;

#[test]
fn lists_of_cpus_tell_siblings() {
    let cores = vec!["0,2".to_owned(), "1,3".to_owned(), "x".to_owned()];
    let mut topology = CpuTopology::default();
    topology.cores = cores;
    let mut features = Features::default();
    features.topology = Some(topology);
    let known = Topology::new(&features);
    assert_eq!(known.siblings(Cpu(0)), Some(vec![Cpu(2)]));
    assert_eq!(known.siblings(Cpu(7)), None);
}
