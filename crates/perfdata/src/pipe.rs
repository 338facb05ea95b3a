//! Where everything lies in a stream: what `perf record -o -` writes to a pipe.
//!
//! ```text
//! PERFILE2 16 │ ATTR… FEATURE… EVENT_UPDATE… TRACING_DATA formats │ records as in a file │ BUILD_ID among them
//! ```
//!
//! A pipe cannot be written twice, so that a stream has no table of its sections: each attribute and each feature section
//! is a record of its own. Input: the bytes; output: the same [`Header`] that a file has. Damage ends this walk without a
//! word, because the walk over all records reports it.
//!
//! Source: `tools/perf/Documentation/perf.data-file-format.txt` ("Pipe-mode data"), `tools/lib/perf/include/perf/event.h`.

use std::collections::BTreeMap;
use std::ops::Range;

use model::{Diagnostic, FileOffset};

use crate::attr::{self, AttrPlace};
use crate::bytes::{Fields, u64_at};
use crate::features;
use crate::header::{FEATURE_BITS, Header};
use crate::record::{self, HEADER_SIZE, kinds};

/// Length of a stream's header in bytes; a file's says that it is longer.
pub(crate) const PIPE_HEADER_SIZE: usize = 16;
/// Length of an attribute that does not say its length (`PERF_ATTR_SIZE_VER0`).
const FIRST_ATTR_SIZE: usize = 64;
/// `PERF_EVENT_UPDATE__NAME`: the record names an event.
const NAMES: u64 = 2;

/// Finds attributes, feature sections and names of events.
pub(crate) fn header(stream: &[u8], diagnostics: &mut Vec<Diagnostic>) -> Header {
    let start = stream.len().min(PIPE_HEADER_SIZE);
    let mut found = Found::default();
    let mut at = start;
    while let Some(record) = record::Header::read(&stream[at..]) {
        let body = at + HEADER_SIZE..at + usize::from(record.size);
        if body.start > body.end || body.end > stream.len() {
            break;
        }
        let next = after(stream, record.kind, &body);
        found.see(stream, record.kind, body, next);
        at = next;
    }
    found.report(diagnostics);
    let sections = found.sections.into_iter();
    let build_ids = found.build_ids.into_iter().map(|record| (features::BUILD_ID_SECTION, record));
    Header {
        attrs: found.attrs,
        records: start..stream.len(),
        features: sections.chain(build_ids).collect(),
        event_names: found.event_names,
        is_stream: true,
    }
}

/// Where the next record begins: some are followed by bytes that their length does not count.
fn after(stream: &[u8], kind: u32, body: &Range<usize>) -> usize {
    let more = match kind {
        kinds::AUXTRACE => u64_at(&stream[body.clone()], 0).unwrap_or(0),
        kinds::HEADER_TRACING_DATA => formats_size(&stream[body.clone()]).next_multiple_of(8) as u64,
        _ => 0,
    };
    body.end.saturating_add(usize::try_from(more).unwrap_or(usize::MAX)).min(stream.len())
}

/// How many bytes of tracepoint formats follow their record; they are padded to eight.
fn formats_size(body: &[u8]) -> usize {
    Fields::new(body).u32().unwrap_or(0) as usize
}

/// What the records of a stream say that a file's header says.
#[derive(Default)]
struct Found {
    attrs: Vec<AttrPlace>,
    /// By number; perf, too, believes the last one.
    sections: BTreeMap<u32, Range<usize>>,
    /// Whole records: what a section of build ids consists of.
    build_ids: Vec<Range<usize>>,
    event_names: Vec<(u64, Range<usize>)>,
    /// Records of attributes that are too short: how many, and the first.
    short: Option<(usize, FileOffset)>,
}

impl Found {
    fn see(&mut self, stream: &[u8], kind: u32, body: Range<usize>, next: usize) {
        let record = body.start - HEADER_SIZE;
        match kind {
            kinds::HEADER_ATTR if self.attrs.len() < attr::MOST_ATTRS => match attr_place(stream, &body) {
                Some(place) => self.attrs.push(place),
                None => self.short.get_or_insert((0, FileOffset(record as u64))).0 += 1,
            },
            // The last one has a number and nothing else.
            kinds::HEADER_FEATURE if body.len() > 8 => {
                let bit = u64_at(stream, body.start).and_then(|bit| u32::try_from(bit).ok());
                if let Some(bit) = bit.filter(|&bit| bit < FEATURE_BITS) {
                    self.sections.insert(bit, body.start + 8..body.end);
                }
            }
            kinds::HEADER_TRACING_DATA => {
                let end = body.end.saturating_add(formats_size(&stream[body.clone()])).min(next);
                self.sections.insert(features::TRACING_DATA, body.end..end);
            }
            // `perf inject -b` writes one before the first record of the file that it names.
            kinds::HEADER_BUILD_ID => self.build_ids.push(record..body.end),
            kinds::EVENT_UPDATE => self.event_names.extend(event_name(stream, &body)),
            _ => {}
        }
    }

    fn report(&self, diagnostics: &mut Vec<Diagnostic>) {
        if let Some((count, first)) = self.short {
            let what =
                format!("{count} records of attributes are too short: the first; their events have no name");
            diagnostics.push(Diagnostic::error(what).at_offset(first));
        }
    }
}

/// The attribute at the beginning of a body, and the ids after it.
fn attr_place(stream: &[u8], body: &Range<usize>) -> Option<AttrPlace> {
    let mut fields = Fields::new(&stream[body.clone()]);
    let (_kind, size) = (fields.u32()?, fields.u32()? as usize);
    let size = if size == 0 { FIRST_ATTR_SIZE } else { size };
    let ids = body.start.checked_add(size).filter(|&ids| size >= FIRST_ATTR_SIZE && ids <= body.end)?;
    Some(AttrPlace { attr: body.start..ids, ids: ids..body.end })
}

/// The id of an event, and where its name stands.
fn event_name(stream: &[u8], body: &Range<usize>) -> Option<(u64, Range<usize>)> {
    let mut fields = Fields::new(&stream[body.clone()]);
    let (kind, id) = (fields.u64()?, fields.u64()?);
    (kind == NAMES).then_some((id, body.start + 16..body.end))
}

#[cfg(test)]
mod tests;
