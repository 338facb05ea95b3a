//! Each record type by hand-made bytes, in the layout of `include/uapi/linux/perf_event.h`.

use model::{Cpu, InodeId, PerfTime, ThreadId, Tid};

use super::{DataSource, Record, Weight};
use crate::test_file::{SAMPLE_ID_ALL, TestFile, USUAL_SAMPLE_TYPE, attr, feature_string, name};
use crate::{AuxFlags, PerfData, bytes};

/// The only record of a file, after a check of its trailer.
fn only(perf_data: &PerfData) -> Record<'_> {
    let record = perf_data.records().next().expect("one record");
    assert_eq!(record.time, Some(PerfTime(1234)));
    assert_eq!((record.cpu, record.thread, record.id), (Some(Cpu(3)), Some(ThreadId::new(10, 11)), Some(7)));
    record.record
}

macro_rules! check {
    ($kind:expr, $misc:expr, $body:expr, $pattern:pat $(if $guard:expr)?) => {
        let perf_data = TestFile::new().timed($kind, $misc, &$body, 1234).open();
        let record = only(&perf_data);
        assert!(matches!(&record, $pattern $(if $guard)?), "{record:?}");
        assert!(perf_data.diagnostics().is_empty());
    };
}

#[test]
fn kernel_records() {
    check!(2, 0, bytes![7u64, 99u64], Record::Lost { id: 7, lost: 99 });
    check!(13, 0, bytes![99u64], Record::LostSamples { lost: 99 });
    check!(5, 0, bytes![1u64, 2u64, 3u64], Record::Throttle { time: 1, id: 2, stream_id: 3 });
    check!(6, 0, bytes![1u64, 2u64, 3u64], Record::Unthrottle { time: 1, id: 2, stream_id: 3 });
    check!(14, 0, [], Record::Switch { out: false, preempt: false });
    check!(14, 0x6000, [], Record::Switch { out: true, preempt: true });
    let other = ThreadId::new(20, 21);
    check!(15, 0x2000, bytes![20i32, 21i32],
        Record::SwitchCpuWide { out: true, preempt: false, other: found } if *found == other);
    check!(12, 0, bytes![20i32, 21i32], Record::ItraceStart { thread } if *thread == other);
    check!(11, 0, bytes![0x1000u64, 0x200u64, 5u64],
        Record::Aux { offset: 0x1000, size: 0x200, flags } if flags.contains(AuxFlags::TRUNCATED)
            && flags.contains(AuxFlags::PARTIAL) && !flags.contains(AuxFlags::OVERWRITE));
    check!(21, 0, bytes![42u64], Record::AuxOutputHwId { hw_id: 42 });
    check!(22, 0, bytes![9u64, 1u64, 0x40_1000u64],
        Record::CallchainDeferred { cookie: 9, callchain } if *callchain == bytes![0x40_1000u64]);
    check!(
        19,
        0,
        [bytes![5u64], name("/user.slice")].concat(),
        Record::Cgroup { id: 5, path: b"/user.slice" }
    );
    check!(16, 0, bytes![20i32, 21i32, 0u64], Record::Namespaces { .. });
    check!(
        18,
        0,
        bytes![1u16, 0u16, 77u32, 0x0807_0605_0403_0201u64],
        Record::Bpf { kind: 1, flags: 0, id: 77, tag: [1, 2, 3, 4, 5, 6, 7, 8] }
    );
    check!(8, 0, bytes![20i32, 21i32, 0u64], Record::Read { thread } if *thread == other);
}

