//! Builds small perf.data files for unit tests, byte by byte as `perf.data-file-format.txt` describes them.
//!
//! It shares no constant with the reader, so a wrong one cannot agree with itself.

use std::path::Path;

use model::FileOffset;

use crate::perf_data::PerfData;

/// `IP | TID | TIME | CPU | IDENTIFIER`, what perf records for Intel PT.
pub(crate) const USUAL_SAMPLE_TYPE: u64 = 0x1_0087;
/// `sample_id_all`.
pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;

/// A file in the making.
#[derive(Default)]
pub(crate) struct TestFile {
    attrs: Vec<(Vec<u8>, Vec<u64>)>,
    records: Vec<u8>,
    features: Vec<(u32, Vec<u8>)>,
    /// Overrides the length of the record section in the header.
    pub(crate) claimed_size: Option<u64>,
}

/// Numbers as little-endian bytes, one after the other.
#[macro_export]
macro_rules! bytes {
    ($($value:expr),* $(,)?) => {{
        let mut bytes: Vec<u8> = Vec::new();
        $(bytes.extend_from_slice(&$value.to_le_bytes());)*
        bytes
    }};
}

impl TestFile {
    /// A file with one attribute of the usual kind, its id 7.
    pub(crate) fn new() -> TestFile {
        TestFile::default().attr(attr(1, 9, USUAL_SAMPLE_TYPE, SAMPLE_ID_ALL), &[7])
    }

    pub(crate) fn attr(mut self, attr: Vec<u8>, ids: &[u64]) -> TestFile {
        self.attrs.push((attr, ids.to_vec()));
        self
    }

    pub(crate) fn feature(mut self, bit: u32, section: Vec<u8>) -> TestFile {
        self.features.push((bit, section));
        self
    }

    /// A record without trailer.
    pub(crate) fn record(mut self, kind: u32, misc: u16, body: &[u8]) -> TestFile {
        self.records.extend(record(kind, misc, body));
        self
    }

    /// A record of the kernel with the usual trailer: thread 11 of process 10, CPU 3, id 7.
    pub(crate) fn timed(self, kind: u32, misc: u16, body: &[u8], time: u64) -> TestFile {
        self.record(kind, misc, &[body, &trailer(time)].concat())
    }

    /// Bytes as they are.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> TestFile {
        self.records.extend(bytes);
        self
    }

    /// Where the next record will begin, if no attribute follows.
    pub(crate) fn next_offset(&self) -> u64 {
        self.records_start() + self.records.len() as u64
    }

    fn records_start(&self) -> u64 {
        let ids: usize = self.attrs.iter().map(|(_, ids)| ids.len() * 8).sum();
        (104 + ids + self.attrs.len() * (128 + 16)) as u64
    }

    pub(crate) fn bytes(mut self) -> Vec<u8> {
        let (start, size) = (self.records_start(), self.records.len() as u64);
        let ids_size: usize = self.attrs.iter().map(|(_, ids)| ids.len() * 8).sum();
        let claimed = self.claimed_size.unwrap_or(size);
        let attrs_size = self.attrs.len() as u64 * 144;
        let mut file = b"PERFILE2".to_vec();
        file.extend(bytes![104u64, 144u64, 104 + ids_size as u64, attrs_size, start, claimed, 0u64, 0u64]);
        let mut bits = [0u64; 4];
        self.features.sort_by_key(|feature| feature.0);
        for (bit, _) in &self.features {
            bits[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        file.extend(bytes![bits[0], bits[1], bits[2], bits[3]]);
        self.attrs.iter().flat_map(|(_, ids)| ids).for_each(|id| file.extend(bytes![*id]));
        let mut ids_at = 104u64;
        for (attr, ids) in &self.attrs {
            file.extend(attr);
            file.extend(bytes![ids_at, ids.len() as u64 * 8]);
            ids_at += ids.len() as u64 * 8;
        }
        file.extend(self.records);
        let mut section_at = (file.len() + self.features.len() * 16) as u64;
        for (_, section) in &self.features {
            file.extend(bytes![section_at, section.len() as u64]);
            section_at += section.len() as u64;
        }
        self.features.iter().for_each(|(_, section)| file.extend(section));
        file
    }

    pub(crate) fn open(self) -> PerfData {
        PerfData::from_bytes(Path::new("test"), self.bytes()).expect("a sound header")
    }
}

/// A `perf_event_attr` of 128 bytes.
pub(crate) fn attr(kind: u32, config: u64, sample_type: u64, flags: u64) -> Vec<u8> {
    let mut attr = bytes![kind, 128u32, config, 1u64, sample_type, 4u64, flags];
    attr.resize(128, 0);
    attr
}

pub(crate) fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(8 + body.len()).expect("a short record");
    [&bytes![kind, misc, size][..], body].concat()
}

/// Of the usual sample type: thread 11 of process 10, CPU 3, id 7.
pub(crate) fn trailer(time: u64) -> Vec<u8> {
    bytes![10i32, 11i32, time, 3u32, 0u32, 7u64]
}

/// A string of the feature sections: length, then bytes padded with NULs.
pub(crate) fn feature_string(text: &str) -> Vec<u8> {
    let mut bytes = bytes![64u32];
    bytes.extend(text.as_bytes());
    bytes.resize(68, 0);
    bytes
}

/// A NUL-terminated name padded to eight bytes.
pub(crate) fn name(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((text.len() + 1).next_multiple_of(8), 0);
    bytes
}

/// What the diagnostics of a capture say, with their offsets.
pub(crate) fn findings(perf_data: &PerfData) -> Vec<(String, Option<FileOffset>)> {
    perf_data.diagnostics().iter().map(|it| (it.what.clone(), it.place.file_offset)).collect()
}
