//! Walks the records of one piece of the file once: headers and times are read, AUX payloads are stepped over.
//!
//! Output: an index by time, counts, AUX buffers. Where a record's header lies about its length nothing after it
//! can be trusted, except where records follow one another again, and what the file's own list of AUXTRACE records
//! names: the walk resumes at the nearer of the two.

use std::ops::Range;

use model::{Diagnostic, FileOffset};

use crate::aux::AuxBuffer;
use crate::auxtrace_index::AuxtraceIndex;
use crate::bytes::{Fields, u64_at};
use crate::clock_steps::Backwards;
use crate::file::{Pieces, offset_in};
use crate::ordered_records::IndexEntry;
use crate::read_ahead::ReadAhead;
use crate::record::user::tid as thread_number;
use crate::record::{Counts, HEADER_SIZE, Header, Label, Schema, Threads, cpu_number, kinds};
use crate::resync;
use crate::stretches::Stretches;

/// What a walk over all pieces finds.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub(crate) index: Vec<IndexEntry>,
    /// Those of them that name threads or change address spaces, few among many.
    pub(crate) map_index: Vec<IndexEntry>,
    /// The threads that they are of.
    pub(crate) threads: Threads,
    /// Records that run backwards.
    pub(crate) backwards: Backwards,
    pub(crate) counts: Counts,
    pub(crate) aux_buffers: Vec<AuxBuffer>,
    pub(crate) auxtrace_info: Option<FileOffset>,
    pub(crate) time_conv: Option<FileOffset>,
    /// COMPRESSED records: (byte in the piece, bytes with the header).
    pub(crate) compressed: Vec<Range<usize>>,
}

/// A walk over one piece.
pub(crate) struct Walker<'a> {
    pub(crate) pieces: &'a Pieces,
    pub(crate) piece: usize,
    pub(crate) schema: Schema<'a>,
    pub(crate) auxtrace: &'a AuxtraceIndex,
    pub(crate) walked: &'a mut Walked,
    pub(crate) diagnostics: &'a mut Vec<Diagnostic>,
}

impl Walker<'_> {
    /// Walks the records in `records`, which lies inside the piece. Returns copies of some, to be read instead.
    pub(crate) fn walk(mut self, records: Range<usize>) -> Stretches {
        let file = self.pieces.bytes(self.piece);
        let mut at = records.start;
        let mut read_ahead = ReadAhead::new(self.pieces, self.piece, self.auxtrace, &records);
        let mut previous_time = 0;
        while at < records.end {
            read_ahead.reach(at);
            let rest = read_ahead.record(at).unwrap_or_else(|| &file[at..records.end]);
            let record = match checked_record(rest) {
                Ok(record) => record,
                Err(damage) => match self.resume_behind(at, &damage, records.end) {
                    Some(resumed) => {
                        at = resumed;
                        continue;
                    }
                    None => break,
                },
            };
            let offset = offset_in(self.piece, at);
            let (own_time, label) = self.time_and_label_of(record);
            let time = own_time.unwrap_or(previous_time);
            previous_time = time;
            let entry = IndexEntry { time, offset, label };
            if own_time.is_some() {
                self.walked.backwards.see(entry);
            }
            self.walked.index.push(entry);
            if changes_maps(record.header.kind) {
                self.walked.map_index.push(entry);
            }
            self.walked.counts.count(record.header.kind);
            at = self.behind(at, record, records.end);
        }
        read_ahead.into_copies()
    }

    /// The record's sort key, where it has a time of its own, and its label.
    fn time_and_label_of(&mut self, record: RawRecord<'_>) -> (Option<u64>, Label) {
        let Walker { schema, walked, .. } = self;
        let (label, identity) = Label::of(*schema, record.header, record.body, &mut walked.threads);
        let time = identity.time.map(|time| time.0).or_else(|| match record.header.kind {
            kinds::SAMPLE => schema.layout.sample_time(record.body),
            kind if kind < kinds::FIRST_USER_KIND => schema.layout.trailer_time(record.body),
            _ => None,
        });
        // All ones, like zero, mark what perf wrote itself.
        (time.map(|time| if time == u64::MAX { 0 } else { time }), label)
    }

    /// Where the next record begins. Notes what the walk is for.
    fn behind(&mut self, at: usize, record: RawRecord<'_>, end: usize) -> usize {
        let next = at + usize::from(record.header.size);
        let offset = offset_in(self.piece, at);
        match record.header.kind {
            kinds::AUXTRACE => return self.behind_auxtrace(at, record.body, next, end),
            kinds::AUXTRACE_INFO => {
                self.walked.auxtrace_info.get_or_insert(offset);
            }
            kinds::TIME_CONV => {
                self.walked.time_conv.get_or_insert(offset);
            }
            kinds::COMPRESSED | kinds::COMPRESSED2 => self.walked.compressed.push(at..next),
            // In a file that once was a pipe the formats follow their record.
            kinds::HEADER_TRACING_DATA => {
                let size = Fields::new(record.body).u32().unwrap_or(0) as usize;
                return next.saturating_add(size.next_multiple_of(8)).min(end);
            }
            _ => {}
        }
        next
    }

    fn behind_auxtrace(&mut self, at: usize, body: &[u8], payload: usize, end: usize) -> usize {
        let offset = offset_in(self.piece, at);
        let Some((mut buffer, size)) = parse_auxtrace(body) else {
            let what = "an AUXTRACE record is too short: its PT bytes cannot be placed";
            self.diagnostics.push(Diagnostic::error(what).at_offset(offset));
            return payload;
        };
        let available = (end - payload) as u64;
        // A payload that runs over the next listed record has a lying length.
        let limit = match self.auxtrace.next(at + 1) {
            Some(listed) if size > available && listed > payload => (listed - payload) as u64,
            _ => available,
        };
        if size > limit {
            let what = format!("{size} PT bytes announced, {limit} in the file: the rest is lost");
            let diagnostic = Diagnostic::error(what).at_offset(offset).on_cpu(buffer.cpu);
            self.diagnostics.push(diagnostic.at_aux(buffer.aux_offset));
        }
        buffer.size = size.min(limit);
        buffer.file_offset = offset_in(self.piece, payload);
        buffer.record_offset = offset;
        let next = payload + usize::try_from(buffer.size).unwrap_or(0);
        self.walked.aux_buffers.push(buffer);
        next
    }

    /// Reports damage at `at`; the place where the walk can go on, if there is one.
    fn resume_behind(&mut self, at: usize, damage: &str, end: usize) -> Option<usize> {
        let listed = self.auxtrace.next(at + 1).filter(|&next| next < end);
        let rest = &self.pieces.bytes(self.piece)[at..end];
        let chained = resync::distance(rest).map(|distance| at + distance);
        let (resumed, rest) = match (chained, listed) {
            (Some(next), listed) if listed.is_none_or(|listed| next <= listed) => {
                (Some(next), format!("what lies before the record at {next:#x} is lost"))
            }
            (_, Some(next)) => {
                (Some(next), format!("records up to the next AUXTRACE record at {next:#x} are lost"))
            }
            (_, None) => (None, "the following records are lost".to_owned()),
        };
        let diagnostic = Diagnostic::error(format!("{damage}: {rest}"));
        self.diagnostics.push(diagnostic.at_offset(offset_in(self.piece, at)));
        resumed
    }
}

