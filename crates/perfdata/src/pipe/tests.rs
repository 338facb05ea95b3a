//! Streams by hand-made bytes, as `perf.data-file-format.txt` describes "Pipe-mode data".

use std::path::Path;

use model::{BuildId, FileOffset};

use crate::test_file::{SAMPLE_ID_ALL, USUAL_SAMPLE_TYPE, attr, feature_string, findings, record, trailer};
use crate::{PerfData, Record, SlicePlan, bytes};

/// Records after the sixteen bytes of the header.
fn stream(records: &[Vec<u8>]) -> Vec<u8> {
    [&b"PERFILE2"[..], &bytes![16u64], &records.concat()].concat()
}

fn open(records: &[Vec<u8>]) -> PerfData {
    PerfData::from_bytes(Path::new("test"), stream(records)).expect("a stream")
}

/// `HEADER_ATTR`: the attribute, then its ids.
fn attr_record(ids: &[u64]) -> Vec<u8> {
    let ids: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    record(64, 0, &[attr(1, 9, USUAL_SAMPLE_TYPE, SAMPLE_ID_ALL), ids].concat())
}

/// `HEADER_FEATURE`: the number of the section, then its content.
fn feature_record(bit: u64, section: &[u8]) -> Vec<u8> {
    record(80, 0, &[&bytes![bit][..], section].concat())
}

fn switch(time: u64) -> Vec<u8> {
    record(14, 0, &trailer(time))
}

#[test]
fn attributes_and_sections_are_records() {
    let update = record(78, 0, &[&bytes![2u64, 8u64][..], b"cpu-clock\0\0\0\0\0\0\0"].concat());
    let records = [
        feature_record(3, &feature_string("first")),
        feature_record(3, &feature_string("trade7")),
        // The last one has a number only.
        feature_record(32, &[]),
        attr_record(&[6, 8]),
        attr_record(&[7]),
        update,
        switch(20),
        switch(10),
    ];
    let perf = open(&records);
    assert_eq!(findings(&perf), []);
    let ids: Vec<&[u64]> = perf.attrs().iter().map(|attr| &*attr.ids).collect();
    assert_eq!(ids, [&[6, 8][..], &[7]]);
    let names: Vec<Option<&str>> = perf.attrs().iter().map(|attr| attr.name.as_deref()).collect();
    assert_eq!(names, [Some("cpu-clock"), None]);
    assert_eq!(perf.features().hostname.as_deref(), Some("trade7"));
    assert_eq!(perf.features().present, [3]);
    let times: Vec<u64> = perf.records().filter_map(|timed| Some(timed.time?.0)).collect();
    assert_eq!(times, [10, 20]);
    let first = perf.records().next().expect("a record");
    assert!(matches!(first.record, Record::HeaderFeature { feature: 3 }), "{first:?}");
    assert_eq!(first.offset, FileOffset(16));
}

#[test]
fn payloads_that_follow_their_record_are_stepped_over() {
    // AUXTRACE: size, offset, reference, index, thread, CPU, reserved; then as many bytes.
    let aux = record(71, 0, &bytes![24u64, 0u64, 0u64, 0u32, u32::MAX, 3u32, 0u32]);
    // TRACING_DATA: size; then as many bytes, padded to eight. They look like an attribute and are none.
    let formats = record(66, 0, &bytes![12u32]);
    let payload = |length: usize| attr_record(&[])[..length].to_vec();
    let perf = open(&[attr_record(&[7]), formats, payload(16), aux, payload(24), switch(10)]);
    assert_eq!(perf.attrs().len(), 1);
    assert_eq!(perf.aux_buffers().len(), 1);
    assert_eq!(perf.aux_bytes(&perf.aux_buffers()[0]).len(), 24);
    // The formats are none; the diagnostic has the place where that shows: after 16 bytes of the stream's header, 144 of the
    // attribute, 12 of the record and ten that should be a magic number.
    let said = findings(&perf);
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].1, Some(FileOffset(16 + 144 + 12 + 10)));
}

#[test]
fn build_ids_are_records_of_their_own() {
    let build_id = |first: u8, path: &[u8]| {
        let id = [&[first; 20][..], &[20, 0, 0, 0]].concat();
        record(67, 1 << 15 | 2, &[&bytes![4i32][..], &id, path].concat())
    };
    let perf = open(&[attr_record(&[7]), build_id(1, b"/a\0\0"), switch(10), build_id(2, b"/bc\0")]);
    let known: Vec<_> =
        perf.features().build_ids.iter().map(|known| (&*known.path, known.build_id.clone())).collect();
    let id = |byte| BuildId::new(&[byte; 20]).expect("a build id");
    assert_eq!(known, [("/a", id(1)), ("/bc", id(2))]);
    assert_eq!(perf.features().present, [2]);
    let slice = perf.slice(&SlicePlan::default());
    let slice = PerfData::from_bytes(Path::new("slice"), slice).expect("a file");
    assert_eq!(slice.features().build_ids, perf.features().build_ids);
}

/// A slice is a file: what were records stands in its header.
#[test]
fn a_slice_of_a_stream_says_the_same() {
    let update = record(78, 0, &[&bytes![2u64, 7u64][..], b"intel_pt//\0\0\0\0\0\0"].concat());
    let records = [feature_record(3, &feature_string("trade7")), attr_record(&[7]), update, switch(20)];
    let perf = open(&records);
    let slice = perf.slice(&SlicePlan::default());
    assert_eq!(u64::from_le_bytes(slice[8..16].try_into().expect("eight bytes")), 104);
    let slice = PerfData::from_bytes(Path::new("slice"), slice).expect("a file");
    assert_eq!(slice.attrs(), perf.attrs());
    assert_eq!(slice.features().hostname, perf.features().hostname);
    assert_eq!(slice.record_counts(), [("SWITCH".to_owned(), 1)]);
    assert_eq!(findings(&slice), []);
}

#[test]
fn damage_is_said_with_its_place() {
    let short = record(64, 0, &bytes![1u32, 128u32]);
    let perf = open(&[attr_record(&[7]), short.clone(), short, switch(10)]);
    let what = "2 records of attributes are too short: the first; their events have no name".to_owned();
    assert_eq!(findings(&perf), [(what, Some(FileOffset(16 + 144)))]);
    assert_eq!(perf.record_counts(), [("SWITCH".to_owned(), 1), ("ATTR".to_owned(), 3)]);

    let whole = stream(&[attr_record(&[7]), switch(10)]);
    for length in 16..whole.len() {
        let perf = PerfData::from_bytes(Path::new("test"), whole[..length].to_vec()).expect("a stream");
        let is_whole_record = length == 16 || length == 16 + 144;
        assert_eq!(perf.diagnostics().is_empty(), is_whole_record, "{length}");
    }
}
