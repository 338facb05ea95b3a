//! The file header: where attributes, records and feature sections lie.
//!
//! Source: `tools/perf/Documentation/perf.data-file-format.txt` of the Linux tree.

use std::ops::Range;
use std::path::Path;

use model::{Diagnostic, FileOffset};

use crate::attr::{self, AttrPlace};
use crate::bytes::Fields;
use crate::error::Error;
use crate::pipe::{self, PIPE_HEADER_SIZE};

/// Length of the header in bytes.
const HEADER_SIZE: u64 = 104;
/// How many feature sections there can be.
pub(crate) const FEATURE_BITS: u32 = 256;

/// A section of the file, clipped to it.
pub(crate) type Section = Range<usize>;

/// Where everything lies, all of it inside the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    /// The attributes, with their ids.
    pub(crate) attrs: Vec<AttrPlace>,
    /// The records.
    pub(crate) records: Section,
    /// The feature sections by feature bit, in order. Those of a stream lie among its records, in their order; it may have
    /// several of build ids.
    pub(crate) features: Vec<(u32, Section)>,
    /// Names of events that records give: (an id of the event, the name).
    pub(crate) event_names: Vec<(u64, Section)>,
    /// Whether it was written to a pipe: attributes and feature sections are records.
    pub(crate) is_stream: bool,
}

impl Header {
    /// Reads the header of a whole file, or what stands for one in a stream.
    ///
    /// # Errors
    /// Where the file is no perf.data, or of a kind that cannot be read.
    pub(crate) fn parse(
        path: &Path,
        file: &[u8],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Header, Error> {
        check_magic(path, file)?;
        let too_short =
            || Error::TooShort { path: path.to_path_buf(), length: file.len() as u64, needed: HEADER_SIZE };
        let mut fields = Fields::new(file.get(8..).ok_or_else(too_short)?);
        if fields.u64().ok_or_else(too_short)? == PIPE_HEADER_SIZE as u64 {
            return Ok(pipe::header(file, diagnostics));
        }
        parse_body(file, &mut fields, diagnostics).ok_or_else(too_short)
    }
}

fn check_magic(path: &Path, file: &[u8]) -> Result<(), Error> {
    let Some(&magic) = file.first_chunk::<8>() else {
        let length = file.len() as u64;
        return Err(Error::TooShort { path: path.to_path_buf(), length, needed: HEADER_SIZE });
    };
    match &magic {
        b"PERFILE2" => Ok(()),
        b"2ELIFREP" => Err(Error::BigEndian { path: path.to_path_buf() }),
        b"PERFFILE" => Err(Error::Version1 { path: path.to_path_buf() }),
        _ => Err(Error::NotPerfData { path: path.to_path_buf(), found: magic }),
    }
}

fn parse_body(file: &[u8], fields: &mut Fields<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Header> {
    let attr_size = fields.u64()?;
    let attrs = (fields.u64()?, fields.u64()?);
    let data = (fields.u64()?, fields.u64()?);
    let _event_types = (fields.u64()?, fields.u64()?);
    let mut bits = [0u64; 4];
    for word in &mut bits {
        *word = fields.u64()?;
    }
    let attrs = clip(file, "the attribute section", attrs, diagnostics);
    let attrs = attr::places(file, &attrs, attr_size, diagnostics);
    if data.1 == 0 {
        diagnostics.push(Diagnostic::warning(
            "the header says that there are no records: perf was killed before it finished the file; \
             reading to the end of the file, without feature sections",
        ));
        let records = clip(file, "the record section", (data.0, u64::MAX), &mut Vec::new());
        return Some(Header { attrs, records, ..Header::default() });
    }
    let records = clip(file, "the record section", data, diagnostics);
    let features = match data.0.checked_add(data.1) {
        Some(table) => feature_sections(file, table, bits, diagnostics),
        None => Vec::new(),
    };
    Some(Header { attrs, records, features, ..Header::default() })
}

/// The table after the records: one {offset, size} for each feature bit that is set.
fn feature_sections(
    file: &[u8],
    table: u64,
    bits: [u64; 4],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(u32, Section)> {
    let start = usize::try_from(table).unwrap_or(usize::MAX);
    let mut entries = Fields::new(file.get(start..).unwrap_or(&[]));
    let mut sections = Vec::new();
    for bit in (0..FEATURE_BITS).filter(|bit| bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1) {
        let (Some(offset), Some(size)) = (entries.u64(), entries.u64()) else {
            let what =
                "the file ends before its feature sections: host, CPU, event names and build ids are unknown";
            diagnostics.push(Diagnostic::warning(what).at_offset(FileOffset(table)));
            break;
        };
        let section = clip(file, &format!("feature section {bit}"), (offset, size), diagnostics);
        if !section.is_empty() || size == 0 {
            sections.push((bit, section));
        }
    }
    sections
}

/// The part of a section that lies in the file; a diagnostic where that is not all of it.
fn clip(file: &[u8], name: &str, (offset, size): (u64, u64), diagnostics: &mut Vec<Diagnostic>) -> Section {
    let length = file.len() as u64;
    let end = offset.checked_add(size).filter(|&end| end <= length).unwrap_or_else(|| {
        let what = format!(
            "{name} should have {size} bytes from {offset:#x} on, but the file ends at {length:#x}: \
             the rest is missing"
        );
        diagnostics.push(Diagnostic::error(what).at_offset(FileOffset(offset)));
        length
    });
    let start = offset.min(end);
    // Both lie below the length of a slice.
    usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0)
}