#[test]
fn records_about_address_spaces() {
    let ids = bytes![20i32, 22i32, 21i32, 23i32, 55u64];
    let (thread, parent) = (ThreadId::new(20, 21), ThreadId::new(22, 23));
    check!(7, 0, ids, Record::Fork { thread: child, parent: from, time: 55 } if *child == thread && *from == parent);
    check!(4, 0, ids, Record::Exit { thread: child, parent: from, time: 55 } if *child == thread && *from == parent);
    check!(
        3,
        0x2000,
        [bytes![20i32, 21i32], name("worker")].concat(),
        Record::Comm { name: b"worker", exec: true, .. }
    );
    let place = bytes![20i32, 21i32, 0x40_0000u64, 0x1000u64, 0x2000u64];
    check!(1, 0, [place.clone(), name("/bin/a")].concat(), Record::Mmap(map)
        if map.executable && map.path == b"/bin/a" && map.address == 0x40_0000 && map.file_offset == 0x2000);
    check!(1, 0x2000, [place.clone(), name("/bin/a")].concat(), Record::Mmap(map) if !map.executable);
    let device = bytes![8u32, 1u32, 99u64, 0u64];
    let mmap2 = |file: Vec<u8>, protection: u32| {
        [place.clone(), file, bytes![protection, 2u32], name("/lib/b")].concat()
    };
    check!(10, 0, mmap2(device.clone(), 5), Record::Mmap2(map) if map.executable && map.build_id.is_empty());
    check!(10, 0, mmap2(device, 3), Record::Mmap2(map) if !map.executable);
    check!(
        17,
        0,
        [bytes![0xffff_ffff_c000_0000u64, 0x80u32, 1u16, 1u16], name("bpf_prog_1")].concat(),
        Record::Ksymbol { address: 0xffff_ffff_c000_0000, len: 0x80, kind: 1, flags: 1, name: b"bpf_prog_1" }
    );
    let poke =
        [&bytes![0xffff_ffff_8100_0010u64, 5u16, 5u16][..], &[0x0f, 0x1f, 0x44, 0, 0], &[0xe9, 1, 2, 3, 4]];
    check!(
        20,
        0,
        [&poke.concat()[..], &[0; 2]].concat(),
        Record::TextPoke {
            address: 0xffff_ffff_8100_0010,
            old_bytes: [0x0f, ..],
            new_bytes: [0xe9, 1, 2, 3, 4]
        }
    );
}

/// MMAP2 of 4 KiB of `/lib/b`, `file` says which file it is, written for the event of `id`.
fn mmap2_of(file: [u8; 24], time: u64, id: u64) -> Vec<u8> {
    let place = bytes![20i32, 21i32, 0x40_0000u64, 0x1000u64, 0x2000u64];
    let trailer = bytes![10i32, 11i32, time, 3u32, 0u32, id];
    [place, file.to_vec(), bytes![5u32, 2u32], name("/lib/b"), trailer].concat()
}

