//! Writes perf.data files.
//!
//! Input: attributes, records, features. Output: the file's bytes in perf's layout.
//! Source: tools/perf/Documentation/perf.data-file-format.txt, `linux/perf_event.h`, tools/perf/util/event.h.

mod record;

pub(crate) use record::{IntelPt, Mapping, Origin, Record, carries};

/// Size of the file header and of one attribute.
const HEADER: u64 = 104;
pub(crate) const ATTRIBUTE: u64 = 128;

/// Where `aux_sample_size` stands in an attribute.
const AUX_SAMPLE_SIZE: usize = 112;

/// perf's number for tracepoints.
pub(crate) const TRACEPOINT: u32 = 2;

/// What a dynamic PMU's number may be; the file says it in `PMU_MAPPINGS`.
pub(crate) const INTEL_PT: u32 = 9;

/// `perf_event_attr` bits.
pub(crate) mod flag {
    pub(crate) const DISABLED: u64 = 1;
    pub(crate) const INHERIT: u64 = 1 << 1;
    pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub(crate) const MMAP: u64 = 1 << 8;
    pub(crate) const COMM: u64 = 1 << 9;
    pub(crate) const FREQ: u64 = 1 << 10;
    pub(crate) const TASK: u64 = 1 << 13;
    /// `precise_ip` 2: PEBS.
    pub(crate) const PRECISE: u64 = 2 << 15;
    pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;
    pub(crate) const EXCLUDE_GUEST: u64 = 1 << 20;
    pub(crate) const MMAP2: u64 = 1 << 23;
    pub(crate) const COMM_EXEC: u64 = 1 << 24;
    pub(crate) const CONTEXT_SWITCH: u64 = 1 << 26;
    /// Its samples go into the trace.
    pub(crate) const AUX_OUTPUT: u64 = 1 << 31;
    pub(crate) const CGROUP: u64 = 1 << 32;
    pub(crate) const TEXT_POKE: u64 = 1 << 33;
    pub(crate) const BUILD_ID: u64 = 1 << 34;
}

/// What perf calls the event of the trace.
pub(crate) const PT_NAME: &str = "intel_pt//";

/// `aux_start_paused`, `aux_pause`, `aux_resume` of `perf_event_attr`.
pub(crate) mod action {
    pub(crate) const START_PAUSED: u32 = 1;
    pub(crate) const PAUSE: u32 = 2;
    pub(crate) const RESUME: u32 = 4;
}

/// `PERF_FORMAT_…`: what a read holds.
pub(crate) mod read {
    pub(crate) const ID: u64 = 1 << 2;
    pub(crate) const GROUP: u64 = 1 << 3;
}

/// One configured event.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) name: &'static str,
    /// The number of its PMU.
    pub(crate) kind: u32,
    pub(crate) config: u64,
    pub(crate) config1: u64,
    /// Events to a sample, or with `FREQ` samples to a second.
    pub(crate) sample_period: u64,
    /// What a read holds: a sum of `PERF_FORMAT_…`.
    pub(crate) read_format: u64,
    /// `perf_event_attr`'s bit field.
    pub(crate) flags: u64,
    /// What its samples, and the trailers of its records, carry.
    pub(crate) sample_type: u64,
    /// Bytes of trace beside each of its samples.
    pub(crate) aux_sample_size: u32,
    /// What it does to the trace: a sum of [`action`] (Linux 6.13; reserved before).
    pub(crate) aux_action: u32,
    pub(crate) ids: Vec<u64>,
}

impl Event {
    fn attribute(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(ATTRIBUTE as usize);
        out.extend(self.kind.to_le_bytes());
        out.extend((ATTRIBUTE as u32).to_le_bytes());
        for field in [self.config, self.sample_period, self.sample_type, self.read_format, self.flags] {
            out.extend(field.to_le_bytes());
        }
        // No watermark and no breakpoint: 8 bytes.
        out.extend([0; 8]);
        out.extend(self.config1.to_le_bytes());
        out.resize(AUX_SAMPLE_SIZE, 0);
        out.extend(self.aux_sample_size.to_le_bytes());
        out.extend(self.aux_action.to_le_bytes());
        out.resize(ATTRIBUTE as usize, 0);
        out
    }

    /// Its entry in the section that names the events.
    pub(crate) fn description(&self) -> Vec<u8> {
        let mut out = self.attribute();
        out.extend((self.ids.len() as u32).to_le_bytes());
        out.extend(text(self.name));
        self.ids.iter().for_each(|id| out.extend(id.to_le_bytes()));
        out
    }
}

/// An event of another file: attribute and ids.
pub(crate) type Taken = (Vec<u8>, Vec<u64>);

