//! Feature sections by hand-made bytes, and what is left of them when they are damaged.

use model::{Pid, Severity};

use super::{ClockData, Compression, EventGroup};
use crate::bytes;
use crate::test_file::{TestFile, attr, feature_string, findings, name, record};

/// A file with a record, as an empty one would count as unfinished.
fn file() -> TestFile {
    TestFile::new().record(82, 0, &[])
}

fn strings(texts: &[&str]) -> Vec<u8> {
    let count = u32::try_from(texts.len()).expect("few");
    texts.iter().fold(bytes![count], |bytes, text| [bytes, feature_string(text)].concat())
}

#[test]
fn sections_that_no_capture_at_hand_has() {
    let perf_data = file()
        .feature(17, [bytes![1u32], feature_string("{cycles,instructions}"), bytes![2u32, 2u32]].concat())
        .feature(23, bytes![1u64])
        .feature(25, bytes![3u32, 0u32])
        .feature(26, bytes![2u32, 0u32])
        .feature(27, bytes![1u32, 1u32, 3u32, 5u32, 0x80_000u32])
        .feature(28, [bytes![1u32], feature_string("branches"), feature_string("32")].concat())
        .feature(29, bytes![1u32, 1u32, 1_600_000_000_000_000_000u64, 77_000u64])
        .feature(30, [bytes![1u32], feature_string("cpu_core"), feature_string("0-15")].concat())
        .open();
    let features = perf_data.features();
    let group = EventGroup { name: "{cycles,instructions}".to_owned(), leader: 2, members: 2 };
    assert_eq!((features.groups.as_slice(), features.clock_resolution_ns), (&[group][..], Some(1)));
    assert_eq!((features.bpf_programs, features.bpf_types), (Some(3), Some(2)));
    let compression = Compression { kind: 1, level: 3, ratio: 5, mmap_len: 0x80_000 };
    assert_eq!(features.compression, Some(compression));
    let clock = ClockData { clock_id: 1, wall_clock_ns: 1_600_000_000_000_000_000, clock_ns: 77_000 };
    assert_eq!(features.clock_data, Some(clock));
    assert_eq!(features.cpu_capabilities, [("branches".to_owned(), "32".to_owned())]);
    assert_eq!(features.hybrid, [("cpu_core".to_owned(), "0-15".to_owned())]);
    assert_eq!(features.present, [17, 23, 25, 26, 27, 28, 29, 30]);
    assert_eq!(findings(&perf_data), []);
}

/// Two nodes, blocks of 128 MiB: 0 to 2 and 64 are node 0's, 3 is node 1's.
#[test]
fn blocks_of_memory_belong_to_nodes() {
    let node = |node: u64, bits: u64| bytes![node, bits, bits];
    let words =
        [bytes![1u64, 0x800_0000u64, 2u64], node(0, 65), bytes![7u64, 1u64], node(1, 4), bytes![8u64]];
    let section = words.concat();
    let memory = file().feature(22, section.clone()).open().features().memory.clone().expect("the section");
    let nodes =
        [0, 0x17ff_ffff, 0x1800_0000, 0x2000_0000, 0x2_0000_0000].map(|address| memory.node_of(address));
    assert_eq!(nodes, [Some(0), Some(0), Some(1), None, Some(0)]);
    // A bitmap that claims to be larger than the section.
    for bits in [u64::MAX, 1 << 40, 129] {
        let damaged = [&section[..24], &node(0, bits), &section[48..]].concat();
        let perf_data = file().feature(22, damaged).open();
        assert_eq!((&perf_data.features().memory, findings(&perf_data).len()), (&None, 1), "{bits}");
    }
}

#[test]
fn build_ids_with_and_without_their_length() {
    let stored = |length: u8| [bytes![-1i32], vec![0xab; 20], vec![length, 0, 0, 0], name("/bin/a")].concat();
    let sections = [record(67, 1 << 15 | 1, &stored(16)), record(67, 2, &stored(0))].concat();
    let perf_data = file().feature(2, sections).open();
    let found: Vec<_> = perf_data
        .features()
        .build_ids
        .iter()
        .map(|file| (file.pid, file.path.as_str(), file.build_id.bytes().len(), file.kernel))
        .collect();
    assert_eq!(found, [(Pid(-1), "/bin/a", 16, true), (Pid(-1), "/bin/a", 20, false)]);
}

#[test]
fn names_come_from_the_event_descriptions() {
    let event = |ids: u64, text: &str| {
        [attr(1, 9, 0x1_0087, 0), bytes![1u32], feature_string(text), bytes![ids]].concat()
    };
    let section = [bytes![2u32, 128u32], event(8, "second"), event(7, "first")].concat();
    let file = TestFile::new().attr(attr(1, 9, 0x1_0087, 0), &[8]).record(82, 0, &[]).feature(12, section);
    let perf_data = file.open();
    let names: Vec<_> = perf_data.attrs().iter().map(|attr| attr.name.as_deref()).collect();
    assert_eq!(names, [Some("first"), Some("second")]);
}

/// Each section cut off, or with a count that cannot be.
#[test]
fn damaged_sections_cost_only_themselves() {
    let huge = || bytes![u32::MAX, u32::MAX, u32::MAX];
    for bit in [2, 11, 12, 13, 14, 16, 17, 20, 28, 30] {
        let perf_data = file().feature(bit, huge()).feature(3, feature_string("host")).open();
        assert_eq!(perf_data.features().hostname.as_deref(), Some("host"), "section {bit}");
        let [finding] = perf_data.diagnostics() else { panic!("section {bit}: {:?}", findings(&perf_data)) };
        assert_eq!(finding.severity, Severity::Warning, "section {bit}");
        assert!(finding.what.contains("is damaged") && finding.place.file_offset.is_some(), "{finding:?}");
    }
    for bit in [3, 4, 5, 6, 7, 8, 9, 10, 21, 23, 25, 26, 27, 29] {
        let perf_data = file().feature(bit, vec![1, 2]).open();
        assert_eq!(perf_data.diagnostics().len(), 1, "section {bit}");
    }
    let cut = strings(&["perf", "record"]);
    let perf_data = file().feature(11, cut[..cut.len() - 1].to_vec()).open();
    assert_eq!(perf_data.features().command_line, None);
}

#[test]
fn topology_of_several_versions_of_perf() {
    let lists = [strings(&["0-3"]), strings(&["0-1", "2-3"])].concat();
    let places = bytes![0u32, 0u32, 0u32, 0u32, 1u32, 0u32, 1u32, 0u32];
    let dies = [strings(&["0-3"]), bytes![5u32, 5u32, 5u32, 5u32]].concat();
    for (section, cpus, die) in [
        (lists.clone(), 0, None),
        ([lists.clone(), places.clone()].concat(), 4, None),
        ([lists.clone(), places.clone(), dies].concat(), 4, Some(5)),
    ] {
        let perf_data = file().feature(7, bytes![4u32, 4u32]).feature(13, section).open();
        let topology = perf_data.features().topology.clone().expect("sound");
        assert_eq!((topology.sockets.as_slice(), topology.cores.len()), (&["0-3".to_owned()][..], 2));
        assert_eq!((topology.cpus.len(), topology.cpus.last().and_then(|cpu| cpu.die)), (cpus, die));
    }
}