/// Length 20, padding, the build ID.
const BUILD_ID: [u8; 24] =
    [20, 0, 0, 0, 0xab, 0xcd, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
/// Device 259:2 (a partition of a disk), inode 0x1234, generation 7.
const DEVICE: [u8; 24] = [3, 1, 0, 0, 2, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
/// `build_id` of `perf_event_attr`.
const WITH_BUILD_ID: u64 = 1 << 34;

/// The attribute of its event decides what a record with the misc bit for build IDs holds: 7 requests none, 8 does.
#[test]
fn build_ids_are_those_of_events_that_request_them() {
    let with = attr(1, 9, USUAL_SAMPLE_TYPE, SAMPLE_ID_ALL | WITH_BUILD_ID);
    // The last one perf wrote itself: without time and id.
    let records = [(DEVICE, 1, 7), (BUILD_ID, 2, 8), (BUILD_ID, 3, 99), (BUILD_ID, 0, 0)];
    let file = TestFile::new().attr(with, &[8]);
    let file = records
        .into_iter()
        .fold(file, |file, (bytes, time, id)| file.record(10, 0x4002, &mmap2_of(bytes, time, id)));
    let perf_data = file.open();
    let mut found: Vec<(Option<u64>, Vec<u8>, Option<InodeId>)> = Vec::new();
    for timed in perf_data.records() {
        let Record::Mmap2(map) = timed.record else { panic!("{timed:?}") };
        assert_eq!((map.len, map.path, map.executable), (0x1000, &b"/lib/b"[..], true));
        found.push((timed.time.map(|time| time.0), map.build_id.to_vec(), map.inode));
    }
    let inode = InodeId { device: (259, 2), inode: 0x1234, generation: 7 };
    let id = BUILD_ID[4..].to_vec();
    found.sort_by_key(|found| found.0);
    let expected = [
        (None, id.clone(), None),
        (Some(1), Vec::new(), Some(inode)),
        (Some(2), id.clone(), None),
        (Some(3), id, None),
    ];
    assert_eq!(found, expected);
}

/// Where no event requests them, each has device and inode.
#[test]
fn the_misc_bit_of_another_recording_makes_no_build_id() {
    let perf_data = TestFile::new().record(10, 0x4002, &mmap2_of(DEVICE, 1234, 7)).open();
    let Record::Mmap2(map) = only(&perf_data) else { panic!("not MMAP2") };
    let inode = InodeId { device: (259, 2), inode: 0x1234, generation: 7 };
    assert_eq!((map.build_id, map.inode), (&[][..], Some(inode)));
}

#[test]
fn a_record_too_short_for_its_type_is_damaged_not_lost() {
    let perf_data = TestFile::new().timed(2, 0, &bytes![7u64], 1234).open();
    assert!(matches!(only(&perf_data), Record::Damaged { kind: 2 }));
}

#[test]
fn unknown_records_are_skipped_and_counted() {
    let file = TestFile::new().timed(50, 0, &[0; 16], 5).record(250, 0, &[]).timed(50, 0, &[0; 16], 6);
    let perf_data = file.timed(14, 0, &[], 7).open();
    let counts: Vec<(String, u64)> = perf_data.record_counts();
    let expected = [("SWITCH", 1), ("UNKNOWN_50", 2), ("UNKNOWN_250", 1)];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)));
    let times: Vec<_> = perf_data.records().map(|record| record.time.map(|time| time.0)).collect();
    assert_eq!(times, [Some(5), None, Some(6), Some(7)]);
    assert_eq!(perf_data.diagnostics().len(), 2);
}

#[test]
fn auxtrace_errors_have_their_own_time() {
    let fields = bytes![1u32, 9u32, 3u32, 10i32, 11i32, 1u32, 0x40_1000u64, 777u64];
    let perf_data =
        TestFile::new().record(72, 0, &[&fields[..], &name("Overflow packet"), &[0; 48]].concat()).open();
    let record = perf_data.records().next().expect("one record");
    assert_eq!(record.time, Some(PerfTime(777)));
    let Record::AuxtraceError(error) = record.record else { panic!("{record:?}") };
    assert_eq!((error.kind, error.code, error.cpu, error.ip), (1, 9, Some(Cpu(3)), 0x40_1000));
    assert_eq!((error.thread.tid, error.message_text().as_str()), (Tid(11), "Overflow packet"));
}