/// Whether records of this kind name threads or change address spaces.
fn changes_maps(kind: u32) -> bool {
    let (names, threads) = (kinds::COMM, [kinds::FORK, kinds::EXIT]);
    let code = [kinds::MMAP, kinds::MMAP2, kinds::KSYMBOL, kinds::TEXT_POKE];
    kind == names || threads.contains(&kind) || code.contains(&kind)
}

#[derive(Clone, Copy)]
struct RawRecord<'a> {
    header: Header,
    body: &'a [u8],
}

/// The record at the start of `rest`, or what is wrong with it.
fn checked_record(rest: &[u8]) -> Result<RawRecord<'_>, String> {
    let Some(header) = Header::read(rest) else {
        return Err(format!("the file ends in the middle of a record's header ({} bytes of 8)", rest.len()));
    };
    let size = usize::from(header.size);
    if size < HEADER_SIZE {
        return Err(format!(
            "a record of type {} says it has {size} bytes, its header alone has 8",
            header.kind
        ));
    }
    if resync::is_misaligned(header) {
        let kind = header.kind;
        return Err(format!("a record of type {kind} says it has {size} bytes, which is no multiple of 8"));
    }
    rest.get(HEADER_SIZE..size).map(|body| RawRecord { header, body }).ok_or_else(|| {
        let (kind, available) = (header.kind, rest.len());
        format!("the file ends in the middle of a record of type {kind} ({available} bytes of {size})")
    })
}

/// An AUXTRACE record's fields, and how many bytes it says follow it.
fn parse_auxtrace(body: &[u8]) -> Option<(AuxBuffer, u64)> {
    let size = u64_at(body, 0)?;
    let mut fields = Fields::new(body.get(8..)?);
    let (aux_offset, reference) = (fields.u64()?, fields.u64()?);
    let (idx, tid, cpu) = (fields.u32()?, thread_number(fields.u32()?), cpu_number(fields.u32()?));
    let nowhere = FileOffset(0);
    let buffer = AuxBuffer {
        cpu,
        tid,
        idx,
        aux_offset,
        reference,
        file_offset: nowhere,
        record_offset: nowhere,
        size: 0,
    };
    Some((buffer, size))
}
