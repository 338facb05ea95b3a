//! Whole files by hand-made bytes: kinds that cannot be used, order, AUX buffers, damage, several clocks.

use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{Cpu, FileOffset, MapEvent, PerfTime, Pid, Tid, TimeConversion};

use crate::test_file::{
    SAMPLE_ID_ALL, TestFile, USUAL_SAMPLE_TYPE, attr, feature_string, findings, name, record, trailer,
};
use crate::{Error, LossKind, Machine, PerfData, Record, bytes};

fn open(bytes: &[u8]) -> Result<PerfData, Error> {
    PerfData::from_bytes(Path::new("test"), bytes.to_vec())
}

/// Bytes in memory have nothing beside them, whatever their name.
#[test]
fn the_machine_file_is_read_of_files_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, bytes) = (folder.path().join("perf.data"), TestFile::new().bytes());
    std::fs::write(&path, &bytes).expect("written");
    std::fs::write(Machine::place(&path), "{\"schema\": \"tailtrace-machine/1\"}").expect("written");
    assert!(PerfData::open(&path).expect("a sound header").machine().is_some());
    let in_memory = PerfData::from_bytes(&path, bytes).expect("a sound header");
    assert_eq!(in_memory.machine(), None);
}

/// perf writes the host's name into the header (bit 3); a file that was copied here may be another machine's.
#[test]
fn a_machine_file_of_another_host_is_not_used() {
    let used = |written: &str, header: Option<&str>| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("perf.data");
        let capture = header
            .into_iter()
            .fold(TestFile::new().record(82, 0, &[]), |file, name| file.feature(3, feature_string(name)));
        std::fs::write(&path, capture.bytes()).expect("written");
        let text = format!("{{\"schema\": \"tailtrace-machine/1\", {written}}}");
        std::fs::write(Machine::place(&path), text).expect("written");
        let perf_data = PerfData::open(&path).expect("a sound header");
        let is_said = perf_data.diagnostics().iter().any(|finding| {
            finding.what.starts_with("of the machine trade8, the capture of trade7: it is not used")
        });
        (perf_data.machine().is_some(), is_said)
    };
    assert_eq!(used(r#""host": "trade7""#, Some("trade7")), (true, false));
    assert_eq!(used(r#""host": "trade8""#, Some("trade7")), (false, true));
    // One of the two is missing.
    assert_eq!(used(r#""host": null"#, Some("trade7")), (true, false));
    assert_eq!(used(r#""host": "trade8""#, None), (true, false));
}

#[test]
fn files_that_cannot_be_used_say_why() {
    let good = TestFile::new().bytes();
    assert!(matches!(open(&[]), Err(Error::TooShort { length: 0, .. })));
    assert!(matches!(open(&good[..103]), Err(Error::TooShort { length: 103, .. })));
    assert!(matches!(open(b"\x7fELF\x02\x01\x01\x00"), Err(Error::NotPerfData { .. })));
    assert!(matches!(open(b"PERFFILE"), Err(Error::Version1 { .. })));
    assert!(matches!(open(b"2ELIFREP"), Err(Error::BigEndian { .. })));
}

#[test]
fn a_directory_is_opened_by_its_data_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.data");
    std::fs::create_dir(&path).expect("created");
    assert!(matches!(PerfData::open(&path), Err(Error::NoDataFile { .. })));
    assert!(matches!(PerfData::open(&folder.path().join("absent")), Err(Error::Io { .. })));

    std::fs::write(path.join("data"), TestFile::new().timed(14, 0, &[], 20).bytes()).expect("written");
    for (number, time) in [(0, 30), (1, 10)] {
        let body = trailer(time);
        std::fs::write(path.join(format!("data.{number}")), record(14, 0, &body)).expect("written");
    }
    std::fs::create_dir(path.join("kcore_dir")).expect("created");
    std::fs::create_dir(path.join("kcore_dir__42")).expect("created");
    let perf_data = PerfData::open(&path).expect("opens");
    assert_eq!(perf_data.kcore_dir(), Some(path.join("kcore_dir").as_path()));
    assert_eq!(perf_data.guest_kcore_dirs(), [(42, path.join("kcore_dir__42"))]);
    let places: Vec<_> = perf_data
        .records()
        .map(|record| {
            let position = perf_data.file_position(record.offset).expect("in a file");
            let file = position.path.file_name().expect("a name").to_string_lossy().into_owned();
            (record.time.map(|time| time.0), file)
        })
        .collect();
    let expected = [(10, "data.1"), (20, "data"), (30, "data.0")];
    assert_eq!(places, expected.map(|(time, file)| (Some(time), file.to_owned())));
}

#[test]
fn records_come_in_the_order_of_time() {
    let file = TestFile::new()
        .timed(14, 0, &[], 300)
        .record(68, 0, &[])
        .timed(14, 0, &[], 100)
        .timed(2, 0, &bytes![7u64, 1u64], 300)
        .timed(3, 0, &[bytes![5i32, 5i32], name("early")].concat(), 0);
    let perf_data = file.open();
    let order: Vec<_> =
        perf_data.records().map(|record| (record.time.map(|time| time.0), record.offset)).collect();
    let times: Vec<_> = order.iter().map(|(time, _)| *time).collect();
    // FINISHED_ROUND has no time and stays after the record before it; equal times keep the file's order.
    assert_eq!(times, [None, Some(100), Some(300), None, Some(300)]);
    assert!(order[2].1 < order[3].1 && order[3].1 < order[4].1);
    let within = |from, to| perf_data.records_in(PerfTime(from)..PerfTime(to)).count();
    assert_eq!((within(1, 300), within(100, 301), within(301, 400)), (1, 4, 0));
    assert_eq!(perf_data.time_range(), Some(PerfTime(100)..PerfTime(300)));
    let found = perf_data.record_at(order[1].1).expect("a record");
    assert_eq!(found.time, Some(PerfTime(100)));
    assert!(perf_data.record_at(FileOffset(u64::MAX)).is_none());
}

/// An AUXTRACE record's body: size, offset, reference, idx, tid, cpu, reserved.
fn auxtrace(size: u64, cpu: u32) -> Vec<u8> {
    bytes![size, 0x100u64, 99u64, 2u32, u32::MAX, cpu, 0u32]
}

#[test]
fn aux_payload_is_located_and_stepped_over() {
    let file = TestFile::new();
    let at = file.next_offset();
    // The payload looks like records.
    let payload = record(14, 0, &trailer(1));
    let perf_data =
        file.record(71, 0, &auxtrace(payload.len() as u64, 3)).raw(&payload).timed(14, 0, &[], 50).open();
    let [buffer] = perf_data.aux_buffers() else { panic!("{:?}", perf_data.aux_buffers()) };
    assert_eq!((buffer.cpu, buffer.tid, buffer.idx), (Some(Cpu(3)), None, 2));
    assert_eq!((buffer.aux_offset, buffer.reference, buffer.size), (0x100, 99, payload.len() as u64));
    assert_eq!((buffer.record_offset.0, buffer.file_offset.0), (at, at + 48));
    assert_eq!(perf_data.aux_bytes(buffer), payload);
    assert_eq!(perf_data.records().count(), 2);
}

#[test]
fn an_aux_payload_that_runs_over_the_next_listed_one_is_cut_there() {
    let file = TestFile::new();
    let (start, short) = (file.next_offset(), [0xccu8; 32]);
    let second = start + 48 + 32;
    let list = bytes![2u64, start, 48u64, second, 48u64];
    let file =
        file.record(71, 0, &auxtrace(1 << 40, 0)).raw(&short).record(71, 0, &auxtrace(32, 1)).raw(&short);
    let perf_data = file.feature(18, list).open();
    let sizes: Vec<_> = perf_data.aux_buffers().iter().map(|buffer| (buffer.cpu, buffer.size)).collect();
    assert_eq!(sizes, [(Some(Cpu(0)), 32), (Some(Cpu(1)), 32)]);
    let [(what, Some(place))] = &findings(&perf_data)[..] else { panic!("{:?}", findings(&perf_data)) };
    assert_eq!(
        (what.as_str(), place.0),
        ("1099511627776 PT bytes announced, 32 in the file: the rest is lost", start)
    );
}

#[test]
fn a_record_that_lies_about_its_length_costs_itself_where_others_follow() {
    for size in [0u16, 7, 9, 47, 4096, u16::MAX] {
        let mut file = TestFile::new();
        for time in 10..15 {
            file = file.timed(14, 0, &[], time);
        }
        let bad = file.next_offset();
        let mut lying = record(14, 0, &trailer(15));
        lying[6..8].copy_from_slice(&size.to_le_bytes());
        file = file.raw(&lying);
        for time in 16..20 {
            file = file.timed(14, 0, &[], time);
        }
        let perf_data = file.open();
        let times: Vec<_> = perf_data.records().filter_map(|record| record.time).map(|time| time.0).collect();
        assert_eq!(times, [10, 11, 12, 13, 14, 16, 17, 18, 19], "{size}");
        assert_eq!(findings(&perf_data)[0].1, Some(FileOffset(bad)), "{size}");
    }
}

#[test]
fn a_damaged_record_costs_what_lies_before_the_next_listed_aux_record() {
    let file = TestFile::new().timed(14, 0, &[], 10);
    let (bad, listed) = (file.next_offset(), file.next_offset() + 8 + 40 + 8);
    let list = bytes![1u64, listed, 48u64];
    let file = file.raw(&bytes![14u32, 0u16, 7u16]).timed(14, 0, &[], 20);
    // Damaged once more, so that no chain of records begins before the listed one.
    let file = file.raw(&bytes![14u32, 0u16, 7u16]).record(71, 0, &auxtrace(0, 1));
    let perf_data = file.timed(14, 0, &[], 30).feature(18, list).open();
    let times: Vec<_> = perf_data.records().filter_map(|record| record.time).collect();
    assert_eq!(times, [PerfTime(10), PerfTime(30)]);
    assert_eq!(perf_data.aux_buffers().len(), 1);
    assert_eq!(findings(&perf_data)[0].1, Some(FileOffset(bad)));
}

#[test]
fn an_unfinished_file_is_read_to_its_end() {
    let mut file = TestFile::new().timed(14, 0, &[], 10);
    file.claimed_size = Some(0);
    let perf_data = file.open();
    assert_eq!(perf_data.records().count(), 1);
    assert!(findings(&perf_data)[0].0.contains("killed before it finished"));
}

#[test]
fn sections_outside_of_the_file_are_reported() {
    let mut file = TestFile::new().timed(14, 0, &[], 10);
    file.claimed_size = Some(u64::MAX);
    let perf_data = file.open();
    assert_eq!(perf_data.records().count(), 1);
    assert!(
        findings(&perf_data)[0].0.starts_with("the record section should have 18446744073709551615 bytes")
    );
}

#[test]
fn time_conversion_comes_from_the_setup_or_its_own_record_and_not_with_a_foreign_clock() {
    // PMU type, shift, mult, zero, cap_user_time_zero, TSC bit, NoRETComp bit, sched_switch, snapshot, per-cpu.
    let setup =
        |cap: u64| bytes![1u32, 0u32, 8u64, 31u64, 1000u64, 5u64, cap, 0x400u64, 0x800u64, 3u64, 0u64, 1u64];
    let conversion = TimeConversion::new(31, 1000, 5);
    assert_eq!(TestFile::new().record(70, 0, &setup(1)).open().time_conversion(), conversion);
    let without = TestFile::new().record(70, 0, &setup(0)).open();
    assert_eq!((without.time_conversion(), findings(&without).len()), (None, 1));
    let own = TestFile::new().record(70, 0, &setup(0)).record(79, 0, &bytes![31u64, 1000u64, 5u64]);
    assert_eq!(own.open().time_conversion(), conversion);
    let foreign = TestFile::default().attr(attr(1, 9, USUAL_SAMPLE_TYPE, SAMPLE_ID_ALL | 1 << 25), &[7]);
    let foreign = foreign.record(70, 0, &setup(1)).open();
    assert_eq!((foreign.time_conversion(), foreign.clock_id()), (None, Some(0)));
}

#[test]
fn loss_is_told_with_time_cpu_and_place() {
    let perf_data = TestFile::new()
        .timed(11, 0, &bytes![0x1000u64, 0x200u64, 2u64], 10) // OVERWRITE: a snapshot, no loss
        .timed(11, 0, &bytes![0x1200u64, 0x200u64, 1u64], 20)
        .timed(2, 0, &bytes![7u64, 5u64], 30)
        .timed(13, 0, &bytes![6u64], 40)
        .open();
    let losses = perf_data.loss();
    let kinds: Vec<_> =
        losses.iter().map(|loss| (loss.time.map(|time| time.0), loss.cpu, loss.kind)).collect();
    let cpu = Some(Cpu(3));
    let aux = LossKind::Aux { aux_offset: 0x1200, size: 0x200, flags: crate::AuxFlags(1) };
    assert_eq!(
        kinds,
        [
            (Some(20), cpu, aux),
            (Some(30), cpu, LossKind::Records { count: 5 }),
            (Some(40), cpu, LossKind::Samples { count: 6 })
        ]
    );
}

#[test]
fn address_spaces_change_by_map_fork_exec_exit_and_poke() {
    let map = |protection: u32| {
        let place =
            bytes![10i32, 11i32, 0x40_0000u64, 0x1000u64, 0u64, 0u32, 0u32, 0u64, 0u64, protection, 2u32];
        [place, name("/bin/a")].concat()
    };
    // The build ID section: {type, misc: size recorded, size, pid, 20 bytes + length, path}.
    let build_id = [bytes![-1i32], vec![0xab; 20], vec![20, 0, 0, 0], name("/bin/a")].concat();
    let perf_data = TestFile::new()
        .timed(10, 0, &map(5), 0)
        .timed(10, 0, &map(3), 5) // data
        .timed(7, 0, &bytes![20i32, 10i32, 20i32, 10i32, 0u64], 10)
        .timed(7, 0, &bytes![20i32, 20i32, 21i32, 20i32, 0u64], 11) // a thread
        .timed(3, 0x2000, &[bytes![20i32, 20i32], name("b")].concat(), 12)
        .timed(4, 0, &bytes![20i32, 10i32, 20i32, 10i32, 0u64], 13) // its first thread, not its last
        .timed(4, 0, &bytes![20i32, 20i32, 21i32, 20i32, 0u64], 14)
        .feature(2, record(67, 1 << 15, &build_id))
        .open();
    let events = perf_data.map_events();
    let times: Vec<u64> = events.iter().map(|(time, _)| time.0).collect();
    assert_eq!(times, [0, 10, 12, 14]);
    let MapEvent::Map(mapping) = &events[0].1 else { panic!("{events:?}") };
    assert_eq!((mapping.pid, mapping.range.clone()), (Pid(10), 0x40_0000..0x40_1000));
    assert_eq!(mapping.build_id.as_ref().map(|id| id.bytes().to_vec()), Some(vec![0xab; 20]));
    assert_eq!(events[1].1, MapEvent::Fork { parent: Pid(10), child: Pid(20) });
    assert_eq!(events[2].1, MapEvent::Exec { pid: Pid(20) });
    assert_eq!(events[3].1, MapEvent::Exit { pid: Pid(20), tid: Tid(21) });
}

#[test]
fn thread_names_change_over_time_and_are_inherited() {
    let comm = |text: &str| [bytes![20i32, 20i32], name(text)].concat();
    let perf_data = TestFile::new()
        .timed(3, 0, &comm("sh"), 0)
        .timed(7, 0, &bytes![20i32, 20i32, 21i32, 20i32, 0u64], 10)
        .timed(3, 0, &comm("worker"), 20)
        .open();
    let at = |tid, time| perf_data.comm_at(Tid(tid), PerfTime(time));
    assert_eq!((at(20, 5), at(20, 19), at(20, 20)), (Some("sh"), Some("sh"), Some("worker")));
    assert_eq!((at(21, 5), at(21, 30), at(0, 1), at(99, 1)), (Some("sh"), Some("sh"), Some("swapper"), None));
}

#[test]
fn compressed_records_are_unpacked_across_their_borders() {
    let inner = [record(14, 0, &trailer(10)), record(14, 0, &trailer(20))].concat();
    let stream = zstd::stream::encode_all(&inner[..], 1).expect("packed");
    let (first, second) = stream.split_at(stream.len() / 2);
    let file = TestFile::new();
    let at = file.next_offset();
    let perf_data = file.record(81, 0, first).record(81, 0, second).open();
    assert_eq!(findings(&perf_data), []);
    let records: Vec<_> =
        perf_data.records().filter(|it| matches!(it.record, Record::Switch { .. })).collect();
    assert_eq!(records.iter().filter_map(|it| it.time).collect::<Vec<_>>(), [PerfTime(10), PerfTime(20)]);
    let position = perf_data.file_position(records[0].offset).expect("in a file");
    assert!(position.offset == at || position.offset == at + 8 + first.len() as u64, "{position:?}");

    // COMPRESSED2 says its length and is padded.
    let padded = [&bytes![stream.len() as u64][..], &stream, &[0; 5]].concat();
    assert_eq!(TestFile::new().record(83, 0, &padded).open().records().count(), 3);
    // A stream that is none.
    let broken = TestFile::new().record(81, 0, &[0xff; 40]).timed(14, 0, &[], 5).open();
    assert_eq!((broken.records().count(), findings(&broken).len()), (2, 1));
}

#[test]
fn unpacking_is_bounded() {
    // One thousand and one times its size, and more.
    let bomb = zstd::stream::encode_all(&vec![0u8; 20 << 20][..], 19).expect("packed");
    assert!(bomb.len() < 5000);
    let perf_data = TestFile::new().record(81, 0, &bomb).open();
    assert!(findings(&perf_data)[0].0.contains("bytes come out of it"), "{:?}", findings(&perf_data));
}

#[test]
fn opening_a_huge_file_touches_no_aux_payload() {
    let Some(before) = resident_kib() else { return println!("skipped: no /proc") };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("huge");
    let size = 8u64 << 30;
    let mut file = TestFile::new();
    let payload = file.next_offset() + 48;
    file.claimed_size = Some(48 + size + 40);
    let head = file.record(71, 0, &auxtrace(size, 0)).bytes();
    let sparse = std::fs::File::create(&path).expect("created");
    sparse.write_all_at(&head, 0).expect("written");
    sparse.write_all_at(&record(14, 0, &trailer(10)), payload + size).expect("a sparse file");
    let perf_data = PerfData::open(&path).expect("opens");
    assert_eq!(perf_data.records().count(), 2);
    assert_eq!(perf_data.aux_bytes(&perf_data.aux_buffers()[0]).len() as u64, size);
    let after = resident_kib().expect("as before");
    assert!(after < before + 100_000, "{before} KiB resident before, {after} after");
}

fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
}

/// Writes `fuzz/seeds/perfdata_open`: `cargo test -p tailtrace-perfdata -- --ignored writes_the_fuzzers_seeds`.
#[test]
#[ignore = "writes into the source tree"]
fn writes_the_fuzzers_seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/perfdata_open");
    std::fs::create_dir_all(&folder).expect("created");
    let sideband = TestFile::new()
        .timed(
            10,
            0,
            &[
                bytes![10i32, 11i32, 0x40_0000u64, 4096u64, 0u64, 0u64, 0u64, 0u64, 5u32, 2u32],
                name("/bin/a"),
            ]
            .concat(),
            0,
        )
        .timed(3, 0x2000, &[bytes![10i32, 11i32], name("worker")].concat(), 5)
        .timed(12, 0, &bytes![10i32, 11i32], 10)
        .timed(15, 0x6000, &bytes![0i32, 0i32], 20)
        .timed(15, 0, &bytes![10i32, 11i32], 21)
        .timed(20, 0, &bytes![0xffff_ffff_8100_0010u64, 2u16, 2u16, 0xccccu16, 0x9090u16], 30)
        .timed(2, 0, &bytes![7u64, 5u64], 40);
    let listed = sideband.next_offset();
    let sideband = sideband.record(71, 0, &auxtrace(16, 3)).raw(&[0x02, 0x82].repeat(8)).record(68, 0, &[]);
    let sideband = sideband.feature(18, bytes![1u64, listed, 48u64]);
    let packed = zstd::stream::encode_all(&record(14, 0, &trailer(10))[..], 1).expect("packed");
    let wide = TestFile::default().attr(attr(2, 314, 0x1_0487, SAMPLE_ID_ALL), &[7]).record(
        9,
        1,
        &[bytes![7u64, 0x40_1000u64, 10i32, 11i32, 50u64, 3u32, 0u32, 12u32], vec![0; 12]].concat(),
    );
    for (name, file) in
        [("sideband", sideband), ("compressed", TestFile::new().record(81, 0, &packed)), ("tracepoint", wide)]
    {
        std::fs::write(folder.join(name), file.bytes()).expect("written");
    }
}
