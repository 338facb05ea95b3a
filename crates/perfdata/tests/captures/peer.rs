//! Attributes, trailers and facts about the machine against `linux-perf-data`, which reads plain files only.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use linux_perf_data::{PerfFile, PerfFileReader, PerfFileRecord};
use model::{Pid, Tid};
use tailtrace_perfdata::{PerfData, Record};

use crate::captures;

/// Time, process, thread, CPU and id.
type Row = (u64, Option<i32>, Option<i32>, Option<u32>, Option<u64>);

#[test]
fn facts_equal_linux_perf_data() {
    // It reads one file only.
    for capture in captures::all().into_iter().filter(|capture| !capture.join("data.0").exists()) {
        let perf_data = PerfData::open(&capture).expect("opens");
        let (theirs, rows) = read(&file_of(&capture));
        let place = capture.display();
        let mut ours: Vec<Row> = Vec::new();
        // It hands out twice what stands there twice.
        let repeats = perf_data.repeats().iter().filter_map(|&offset| perf_data.record_at(offset));
        for record in perf_data.records().chain(repeats).filter(|record| !is_perfs_own(&record.record)) {
            let (pid, tid) = (record.thread.map(|it| it.pid), record.thread.map(|it| it.tid));
            let time = record.time.map_or(0, |time| time.0);
            let cpu = record.cpu.map(|cpu| cpu.0);
            ours.push((time, pid.map(|Pid(pid)| pid), tid.map(|Tid(tid)| tid), cpu, record.id));
        }
        ours.sort_unstable();
        assert_eq!(ours, rows, "{place}");

        let features = perf_data.features();
        assert_eq!(features.hostname.as_deref(), theirs.hostname().expect("sound"), "{place}");
        assert_eq!(features.os_release.as_deref(), theirs.os_release().expect("sound"), "{place}");
        assert_eq!(features.cpu_id.as_deref(), theirs.cpu_id().expect("sound"), "{place}");
        assert_eq!(features.cpu_description.as_deref(), theirs.cpu_desc().expect("sound"), "{place}");
        assert_eq!(features.total_memory_kib, theirs.total_mem().expect("sound"), "{place}");
        let pmus = theirs.pmu_mappings().expect("sound").map(|mappings| mappings.0).unwrap_or_default();
        let ours: BTreeMap<u32, String> =
            features.pmu_mappings.iter().map(|(name, kind)| (*kind, name.clone())).collect();
        assert_eq!(ours, pmus.into_iter().collect(), "{place}");
        let build_ids: Vec<Vec<u8>> =
            theirs.build_ids().expect("sound").into_values().map(|dso| dso.build_id).collect();
        let mut ours: Vec<Vec<u8>> =
            features.build_ids.iter().map(|file| file.build_id.bytes().to_vec()).collect();
        ours.retain(|build_id| !build_ids.contains(build_id));
        assert_eq!(ours, Vec::<Vec<u8>>::new(), "{place}: build ids that linux-perf-data does not see");
        check_attrs(&perf_data, &theirs, &place.to_string());
    }
}

fn check_attrs(perf_data: &PerfData, theirs: &PerfFile, place: &str) {
    assert_eq!(perf_data.attrs().len(), theirs.event_attributes().len(), "{place}");
    for (ours, theirs) in perf_data.attrs().iter().zip(theirs.event_attributes()) {
        assert_eq!(ours.name.as_deref(), theirs.name.as_deref(), "{place}");
        assert_eq!(ours.ids, theirs.event_ids, "{place}");
        assert_eq!(ours.sample_type, theirs.attr.sample_format.bits(), "{place}");
        // It does not know PERF_FORMAT_LOST (16).
        assert_eq!(ours.read_format & 15, theirs.attr.read_format.bits() & 15, "{place}");
    }
}

fn read(path: &Path) -> (PerfFile, Vec<Row>) {
    let file = BufReader::new(File::open(path).expect("readable"));
    let PerfFileReader { mut perf_file, mut record_iter } = PerfFileReader::parse_file(file).expect("sound");
    let mut rows = Vec::new();
    while let Some(record) = record_iter.next_record(&mut perf_file).expect("sound") {
        let PerfFileRecord::EventRecord { record, .. } = record else { continue };
        let common = record.common_data().expect("sound");
        // What perf wrote itself has an empty trailer.
        match common.timestamp.unwrap_or(0) {
            0 => rows.push((0, None, None, None, None)),
            time => rows.push((time, common.pid, common.tid, common.cpu, common.id)),
        }
    }
    rows.sort_unstable();
    (perf_file, rows)
}

fn file_of(capture: &Path) -> PathBuf {
    if capture.is_dir() { capture.join("data") } else { capture.to_path_buf() }
}

fn is_perfs_own(record: &Record<'_>) -> bool {
    matches!(
        record,
        Record::AuxtraceInfo { .. }
            | Record::Auxtrace { .. }
            | Record::TimeConv { .. }
            | Record::IdIndex { .. }
            | Record::ThreadMap { .. }
            | Record::CpuMap
            | Record::FinishedRound
            | Record::FinishedInit
            | Record::EventUpdate
            | Record::Compressed { .. }
    )
}