/// A sample with every field whose length varies, each followed by one that would be wrong if the length were.
#[test]
fn sample_fields_stand_where_their_bits_say() {
    // IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD READ CALLCHAIN RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT
    // DATA_SRC TRANSACTION REGS_INTR AUX PHYS_ADDR CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE
    let sample_type = 0x00ff_ffff;
    let mut attr = attr(4, 0, sample_type, SAMPLE_ID_ALL);
    attr[32..40].copy_from_slice(&bytes![0x1fu64]); // read_format: times, id, group, lost
    attr[72..80].copy_from_slice(&bytes![1u64 << 17]); // branch_sample_type: hw_index
    attr[80..88].copy_from_slice(&bytes![0b101u64]); // two user registers
    attr[96..104].copy_from_slice(&bytes![0b1u64]); // one interrupted register
    let head = bytes![7u64, 0x40_1000u64, 10i32, 11i32, 1234u64, 0xadd4u64, 7u64, 8u64, 3u32, 0u32, 100u64];
    let read = bytes![2u64, 50u64, 51u64, 41u64, 7u64, 0u64, 42u64, 8u64, 0u64];
    let chain = bytes![3u64, u64::MAX - 127, 0x40_1000u64, 0x40_2000u64];
    let raw = [&bytes![12u32][..], b"twelve bytes"].concat();
    let branches = bytes![1u64, 9u64, 0x1u64, 0x2u64, 0x3u64];
    let registers = bytes![2u64, 0xau64, 0xbu64];
    let stack = bytes![8u64, 0x57acu64, 8u64];
    let rest = bytes![0x11u64, 0x12u64, 0x13u64, 1u64, 0xcu64, 0x14u64, 0x15u64, 4096u64, 4096u64];
    let aux = [&bytes![16u64][..], &[0x02, 0x82].repeat(8)].concat();
    let body = [head, read, chain, raw, branches, registers, stack, rest, aux].concat();
    let file = TestFile::default().attr(attr, &[7]);
    let at = file.next_offset();
    let perf_data = file.record(9, 2, &body).open();
    let Record::Sample(sample) = only(&perf_data) else { panic!("no sample") };
    let (ip, addr) = (sample.ip(), sample.addr());
    let (weight, data_src) = (sample.weight(), sample.data_src());
    assert_eq!(
        (ip, addr, sample.stream_id(), sample.period()),
        (Some(0x40_1000), Some(0xadd4), Some(8), Some(100))
    );
    assert_eq!((weight, data_src), (Some(Weight::Whole(0x11)), Some(DataSource(0x12))));
    let read = sample.read().expect("a read");
    assert_eq!((read.time_enabled, read.time_running), (Some(50), Some(51)));
    let values: Vec<_> = read.counters().map(|counter| (counter.value, counter.id)).collect();
    assert_eq!(values, [(41, Some(7)), (42, Some(8))]);
    assert_eq!(sample.callchain_addresses().collect::<Vec<_>>(), [0x40_1000, 0x40_2000]);
    assert_eq!(sample.raw(), Some(&b"twelve bytes"[..]));
    assert_eq!(sample.branch_stack(), Some(&bytes![1u64, 2u64, 3u64][..]));
    assert_eq!(
        (sample.transaction(), sample.phys_addr(), sample.cgroup()),
        (Some(0x13), Some(0x14), Some(0x15))
    );
    assert_eq!((sample.cpu_mode(), sample.aux().map(<[u8]>::len)), (2, Some(16)));

    let aux_samples = perf_data.aux_samples();
    assert_eq!(aux_samples.len(), 1);
    assert_eq!(aux_samples[0].file_offset.0, at + 8 + body.len() as u64 - 16);
    assert_eq!(perf_data.aux_sample_bytes(&aux_samples[0]), [0x02, 0x82].repeat(8));
}

/// `IDENTIFIER` and `CALLCHAIN`: -128, an address of the kernel, -640, the cookie 9.
#[test]
fn a_cookie_in_a_callchain_is_no_address() {
    let file = TestFile::default().attr(attr(4, 0x1c6, 1 << 5 | 1 << 16, SAMPLE_ID_ALL), &[7]);
    let kernel = 0xffff_ffff_8100_0000u64;
    let (of_kernel, deferred) = (u64::MAX - 127, u64::MAX - 639);
    let perf_data = file.record(9, 2, &bytes![7u64, 4u64, of_kernel, kernel, deferred, 9u64]).open();
    let record = perf_data.records().next().expect("one record").record;
    let Record::Sample(sample) = record else { panic!("no sample") };
    assert_eq!(sample.callchain_addresses().collect::<Vec<_>>(), [kernel]);
    assert_eq!(sample.callchain_cookie(), Some(9));
}

/// `IDENTIFIER`, `IP`, `WEIGHT_STRUCT`: the same word, in its parts.
#[test]
fn a_weight_has_parts_where_they_were_asked_for() {
    let file = TestFile::default().attr(attr(4, 0x1c6, 1 | 1 << 16 | 1 << 24, SAMPLE_ID_ALL), &[7]);
    let perf_data = file.record(9, 2, &bytes![7u64, 0x40_1000u64, 9u32, 0u16, 340u16]).open();
    let record = perf_data.records().next().expect("one record").record;
    let Record::Sample(sample) = record else { panic!("no sample") };
    assert_eq!(sample.weight(), Some(Weight::Parts { memory: 9, instruction: 0, retire: 340 }));
}

