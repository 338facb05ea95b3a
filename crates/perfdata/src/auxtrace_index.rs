//! perf's own list of AUXTRACE records, which leads to the next one where lengths cannot be trusted.
//!
//! Source: `struct auxtrace_index` in `tools/perf/util/auxtrace.h` of the Linux tree.

use std::ops::Range;

use crate::bytes::Fields;

/// Length of an AUXTRACE record without its payload.
pub(crate) const AUXTRACE_SIZE: usize = 48;

/// The list of AUXTRACE records in the feature section of that name: where they begin, in order.
#[derive(Debug, Default)]
pub(crate) struct AuxtraceIndex {
    /// `None` where the file has AUX data but no usable list.
    records: Option<Vec<usize>>,
}

impl AuxtraceIndex {
    /// For a file without AUX data.
    pub(crate) fn empty() -> AuxtraceIndex {
        AuxtraceIndex { records: Some(Vec::new()) }
    }

    /// Reads the section; the list is used only if it lies inside `records` and in order.
    pub(crate) fn parse(section: &[u8], records: &Range<usize>) -> AuxtraceIndex {
        let list = || {
            let mut fields = Fields::new(section);
            let count = fields.u64()?;
            let count = fields.count(count, 16)?;
            let mut list: Vec<usize> = Vec::with_capacity(count);
            for _ in 0..count {
                let offset = usize::try_from(fields.u64()?).ok()?;
                let _size = fields.u64()?;
                if !records.contains(&offset) || list.last().is_some_and(|&last| last >= offset) {
                    return None;
                }
                list.push(offset);
            }
            Some(list)
        };
        AuxtraceIndex { records: list() }
    }

    /// The first listed record at or after `at`.
    pub(crate) fn next(&self, at: usize) -> Option<usize> {
        let list = self.records.as_ref()?;
        list.get(list.partition_point(|&record| record < at)).copied()
    }

    /// All of them; `None` where the file has AUX data but no usable list.
    pub(crate) fn records(&self) -> Option<&[usize]> {
        self.records.as_deref()
    }
}
