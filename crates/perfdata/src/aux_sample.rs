//! Locates the PT bytes that were taken together with samples (`perf record --aux-sample`).

use model::FileOffset;

use crate::attr::sample_type;
use crate::aux::AuxSample;
use crate::ordered_records::OrderedRecords;
use crate::record::Record;

/// All of them in the order of time; costs nothing where no event takes any.
pub(crate) fn locate(records: &OrderedRecords) -> Vec<AuxSample> {
    if !records.attrs.iter().any(|attr| attr.samples(sample_type::AUX)) {
        return Vec::new();
    }
    records
        .all()
        .of_events(|attr| attr.samples(sample_type::AUX))
        .without_switches()
        .filter_map(|record| {
            let Record::Sample(sample) = &record.record else { return None };
            let size = sample.aux_at().len() as u64;
            (size > 0).then(|| AuxSample {
                time: record.time,
                cpu: record.cpu,
                thread: record.thread,
                id: record.id,
                record_offset: record.offset,
                file_offset: FileOffset(record.offset.0 + sample.aux_at().start as u64),
                size,
            })
        })
        .collect()
}
