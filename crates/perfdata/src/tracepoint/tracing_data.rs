//! The feature section `TRACING_DATA`: the formats of all tracepoints that were recorded.
//!
//! Source: `tools/perf/util/trace-event-info.c` writes it. Versions 0.5 and 0.6 differ in the saved command lines
//! at the end. What lies after the formats (kallsyms, printk formats, command lines) is not needed and not read.

use std::collections::BTreeMap;

use model::{Diagnostic, FileOffset};

use super::TracepointFormat;
use crate::bytes::Fields;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Formats in the order of their IDs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Formats(Vec<TracepointFormat>);

/// The same in the making; the last one of an ID counts.
type ById = BTreeMap<u64, TracepointFormat>;

impl Formats {
    pub(crate) fn by_id(&self, id: u64) -> Option<&TracepointFormat> {
        self.at(self.place(id)?)
    }

    /// Where the format with this ID stands, for [`Self::at`].
    pub(crate) fn place(&self, id: u64) -> Option<usize> {
        self.0.binary_search_by_key(&id, TracepointFormat::id).ok()
    }

    /// The format at this place.
    pub(crate) fn at(&self, place: usize) -> Option<&TracepointFormat> {
        self.0.get(place)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TracepointFormat> {
        self.0.iter()
    }
}

/// Reads the section that begins at byte `at` of the file, as far as it is sound.
pub(crate) fn parse(section: &[u8], at: usize, diagnostics: &mut Vec<Diagnostic>) -> Formats {
    let mut formats = ById::default();
    let mut fields = Fields::new(section);
    let mut damaged = |what: &str, fields: &Fields<'_>| {
        let offset = at + (section.len() - fields.rest().len());
        let what = format!("tracepoint formats are {what}: fields of some tracepoints cannot be read");
        diagnostics.push(Diagnostic::warning(what).at_offset(FileOffset(offset as u64)));
    };
    match parse_head(&mut fields) {
        Some(Endian::Little) => {}
        Some(Endian::Big) => {
            damaged("those of a big-endian machine", &fields);
            return Formats::default();
        }
        None => {
            damaged("damaged", &fields);
            return Formats::default();
        }
    }
    if parse_events(&mut fields, &mut formats).is_none() {
        damaged("cut off or damaged", &fields);
    }
    Formats(formats.into_values().collect())
}

enum Endian {
    Little,
    Big,
}

/// Magic, version, byte order, word length, page size, and the two header files.
fn parse_head(fields: &mut Fields<'_>) -> Option<Endian> {
    if fields.bytes(MAGIC.len())? != MAGIC {
        return None;
    }
    let _version = fields.c_string();
    let big_endian = fields.u8()? != 0;
    let (_word_length, _page_size) = (fields.u8()?, fields.u32()?);
    if big_endian {
        return Some(Endian::Big);
    }
    for name in ["header_page", "header_event"] {
        if fields.c_string() != name.as_bytes() {
            return None;
        }
        let size = fields.u64()?;
        fields.counted_bytes(size)?;
    }
    Some(Endian::Little)
}

fn parse_events(fields: &mut Fields<'_>, formats: &mut ById) -> Option<()> {
    parse_system(fields, "ftrace", formats)?;
    let systems = fields.u32()?;
    for _ in 0..systems {
        let system = String::from_utf8_lossy(fields.c_string()).into_owned();
        parse_system(fields, &system, formats)?;
    }
    Some(())
}

fn parse_system(fields: &mut Fields<'_>, system: &str, formats: &mut ById) -> Option<()> {
    let events = fields.u32()?;
    for _ in 0..events {
        let size = fields.u64()?;
        let text = fields.counted_bytes(size)?;
        if let Some(format) = TracepointFormat::parse(system, text) {
            formats.insert(format.id(), format);
        }
    }
    Some(())
}