/// Every length in turn says more than there is.
#[test]
fn a_sample_with_a_lying_length_is_damaged() {
    for (bit, lie) in [
        (4u32, Vec::new()),
        (5, bytes![1u64 << 60]),
        (10, bytes![u32::MAX, 0u32]),
        (13, bytes![9u64, 0u64]),
        (20, bytes![9u64, 0u64]),
    ] {
        let sample_type = 1 << bit | 1 << 16;
        let file = TestFile::default().attr(attr(4, 0, sample_type, SAMPLE_ID_ALL), &[7]);
        let perf_data = file.record(9, 0, &[bytes![7u64], lie].concat()).open();
        let record = perf_data.records().next().expect("one record").record;
        assert!(matches!(record, Record::Damaged { kind: 9 }), "bit {bit}: {record:?}");
    }
}

#[test]
fn two_attributes_with_different_fields_are_told_apart_by_id() {
    // TIME | IDENTIFIER, and the usual one.
    let file = TestFile::new().attr(attr(1, 9, 1 << 2 | 1 << 16, SAMPLE_ID_ALL), &[8]);
    let perf_data = file.record(14, 0, &bytes![500u64, 8u64]).timed(14, 0, &[], 400).open();
    let records: Vec<_> = perf_data.records().map(|record| (record.time, record.cpu, record.id)).collect();
    let expected = [(Some(PerfTime(400)), Some(Cpu(3)), Some(7)), (Some(PerfTime(500)), None, Some(8))];
    assert_eq!(records, expected);
}

/// A sample of `perf record --off-cpu` by the layout of perf 6.16: IDENTIFIER, TID of who leaves the CPU, TIME, RAW; in the raw bytes process and
/// thread that come, 1,500 ns, a callchain of a mark and two addresses, the cgroup.
#[test]
fn a_sample_of_off_cpu_time_is_of_the_thread_in_its_raw_bytes() {
    let of = |raw: &[u8]| {
        let sample_type = 1 << 1 | 1 << 2 | 1 << 10 | 1 << 16;
        // The kernel fills the payload up, so that the record's size is a multiple of 8.
        let raw = [raw, &[0; 4]].concat();
        let size = u32::try_from(raw.len()).expect("a short payload");
        let body = [&bytes![7u64, 20i32, 21i32, 9_000u64, size][..], &raw].concat();
        let attr = attr(1, 10, sample_type, SAMPLE_ID_ALL);
        // HEADER_EVENT_DESC: one event, its attribute, one id, its name.
        let name = feature_string("offcpu-time");
        let described = [bytes![1u32, 128u32], attr.clone(), bytes![1u32], name, bytes![7u64]].concat();
        TestFile::default().attr(attr, &[7]).feature(12, described).record(9, 2, &body).open()
    };
    let raw = bytes![100i32, 101i32, 1_500u64, 3u64, u64::MAX - 511, 0x40_1000u64, 0x40_2000u64, 4u64];
    let perf_data = of(&raw);
    let record = perf_data.records().next().expect("one record").record;
    let Record::Sample(sample) = record else { panic!("no sample") };
    let off = sample.off_cpu().expect("off-cpu time");
    assert_eq!((off.thread, off.ns), (ThreadId::new(100, 101), 1_500));
    assert_eq!(off.addresses().collect::<Vec<_>>(), [0x40_1000, 0x40_2000]);
    // A count that lies.
    for cut in [raw.len() - 24, 16, 0] {
        let perf_data = of(&raw[..cut]);
        let record = perf_data.records().next().expect("one record").record;
        let Record::Sample(sample) = record else { panic!("no sample") };
        assert_eq!(sample.off_cpu(), None, "{cut}");
    }
}

/// `OFF_CPU_TIMESTAMP` of perf is `~0ULL << 32`: the sums at the end have no time.
#[test]
fn sums_of_off_cpu_time_have_no_time() {
    assert_eq!(super::layout::time(!0 << 32 | 5), None);
    assert_eq!(
        super::layout::time(1_000_u64.wrapping_sub(1_000_000_000)),
        Some(PerfTime(u64::MAX - 999_998_999))
    );
    assert_eq!(super::layout::time((!0 << 32) - 1), Some(PerfTime((!0 << 32) - 1)));
}
