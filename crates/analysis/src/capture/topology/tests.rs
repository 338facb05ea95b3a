use perfdata::{CpuTopology, MachineCpu};

use super::*;

#[test]
fn lists_of_cpus_tell_siblings() {
    let cores = vec!["0,2".to_owned(), "1,3".to_owned(), "x".to_owned()];
    let mut topology = CpuTopology::default();
    topology.cores = cores;
    let mut features = Features::default();
    features.topology = Some(topology);
    let known = Topology::new(&features, None);
    assert_eq!(known.siblings(Cpu(0)), Some(vec![Cpu(2)]));
    assert_eq!(known.siblings(Cpu(7)), None);
}

/// A recording without a header, of a machine whose file beside it has the cores.
#[test]
fn a_machine_file_tells_siblings_where_the_header_does_not() {
    let cpu =
        |cpu, siblings: &str| MachineCpu { cpu, siblings: siblings.to_owned(), ..MachineCpu::default() };
    let machine = Machine { cpus: vec![cpu(0, "0,2"), cpu(1, "1")], ..Machine::default() };
    let known = Topology::new(&Features::default(), Some(&machine));
    assert_eq!([0, 1, 5].map(|cpu| known.siblings(Cpu(cpu))), [Some(vec![Cpu(2)]), Some(Vec::new()), None]);
}
