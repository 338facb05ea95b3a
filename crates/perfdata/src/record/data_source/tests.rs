//! Numbers put together by the kernel's macros, by hand: `PERF_MEM_S(a, s)` is the value of `s` shifted to the field `a`.

use super::*;

/// `mem_op` LOAD, and these fields: `mem_lvl`, `mem_lvl_num`, `mem_remote`, `mem_hops`.
fn source(levels: u64, number: u64, remote: u64, hops: u64) -> DataSource {
    DataSource(0x02 | levels << 5 | number << 33 | remote << 37 | hops << 43)
}

#[test]
fn sources_as_intels_driver_writes_them() {
    // arch/x86/events/intel/ds.c, pebs_data_source[]: L1, fill buffer, L2, L3, remote cache, local RAM, remote RAM, I/O.
    let cases = [
        (source(0x0a, 1, 0, 0), "L1 cache", Some(Distance::Local)),
        (source(0x12, 0xc, 0, 0), "a line fill buffer (LFB)", Some(Distance::Local)),
        (source(0x22, 2, 0, 0), "L2 cache", Some(Distance::Local)),
        (source(0x42, 3, 0, 0), "L3 cache", Some(Distance::Local)),
        (source(0x402, 3, 1, 0), "L3 cache of another node", Some(Distance::Remote)),
        (source(0x82, 0xd, 0, 0), "RAM", Some(Distance::Local)),
        (source(0x102, 0xd, 1, 0), "RAM of another node", Some(Distance::Remote)),
        (source(0x1002, 0xf, 0, 0), "uncached memory", None),
    ];
    for (source, words, distance) in cases {
        assert_eq!((source.to_string().as_str(), source.distance()), (words, distance), "{:#x}", source.0);
    }
}

#[test]
fn old_kernels_have_bits_alone() {
    assert_eq!(source(0x82, 0, 0, 0).distance(), Some(Distance::Local));
    assert_eq!(source(0x202, 0, 0, 0).distance(), Some(Distance::Remote));
    // A miss of the L3 says where the data was not.
    assert_eq!((source(0x44, 0, 0, 0).level(), source(0x44, 0, 0, 0).distance()), (None, None));
    assert_eq!((source(0x01, 0xf, 0, 0).level(), DataSource(0).distance()), (None, None));
}

/// IBM and AMD count hops: 1 is another core of the same node, 2 another node.
#[test]
fn hops_tell_another_core_from_another_node() {
    assert_eq!(source(0x402, 0xb, 1, 1).distance(), Some(Distance::Local));
    assert_eq!(source(0x802, 0xb, 1, 2).distance(), Some(Distance::Remote));
    assert_eq!(source(0x202, 0xd, 1, 3).distance(), Some(Distance::Remote));
    assert_eq!(source(0x02, 9, 0, 0).to_string(), "CXL memory");
}