/// Number of a feature section.
pub(crate) mod feature {
    pub(crate) const TRACING_DATA: usize = 1;
    pub(crate) const HOSTNAME: usize = 3;
    pub(crate) const OS_RELEASE: usize = 4;
    pub(crate) const VERSION: usize = 5;
    pub(crate) const ARCH: usize = 6;
    pub(crate) const CPUS: usize = 7;
    pub(crate) const CPU_DESCRIPTION: usize = 8;
    pub(crate) const CPU_ID: usize = 9;
    pub(crate) const COMMAND_LINE: usize = 11;
    pub(crate) const EVENT_DESCRIPTION: usize = 12;
    pub(crate) const PMU_MAPPINGS: usize = 16;
    pub(crate) const GROUP_DESCRIPTION: usize = 17;
    pub(crate) const AUXTRACE: usize = 18;
    pub(crate) const SAMPLE_TIME: usize = 21;
}

/// A perf.data file that is being put together.
#[derive(Debug, Default)]
pub(crate) struct Container {
    /// Events taken over from another file; they come before `events`.
    pub(crate) taken: Vec<Taken>,
    pub(crate) events: Vec<Event>,
    pub(crate) features: Vec<(usize, Vec<u8>)>,
    records: Vec<u8>,
    /// Places of AUXTRACE records in `records`, and their sizes without AUX bytes.
    index: Vec<(u64, u64)>,
}

impl Container {
    /// Appends a record.
    pub(crate) fn push(&mut self, record: &Record) {
        self.push_bytes(&record.bytes());
    }

    /// Appends a record taken over from another file.
    pub(crate) fn push_bytes(&mut self, record: &[u8]) {
        self.records.extend(record);
    }

    /// Appends an AUXTRACE record and its AUX bytes.
    pub(crate) fn push_aux(&mut self, record: &Record, aux: &[u8]) {
        let bytes = record.bytes();
        self.index.push((self.records.len() as u64, bytes.len() as u64));
        self.records.extend(bytes);
        self.records.extend(aux);
    }

    /// The file: header, ids, attributes, records, features.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let mut events = std::mem::take(&mut self.taken);
        events.extend(self.events.iter().map(|event| (event.attribute(), event.ids.clone())));
        let ids: u64 = events.iter().map(|(_, ids)| ids.len() as u64 * 8).sum();
        let attributes_at = HEADER + ids;
        let attributes = (ATTRIBUTE + 16) * events.len() as u64;
        let records_at = attributes_at + attributes;
        self.add_index(records_at);
        self.features.sort_by_key(|&(number, _)| number);
        let mut out = b"PERFILE2".to_vec();
        let sizes =
            [HEADER, ATTRIBUTE + 16, attributes_at, attributes, records_at, self.records.len() as u64, 0, 0];
        for field in sizes {
            out.extend(field.to_le_bytes());
        }
        let mut bits = [0u8; 32];
        self.features.iter().for_each(|(number, _)| bits[number / 8] |= 1 << (number % 8));
        out.extend(bits);
        events.iter().flat_map(|(_, ids)| ids).for_each(|id| out.extend(id.to_le_bytes()));
        let mut ids_at = HEADER;
        for (attribute, ids) in events {
            out.extend(attribute);
            let size = ids.len() as u64 * 8;
            out.extend([ids_at.to_le_bytes(), size.to_le_bytes()].concat());
            ids_at += size;
        }
        out.extend(&self.records);
        self.put_features(&mut out);
        out
    }

    fn add_index(&mut self, records_at: u64) {
        let mut bytes = (self.index.len() as u64).to_le_bytes().to_vec();
        for (place, size) in &self.index {
            bytes.extend((records_at + place).to_le_bytes());
            bytes.extend(size.to_le_bytes());
        }
        self.features.push((feature::AUXTRACE, bytes));
    }

    fn put_features(&self, out: &mut Vec<u8>) {
        let mut at = out.len() as u64 + 16 * self.features.len() as u64;
        for (_, bytes) in &self.features {
            out.extend([at.to_le_bytes(), (bytes.len() as u64).to_le_bytes()].concat());
            at += bytes.len() as u64;
        }
        self.features.iter().for_each(|(_, bytes)| out.extend(bytes));
    }

    /// The section that names the events.
    pub(crate) fn describe_events(&mut self) {
        let mut out = (self.events.len() as u32).to_le_bytes().to_vec();
        out.extend((ATTRIBUTE as u32).to_le_bytes());
        self.events.iter().for_each(|event| out.extend(event.description()));
        self.features.push((feature::EVENT_DESCRIPTION, out));
    }
}

/// A text as perf's features hold it: size, bytes, zeros up to a multiple of 64.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let size = (text.len() + 1).next_multiple_of(64);
    let mut out = (size as u32).to_le_bytes().to_vec();
    out.extend(text.as_bytes());
    out.resize(4 + size, 0);
    out
}
