//! Real captures cut off and altered: no panic, and what lies before the damage still comes out.

use std::path::Path;
use std::sync::OnceLock;

use model::Severity;
use proptest::prelude::*;
use tailtrace_perfdata::{PerfData, Record};

use crate::captures;

/// The smallest capture, and one with tracepoints.
fn originals() -> &'static [Vec<u8>] {
    static ORIGINALS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    ORIGINALS.get_or_init(read_originals)
}

fn read_originals() -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<u8>> =
        captures::corpus().iter().filter_map(|path| std::fs::read(path).ok()).collect();
    files.sort_by_key(Vec::len);
    files.truncate(2);
    let emulated = captures::emulated();
    files.extend(emulated.iter().filter_map(|path| std::fs::read(path.join("data")).ok()).take(1));
    files
}

/// Looks at everything; returns how many records came out.
fn look_at_all(bytes: Vec<u8>) -> usize {
    let Ok(perf_data) = PerfData::from_bytes(Path::new("damaged"), bytes) else { return 0 };
    for buffer in perf_data.aux_buffers() {
        assert_eq!(perf_data.aux_bytes(buffer).len() as u64, buffer.size);
    }
    let _ = (perf_data.map_events(), perf_data.loss(), perf_data.schedule(), perf_data.thread_names());
    perf_data.records().count()
}

/// First and last byte of each record, payload of AUXTRACE included, in the order of the file.
fn record_ranges(perf_data: &PerfData, file: &[u8]) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = perf_data
        .records()
        .map(|record| {
            let start = usize::try_from(record.offset.0).expect("small file");
            let size = usize::from(u16::from_le_bytes([file[start + 6], file[start + 7]]));
            let payload = match record.record {
                Record::Auxtrace { size, .. } => usize::try_from(size).expect("small file"),
                _ => 0,
            };
            (start, start + size + payload)
        })
        .collect();
    ranges.sort_unstable();
    ranges
}

#[test]
fn a_file_cut_off_anywhere_gives_all_records_before_the_cut() {
    for file in originals() {
        let whole = PerfData::from_bytes(Path::new("whole"), file.clone()).expect("sound");
        let ranges = record_ranges(&whole, file);
        let borders = ranges.iter().flat_map(|&(start, end)| [start, end]);
        let cuts: Vec<usize> = (0..file.len()).step_by(64).chain(borders).collect();
        for cut in cuts {
            let Ok(perf_data) = PerfData::from_bytes(Path::new("cut"), file[..cut].to_vec()) else {
                assert!(cut < 104, "a header of 104 bytes is enough to open a file of {cut}");
                continue;
            };
            // An AUXTRACE record whose payload is cut still says where the rest of it lies.
            let whole_records = ranges.iter().filter(|&&(_, end)| end <= cut).count();
            let records = perf_data.records().count();
            assert!(
                (whole_records..=whole_records + 1).contains(&records),
                "cut at {cut}: {records} records"
            );
            let reported = perf_data.diagnostics().iter().any(|it| it.severity >= Severity::Warning);
            assert!(reported, "cut at {cut}: nothing is said about it");
            assert!(perf_data.aux_buffers().iter().all(|it| it.file_offset.0 + it.size <= cut as u64));
        }
    }
}

#[test]
fn a_lying_record_length_costs_only_what_lies_before_the_next_aux_record() {
    for file in originals() {
        let whole = PerfData::from_bytes(Path::new("whole"), file.clone()).expect("sound");
        let ranges = record_ranges(&whole, file);
        let listed =
            |from: usize| whole.aux_buffers().iter().filter(|it| it.record_offset.0 > from as u64).count();
        for &(start, _) in &ranges {
            let mut damaged = file.clone();
            // Shorter than its own header.
            damaged[start + 6..start + 8].copy_from_slice(&[7, 0]);
            let perf_data = PerfData::from_bytes(Path::new("damaged"), damaged).expect("the header is sound");
            let place = perf_data.diagnostics().iter().find_map(|it| it.place.file_offset);
            assert_eq!(place.map(|offset| offset.0), Some(start as u64));
            let behind =
                perf_data.aux_buffers().iter().filter(|it| it.record_offset.0 > start as u64).count();
            // Without a list of AUXTRACE records (an older perf, a converted file) nothing after it can be found.
            if whole.features().present.contains(&18) {
                assert_eq!(behind, listed(start), "AUX buffers behind {start:#x}");
            }
        }
    }
}

/// What a mutation does to a file.
#[derive(Clone, Debug)]
enum Mutation {
    Byte(u8),
    Word(u64),
    Remove(usize),
    Repeat(usize),
}

fn any_mutation() -> impl Strategy<Value = (proptest::sample::Index, Mutation)> {
    let mutation = prop_oneof![
        any::<u8>().prop_map(Mutation::Byte),
        any::<u64>().prop_map(Mutation::Word),
        prop_oneof![Just(0), Just(u64::MAX), Just(1 << 63), Just(0xffff_ffff)].prop_map(Mutation::Word),
        (1usize..200).prop_map(Mutation::Remove),
        (1usize..200).prop_map(Mutation::Repeat),
    ];
    (any::<proptest::sample::Index>(), mutation)
}

fn mutate(file: &mut Vec<u8>, at: usize, mutation: &Mutation) {
    match *mutation {
        Mutation::Byte(byte) => file[at] = byte,
        Mutation::Word(word) => {
            let end = (at + 8).min(file.len());
            file[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
        }
        Mutation::Remove(length) => drop(file.drain(at..(at + length).min(file.len()))),
        Mutation::Repeat(length) => {
            let piece = file[at..(at + length).min(file.len())].to_vec();
            file.splice(at..at, piece);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn altered_files_never_panic(
        which in any::<proptest::sample::Index>(),
        mutations in proptest::collection::vec(any_mutation(), 1..20),
        in_head in any::<bool>(),
    ) {
        let files = originals();
        if !files.is_empty() {
            let mut file = files[which.index(files.len())].clone();
            for (index, mutation) in &mutations {
                // Headers and attributes are few bytes, so half of the cases go there.
                let length = if in_head { file.len().min(2000) } else { file.len() };
                if length > 0 {
                    let at = index.index(length);
                    mutate(&mut file, at, mutation);
                }
            }
            look_at_all(file);
        }
    }
}
