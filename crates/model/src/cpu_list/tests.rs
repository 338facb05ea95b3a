//! Lists of CPUs, as the kernel prints them.

use super::*;

#[test]
fn lists_are_read_as_the_kernel_writes_them() {
    let list = CpuList::parse("0-2,8\n").expect("a list");
    assert_eq!(list.iter().map(|cpu| cpu.0).collect::<Vec<_>>(), [0, 1, 2, 8]);
    assert!(list.contains(Cpu(8)) && !list.contains(Cpu(3)));
    assert_eq!(CpuList::parse(""), Some(CpuList::default()));
    for text in ["x", "3-1", "0-4294967295", "0-65536", "0-65535,7", "-1", "1-"] {
        assert_eq!(CpuList::parse(text), None, "{text}");
    }
}
